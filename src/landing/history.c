#include "landing/history.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/arena.h"
#include "landing/git_file.h"

enum {
    OLD_IN_A_ROW = 256, /* this many commits before the time end the search */
    SLACK_S = 3600      /* our clock may have been set back */
};

static int64_t ident_seconds(struct span line) {
    const char *end = memrchr(line.p, '>', line.len);
    return end == NULL ? 0 : strtoll(end + 1, NULL, 10);
}

static struct span after(struct span line, const char *prefix) {
    size_t n = strlen(prefix);
    return span_trim(span_make(line.p + n, line.len - n));
}

static void oid_take(struct span line, const char *prefix,
                     char ret_oid[OID_BYTES]) {
    struct span oid = after(line, prefix);
    if (git_oid_is_valid(oid))
        snprintf(ret_oid, OID_BYTES, "%.*s", (int)oid.len, oid.p);
}

/* "    This reverts commit OID." or "... OID, of which nothing was left." */
static bool reverts_take(struct span line, char ret_oid[OID_BYTES]) {
    static const char begin[] = "    This reverts commit ";
    size_t len = sizeof begin - 1;
    if (!span_starts(line, begin))
        return false;
    len += strspn(line.p + len, "0123456789abcdef");
    oid_take(span_make(line.p, len), begin, ret_oid);
    return true;
}

/* Parses one record of `rev-list --header`: the name, the commit with its
 * message indented by four blanks, NUL. */
static bool commit_parse(struct span record,
                         struct history_commit *ret_commit) {
    *ret_commit = (struct history_commit){0};
    struct span line;
    if (!span_cut(&record, '\n', &line) || !git_oid_is_valid(line))
        return false;
    oid_take(line, "", ret_commit->oid);
    while (span_cut(&record, '\n', &line)) {
        if (span_starts(line, "    CS-Id: ")) {
            ret_commit->csid = after(line, "    CS-Id: ");
            ret_commit->trailers = record;
        } else if (span_starts(line, "    ") && ret_commit->subject.len == 0)
            ret_commit->subject = span_trim(line);
        else if (ret_commit->reverts[0] == '\0' &&
                 reverts_take(line, ret_commit->reverts))
            continue;
        else if (span_starts(line, "    CS-Sum: "))
            ret_commit->sum = after(line, "    CS-Sum: ");
        else if (span_starts(line, "tree "))
            oid_take(line, "tree ", ret_commit->tree);
        else if (span_starts(line, "parent ") && ret_commit->parent[0] == '\0')
            oid_take(line, "parent ", ret_commit->parent);
        else if (span_starts(line, "committer "))
            ret_commit->committed = wall_from_s(ident_seconds(line));
        else if (span_starts(line, "author ")) {
            const char *mail = memchr(line.p, '<', line.len);
            size_t len = mail != NULL ? (size_t)(mail - line.p) : line.len;
            ret_commit->author = after(span_make(line.p, len), "author ");
        }
    }
    return true;
}

/* Reads the next record; *ret_more false at the end. The commit points into
 * *buffer. */
static bool commit_next(struct git_pipe *pipe, char **buffer, size_t *room,
                        struct history_commit *ret_commit, bool *ret_more,
                        struct err *err) {
    ssize_t n = getdelim(buffer, room, '\0', pipe->out);
    *ret_more = n > 0;
    if (!*ret_more)
        return git_pipe_close(pipe, err);
    struct span record = span_make(*buffer, (size_t)n - 1);
    if (commit_parse(record, ret_commit))
        return true;
    return err_set(err, ERR_INTERNAL, "cannot read what git rev-list prints");
}

static bool is_commit_of(const struct history_commit *commit, struct span csid,
                         struct span sum) {
    return span_equal(commit->csid, csid) && span_equal(commit->sum, sum);
}

bool history_trailer(struct span *rest, const char *name,
                     struct span *ret_value) {
    struct span line;
    size_t len = strlen(name);
    while (span_cut(rest, '\n', &line)) {
        if (line.len < len + 6 || !span_starts(line, "    "))
            continue;
        line = span_make(line.p + 4, line.len - 4);
        if (!span_starts(line, name) || line.p[len] != ':')
            continue;
        *ret_value = span_trim(span_make(line.p + len + 1, line.len - len - 1));
        return true;
    }
    return false;
}

