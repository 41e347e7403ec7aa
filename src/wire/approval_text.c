#include "wire/approval_text.h"

#include "wire/ref_name.h"
#include "wire/set_name.h"

static const char headline[] = "pointsman-approval 1";
static const char armor[] = "-----BEGIN SSH SIGNATURE-----\n";
static const char armor_end[] = "-----END SSH SIGNATURE-----";

/* ---- members ------------------------------------------------------------- */

static bool is_alnum(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9');
}

bool approval_name_is_valid(struct span name) {
    if (name.len == 0 || name.len > APPROVAL_NAME_BYTES || name.p[0] == '-')
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (!is_alnum(name.p[i]) &&
            (name.p[i] == '\0' || !strchr("._@+:/-", name.p[i])))
            return false;
    return true;
}

bool approval_ticket_is_valid(struct span ticket) {
    struct span rest = ticket;
    if (ticket.len == 0 || ticket.len > APPROVAL_TICKET_BYTES ||
        span_trim(ticket).len != ticket.len)
        return false;
    while (rest.len > 0) {
        size_t one = span_printable(rest);
        if (one == 0)
            return false;
        rest = span_make(rest.p + one, rest.len - one);
    }
    return true;
}

static bool is_hex(struct span word, size_t len) {
    for (size_t i = 0; i < word.len; i++)
        if (!(word.p[i] >= '0' && word.p[i] <= '9') &&
            !(word.p[i] >= 'a' && word.p[i] <= 'f'))
            return false;
    return word.len == len;
}

static bool is_base(struct span word) {
    return span_is(word, "none") || is_hex(word, 40) || is_hex(word, 64);
}

static bool is_instance(struct span word) {
    return set_csid_is_valid(word);
}

/* Accepts only the spelling that we write, so that a given time has exactly one
 * text. */
static bool read_time(struct span word, struct wall *ret_wall) {
    char again[WALL_TEXT_BYTES];
    return wall_parse(word, ret_wall) && ret_wall->ns > 0 &&
           span_is(word, wall_format(*ret_wall, again));
}

/* ---- the text ------------------------------------------------------------ */

/* Rounded to the precision of the text. */
static struct wall in_ms(struct wall wall) {
    return wall_add_ms((struct wall){0}, wall.ns / NS_PER_MS);
}

bool approval_expires_parse(struct span expires, struct wall now,
                            struct wall *ret_expires, struct err *err) {
    struct wall until = {0};
    int64_t ms;
    *ret_expires = (struct wall){0};
    if (expires.len == 0)
        return true;
    if (duration_parse(expires, &ms) && ms > 0)
        until = wall_add_ms(now, ms);
    else if (!wall_parse(expires, &until))
        until.ns = 0;
    *ret_expires = in_ms(until);
    return ret_expires->ns > 0 ||
           err_set(err, ERR_USAGE,
                   "an approval expires after 90m, 12h or 7d, or at a time "
                   "like 2026-07-01T00:00:00Z, not '%.*s'",
                   (int)expires.len, expires.p);
}

bool approval_text_fill(struct approval_text *approval, struct span by,
                        struct span ticket, struct span expires,
                        struct wall now, struct err *err) {
    approval->by = by;
    approval->ticket = ticket;
    approval->made = in_ms(now);
    if (!approval_name_is_valid(by))
        return err_set(
            err, ERR_USAGE,
            "'%.*s' is not a valid name of a signer: as in the allowed signers "
            "file, use letters, digits and . _ @ + : / -",
            (int)(by.len < 80 ? by.len : 80), by.p);
    if (ticket.len > 0 && !approval_ticket_is_valid(ticket))
        return err_set(
            err, ERR_USAGE,
            "a ticket must be one line of at most %d printable bytes",
            APPROVAL_TICKET_BYTES);
    return approval_expires_parse(expires, approval->made, &approval->expires,
                                  err);
}

static void add_line(struct text *out, const char *key, struct span value) {
    text_addf(out, "%s %.*s\n", key, (int)value.len, value.p);
}

void approval_text_format(const struct approval_text *approval,
                          struct text *out) {
    char made[WALL_TEXT_BYTES], expires[WALL_TEXT_BYTES];
    text_addf(out, "%s\n", headline);
    add_line(out, "instance", approval->instance);
    add_line(out, "set", approval->csid);
    add_line(out, "sum", approval->sum);
    add_line(out, "target", approval->target);
    add_line(out, "base", approval->base);
    add_line(out, "by", approval->by);
    add_line(out, "made", span_of(wall_format(approval->made, made)));
    add_line(out, "expires",
             approval->expires.ns
                 ? span_of(wall_format(approval->expires, expires))
                 : SPAN("never"));
    if (approval->ticket.len > 0)
        add_line(out, "ticket", approval->ticket);
}

/* Cuts "KEY VALUE\n" off the front; value.p NULL: the next line has another
 * key. */
static struct span take_line(struct span *rest, const char *key) {
    struct span line = {0}, none = {0}, after = *rest;
    size_t key_len = strlen(key);
    const char *end = rest->len > 0 ? memchr(rest->p, '\n', rest->len) : NULL;
    if (!end || !span_cut(&after, '\n', &line) || !span_starts(line, key) ||
        line.len < key_len + 2 || line.p[key_len] != ' ')
        return none;
    *rest = after;
    return span_make(line.p + key_len + 1, line.len - key_len - 1);
}

static bool wrong_line(struct err *err, const char *line) {
    return err_set(err, ERR_DATA,
                   "it is not the text of an approval: line '%s' is missing, "
                   "wrong or misplaced",
                   line);
}

