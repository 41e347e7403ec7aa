#include "cron/item.h"

#include <stdlib.h>

struct cron_item *cron_item_ref(struct cron_item *item) {
    if (item != NULL)
        __atomic_add_fetch(&item->refs, 1, __ATOMIC_RELAXED);
    return item;
}

void cron_item_unref(struct cron_item *item) {
    if (item == NULL ||
        __atomic_sub_fetch(&item->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(item->years.list);
    free(item->epoch.list);
    free(item->except);
    free(item);
}

bool cron_item_is_timezone_dependent(const struct cron_item *item) {
    return !item->is_epoch;
}

int64_t cron_item_max_shift_s(const struct cron_item *item) {
    return item->max_shift_s;
}

/* ---- series -------------------------------------------------------------- */

/* Index of the first value of the list that is not below `value`. */
static size_t list_find(const struct series *series, int64_t value) {
    size_t low = 0, high = series->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (series->list[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool item_series_next(const struct series *series, int64_t value,
                      int64_t *ret_value) {
    uint64_t above, period = (uint64_t)series->period, rest;

    if (series->list != NULL) {
        size_t index = list_find(series, value);
        if (index == series->count)
            return false;
        *ret_value = series->list[index];
        return true;
    }
    if (value <= series->start) {
        *ret_value = series->start;
        return true;
    }
    if (value > series->end)
        return false;
    if (period == 1) {
        *ret_value = value;
        return true;
    }
    /* Unsigned: the sum may exceed 2^63, and is then above the end. */
    above = (uint64_t)value - (uint64_t)series->start;
    rest = above % period;
    above = (uint64_t)value + (rest == 0 ? 0 : period - rest);
    if (above > (uint64_t)series->end)
        return false;
    *ret_value = (int64_t)above;
    return true;
}

bool item_series_prev(const struct series *series, int64_t value,
                      int64_t *ret_value) {
    uint64_t above;

    if (series->list != NULL) {
        size_t index = list_find(series, value);
        if (index < series->count && series->list[index] == value)
            index++;
        if (index == 0)
            return false;
        *ret_value = series->list[index - 1];
        return true;
    }
    if (value < series->start)
        return false;
    if (value > series->end)
        value = series->end;
    above = (uint64_t)value - (uint64_t)series->start;
    *ret_value = (int64_t)((uint64_t)value - above % (uint64_t)series->period);
    return true;
}

uint64_t item_series_count_below(const struct series *series, int64_t value) {
    int64_t last;

    if (series->list != NULL)
        return list_find(series, value);
    if (value <= series->start || !item_series_prev(series, value - 1, &last))
        return 0;
    return ((uint64_t)last - (uint64_t)series->start) /
               (uint64_t)series->period +
           1;
}