/* The value of the next line, if that is `NAME-Sum: SUM`; else empty. */
static struct span sum_next(struct span *rest, const char *name) {
    char key[32];
    struct span below = *rest, line, sum;
    snprintf(key, sizeof key, "%s-Sum", name);
    if (!span_cut(&below, '\n', &line) || !history_trailer(&line, key, &sum))
        return SPAN("");
    *rest = below;
    return sum;
}

static void name_add(struct text *out, const char *name, struct span id,
                     struct span path, struct span sum) {
    text_addf(out, "%s: %.*s%s%.*s\n", name, (int)id.len, id.p,
              path.len > 0 ? " " : "", (int)path.len, path.p);
    if (sum.len > 0)
        text_addf(out, "%s-Sum: %.*s\n", name, (int)sum.len, sum.p);
}

static bool names(struct span id, struct span sum, struct span set_id,
                  struct span set_sum) {
    return span_equal(id, set_id) && (sum.len == 0 || span_equal(sum, set_sum));
}

bool history_effect_next(struct span *rest, struct history_effect *ret_effect) {
    struct span line;
    *ret_effect = (struct history_effect){0};
    while (span_cut(rest, '\n', &line)) {
        struct span text = line;
        ret_effect->in = history_trailer(&text, "Restores-CS", &ret_effect->id);
        text = line;
        if (!ret_effect->in &&
            !history_trailer(&text, "Reverts-CS", &ret_effect->id))
            continue;
        ret_effect->sum =
            sum_next(rest, ret_effect->in ? "Restores-CS" : "Reverts-CS");
        return true;
    }
    return false;
}

void history_effect_add(const struct history_effect *effect, struct text *out) {
    name_add(out, effect->in ? "Restores-CS" : "Reverts-CS", effect->id,
             SPAN(""), effect->sum);
}

bool history_effect_is_on(const struct history_effect *effect, struct span id,
                          struct span sum) {
    return names(effect->id, effect->sum, id, sum);
}

bool history_shared_next(struct span *rest, struct history_shared *ret_shared) {
    struct span line;
    while (span_cut(rest, '\n', &line)) {
        struct span text = line, path;
        *ret_shared = (struct history_shared){0};
        if (history_trailer(&text, "CS-Contains", &path) &&
            span_cut(&path, ' ', &ret_shared->id)) {
            ret_shared->path = path;
            ret_shared->sum = sum_next(rest, "CS-Contains");
            return true;
        }
        if (history_trailer(&line, "CS-Overlaps", &ret_shared->id)) {
            ret_shared->sum = sum_next(rest, "CS-Overlaps");
            return true;
        }
    }
    return false;
}

void history_shared_add(const struct history_shared *shared, struct text *out) {
    name_add(out, shared->path.len > 0 ? "CS-Contains" : "CS-Overlaps",
             shared->id, shared->path, shared->sum);
}

bool history_shared_is_with(const struct history_shared *shared, struct span id,
                            struct span sum) {
    return names(shared->id, shared->sum, id, sum);
}

static bool walk(struct git *git, const char *const *args, history_visit *visit,
                 void *ctx, struct err *err) {
    CLEANUP(git_pipe_drop) struct git_pipe pipe = {0};
    CLEANUP(text_free_string) char *buffer = NULL;
    size_t room = 0;
    struct history_commit commit;
    bool more = true;
    if (!git_pipe_open(git, args, GIT_PLAIN, &pipe, err))
        return false;
    for (;;) {
        if (!commit_next(&pipe, &buffer, &room, &commit, &more, err))
            return false;
        if (!more || !visit(ctx, &commit))
            return true;
    }
}

bool history_walk(struct git *git, const char *tip, history_visit *visit,
                  void *ctx, struct err *err) {
    return walk(git, GIT_ARGS("rev-list", "--header", tip, "--"), visit, ctx,
                err);
}

bool history_walk_first_parent(struct git *git, const char *tip,
                               history_visit *visit, void *ctx,
                               struct err *err) {
    return walk(git,
                GIT_ARGS("rev-list", "--first-parent", "--header", tip, "--"),
                visit, ctx, err);
}

/* Returns how many of the searches this commit ends. */
static size_t searches_end(struct history_search *searches, size_t count,
                           const struct history_commit *commit) {
    size_t ended = 0;
    if (commit->csid.len == 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        struct history_search *search = &searches[i];
        if (search->oid[0] != '\0' ||
            !is_commit_of(commit, search->csid, search->sum))
            continue;
        memcpy(search->oid, commit->oid, OID_BYTES);
        ended++;
    }
    return ended;
}

