/* export-cdb: the dependencies of sets, for programs that cannot read the
 * registry. */
#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/console.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/map.h"
#include "os/dir.h"
#include "os/fd.h"
#include "wire/cdb.h"

/* A key and a value of one target's records, in either direction. */
struct pair {
    struct span key, value;
};

struct pairs {
    struct pair *p;
    size_t count, cap;
};

struct side {
    struct span target;
    struct pairs depends, supports;
    struct map successors; /* id of a superseded set -> struct successor */
};

/* A set that supersedes another one. */
struct successor {
    struct span id;
    struct successor *next; /* supersedes the same set */
};

struct export {
    struct arena arena;
    const char *target; /* the only one wanted; NULL: all */
    struct map targets; /* to struct side */
    size_t sets;
    bool bad;
};

static void pair_add(struct pairs *pairs, struct span key, struct span value) {
    if (pairs->count == pairs->cap) {
        pairs->cap = pairs->cap ? pairs->cap * 2 : 256;
        pairs->p = mem_grow(pairs->p, pairs->cap, sizeof(*pairs->p));
    }
    pairs->p[pairs->count++] = (struct pair){key, value};
}

static struct side *side_of(struct export *export, struct span target) {
    struct side *side = map_get(&export->targets, target);
    if (side)
        return side;
    side = arena_alloc(&export->arena, sizeof(*side));
    side->target = arena_span(&export->arena, target);
    map_put(&export->targets, side->target, side);
    return side;
}

static void successor_add(struct export *export, struct side *side,
                          struct span old, struct span id) {
    struct successor *successor =
        arena_alloc(&export->arena, sizeof(*successor));
    *successor = (struct successor){id, map_get(&side->successors, old)};
    (void)map_put(&side->successors, old, successor);
}

static bool take_line(void *ctx, struct span line) {
    struct export *export = ctx;
    CLEANUP(arena_clear) struct arena scratch = ARENA_INIT;
    struct json_value object, value, list, item;
    struct span id, target, other;
    size_t cursor = 0;
    if (!json_parse(line, &object, NULL) ||
        !json_member(object, "target", &value) ||
        !json_get_string(value, &scratch, &target)) {
        export->bad = true;
        return false;
    }
    if (export->target != NULL && !span_is(target, export->target))
        return true;
    struct side *side = side_of(export, target);
    if (!json_member(object, "id", &value))
        return true; /* a target that may have no sets */
    if (!json_get_string(value, &scratch, &id) ||
        !json_member(object, "depends", &list)) {
        export->bad = true;
        return false;
    }
    id = arena_span(&export->arena, id);
    export->sets++;
    while (json_next(list, &cursor, &scratch, NULL, &item)) {
        if (!json_get_string(item, &scratch, &other))
            continue;
        pair_add(&side->depends, id, arena_span(&export->arena, other));
    }
    if (json_member(object, "supersedes", &value) &&
        json_get_string(value, &scratch, &other))
        successor_add(export, side, arena_span(&export->arena, other), id);
    return true;
}

/* A set that depends on a superseded one depends on its successors, too. The
 * pairs that are added are visited themselves: successors have successors. */
static void follow_successors(struct side *side) {
    for (size_t i = 0; i < side->depends.count; i++) {
        const struct pair pair = side->depends.p[i];
        const struct successor *successor =
            map_get(&side->successors, pair.value);
        pair_add(&side->supports, pair.value, pair.key);
        for (; successor; successor = successor->next)
            pair_add(&side->depends, pair.key, successor->id);
    }
}

/* Pairs with the same key keep their order. */
static int by_key(const void *a, const void *b) {
    const struct pair *x = a, *y = b;
    int order = span_compare(x->key, y->key);
    return order != 0 ? order : span_compare(x->value, y->value);
}

/* One record per key: the letter and the key, values separated by line
 * feeds. */
static void add_records(struct cdb *cdb, char letter, struct pairs *pairs) {
    CLEANUP(text_clear) struct text key = TEXT_INIT, values = TEXT_INIT;
    if (pairs->count > 1)
        qsort(pairs->p, pairs->count, sizeof(*pairs->p), by_key);
    for (size_t i = 0; i < pairs->count; i++) {
        bool last = i + 1 == pairs->count ||
                    !span_equal(pairs->p[i].key, pairs->p[i + 1].key);
        if (!last && span_equal(pairs->p[i].value, pairs->p[i + 1].value))
            continue;
        if (values.len > 0)
            text_addc(&values, '\n');
        text_addspan(&values, pairs->p[i].value);
        if (!last)
            continue;
        text_reset(&key);
        text_addc(&key, letter);
        text_addspan(&key, pairs->p[i].key);
        cdb_add(cdb, text_span(&key), text_span(&values));
        text_reset(&values);
    }
}

