/* Random items, as JSON and as the values they admit. */
#ifndef POINTSMAN_TESTS_CRON_DRAW_H
#define POINTSMAN_TESTS_CRON_DRAW_H

#include "cron/oracle.h"

struct draw {
    uint64_t state;
};

void draw_init(struct draw *draw, uint64_t seed);
uint64_t draw_below(struct draw *draw, uint64_t limit);
bool draw_percent(struct draw *draw, unsigned percent);

enum { DRAW_TEXT_BYTES = 4096 };

/* `year` is close to the times to be searched. Rich items also have seconds,
 * last days, nth weekdays, steps and exceptions. */
void draw_item(struct draw *draw, int year, bool rich,
               struct oracle_item *ret_item, char ret_text[DRAW_TEXT_BYTES]);

#endif
