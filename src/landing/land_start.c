#include "landing/land_start.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/json.h"
#include "os/dir.h"
#include "wire/set_name.h"

/* Room for many thousand sets of a few hundred bytes each. */
enum { START_BYTES = 256 << 20 };

enum field_type {
    FIELD_STRING,  /* const char * */
    FIELD_PATH,    /* the same, made absolute on reading */
    FIELD_FLAG,    /* bool */
    FIELD_INSTANT, /* struct wall, as nanoseconds */
    FIELD_SECONDS, /* int64_t, not below 0 */
    FIELD_BLIND,   /* enum config_blind, as its word */
    FIELD_STRINGS, /* const char *const * and their number */
    FIELD_RECORDS  /* an array of structs and their number */
};

/* One member of a struct: its key and its place. */
struct field {
    const char *key;
    enum field_type type;
    bool needed;
    size_t at, count_at;
    const struct record *of; /* of FIELD_RECORDS */
};

struct record {
    size_t bytes; /* of the struct */
    const struct field *fields;
    size_t count;
};

#define RECORD(type, fields) \
    { sizeof(struct type), fields, COUNT(fields) }

/* clang-format off */
#define OF_SET(type)                                                          \
    {"id",         FIELD_STRING,  true,  offsetof(struct type, id)},          \
    {"sum",        FIELD_STRING,  true,  offsetof(struct type, sum)},         \
    {"admitted",   FIELD_INSTANT, false, offsetof(struct type, admitted)},    \
    {"submitter",  FIELD_STRING,  false, offsetof(struct type, submitter)},   \
    {"approved_by", FIELD_STRINGS, false, offsetof(struct type, approved_by), \
     offsetof(struct type, approved_count)}

static const struct field base_fields[] = {
    {"id",         FIELD_STRING,  true,  offsetof(struct land_base_set, id)},
    {"sum",        FIELD_STRING,  true,  offsetof(struct land_base_set, sum)},
    {"tarball",    FIELD_PATH,    true,
     offsetof(struct land_base_set, tarball)},
    {"archived",   FIELD_PATH,    false,
     offsetof(struct land_base_set, archived)},
    {"landed",     FIELD_FLAG,    false,
     offsetof(struct land_base_set, landed)},
};
static const struct record base_record = RECORD(land_base_set, base_fields);

static const struct field need_fields[] = {
    {"id",         FIELD_STRING,  true,  offsetof(struct land_need, id)},
    {"sum",        FIELD_STRING,  true,  offsetof(struct land_need, sum)},
};
static const struct record need_record = RECORD(land_need, need_fields);

#define OF_LANDED_SET                                                         \
    OF_SET(land_start),                                                       \
    {"class",      FIELD_STRING,  false, offsetof(struct land_start, class)}, \
    {"tarball",    FIELD_PATH,    false, offsetof(struct land_start, tarball)}, \
    {"since",      FIELD_INSTANT, false, offsetof(struct land_start, since)}, \
    {"seen",       FIELD_STRING,  false, offsetof(struct land_start, seen)},  \
    {"bases",      FIELD_RECORDS, false, offsetof(struct land_start, bases),  \
     offsetof(struct land_start, base_count), &base_record},                  \
    {"needs",      FIELD_RECORDS, false, offsetof(struct land_start, needs),  \
     offsetof(struct land_start, need_count), &need_record},                   \
    {"joined",     FIELD_FLAG,    false, offsetof(struct land_start, joined)}, \
    {"tree",       FIELD_STRING,  false, offsetof(struct land_start, tree)}

#define OF_TARGET(type)                                                       \
    {"target",     FIELD_STRING,  false, offsetof(struct type, target)},      \
    {"git",        FIELD_PATH,    false, offsetof(struct type, git)},         \
    {"branch",     FIELD_STRING,  false, offsetof(struct type, branch)},      \
    {"command",    FIELD_STRING,  false, offsetof(struct type, command)},     \
    {"committer",  FIELD_STRING,  false, offsetof(struct type, committer)},   \
    {"symlinks",   FIELD_FLAG,    false, offsetof(struct type, symlinks)},    \
    {"timeout_s",  FIELD_SECONDS, false, offsetof(struct type, timeout_s)},   \
    {"work",       FIELD_PATH,    true,  offsetof(struct type, work)},        \
    {"probe",      FIELD_FLAG,    false, offsetof(struct type, probe)}

static const struct field check_fields[] = {
    {"name",       FIELD_STRING,  true,  offsetof(struct land_check, name)},
    {"command",    FIELD_STRING,  true,  offsetof(struct land_check, command)},
};
static const struct record check_record = RECORD(land_check, check_fields);

