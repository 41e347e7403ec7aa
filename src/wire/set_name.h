/* Name of a change set, its id, and the order among jobs.
 *
 *     CSID _ @TAI64N _ PID _ HOST _ PRIO [ _ EXTRA ]
 *     C7_@400000005f5e10a50a000000_4711_build3_BF.200_hotfix
 *
 * The id's grammar is that of all jobs: a letter or digit, then up to 63
 * letters, digits, dots, dashes; no underscore. */
#ifndef POINTSMAN_WIRE_SET_NAME_H
#define POINTSMAN_WIRE_SET_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/text.h"
#include "lib/time.h"
#include "wire/refusal.h"

enum {
    SET_NAME_BYTES = 200, /* of a name at most */
    SET_ID_BYTES = 64,
    SET_HOST_BYTES = 63,
    SET_SUB_PRIORITY = 500, /* when the name gives none */
    SET_KEY_BYTES = 152     /* of an order key at most */
};

enum set_class { SET_RB, SET_EM, SET_BF, SET_DC, SET_CLASSES };

struct set_name {
    struct span text; /* the whole name, as given */
    struct span csid;
    struct wall tai;
    uint64_t pid;
    struct span host;
    enum set_class class;
    unsigned sub_priority; /* 0..999 */
    struct span extra;     /* empty: none */
};

/* Spans of *ret_name point into `text`. */
bool set_name_parse(struct span text, struct set_name *ret_name,
                    struct refusal *why);
/* True if a file is meant to have such a name: it has the "_@" of the time. */
bool set_name_is_meant(struct span text);
/* Appends the canonical name (the member `text` is ignored). False, with
 * nothing appended: a part breaks the grammar or the whole is too long. */
bool set_name_format(const struct set_name *name, struct text *out);

bool set_csid_is_valid(struct span id);

/* "RB", "EM", "BF", "DC". */
const char *set_class_name(enum set_class class);
bool set_class_parse(struct span text, enum set_class *ret_class);
/* "EM" or "EM.200". */
bool set_priority_parse(struct span text, enum set_class *ret_class,
                        unsigned *ret_sub_priority);

/* Appends `host` converted for use in a name: other bytes become '-', those
 * before the first letter or digit are removed, at most 63 are kept;
 * "localhost" if none is left. */
void set_host_clean(struct span host, struct text *out);

/* Order key: of two jobs, the one whose key is less by memcmp comes first (a
 * shorter key is never the beginning of another). It is made of class,
 * sub-priority, time, host, pid as a number, id (C2). For a command, fill a
 * struct set_name with class, admission time, host, pid and id. Returns its
 * length. */
size_t set_key(const struct set_name *name, unsigned char ret[SET_KEY_BYTES]);

#endif
