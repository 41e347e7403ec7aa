/* The elements of an array given as numbers: "1-100", "001-100" (padded with
 * zeros), "1-100:5" (every fifth), "7", or several of these separated by
 * commas. */
#ifndef POINTSMAN_WIRE_ARRAY_RANGES_H
#define POINTSMAN_WIRE_ARRAY_RANGES_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "wire/sections.h"

/* True if the text consists of digits, commas, colons and dashes, with at least
 * one digit: it is meant as ranges, not as the name of a file. */
bool array_ranges_are_meant(struct span text);
/* The numbers in the order given, as text in the arena; repeated ones are not
 * noticed here. At most SUBMISSION_LIST. Error ERR_DATA: not ranges, a range
 * that runs backwards, a step of 0, or too many numbers. */
bool array_ranges_parse(struct span text, struct arena *arena,
                        struct lines *ret_elements, struct err *err);

#endif