/* Names of targets may contain slashes, like branches: each becomes a
 * directory. */
static bool make_place(const char *dir, struct span target, struct text *path,
                       struct err *err) {
    struct span rest = target, part;
    text_adds(path, dir);
    while (span_cut(&rest, '/', &part)) {
        if (part.len == 0 || span_is(part, ".") || span_is(part, ".."))
            return err_set(err, ERR_CANNOT,
                           "target '%.*s' cannot be the name of a directory",
                           (int)target.len, target.p);
        text_addf(path, "/%.*s", (int)part.len, part.p);
        if (mkdir(text_string(path), 0777) != 0 && errno != EEXIST)
            return err_errno(err, errno, "cannot create '%s'",
                             text_string(path));
    }
    return true;
}

static bool make_cdb(struct side *side, struct cdb *ret_cdb, struct err *err) {
    cdb_init(ret_cdb);
    follow_successors(side);
    add_records(ret_cdb, 'd', &side->depends);
    add_records(ret_cdb, 's', &side->supports);
    return cdb_finish(ret_cdb, err);
}

static bool print_side(struct side *side, struct err *err) {
    struct cdb cdb;
    bool ok = make_cdb(side, &cdb, err);
    if (ok)
        (void)console_write(text_span(&cdb.bytes));
    cdb_clear(&cdb);
    return ok;
}

static bool write_side(struct side *side, const char *dir, struct err *err) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    struct cdb cdb;
    if (!make_place(dir, side->target, &path, err))
        return false;
    CLEANUP(fd_close)
    int fd = open(text_string(&path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", text_string(&path));
    bool ok = make_cdb(side, &cdb, err) &&
              dir_write(fd, fd, "deps.cdb", text_span(&cdb.bytes), 0644,
                        DIR_DURABLE, err);
    cdb_clear(&cdb);
    return ok;
}

static bool write_all(struct export *export, const char *dir, struct err *err) {
    size_t cursor = 0, count = map_count(&export->targets);
    void *value;
    if (export->target != NULL && count == 0)
        return err_set(err, ERR_USAGE, "no target '%s' is configured",
                       export->target);
    if (strcmp(dir, "-") == 0 && count != 1)
        return err_set(err, ERR_USAGE,
                       "standard output takes the records of one target, and "
                       "there are %zu: give --target",
                       count);
    if (strcmp(dir, "-") == 0)
        return map_next(&export->targets, &cursor, NULL, &value) &&
               print_side(value, err);
    bool ok = mkdir(dir, 0777) == 0 || errno == EEXIST ||
              err_errno(err, errno, "cannot create '%s'", dir);
    while (ok && map_next(&export->targets, &cursor, NULL, &value))
        ok = write_side(value, dir, err);
    return ok;
}

static void export_clear(struct export *export) {
    size_t cursor = 0;
    void *value;
    while (map_next(&export->targets, &cursor, NULL, &value)) {
        struct side *side = value;
        free(side->depends.p);
        free(side->supports.p);
        map_clear(&side->successors);
    }
    map_clear(&export->targets);
    arena_clear(&export->arena);
}

static bool collect(struct call *call, struct export *export, struct err *err) {
    struct client_lines lines = {.line = take_line, .ctx = export};
    struct client *client = NULL;
    struct call_uri uri;
    if (!call_client(call, &client, err))
        return false;
    call_uri_begin(&uri, "/api/v1/edges");
    call_uri_add(&uri, "since", call_value(call, "since"));
    bool ok = client_stream(client, API_GET, text_string(&uri.text), SPAN(""),
                            client_take_lines, &lines, err);
    if (ok)
        client_lines_end(&lines);
    text_clear(&lines.rest);
    text_clear(&uri.text);
    client_close(client);
    return ok && (!export->bad ||
                  err_set(err, ERR_DATA,
                          "the server sent an answer that cannot be read"));
}

int cmd_export_cdb(struct call *call) {
    struct export export = {.target = call_value(call, "target")};
    struct err err = {0};
    bool ok = call_operands(call, 1, 1, &err) && collect(call, &export, &err) &&
              write_all(&export, call->words[0], &err);
    if (ok)
        console_note("%zu change set%s of %zu target%s", export.sets,
                     export.sets == 1 ? "" : "s", map_count(&export.targets),
                     map_count(&export.targets) == 1 ? "" : "s");
    export_clear(&export);
    return ok ? console_finish(0) : console_error(&err);
}
