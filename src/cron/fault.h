/* How the library reports errors. */
#ifndef POINTSMAN_CRON_FAULT_H
#define POINTSMAN_CRON_FAULT_H

#include <pointsman/cron.h>

#if defined(__GNUC__)
#define FAULT_LIKE(at, first) __attribute__((format(printf, at, first)))
#else
#define FAULT_LIKE(at, first)
#endif

/* Both return false. Control bytes are written as \xNN. */
bool fault_set(struct cron_err *err, enum cron_err_kind kind,
               const char *format, ...) FAULT_LIKE(3, 4);
/* With the position `at` (a byte of `text`) in front. */
bool fault_at(struct cron_err *err, enum cron_err_kind kind, const char *text,
              size_t at, const char *format, ...) FAULT_LIKE(5, 6);
bool fault_memory(struct cron_err *err);

/* The candidate that was probably meant by `word`, else NULL: the first one
 * that begins with `word` or with which `word` begins (three letters at least),
 * else the one with the least edit distance, if that is at most a third of the
 * letters of `word`. Case does not matter. */
const char *fault_nearest_word(const char *word, const char *const *candidates,
                               size_t count);
/* Letters to change, insert, drop or swap, ignoring case; 99 if one word is
 * longer than 63 bytes. */
unsigned fault_word_distance(const char *a, const char *b);

#endif
