/* Lists of jobs. */
#include "store/sqlite.h"

#include "store/sqlite_found.h"

/* ---- one job ------------------------------------------------------------ */

static bool one_job(struct sqlite_db *db, sqlite3_stmt *stmt,
                    struct arena *arena, struct job *ret_job, bool *ret_found,
                    struct err *err) {
    return sqlite_db_step(db, stmt, ret_found, err) &&
           (!*ret_found || sqlite_column_job(stmt, arena, ret_job, err));
}

bool sqlite_by_num(struct store *store, uint64_t num, struct arena *arena,
                   struct job *ret_job, bool *ret_found, struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_JOB_BY_NUM, num, err);
    return stmt && one_job(db, stmt, arena, ret_job, ret_found, err);
}

bool sqlite_by_id(struct store *store, struct span id, struct arena *arena,
                  struct job *ret_job, bool *ret_found, struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, SQL_JOB_BY_ID, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 1, id);
    return one_job(db, stmt, arena, ret_job, ret_found, err);
}

bool sqlite_last(struct store *store, struct arena *arena, struct job *ret_job,
                 bool *ret_found, struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, SQL_JOB_LAST, err);
    return stmt && one_job(db, stmt, arena, ret_job, ret_found, err);
}

/* ---- many --------------------------------------------------------------- */

static bool read_job(struct sqlite_db *db, sqlite3_stmt *stmt,
                     struct arena *arena, void *ret_row, struct err *err) {
    (void)db;
    return sqlite_column_job(stmt, arena, ret_row, err);
}

bool sqlite_jobs_read(struct sqlite_db *db, sqlite3_stmt *stmt,
                      struct arena *arena, struct job **ret_jobs,
                      size_t *ret_count, struct err *err) {
    *ret_jobs = sqlite_found_list(db, stmt, read_job, sizeof(**ret_jobs), arena,
                                  ret_count, err);
    return *ret_jobs != NULL;
}

/* ---- what may start ----------------------------------------------------- */

static bool ready_read(struct sqlite_db *db, enum statement which,
                       struct wall now, struct span after_rank,
                       uint64_t after_num, size_t limit,
                       struct sqlite_found *found, struct arena *arena,
                       struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, which, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 1, after_rank);
    sqlite_bind_u64(stmt, 2, after_num);
    sqlite_bind_limit(stmt, 3, limit);
    if (which == SQL_READY_DUE)
        sqlite_bind_wall(stmt, 4, now);
    return sqlite_found_read(found, db, stmt, read_job, arena, err);
}

static int order_rank_compare(const struct job *a, const struct job *b) {
    int order = span_compare(a->rank, b->rank);
    return order ? order : (a->num > b->num) - (a->num < b->num);
}

static const struct job *job_at(const struct sqlite_found *found, size_t at) {
    return (const struct job *)(const void *)found->p + at;
}

/* Both lists are in order. */
static void merge(const struct sqlite_found *a, const struct sqlite_found *b,
                  size_t limit, struct sqlite_found *ret_both) {
    size_t i = 0, k = 0;
    while ((limit == 0 || ret_both->count < limit) &&
           (i < a->count || k < b->count)) {
        bool first = k == b->count ||
                     (i < a->count &&
                      order_rank_compare(job_at(a, i), job_at(b, k)) < 0);
        struct job *next = sqlite_found_more(ret_both);
        *next = first ? *job_at(a, i++) : *job_at(b, k++);
    }
}

/* Two statements see two states of the registry unless a transaction holds
 * them together: a job that moves from one list to the other in between
 * would be seen twice, or not at all. */
bool sqlite_ready(struct store *store, struct wall now, struct span after_rank,
                  uint64_t after_num, size_t limit, struct arena *arena,
                  struct job **ret_jobs, size_t *ret_count, struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(sqlite_found_clear)
    struct sqlite_found at_once = {.each = sizeof(struct job)};
    CLEANUP(sqlite_found_clear)
    struct sqlite_found due = {.each = sizeof(struct job)};
    CLEANUP(sqlite_found_clear)
    struct sqlite_found both = {.each = sizeof(struct job)};
    if (after_num == 0)
        after_rank = SPAN("");
    if (!sqlite_db_read_begin(db, err))
        return false;
    bool well = ready_read(db, SQL_READY, now, after_rank, after_num, limit,
                           &at_once, arena, err) &&
                ready_read(db, SQL_READY_DUE, now, after_rank, after_num, limit,
                           &due, arena, err);
    sqlite_db_read_end(db);
    if (!well)
        return false;
    merge(&at_once, &due, limit, &both);
    *ret_jobs = sqlite_found_give(&both, arena, ret_count);
    return true;
}

bool sqlite_touching(struct store *store, struct span path, size_t limit,
                     struct arena *arena, struct job **ret_jobs,
                     size_t *ret_count, struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, SQL_TOUCHING, err);
    if (!stmt)
        return false;
    sqlite_bind_bytes(stmt, 1, path);
    sqlite_bind_limit(stmt, 2, limit);
    return sqlite_jobs_read(db, stmt, arena, ret_jobs, ret_count, err);
}

/* ---- the list of many wishes -------------------------------------------- */

static void add_words(struct text *sql, const char *column, unsigned bits,
                      unsigned count, const char *(*word)(unsigned)) {
    const char *between = "";
    text_addf(sql, " AND %s IN (", column);
    for (unsigned i = 0; i < count; i++) {
        if (!(bits & 1u << i))
            continue;
        text_addf(sql, "%s'%s'", between, word(i));
        between = ", ";
    }
    text_adds(sql, ")");
}