bool history_begin(struct git *git, const char *branch,
                   struct git_pipe *ret_begun, struct err *err) {
    CLEANUP(text_clear) struct text ref = TEXT_INIT;
    text_addf(&ref, "refs/heads/%s", branch);
    return git_pipe_open(
        git, GIT_ARGS("rev-list", "--header", text_string(&ref), "--"),
        GIT_PLAIN, ret_begun, err);
}

/* The commits of a history, newest first. */
struct commits {
    struct git_pipe pipe;
    char *buffer;
    size_t room;
    struct history_commit commit;
    bool more;
};

static void commits_clear(struct commits *commits) {
    git_pipe_drop(&commits->pipe);
    free(commits->buffer);
}

static bool commits_next(struct commits *commits, struct err *err) {
    return commit_next(&commits->pipe, &commits->buffer, &commits->room,
                       &commits->commit, &commits->more, err);
}

/* Reads the first commit, which must be `tip`: if the branch was moved since
 * git was started, it is started again. */
static bool commits_open(struct commits *commits, struct git *git,
                         struct git_pipe *begun, const char *tip,
                         struct err *err) {
    if (begun != NULL && begun->pid != 0) {
        commits->pipe = *begun;
        *begun = (struct git_pipe){0};
        if (commits_next(commits, NULL) && commits->more &&
            strcmp(commits->commit.oid, tip) == 0)
            return true;
        git_pipe_drop(&commits->pipe);
    }
    return git_pipe_open(git, GIT_ARGS("rev-list", "--header", tip, "--"),
                         GIT_PLAIN, &commits->pipe, err) &&
           commits_next(commits, err);
}

/* ---- what is known ------------------------------------------------------- */

enum {
    KNOWN_COMMITS = 20000, /* a search that saw more is not kept, */
    MARKS_MAX = 1 << 20    /* but its sets are, up to 8 MiB */
};

void history_known_clear(struct history_known *known) {
    map_clear(&known->commits);
    map_clear(&known->sets);
    arena_clear(&known->arena);
    *known = (struct history_known){.marks = known->marks};
}

void history_marks_clear(struct history_marks *marks) {
    free(marks->p);
    *marks = (struct history_marks){0};
}

static void set_key(struct span csid, struct span sum, struct text *out) {
    text_addspan(out, csid);
    text_addc(out, ' ');
    text_addspan(out, sum);
}

/* The newest commit of a set counts, and the search finds it first. */
static void known_note(struct history_known *known, const char *commit,
                       struct span csid, struct span sum) {
    CLEANUP(text_clear) struct text key = TEXT_INIT;
    map_put(&known->commits, span_of(commit), known);
    set_key(csid, sum, &key);
    if (csid.len > 0 && map_get(&known->sets, text_span(&key)) == NULL)
        map_put(&known->sets, text_span(&key),
                arena_string(&known->arena, span_of(commit)));
}

static uint64_t mark_of(struct span csid, struct span sum) {
    CLEANUP(text_clear) struct text key = TEXT_INIT;
    set_key(csid, sum, &key);
    return map_hash_bytes(key.p, key.len);
}

