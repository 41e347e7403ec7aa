#include "scheduler/scheduler_array.h"

#include <stdlib.h>

#include "scheduler/scheduler_state.h"

void scheduler_array_free(struct tracked_array *array) {
    if (!array)
        return;
    list_remove(&array->link);
    arena_clear(&array->arena);
    free(array);
}