static const struct field other_fields[] = {OF_LANDED_SET};
static const struct record other_record = RECORD(land_start, other_fields);

static const struct field land_fields[] = {
    OF_LANDED_SET,
    OF_TARGET(land_start),
    {"user",       FIELD_STRING,  false, offsetof(struct land_start, user)},
    {"blind",      FIELD_BLIND,   false, offsetof(struct land_start, blind)},
    {"filters",    FIELD_FLAG,    false, offsetof(struct land_start, filters)},
    {"branches",   FIELD_PATH,    false, offsetof(struct land_start, branches)},
    {"apart",      FIELD_PATH,    false, offsetof(struct land_start, apart)},
    {"fresh",      FIELD_FLAG,    false, offsetof(struct land_start, fresh)},
    {"merge",      FIELD_FLAG,    false, offsetof(struct land_start, merge)},
    {"onto",       FIELD_STRING,  false, offsetof(struct land_start, onto)},
    {"aside",      FIELD_FLAG,    false, offsetof(struct land_start, aside)},
    {"check",      FIELD_STRING,  false, offsetof(struct land_start, check)},
    {"tip",        FIELD_STRING,  false, offsetof(struct land_start, tip)},
    {"sync_later", FIELD_FLAG,    false,
     offsetof(struct land_start, sync_later)},
    {"environment", FIELD_STRING, false,
     offsetof(struct land_start, environment)},
    {"checks",     FIELD_RECORDS, false, offsetof(struct land_start, checks),
     offsetof(struct land_start, check_count), &check_record},
    {"others",     FIELD_RECORDS, false, offsetof(struct land_start, others),
     offsetof(struct land_start, other_count), &other_record},
};
static const struct record land_record = RECORD(land_start, land_fields);

static const struct field member_fields[] = {
    {"id",         FIELD_STRING,  true,  offsetof(struct revert_member, id)},
    {"sum",        FIELD_STRING,  true,  offsetof(struct revert_member, sum)},
    {"class",      FIELD_STRING,  true,  offsetof(struct revert_member, class)},
    {"tarball",    FIELD_PATH,    false,
     offsetof(struct revert_member, tarball)},
    {"admitted",   FIELD_INSTANT, false,
     offsetof(struct revert_member, admitted)},
    {"user",       FIELD_STRING,  false, offsetof(struct revert_member, user)},
    {"again",      FIELD_FLAG,    false, offsetof(struct revert_member, again)},
};
static const struct record member_record =
    RECORD(revert_member, member_fields);

static const struct field revert_fields[] = {
    OF_SET(revert_start),
    OF_TARGET(revert_start),
    {"revert",     FIELD_STRING,  false, offsetof(struct revert_start, revert)},
    {"preview",    FIELD_FLAG,    false, offsetof(struct revert_start, preview)},
    {"because",    FIELD_STRING,  false,
     offsetof(struct revert_start, because)},
    {"members",    FIELD_RECORDS, false,
     offsetof(struct revert_start, members),
     offsetof(struct revert_start, member_count), &member_record},
};
static const struct record revert_record = RECORD(revert_start, revert_fields);
/* clang-format on */

/* ---- writing ------------------------------------------------------------- */

static void write_record(struct json *json, const struct record *record,
                         const char *self);

static size_t count_of(const struct field *field, const char *self) {
    return *(const size_t *)(const void *)(self + field->count_at);
}

static void write_strings(struct json *json, const char *const *strings,
                          size_t count) {
    json_array(json);
    for (size_t i = 0; i < count; i++)
        json_string(json, strings[i]);
    json_end(json);
}

static void write_records(struct json *json, const struct record *of,
                          const char *records, size_t count) {
    json_array(json);
    for (size_t i = 0; i < count; i++)
        write_record(json, of, records + i * of->bytes);
    json_end(json);
}

static bool is_default(const struct field *field, const char *self) {
    const void *at = self + field->at;
    switch (field->type) {
    case FIELD_STRING:
    case FIELD_PATH:
        return *(const char *const *)at == NULL;
    case FIELD_FLAG:
        return !*(const bool *)at;
    case FIELD_INSTANT:
        return ((const struct wall *)at)->ns == 0;
    case FIELD_SECONDS:
        return *(const int64_t *)at == 0;
    case FIELD_BLIND:
        return *(const enum config_blind *)at == 0;
    case FIELD_STRINGS:
    case FIELD_RECORDS:
        return count_of(field, self) == 0;
    }
    return true;
}