/* The first of them that is not less. */
static size_t mark_place(const struct history_marks *marks, uint64_t mark) {
    size_t from = 0, to = marks->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (marks->p[middle] < mark)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static void mark_put(struct history_marks *marks, size_t at, uint64_t mark) {
    if (marks->count == marks->room) {
        marks->room = marks->room == 0 ? 64 : 2 * marks->room;
        marks->p = mem_grow(marks->p, marks->room, sizeof *marks->p);
    }
    memmove(marks->p + at + 1, marks->p + at,
            (marks->count - at) * sizeof *marks->p);
    marks->p[at] = mark;
    marks->count++;
}

static int compare_marks(const void *a, const void *b) {
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* The whole history of `tip` was read. */
static void marks_end(struct history_marks *marks, const char *tip) {
    if (marks->count > MARKS_MAX) {
        history_marks_clear(marks);
        return;
    }
    if (marks->count > 0)
        qsort(marks->p, marks->count, sizeof *marks->p, compare_marks);
    snprintf(marks->tip, sizeof marks->tip, "%s", tip);
}

static void marks_add(struct history_marks *marks, const char *parent,
                      const char *commit, struct span csid, struct span sum) {
    if (marks == NULL || marks->tip[0] == '\0' ||
        strcmp(marks->tip, parent) != 0)
        return;
    uint64_t mark = mark_of(csid, sum);
    if (marks->count < MARKS_MAX) {
        mark_put(marks, mark_place(marks, mark), mark);
        snprintf(marks->tip, sizeof marks->tip, "%s", commit);
    } else {
        history_marks_clear(marks);
    }
}

/* True: none of the sets is there. */
static bool marks_deny(const struct history_marks *marks, const char *tip,
                       const struct history_search *searches, size_t count) {
    if (marks == NULL || marks->tip[0] == '\0' || strcmp(marks->tip, tip) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t mark = mark_of(searches[i].csid, searches[i].sum);
        size_t at = mark_place(marks, mark);
        if (at < marks->count && marks->p[at] == mark)
            return false;
    }
    return true;
}

void history_known_add(struct history_known *known, const char *parent,
                       const char *commit, struct span csid, struct span sum) {
    CLEANUP(text_clear) struct text key = TEXT_INIT;
    marks_add(known->marks, parent, commit, csid, sum);
    if (known->tip[0] == '\0')
        return;
    if (map_count(&known->commits) >= KNOWN_COMMITS) {
        history_known_clear(known);
        return;
    }
    set_key(csid, sum, &key);
    map_remove(&known->sets, text_span(&key));
    known_note(known, commit, csid, sum);
    snprintf(known->tip, sizeof known->tip, "%s", commit);
}

/* True if the searches are answered. A set that was found is on the branch,
 * however far back the search went. */
static bool known_answers(const struct history_known *known, const char *tip,
                          struct history_search *searches, size_t count,
                          int64_t since_s) {
    size_t found = 0;
    if (known == NULL || known->tip[0] == '\0' || strcmp(known->tip, tip) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        CLEANUP(text_clear) struct text key = TEXT_INIT;
        set_key(searches[i].csid, searches[i].sum, &key);
        const char *commit = map_get(&known->sets, text_span(&key));
        snprintf(searches[i].oid, OID_BYTES, "%s",
                 commit != NULL ? commit : "");
        found += commit != NULL;
    }
    return found == count || since_s >= known->since_s;
}

/* ---- finding sets -------------------------------------------------------- */

static int64_t searches_begin(struct history_search *searches, size_t count) {
    int64_t since_s = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        searches[i].oid[0] = '\0';
        if (wall_s(searches[i].admitted) < since_s)
            since_s = wall_s(searches[i].admitted);
    }
    return since_s;
}

/* *ret_whole: the search went back as far as `since_s` asks for. */
static bool searches_walk(struct commits *commits,
                          struct history_search *searches, size_t count,
                          int64_t since_s, struct history_known *known,
                          struct history_marks *marks, bool *ret_whole,
                          struct err *err) {
    const struct history_commit *commit = &commits->commit;
    size_t old = 0, left = count;
    *ret_whole = false;
    while (commits->more) {
        left -= searches_end(searches, count, commit);
        if (marks != NULL && commit->csid.len > 0)
            mark_put(marks, marks->count, mark_of(commit->csid, commit->sum));
        if (known != NULL && map_count(&known->commits) < KNOWN_COMMITS)
            known_note(known, commit->oid, commit->csid, commit->sum);
        bool before = wall_s(commit->committed) < since_s - SLACK_S;
        old = before ? old + 1 : 0;
        *ret_whole = old == OLD_IN_A_ROW;
        if (left == 0 || *ret_whole)
            return true;
        if (!commits_next(commits, err))
            return false;
    }
    *ret_whole = true;
    return true;
}

bool history_find_sets(struct git *git, struct git_pipe *begun, const char *tip,
                       struct history_search *searches, size_t count,
                       struct history_known *known, bool keep,
                       struct err *err) {
    CLEANUP(commits_clear) struct commits commits = {0};
    bool whole = false;
    int64_t since_s = searches_begin(searches, count);
    if (known_answers(known, tip, searches, count, since_s))
        return true;
    since_s = searches_begin(searches, count);
    if (known != NULL && marks_deny(known->marks, tip, searches, count))
        return true;
    if (keep)
        known = NULL;
    struct history_marks *marks = known != NULL &&
                                          since_s <= wall_s(HISTORY_ALL) &&
                                          !git_file_shallow(git->dir_fd)
                                      ? known->marks
                                      : NULL;
    if (marks != NULL && strcmp(marks->tip, tip) == 0)
        marks = NULL; /* they are these already */
    if (marks != NULL)
        history_marks_clear(marks);
    if (known != NULL)
        history_known_clear(known);
    if (!commits_open(&commits, git, begun, tip, err) ||
        !searches_walk(&commits, searches, count, since_s, known, marks, &whole,
                       err))
        return false;
    if (marks != NULL && !commits.more)
        marks_end(marks, tip);
    if (known != NULL && whole && map_count(&known->commits) < KNOWN_COMMITS) {
        snprintf(known->tip, sizeof known->tip, "%s", tip);
        known->since_s = commits.more ? since_s : INT64_MIN;
    }
    return true;
}

bool history_find_set(struct git *git, const char *tip, struct span csid,
                      struct span sum, struct wall admitted,
                      char ret_oid[OID_BYTES], struct err *err) {
    struct history_search search = {csid, sum, admitted, ""};
    if (!history_find_sets(git, NULL, tip, &search, 1, NULL, false, err))
        return false;
    memcpy(ret_oid, search.oid, OID_BYTES);
    return true;
}

/* When a commit that is still a separate file was added to the repository, or
 * to the objects apart; unknown for a packed one. The repository may have been
 * moved away. */
static bool commit_arrival(const struct git *git, const char *oid,
                           struct wall *ret_at) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    struct stat st = {0};
    bool found = false;
    if (git->apart != NULL) {
        text_addf(&path, "%s/%.2s/%s", git->apart, oid, oid + 2);
        found = stat(text_string(&path), &st) == 0;
        text_reset(&path);
    }
    text_addf(&path, "objects/%.2s/%s", oid, oid + 2);
    if (!found && fstatat(git->dir_fd, text_string(&path), &st, 0) != 0)
        return false;
    ret_at->ns = st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
    return true;
}

