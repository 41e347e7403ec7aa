/* Toys in prequeue/: an empty file toy_NAME. */
#ifndef POINTSMAN_TOY_TOY_ENTRY_H
#define POINTSMAN_TOY_TOY_ENTRY_H

#include "changes/prequeue_entry.h"

extern const struct entry_kind toy_entry_kind;

#endif
