#include "wire/status_line.h"

#include "lib/json.h"

static const char *const words[] = {
    [STATUS_DONE] = "done",
    [STATUS_FAILED] = "failed",
    [STATUS_TEMPORARY] = "temporary",
    [STATUS_PERMANENT] = "permanent",
    [STATUS_CONFLICT] = "conflict",
    [STATUS_INCOMPLETE] = "incomplete",
    [STATUS_INCOMPLETE_BACKOFF] = "incomplete_backoff",
};

/* Bistro's words for our states. */
static const struct {
    const char *word;
    enum status_word meaning;
} others[] = {{"backoff", STATUS_FAILED}, {"error_backoff", STATUS_FAILED}};

static bool find_word(struct span text, enum status_word *ret_word) {
    for (size_t i = 0; i < COUNT(words); i++) {
        if (span_is(text, words[i])) {
            *ret_word = (enum status_word)i;
            return true;
        }
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        if (span_is(text, others[i].word)) {
            *ret_word = others[i].meaning;
            return true;
        }
    }
    return false;
}

static bool refuse(struct span line, struct err *err) {
    return err_set(err, ERR_DATA, "cannot parse status '%.*s'", (int)line.len,
                   line.p ? line.p : "");
}

/* The bits of Bistro's statuses that a task may send: one of the first four;
 * the other two only together with incomplete or error. */
static bool find_bits(int64_t bits, enum status_word *ret_word) {
    enum {
        DONE = 4,
        INCOMPLETE = 8,
        FAILED = 16,
        ERROR = 32,
        BACKOFF = 64,
        SAME_BACKOFF = 512
    };
    switch (bits) {
    case DONE:
        *ret_word = STATUS_DONE;
        return true;
    case INCOMPLETE:
        *ret_word = STATUS_INCOMPLETE;
        return true;
    case INCOMPLETE | BACKOFF:
    case INCOMPLETE | BACKOFF | SAME_BACKOFF:
        *ret_word = STATUS_INCOMPLETE_BACKOFF;
        return true;
    case FAILED:
        *ret_word = STATUS_PERMANENT;
        return true;
    case ERROR | BACKOFF:
        *ret_word = STATUS_FAILED;
        return true;
    default:
        return false;
    }
}

static bool find_in_object(struct json_value whole, struct arena *arena,
                           enum status_word *ret_word) {
    struct json_value value;
    struct span word;
    int64_t bits;
    if (json_member(whole, "status", &value))
        return json_get_string(value, arena, &word) &&
               find_word(word, ret_word);
    if (json_member(whole, "result_bits", &value))
        return json_get_i64(value, &bits) && find_bits(bits, ret_word);
    if (!json_member(whole, "result", &value) ||
        !json_get_string(value, arena, &word) || !find_word(word, ret_word))
        return false;
    if (span_is(word, "failed"))
        *ret_word = STATUS_PERMANENT;
    return true;
}

static bool parse_json(struct span line, struct arena *arena,
                       struct status_line *status, struct err *err) {
    struct json_value whole, value;
    if (!json_parse_object(line, &whole, NULL) ||
        !find_in_object(whole, arena, &status->word))
        return refuse(line, err);
    if (json_member(whole, "reason", &value) &&
        !json_get_string(value, arena, &status->reason))
        return refuse(line, err);
    if (json_member(whole, "data", &value))
        status->data = value.raw;
    return true;
}

bool status_line_parse(struct span line, struct arena *arena,
                       struct status_line *ret_status, struct err *err) {
    struct span word, rest = span_trim(line);
    *ret_status = (struct status_line){0};
    if (line.len > STATUS_LINE_BYTES)
        return err_set(err, ERR_DATA, "cannot parse status of %zu bytes",
                       line.len);
    if (rest.len && rest.p[0] == '{')
        return parse_json(rest, arena, ret_status, err);
    if (!rest.len || !span_cut(&rest, ' ', &word) ||
        !find_word(word, &ret_status->word))
        return refuse(line, err);
    ret_status->reason = span_trim(rest);
    return true;
}