static bool read_times(struct span *rest, struct approval_text *approval,
                       struct err *err) {
    struct span expires;
    if (!read_time(take_line(rest, "made"), &approval->made))
        return wrong_line(err, "made");
    expires = take_line(rest, "expires");
    if (!span_is(expires, "never") && !read_time(expires, &approval->expires))
        return wrong_line(err, "expires");
    return true;
}

bool approval_text_parse(struct span text, struct approval_text *ret_approval,
                         struct err *err) {
    struct approval_text *it = ret_approval;
    struct span rest = text, first;
    *it = (struct approval_text){0};
    if (text.len > APPROVAL_TEXT_BYTES)
        return err_set(err, ERR_DATA,
                       "it is not the text of an approval: more than %d bytes",
                       APPROVAL_TEXT_BYTES);
    if (!span_cut(&rest, '\n', &first) || !span_is(first, headline))
        return wrong_line(err, headline);
    if (!is_instance(it->instance = take_line(&rest, "instance")))
        return wrong_line(err, "instance");
    if (!set_csid_is_valid(it->csid = take_line(&rest, "set")))
        return wrong_line(err, "set");
    if (!is_hex(it->sum = take_line(&rest, "sum"), 64))
        return wrong_line(err, "sum");
    if (!ref_name_is_valid(it->target = take_line(&rest, "target")))
        return wrong_line(err, "target");
    if (!is_base(it->base = take_line(&rest, "base")))
        return wrong_line(err, "base");
    if (!approval_name_is_valid(it->by = take_line(&rest, "by")))
        return wrong_line(err, "by");
    if (!read_times(&rest, it, err))
        return false;
    if (rest.len > 0 &&
        !approval_ticket_is_valid(it->ticket = take_line(&rest, "ticket")))
        return wrong_line(err, "ticket");
    return rest.len == 0 || wrong_line(err, "ticket");
}

/* ---- the file ------------------------------------------------------------ */

/* ssh-keygen reads only the first signature, so nobody would have looked at
 * what stands behind it. */
static bool is_one_signature(struct span signature) {
    const size_t len = sizeof(armor_end) - 1;
    const char *end = memmem(signature.p, signature.len, armor_end, len);
    return end && end + len == signature.p + signature.len;
}

bool approval_file_parse(struct span bytes, struct approval_file *ret_file,
                         struct err *err) {
    struct span text = bytes, signature = {0};
    if (bytes.len > APPROVAL_FILE_BYTES)
        return err_set(err, ERR_DATA, "an approval has at most %d bytes",
                       APPROVAL_FILE_BYTES);
    const char *begin =
        bytes.len ? memmem(bytes.p, bytes.len, armor, sizeof(armor) - 1) : NULL;
    if (begin) {
        text.len = (size_t)(begin - bytes.p);
        signature = span_make(begin, bytes.len - text.len);
        while (signature.len > 0 && signature.p[signature.len - 1] == '\n')
            signature.len--;
        if (!is_one_signature(signature))
            return err_set(
                err, ERR_DATA,
                "its signature is truncated, or something follows it");
    }
    if (!approval_text_parse(text, &ret_file->approval, err))
        return false;
    for (size_t i = 0; i < signature.len; i++)
        if (signature.p[i] != '\n' &&
            (signature.p[i] < 0x20 || signature.p[i] > 0x7e))
            return err_set(
                err, ERR_DATA,
                "its signature is not base64 as written by ssh-keygen");
    ret_file->text = text;
    ret_file->signature = signature;
    return true;
}

bool approval_entry_parse(struct span name, struct span *ret_csid) {
    struct span rest = name, first;
    if (name.len > SET_NAME_BYTES || !span_cut(&rest, '_', &first) ||
        !span_is(first, "approve") || !span_cut(&rest, '_', ret_csid) ||
        !set_csid_is_valid(*ret_csid))
        return false;
    for (size_t i = 0; i < rest.len; i++)
        if (!is_alnum(rest.p[i]) &&
            (rest.p[i] == '\0' || !strchr(".-_+=", rest.p[i])))
            return false;
    return true;
}

/* ---- the event's detail ---------------------------------------------------
 */

static void add_word(struct text *out, const char *key, struct span value) {
    if (value.len == 0)
        return;
    text_addf(out, "%s%s=", out->len > 0 ? " " : "", key);
    text_addspan(out, value);
}

static void add_time(struct text *out, const char *key, struct wall wall) {
    char text[WALL_TEXT_BYTES];
    if (wall.ns > 0)
        add_word(out, key, span_of(wall_format(wall, text)));
}

void approval_note_format(const struct approval_note *note, struct text *out) {
    add_word(out, "key", note->key);
    add_time(out, "made", note->made);
    add_time(out, "until", note->until);
    add_word(out, "as", note->alias);
    add_word(out, "ticket", note->ticket);
}

void approval_note_parse(struct span detail, struct approval_note *ret_note) {
    struct span rest = detail, word, key;
    *ret_note = (struct approval_note){0};
    while (rest.len > 0 && !span_starts(rest, "ticket=") &&
           span_cut(&rest, ' ', &word)) {
        struct span value = word;
        if (!span_cut(&value, '=', &key) || value.len == 0)
            continue;
        if (span_is(key, "key"))
            ret_note->key = value;
        else if (span_is(key, "as"))
            ret_note->alias = value;
        else if (span_is(key, "made"))
            (void)wall_parse(value, &ret_note->made);
        else if (span_is(key, "until"))
            (void)wall_parse(value, &ret_note->until);
    }
    if (span_starts(rest, "ticket="))
        ret_note->ticket = span_make(rest.p + 7, rest.len - 7);
}
