/* cron next --batch: lines of {"zone", "from", "item"}, each answered by one
 * line. A caller that writes a line and waits gets its answer: everything
 * read is answered before the next read. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cron_query.h"
#include "cli/call_connect.h"
#include "cli/console.h"
#include "os/clock.h"

enum { PIECE_BYTES = 1 << 16, LINE_BYTES_MOST = 1 << 20 };

struct batch {
    struct cron_zones *zones;
    /* The zone of the previous line is probably used again. */
    struct text zone_name;
    struct cron_zone *zone;
    struct text in, out;
    struct arena arena; /* of some lines */
    uint64_t lines;
    bool over;
    bool too_long; /* the current line */
};

struct question {
    struct json_value zone, from, item;
    bool has_zone, has_from, has_item;
};

static bool take_member(struct question *question, struct span key,
                        struct json_value value, struct err *err) {
    if (span_is(key, "zone")) {
        question->zone = value;
        question->has_zone = true;
    } else if (span_is(key, "from")) {
        question->from = value;
        question->has_from = true;
    } else if (span_is(key, "item")) {
        question->item = value;
        question->has_item = true;
    } else {
        return err_set(err, ERR_DATA,
                       "unknown key '%.*s'; the keys are from, item and zone",
                       (int)(key.len > 80 ? 80 : key.len), key.p);
    }
    return true;
}

static bool take_question(struct batch *batch, struct span line,
                          struct question *ret, struct err *err) {
    struct json_value value, member;
    struct span key;
    size_t cursor = 0;

    *ret = (struct question){0};
    if (!json_parse(line, &value, err))
        return false;
    if (value.type != JSON_OBJECT)
        return err_set(err, ERR_DATA,
                       "a line must be a JSON object with the keys from and "
                       "item, and zone if wanted");
    while (json_next(value, &cursor, &batch->arena, &key, &member))
        if (!take_member(ret, key, member, err))
            return false;
    if (!ret->has_from || !ret->has_item)
        return err_set(err, ERR_DATA, "key '%s' is missing",
                       ret->has_from ? "item" : "from");
    return true;
}

static bool take_from(struct batch *batch, struct json_value value,
                      int64_t *ret_from, struct err *err) {
    struct span text;

    if (value.type == JSON_NUMBER && json_get_i64(value, ret_from))
        return true;
    if (value.type == JSON_STRING &&
        json_get_string(value, &batch->arena, &text) &&
        cron_instant_parse(arena_string(&batch->arena, text), ret_from))
        return true;
    return err_set(
        err, ERR_DATA,
        "'from' must be a whole number of seconds since 1970 in 64 "
        "bits or a time such as \"2026-03-08T01:59:30-08:00\", not %.*s",
        (int)(value.raw.len > 80 ? 80 : value.raw.len), value.raw.p);
}

static bool take_zone(struct batch *batch, const struct question *question,
                      struct err *err) {
    struct span name = SPAN("");
    struct cron_zone *zone;
    struct cron_err cron_err;

    if (question->has_zone &&
        (question->zone.type != JSON_STRING ||
         !json_get_string(question->zone, &batch->arena, &name)))
        return err_set(err, ERR_DATA, "'zone' must be a string");
    if (batch->zone != NULL && span_equal(text_span(&batch->zone_name), name))
        return true;
    if (memchr(name.p, '\0', name.len) != NULL)
        return err_set(err, ERR_DATA, "'zone' contains a NUL");
    if (!cron_zones_find(batch->zones, arena_string(&batch->arena, name), &zone,
                         &cron_err))
        return cron_query_err_set(err, &cron_err);
    cron_zone_unref(batch->zone);
    batch->zone = zone;
    text_reset(&batch->zone_name);
    text_addspan(&batch->zone_name, name);
    return true;
}