static bool commit_is_later(const struct git *git,
                            const struct history_commit *commit,
                            struct wall when) {
    struct wall arrival;
    if (wall_s(commit->committed) > wall_s(when))
        return true;
    return commit_arrival(git, commit->oid, &arrival) && arrival.ns > when.ns;
}

/* The newest commit below `start` that is not later than `when`. */
static bool history_not_later(struct git *git, const char *start,
                              struct wall when, char ret_oid[OID_BYTES],
                              struct err *err) {
    ret_oid[0] = '\0';
    CLEANUP(git_pipe_drop) struct git_pipe pipe = {0};
    CLEANUP(text_free_string) char *buffer = NULL;
    size_t room = 0, row = 0;
    struct history_commit commit;
    bool more = true;
    if (!git_pipe_open(
            git,
            GIT_ARGS("rev-list", "--first-parent", "--header", start, "--"),
            GIT_PLAIN, &pipe, err))
        return false;
    /* ret_oid is the newest of `row` consecutive commits that are early enough.
     */
    while (row < OLD_IN_A_ROW) {
        if (!commit_next(&pipe, &buffer, &room, &commit, &more, err))
            return false;
        if (!more)
            return true;
        if (commit_is_later(git, &commit, when)) {
            /* A commit based on a later one is later too, whatever date its
             * author's clock gave it. */
            ret_oid[0] = '\0';
            row = 0;
        } else if (row++ == 0) {
            memcpy(ret_oid, commit.oid, OID_BYTES);
        }
    }
    return true;
}

/* Asks git for a name in the repository itself; ret_oid "": there is none. */
static bool name_look_up(struct git *git, const char *name,
                         char ret_oid[OID_BYTES], int *ret_status,
                         struct err *err) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    ret_oid[0] = '\0';
    if (!git_run(git, GIT_ARGS("rev-parse", "--verify", "-q", name),
                 GIT_QUIET | GIT_ALONE | GIT_BLIND, SPAN(""), &out, ret_status,
                 err))
        return false;
    struct span oid = span_trim(text_span(&out));
    if (*ret_status == 0 && git_oid_is_valid(oid))
        snprintf(ret_oid, OID_BYTES, "%.*s", (int)oid.len, oid.p);
    return true;
}

/* True if the branch has no reflog. If it has one, the branch itself was away
 * when git read it. */