static void write_field(struct json *json, const struct field *field,
                        const char *self) {
    const void *at = self + field->at;
    switch (field->type) {
    case FIELD_STRING:
    case FIELD_PATH:
        json_string(json, *(const char *const *)at);
        return;
    case FIELD_FLAG:
        json_bool(json, *(const bool *)at);
        return;
    case FIELD_INSTANT:
        json_i64(json, ((const struct wall *)at)->ns);
        return;
    case FIELD_SECONDS:
        json_i64(json, *(const int64_t *)at);
        return;
    case FIELD_BLIND:
        json_span(json, config_blind_word(*(const enum config_blind *)at));
        return;
    case FIELD_STRINGS:
        write_strings(json, *(const char *const *const *)at,
                      count_of(field, self));
        return;
    case FIELD_RECORDS:
        write_records(json, field->of, *(const char *const *)at,
                      count_of(field, self));
        return;
    }
}

static void write_record(struct json *json, const struct record *record,
                         const char *self) {
    json_object(json);
    for (size_t i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];
        if (is_default(field, self))
            continue;
        json_key(json, field->key);
        write_field(json, field, self);
    }
    json_end(json);
}

static void start_format(const struct record *record, const void *self,
                         struct text *out) {
    struct json json;
    json_open(&json, out);
    write_record(&json, record, self);
}

void land_start_format(const struct land_start *start, struct text *out) {
    start_format(&land_record, start, out);
}

void land_start_format_revert(const struct revert_start *start,
                              struct text *out) {
    start_format(&revert_record, start, out);
}

/* ---- reading ------------------------------------------------------------- */

struct reading {
    const char *dir; /* relative paths start here */
    struct arena *arena;
    struct err *err;
};

static bool read_record(struct reading *reading, const struct record *record,
                        struct json_value value, char *self);

static bool read_string(struct reading *reading, struct json_value value,
                        const char **ret_string) {
    struct span string;
    if (!json_get_string(value, reading->arena, &string))
        return false;
    *ret_string = string.p; /* in the arena, NUL-terminated */
    return true;
}

static bool read_path(struct reading *reading, struct json_value value,
                      const char **ret_path) {
    if (!read_string(reading, value, ret_path))
        return false;
    if (**ret_path != '/')
        *ret_path =
            arena_printf(reading->arena, "%s/%s", reading->dir, *ret_path);
    return true;
}

static size_t members_of(struct json_value list) {
    struct json_value value;
    size_t cursor = 0, count = 0;
    while (json_next(list, &cursor, NULL, NULL, &value))
        count++;
    return count;
}

/* Reads an array of `count` elements of `bytes` each with one of the two
 * functions. */
static bool read_list(struct reading *reading, const struct field *field,
                      struct json_value list, char *self) {
    size_t bytes = field->of != NULL ? field->of->bytes : sizeof(char *);
    size_t count = members_of(list), cursor = 0;
    struct json_value value;
    if (list.type != JSON_ARRAY)
        return false;
    char *items = arena_alloc(reading->arena, count * bytes + 1);
    memcpy(self + field->at, &items, sizeof items);
    memcpy(self + field->count_at, &count, sizeof count);
    for (char *item = items; json_next(list, &cursor, NULL, NULL, &value);
         item += bytes)
        if (field->of != NULL
                ? !read_record(reading, field->of, value, item)
                : !read_string(reading, value, (const char **)(void *)item))
            return false;
    return true;
}

static bool read_field(struct reading *reading, const struct field *field,
                       struct json_value value, char *self) {
    void *at = self + field->at;
    struct span word;
    switch (field->type) {
    case FIELD_STRING:
        return read_string(reading, value, at);
    case FIELD_PATH:
        return read_path(reading, value, at);
    case FIELD_FLAG:
        return json_get_bool(value, at);
    case FIELD_INSTANT:
        return json_get_i64(value, &((struct wall *)at)->ns);
    case FIELD_SECONDS:
        return json_get_i64(value, at) && *(int64_t *)at >= 0;
    case FIELD_BLIND:
        return json_get_string(value, reading->arena, &word) &&
               config_blind_parse(word, at);
    case FIELD_STRINGS:
    case FIELD_RECORDS:
        return read_list(reading, field, value, self);
    }
    return false;
}

static const struct field *field_find(const struct record *record,
                                      struct span key) {
    for (size_t i = 0; i < record->count; i++)
        if (span_is(key, record->fields[i].key))
            return &record->fields[i];
    return NULL;
}