static enum cron_found answer(struct batch *batch, struct span line,
                              int64_t *ret_at, struct err *err) {
    struct question question;
    struct cron_query query = {0};
    struct span text;
    int64_t from;
    enum cron_found found;

    if (!take_question(batch, line, &question, err) ||
        !take_from(batch, question.from, &from, err))
        return CRON_FAILED;
    text = question.item.raw;
    if (question.item.type == JSON_STRING &&
        !json_get_string(question.item, &batch->arena, &text)) {
        err_set(err, ERR_DATA, "'item' contains a NUL");
        return CRON_FAILED;
    }
    if (!cron_query_parse(&query, text, err)) {
        cron_query_clear(&query);
        return CRON_FAILED;
    }
    /* An epoch item does not use the zone, but an invalid one is an error. */
    found = take_zone(batch, &question, err)
                ? cron_query_next(&query, batch->zone, from, ret_at, err)
                : CRON_FAILED;
    cron_query_clear(&query);
    return found;
}

static void add_number(struct text *out, int64_t value) {
    char digits[24], *p = digits + sizeof(digits);
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do
        *--p = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (value < 0)
        *--p = '-';
    text_add(out, p, (size_t)(digits + sizeof(digits) - p));
}

static void answer_line(struct batch *batch, struct span line) {
    struct err err = {0};
    int64_t at;

    switch (answer(batch, line, &at, &err)) {
    case CRON_FOUND:
        add_number(&batch->out, at);
        break;
    case CRON_NONE:
        text_adds(&batch->out, "none");
        break;
    case CRON_FAILED:
        text_addf(&batch->out, "error: %s", err.text);
        break;
    }
    text_addc(&batch->out, '\n');
    /* Not after every line: the next one probably needs the same. */
    if (++batch->lines % 256 == 0)
        arena_clear(&batch->arena);
}

/* Answers all whole lines; the beginning of the next one remains. */
static void answer_lines(struct batch *batch) {
    struct span rest = text_span(&batch->in);
    const char *end;

    while ((end = rest.len == 0 ? NULL : memchr(rest.p, '\n', rest.len)) !=
           NULL) {
        if (!batch->too_long)
            answer_line(batch, span_make(rest.p, (size_t)(end - rest.p)));
        batch->too_long = false;
        rest = span_make(end + 1, rest.len - (size_t)(end + 1 - rest.p));
    }
    if (rest.len > LINE_BYTES_MOST && !batch->too_long) {
        text_adds(&batch->out, "error: a line of more than 1 MiB\n");
        batch->too_long = true;
    }
    if (batch->over && rest.len > 0 && !batch->too_long)
        answer_line(batch, rest);
    if (batch->over || batch->too_long)
        rest.len = 0;
    memmove(batch->in.p, rest.p, rest.len);
    batch->in.len = rest.len;
}

/* A batch that runs for days must use current zone files. */
static void refresh_zones(struct batch *batch) {
    if (cron_zones_refresh(batch->zones,
                           mono_ms_since(clock_mono(), (struct mono){0}) /
                               1000) == 0)
        return;
    cron_zone_unref(batch->zone);
    batch->zone = NULL;
}

static bool batch_read(struct batch *batch, struct err *err) {
    while (!batch->over) {
        text_reserve(&batch->in, PIECE_BYTES);
        ssize_t got =
            read(STDIN_FILENO, batch->in.p + batch->in.len, PIECE_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(err, errno, "cannot read standard input");
        batch->in.len += (size_t)got;
        batch->over = got == 0;
        refresh_zones(batch);
        answer_lines(batch);
        if (!console_write(text_span(&batch->out)))
            return true;
        text_reset(&batch->out);
    }
    return true;
}

int cron_batch(struct call *call) {
    struct batch batch = {.arena = ARENA_INIT};
    struct err err = {0};
    bool ok;

    if (!call_operands(call, 0, 0, &err))
        return console_error(&err);
    batch.zones = cron_zones_new(0);
    if (batch.zones == NULL) {
        err_set(&err, ERR_CANNOT, "out of memory");
        return console_error(&err);
    }
    ok = batch_read(&batch, &err);
    cron_zone_unref(batch.zone);
    cron_zones_free(batch.zones);
    text_clear(&batch.zone_name);
    text_clear(&batch.in);
    text_clear(&batch.out);
    arena_clear(&batch.arena);
    return ok ? console_finish(0) : console_error(&err);
}
