/* Asserts that everything the order caches for speed equals a fresh
 * computation. Slow. It uses none of the functions that it judges: ranks are
 * computed from the relations alone, because with core/order_rank.c it would
 * repeat the mistakes of that file. */
#ifndef POINTSMAN_TESTS_ORDER_CHECK_H
#define POINTSMAN_TESTS_ORDER_CHECK_H

#include "core/order.h"

/* Changes nothing in the order but its marks. */
void order_check(struct order *order);
/* Number of jobs in the order. */
size_t order_check_count(const struct order *order);

#endif
