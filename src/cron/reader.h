/* Reads an item or a state file: a walk through JSON from front to back that
 * asks for the values that may come next and knows the position of each. The
 * bytes themselves are read by lib/json_lexer.h. Nothing is allocated.
 *
 * A function that returns false has set the error, and the reader cannot be
 * used any further. */
#ifndef POINTSMAN_CRON_READER_H
#define POINTSMAN_CRON_READER_H

#include "lib/json_lexer.h"
#include "cron/fault.h"

enum reader_kind {
    READER_END, /* end of the text, or a byte that begins no value */
    READER_OBJECT,
    READER_ARRAY,
    READER_STRING,
    READER_NUMBER,
    READER_WORD /* true, false, null */
};

/* Long enough for each known word; longer strings are cut, and then equal
 * none of them. */
enum { READER_STRING_BYTES = 256 };

struct reader {
    struct json_lexer lexer;
    const char *text;
    struct cron_err *err;
    size_t at; /* of the value, key or bracket that was read last */
    char string[READER_STRING_BYTES]; /* the string read last */
};

void reader_init(struct reader *reader, const char *text, size_t bytes,
                 struct cron_err *err);
/* The kind of the next value, at reader->at. */
enum reader_kind reader_peek(struct reader *reader);
/* "an object", "a string", ... for messages. */
const char *reader_kind_name(enum reader_kind kind);

/* Fails with the error that a value is missing. */
bool reader_no_value(struct reader *reader);
/* Fails unless the text is at its end. */
bool reader_finish(struct reader *reader);
bool reader_string(struct reader *reader);
/* An integer of 64 bits; `what` is its name in messages. */
bool reader_integer(struct reader *reader, const char *what,
                    int64_t *ret_value);

/* The first call takes the opening bracket (*first is then true). True with
 * *ret_more false at the closing one. For a member of an object the key is
 * in reader->string and its position in reader->at. */
bool reader_element(struct reader *reader, bool *first, bool *ret_more);
bool reader_member(struct reader *reader, bool *first, bool *ret_more);

#endif