static const char *kind_word(unsigned kind) {
    return job_kind_word((enum job_kind)kind);
}

static const char *state_letter(unsigned state) {
    static const char letters[][2] = {
#define JOB_STATE(name, letter, word, dir, group, traits) {letter},
#include "core/life.def"
#undef JOB_STATE
    };
    return letters[state];
}

/* ?1 after_num, ?2 limit, ?3 until. */
static void add_conditions(struct text *sql, const struct store_list *list) {
    if (list->kinds)
        add_words(sql, "j.kind", list->kinds, JOB_KINDS, kind_word);
    if (list->relations_only)
        text_adds(sql, " AND j.has_relations = 1");
    if (list->stale_only)
        text_adds(sql, " AND j.stale = 1");
    if (list->owed_only)
        text_adds(sql, " AND s.owed > 0");
    if (list->until.ns)
        text_adds(sql, " AND j.since < ?3");
    if (list->after_num && !list->with_not_before)
        text_adds(sql,
                  list->newest_first ? " AND j.num < ?1" : " AND j.num > ?1");
}

static void add_select(struct text *sql, const struct store_list *list) {
    text_adds(sql, "SELECT " STORE_JOB_COLUMNS ", ");
    text_adds(sql, list->with_spec ? "s.spec" : "''");
    text_adds(sql, " FROM job j JOIN submission s ON s.num = j.num WHERE ");
}

static void add_order(struct text *sql, const struct store_list *list,
                      const char *by) {
    text_addf(sql, " ORDER BY %s%s LIMIT ?2", by,
              list->newest_first && !list->with_not_before ? " DESC" : "");
}

/* Uses an index that holds only the wanted jobs; `|| ''` keeps the planner
 * from choosing the index on the state instead. */
static void list_marked(struct text *sql, const struct store_list *list,
                        unsigned states, const char *mark, const char *by) {
    add_select(sql, list);
    text_adds(sql, mark);
    if (states != STATES_ALL)
        add_words(sql, "j.state || ''", states, JOB_STATES, state_letter);
    add_conditions(sql, list);
    add_order(sql, list, by);
}

/* One part per state: each comes in order from its index, and they are
 * merged. The conditions repeat those of the indexes, word for word: the
 * planner does not see that one state is not another. */
static void list_states(struct text *sql, const struct store_list *list,
                        unsigned states) {
    static const char pending[] =
        "j.state = 'P' AND j.num IN (SELECT k.num FROM job k WHERE "
        "k.state = 'P' AND k.holds = 0 AND k.not_before = 0 AND k.rank >= '' "
        "UNION ALL SELECT k.num FROM job k WHERE k.not_before > 0 "
        "UNION ALL SELECT k.num FROM job k WHERE k.holds > 0)";
    const char *between = "";
    for (unsigned i = 0; i < JOB_STATES; i++) {
        if (!(states & STATE_BIT(i)))
            continue;
        text_adds(sql, between);
        add_select(sql, list);
        if (i == STATE_PENDING)
            text_adds(sql, pending);
        else
            text_addf(sql, "j.state NOT IN ('P', 'D') AND j.state = '%s'",
                      state_letter(i));
        add_conditions(sql, list);
        between = " UNION ALL ";
    }
    add_order(sql, list, "1");
}

/* If there are more pending jobs than this, they are not sorted but searched
 * by num: enough of them are found soon. */
enum { MANY_PENDING = 10000 };

static void list_sql(struct text *sql, const struct store_list *list,
                     uint64_t pending) {
    unsigned states = list->states ? list->states & STATES_ALL : STATES_ALL;
    bool many = (states & STATE_BIT(STATE_DONE)) ||
                ((states & STATE_BIT(STATE_PENDING)) && pending > MANY_PENDING);
    if (list->with_not_before) {
        list_marked(sql, list, states, "j.not_before > 0",
                    "j.not_before, j.num");
    } else if (list->owed_only) {
        list_marked(sql, list, states,
                    "j.num IN (SELECT o.num FROM submission o "
                    "WHERE o.owed > 0)",
                    "j.num");
    } else if (list->stale_only) {
        list_marked(sql, list, states, "j.stale = 1", "j.num");
    } else if (list->relations_only && !(states & STATE_BIT(STATE_DONE))) {
        list_marked(sql, list, states, "j.has_relations = 1 AND j.state <> 'D'",
                    "j.num");
    } else if (list->kinds && !(list->kinds & ~job_kinds_with(JOB_HAS_FILE))) {
        list_marked(sql, list, states, "j.kind <> 'command'", "j.num");
    } else if (many) {
        list_marked(sql, list, states, "0 = 0", "j.num");
    } else {
        list_states(sql, list, states);
    }
}

bool sqlite_jobs(struct store *store, const struct store_list *list,
                 struct arena *arena, struct job **ret_jobs, size_t *ret_count,
                 struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(text_clear) struct text sql = TEXT_INIT;
    struct head head;
    if (!sqlite_db_head(db, &head, err))
        return false;
    list_sql(&sql, list, head.tally.count[STATE_PENDING]);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_list_statement(db, text_string(&sql), err);
    if (!stmt)
        return false;
    sqlite_bind_u64(stmt, 1, list->after_num);
    sqlite_bind_limit(stmt, 2, list->limit);
    sqlite_bind_wall(stmt, 3, list->until);
    return sqlite_jobs_read(db, stmt, arena, ret_jobs, ret_count, err);
}