static bool read_record(struct reading *reading, const struct record *record,
                        struct json_value value, char *self) {
    struct json_value member;
    struct span key;
    if (value.type != JSON_OBJECT)
        return false;
    for (size_t cursor = 0;
         json_next(value, &cursor, reading->arena, &key, &member);) {
        const struct field *field = field_find(record, key);
        if (field == NULL)
            return err_set(reading->err, ERR_DATA, "unknown key '%.*s'",
                           (int)key.len, key.p);
        err_clear(reading->err);
        if (!read_field(reading, field, member, self))
            return reading->err->kind != ERR_NONE
                       ? err_wrap(reading->err, "%s", field->key)
                       : err_set(reading->err, ERR_DATA, "wrong value for '%s'",
                                 field->key);
    }
    for (size_t i = 0; i < record->count; i++)
        if (record->fields[i].needed && is_default(&record->fields[i], self))
            return err_set(reading->err, ERR_DATA, "'%s' is missing",
                           record->fields[i].key);
    return true;
}

static bool start_parse(struct span text, const char *dir,
                        const struct record *record, struct arena *arena,
                        void *self, struct err *err) {
    struct reading reading = {dir, arena, err};
    struct json_value value;
    return json_parse_object(text, &value, err) &&
           read_record(&reading, record, value, self);
}

static const char *string_or(const char *string, const char *otherwise) {
    return string != NULL ? string : otherwise;
}

/* A target is a branch in a repository, or a command. */
static bool target_check(const char *git, const char *branch,
                         const char *command, struct err *err) {
    return command != NULL || (git != NULL && branch != NULL) ||
           err_set(err, ERR_DATA,
                   "'git' with 'branch', or 'command', is "
                   "missing");
}

static const char unknown[] = "unknown";
static const char ourselves[] = "Pointsman <pointsman@localhost>";

/* Copies the fields that all sets share. */
static void set_complete(struct land_start *set,
                         const struct land_start *first) {
    struct land_start own = *set;
    *set = *first;
    set->id = own.id;
    set->sum = own.sum;
    set->class = own.class;
    set->tarball = own.tarball;
    set->since = own.since;
    set->admitted = own.admitted;
    set->seen = own.seen;
    set->submitter = own.submitter;
    set->approved_by = own.approved_by;
    set->approved_count = own.approved_count;
    set->bases = own.bases;
    set->base_count = own.base_count;
    set->needs = own.needs;
    set->need_count = own.need_count;
    set->joined = own.joined;
    set->tree = own.tree;
    set->others = NULL;
    set->other_count = 0;
}

static bool set_check(struct land_start *set, struct err *err) {
    set->class = string_or(set->class, set_class_name(SET_DC));
    set->submitter = string_or(set->submitter, unknown);
    return set->probe || set->tarball != NULL ||
           err_set(err, ERR_DATA, "'tarball' is missing");
}

bool land_start_parse(struct span text, const char *dir, struct arena *arena,
                      struct land_start *ret_start, struct err *err) {
    struct land_start *start = ret_start;
    *start = (struct land_start){0};
    if (!start_parse(text, dir, &land_record, arena, start, err) ||
        !target_check(start->git, start->branch, start->command, err) ||
        !set_check(start, err))
        return false;
    start->committer = string_or(start->committer, ourselves);
    start->target =
        string_or(start->target, string_or(start->branch, start->command));
    if (start->command != NULL && start->other_count > 0)
        return err_set(err, ERR_DATA,
                       "a target with a command takes one set at a time");
    struct land_start *others =
        arena_alloc(arena, start->other_count * sizeof *others + 1);
    for (size_t i = 0; i < start->other_count; i++) {
        others[i] = start->others[i];
        if (!set_check(&others[i], err))
            return err_wrap(err, "others");
        set_complete(&others[i], start);
    }
    start->others = others;
    return true;
}

bool land_start_parse_revert(struct span text, const char *dir,
                             struct arena *arena,
                             struct revert_start *ret_start, struct err *err) {
    struct revert_start *start = ret_start;
    *start = (struct revert_start){0};
    if (!start_parse(text, dir, &revert_record, arena, start, err) ||
        !target_check(start->git, start->branch, start->command, err))
        return false;
    start->committer = string_or(start->committer, ourselves);
    start->submitter = string_or(start->submitter, unknown);
    start->target =
        string_or(start->target, string_or(start->branch, start->command));
    return true;
}

/* ---- the child ----------------------------------------------------------- */

bool land_input_read(int fd, struct land_input *ret_input, struct err *err) {
    struct stat st;
    *ret_input = (struct land_input){.text = TEXT_INIT};
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return err_set(err, ERR_USAGE,
                       "this command is started by the program itself; to land "
                       "a change set, submit it (man pointsman-changes)");
    if (getcwd(ret_input->dir, sizeof ret_input->dir) == NULL)
        return err_errno(err, errno, "cannot find the working directory");
    return dir_read_file(fd, START_BYTES, &ret_input->text, err) ||
           err_wrap(err, "cannot read the start");
}

void land_input_clear(struct land_input *input) {
    text_clear(&input->text);
    arena_clear(&input->arena);
}
