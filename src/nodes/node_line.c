#include "nodes/node_line.h"

#include <stdio.h>

#include "core/node_limits.h"

bool node_line_check_name(struct span name, struct err *err) {
    struct span rest = name;
    size_t bytes;

    if (name.len == 0 || name.len > NODE_NAME_MOST)
        return err_set(err, ERR_DATA, "a name has 1 to %d bytes",
                       NODE_NAME_MOST);
    for (; rest.len > 0; rest = span_make(rest.p + bytes, rest.len - bytes)) {
        bytes = span_printable(rest);
        if (bytes == 0 || *rest.p == ' ' || *rest.p == '=')
            return err_set(err, ERR_DATA,
                           "a name is printable text without blanks and '='");
    }
    return !span_is(name, NODE_INSTANCE) ||
           err_set(err, ERR_DATA, "'%s' is the root", NODE_INSTANCE);
}

static bool add_tag(struct node_line *line, struct span tag, struct err *err) {
    size_t len = strlen(line->tags);

    if (!node_line_check_name(tag, err))
        return err_wrap(err, "tag '%.*s'", (int)tag.len, tag.p);
    if (len + tag.len + 1 > NODE_TAGS_BYTES)
        return err_set(err, ERR_DATA, "the tags have more than %d bytes",
                       NODE_TAGS_BYTES);
    snprintf(line->tags + len, sizeof(line->tags) - len, "%s%.*s",
             len > 0 ? " " : "", (int)tag.len, tag.p);
    return true;
}

static bool take_word(struct node_line *line, struct span word,
                      struct err *err) {
    struct span value = word, key;

    if (span_is(word, "disabled")) {
        line->disabled = true;
        return true;
    }
    if (!span_cut(&value, '=', &key) || value.p == NULL)
        return err_set(err, ERR_DATA,
                       "'%.*s' is neither below=PARENT nor tag=TAG nor "
                       "disabled",
                       (int)word.len, word.p);
    if (span_is(key, "tag"))
        return add_tag(line, value, err);
    if (!span_is(key, "below"))
        return err_set(err, ERR_DATA, "'%.*s=': only below= and tag= are known",
                       (int)key.len, key.p);
    line->has_parent = true;
    line->parent = SPAN("");
    if (span_is(value, NODE_INSTANCE))
        return true;
    line->parent = value;
    return node_line_check_name(value, err) ||
           err_wrap(err, "parent '%.*s'", (int)value.len, value.p);
}

static bool is_printable(struct span text) {
    size_t bytes = 1;

    for (; text.len > 0 && bytes > 0;
         text = span_make(text.p + bytes, text.len - bytes))
        bytes = span_printable(text);
    return bytes > 0;
}

bool node_line_parse(struct span text, struct node_line *ret_line,
                     struct err *err) {
    struct span word;

    if (!is_printable(text))
        return err_set(err, ERR_DATA, "it is not printable text");

    *ret_line = (struct node_line){.parent = SPAN("")};
    while (span_cut(&text, ' ', &word)) {
        word = span_trim(word);
        if (word.len == 0)
            continue;
        if (ret_line->name.len > 0) {
            if (!take_word(ret_line, word, err))
                return false;
            continue;
        }
        ret_line->name = word;
        if (!node_line_check_name(word, err))
            return false;
    }
    return ret_line->name.len > 0 || err_set(err, ERR_DATA, "it has no name");
}
