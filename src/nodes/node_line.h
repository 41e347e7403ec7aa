/* A node as one line of text, in configuration files and in files of nodes:
 *
 *     NAME [below=PARENT] [tag=TAG]... [disabled]                            */
#ifndef POINTSMAN_NODES_NODE_LINE_H
#define POINTSMAN_NODES_NODE_LINE_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/text.h"

#define NODE_INSTANCE "instance" /* level and name of the root */

enum { NODE_TAGS_BYTES = 1000 };

struct node_line {
    struct span name, parent;       /* of the line; parent empty: the root */
    char tags[NODE_TAGS_BYTES + 1]; /* separated by blanks */
    bool disabled;
    bool has_parent; /* it says below=PARENT */
};

/* A name: 1 to 255 bytes of printable UTF-8 without blanks and '='. ERR_DATA.
 */
bool node_line_check_name(struct span name, struct err *err);
/* ERR_DATA: what is wrong with it. */
bool node_line_parse(struct span text, struct node_line *ret_line,
                     struct err *err);

#endif
