/* Asserts that everything the order caches for speed equals a fresh
 * computation. Slow. */
#ifndef POINTSMAN_TESTS_ORDER_CHECK_H
#define POINTSMAN_TESTS_ORDER_CHECK_H

#include "core/order.h"

/* Changes nothing in the order but its marks. */
void order_check(struct order *order);
/* Number of jobs in the order. */
size_t order_check_count(const struct order *order);

#endif