static bool reflog_is_absent(struct git *git, const char *branch,
                             struct err *err) {
    CLEANUP(text_clear) struct text ref = TEXT_INIT;
    CLEANUP(text_clear) struct text none = TEXT_INIT;
    int status = 0;
    text_addf(&ref, "refs/heads/%s", branch);
    return git_run(git, GIT_ARGS("reflog", "exists", text_string(&ref)),
                   GIT_QUIET | GIT_ALONE | GIT_BLIND, SPAN(""), &none, &status,
                   err) &&
           (status != 0 ||
            err_set(err, ERR_UNAVAILABLE,
                    "the reflog of branch '%s' cannot be read in the "
                    "repository '%s'",
                    branch, git->dir));
}

/* Where the branch was according to its reflog, at the end of that second; "" =
 * there is no log, it is empty, or the commit is gone. For a time before the
 * first entry git returns the value before that entry. */
static bool reflog_at(struct git *git, const char *branch, struct wall when,
                      char ret_oid[OID_BYTES], struct err *err) {
    enum { EMPTY = 128 };
    CLEANUP(text_clear) struct text name = TEXT_INIT;
    int status = 0;
    text_addf(&name, "refs/heads/%s@{%lld +0000}", branch,
              (long long)wall_s(when));
    if (!name_look_up(git, text_string(&name), ret_oid, &status, err))
        return false;
    if (ret_oid[0] == '\0')
        return status == EMPTY || reflog_is_absent(git, branch, err);
    text_reset(&name);
    text_addf(&name, "%s^{commit}", ret_oid);
    return name_look_up(git, text_string(&name), ret_oid, &status, err);
}

bool history_tip_at(struct git *git, const char *branch, const char *tip,
                    struct wall when, char ret_oid[OID_BYTES],
                    struct err *err) {
    char start[OID_BYTES];
    return reflog_at(git, branch, when, start, err) &&
           history_not_later(git, start[0] != '\0' ? start : tip, when, ret_oid,
                             err);
}

/* `merge-base --is-ancestor` is not used: it answers "no" if it cannot read a
 * commit on the way. rev-list fails then. */
bool history_contains(struct git *git, const char *tip, const char *commit,
                      bool *ret_contains, struct err *err) {
    CLEANUP(git_pipe_drop) struct git_pipe list = {0};
    char line[OID_BYTES + 2];
    *ret_contains = strcmp(tip, commit) == 0;
    if (*ret_contains)
        return true;
    if (!git_pipe_open(git, GIT_ARGS("rev-list", tip, "--"), GIT_PLAIN, &list,
                       err))
        return false;
    while (!*ret_contains && fgets(line, sizeof line, list.out) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        *ret_contains = strcmp(line, commit) == 0;
    }
    return *ret_contains || git_pipe_close(&list, err);
}

void history_who(const struct history_commit *commit, struct text *out) {
    if (commit->csid.len > 0)
        text_addspan(out, commit->csid);
    else
        text_addf(out, "commit %.12s by %.*s", commit->oid,
                  (int)commit->author.len, commit->author.p);
}

bool history_changers(struct git *git, const char *from, const char *to,
                      struct span path, history_visit *visit, void *ctx,
                      struct err *err) {
    CLEANUP(text_free_string) char *name = span_string(path);
    char range[OID_BYTES + 1];
    snprintf(range, sizeof range, "^%s", from);
    return walk(git, GIT_ARGS("rev-list", "--header", to, range, "--", name),
                visit, ctx, err);
}

bool history_changer(struct git *git, const char *from, const char *to,
                     struct span path, struct text *out, struct err *err) {
    CLEANUP(text_free_string) char *name = span_string(path);
    char range[OID_BYTES + 1];
    snprintf(range, sizeof range, "^%s", from);
    CLEANUP(text_clear) struct text raw = TEXT_INIT;
    bool ok = from[0] != '\0' ? git_run(git,
                                        GIT_ARGS("rev-list", "--header", "-n",
                                                 "1", to, range, "--", name),
                                        GIT_PLAIN, SPAN(""), &raw, NULL, err)
                              : git_run(git,
                                        GIT_ARGS("rev-list", "--header", "-n",
                                                 "1", to, "--", name),
                                        GIT_PLAIN, SPAN(""), &raw, NULL, err);
    if (!ok)
        return false;
    struct history_commit commit;
    struct span record = text_span(&raw);
    if (record.len == 0 || !commit_parse(record, &commit))
        return true;
    history_who(&commit, out);
    return true;
}
