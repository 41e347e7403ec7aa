#include "wire/set_name.h"

static const char *const class_names[SET_CLASSES] = {
#define JOB_CLASS(name, word, meaning, traits) [SET_##name] = word,
#include "core/life.def"
#undef JOB_CLASS
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* ASCII, regardless of the locale. */
static bool is_alnum(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word(struct span span, size_t most, const char *others) {
    if (!span.len || span.len > most)
        return false;
    for (size_t i = 0; i < span.len; i++)
        if (!is_alnum(span.p[i]) && (!span.p[i] || !strchr(others, span.p[i])))
            return false;
    return true;
}

bool set_csid_is_valid(struct span id) {
    return is_word(id, SET_ID_BYTES, ".-") && is_alnum(id.p[0]);
}

static bool host_is_valid(struct span host) {
    return is_word(host, SET_HOST_BYTES, ".-") && is_alnum(host.p[0]);
}

static bool extra_is_valid(struct span extra) {
    return is_word(extra, 64, ".-_+=");
}

const char *set_class_name(enum set_class class) {
    return class < SET_CLASSES ? class_names[class] : "?";
}

bool set_class_parse(struct span text, enum set_class *ret_class) {
    for (int class = 0; class < SET_CLASSES; class ++) {
        if (span_is(text, class_names[class])) {
            *ret_class = (enum set_class) class;
            return true;
        }
    }
    return false;
}

bool set_priority_parse(struct span text, enum set_class *ret_class,
                        unsigned *ret_sub_priority) {
    if (text.len == 2) {
        *ret_sub_priority = SET_SUB_PRIORITY;
        return set_class_parse(text, ret_class);
    }
    if (text.len != 6 || text.p[2] != '.')
        return false;
    unsigned number = 0;
    for (size_t i = 3; i < 6; i++) {
        if (!is_digit(text.p[i]))
            return false;
        number = number * 10 + (unsigned)(text.p[i] - '0');
    }
    *ret_sub_priority = number;
    return set_class_parse(span_make(text.p, 2), ret_class);
}

/* tai_parse accepts hex in either case; a name must have only one spelling. */
static bool tai_is_lower(struct span tai) {
    for (size_t i = 0; i < tai.len; i++)
        if (tai.p[i] >= 'A' && tai.p[i] <= 'F')
            return false;
    return true;
}

static bool refuse_part(struct refusal *why, const char *what,
                        struct span part) {
    return refusal_set(why, REFUSAL_BAD_NAME, "invalid %s '%.*s'", what,
                       (int)part.len, part.p ? part.p : "");
}

static bool take_parts(struct span text, struct set_name *name,
                       struct refusal *why) {
    static const char *const whats[] = {"id", "time", "process number", "host",
                                        "priority"};
    struct span part[5], rest = text;
    for (size_t i = 0; i < COUNT(part); i++)
        if (!span_cut(&rest, '_', &part[i]))
            return refusal_set(why, REFUSAL_BAD_NAME,
                               "the %s is missing (CSID_@TAI_PID_HOST_PRIO)",
                               whats[i]);
    name->csid = part[0];
    name->host = part[3];
    name->extra = rest;
    if (!set_csid_is_valid(part[0]))
        return refuse_part(why, whats[0], part[0]);
    if (part[1].len != 25 || !tai_is_lower(part[1]) ||
        !tai_parse(part[1], &name->tai))
        return refuse_part(why, whats[1], part[1]);
    if (part[2].len > 10 || !span_u64(part[2], &name->pid))
        return refuse_part(why, whats[2], part[2]);
    if (!host_is_valid(part[3]))
        return refuse_part(why, whats[3], part[3]);
    if (!set_priority_parse(part[4], &name->class, &name->sub_priority))
        return refuse_part(why, whats[4], part[4]);
    if (rest.p && !extra_is_valid(rest))
        return refuse_part(why, "last part", rest);
    return true;
}

bool set_name_parse(struct span text, struct set_name *ret_name,
                    struct refusal *why) {
    *ret_name = (struct set_name){.text = text};
    if (text.len > SET_NAME_BYTES)
        return refusal_set(why, REFUSAL_BAD_NAME,
                           "name is %zu bytes long, at most %d are allowed",
                           text.len, SET_NAME_BYTES);
    if (!take_parts(text, ret_name, why))
        return refusal_wrap(why, "'%.*s' is not the name of a change set",
                            (int)text.len, text.p ? text.p : "");
    return true;
}

bool set_name_is_meant(struct span text) {
    return text.len > 0 && memmem(text.p, text.len, "_@", 2) != NULL;
}

bool set_name_format(const struct set_name *name, struct text *out) {
    if (!set_csid_is_valid(name->csid) || !host_is_valid(name->host) ||
        name->pid > UINT64_C(9999999999) || name->class >= SET_CLASSES ||
        name->sub_priority > 999 ||
        (name->extra.len && !extra_is_valid(name->extra)))
        return false;
    size_t before = out->len;
    char tai[TAI_TEXT_BYTES];
    text_addspan(out, name->csid);
    text_addf(out, "_%s_%llu_", tai_format(name->tai, tai),
              (unsigned long long)name->pid);
    text_addspan(out, name->host);
    text_addf(out, "_%s", set_class_name(name->class));
    if (name->sub_priority != SET_SUB_PRIORITY)
        text_addf(out, ".%03u", name->sub_priority);
    if (name->extra.len) {
        text_addc(out, '_');
        text_addspan(out, name->extra);
    }
    if (out->len - before <= SET_NAME_BYTES)
        return true;
    out->len = before;
    out->p[before] = '\0';
    return false;
}

void set_host_clean(struct span host, struct text *out) {
    while (host.len && !is_alnum(host.p[0])) {
        host.p++;
        host.len--;
    }
    if (host.len > SET_HOST_BYTES)
        host.len = SET_HOST_BYTES;
    for (size_t i = 0; i < host.len; i++)
        text_addc(out,
                  is_alnum(host.p[i]) || host.p[i] == '.' ? host.p[i] : '-');
    if (!host.len)
        text_adds(out, "localhost");
}

static unsigned char *put_number(unsigned char *at, uint64_t value, int bytes) {
    for (int i = bytes - 1; i >= 0; i--)
        *at++ = (unsigned char)(value >> (8 * i));
    return at;
}

/* A NUL ends it: less than any byte of a host or id. */
static unsigned char *put_word(unsigned char *at, struct span word,
                               size_t most) {
    size_t len = word.len < most ? word.len : most;
    if (len)
        memcpy(at, word.p, len);
    at[len] = 0;
    return at + len + 1;
}

size_t set_key(const struct set_name *name, unsigned char ret[SET_KEY_BYTES]) {
    unsigned char *at = ret;
    at = put_number(at, name->class, 1);
    at = put_number(at, name->sub_priority, 2);
    /* The sign bit is inverted, so that times before 1970 sort first. */
    at = put_number(at, (uint64_t)name->tai.ns ^ (UINT64_C(1) << 63), 8);
    at = put_word(at, name->host, SET_HOST_BYTES);
    at = put_number(at, name->pid, 8);
    at = put_word(at, name->csid, SET_ID_BYTES);
    return (size_t)(at - ret);
}
