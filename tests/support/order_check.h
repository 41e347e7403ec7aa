/* Checks everything that the order caches for speed against its source.
 * Asserts; slow. */
#ifndef POINTSMAN_TESTS_ORDER_CHECK_H
#define POINTSMAN_TESTS_ORDER_CHECK_H

#include "core/order.h"

/* Only marks are written. */
void order_check(struct order *order);
/* The jobs in it. */
size_t order_check_count(const struct order *order);

#endif
