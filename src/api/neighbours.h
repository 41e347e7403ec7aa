/* The jobs that a job has relations with, one after the other: read by pages,
 * since a set may have a hundred thousand dependents.
 *
 *     neighbours_open(store, job, up, &neighbours);
 *     while (neighbours_next(&neighbours, &one, &found, err) && found) ...
 *     neighbours_close(&neighbours);
 */
#ifndef POINTSMAN_API_NEIGHBOURS_H
#define POINTSMAN_API_NEIGHBOURS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "store/store.h"

struct neighbour {
    struct span id; /* valid until the next call of neighbours_next */
    enum edge_kind kind;
};

struct neighbours {
    struct store *store;
    struct span id; /* of the job; its owner's memory */
    uint64_t num;
    bool up;     /* true: jobs with relations to it; false: jobs it names */
    size_t rows; /* read so far */

    struct arena arena; /* of the page */
    struct neighbour *page;
    size_t count, at;
    uint64_t after_num;
    bool is_last; /* no page follows this one */
};

/* `id` must live as long as the walk. Nothing is read yet. */
void neighbours_open(struct store *store, uint64_t num, struct span id, bool up,
                     struct neighbours *ret_neighbours);
void neighbours_close(struct neighbours *neighbours);
/* Dependents come in the order of their numbers, others by kind and id;
 * *ret_found false: no more. False: an error of the store. */
bool neighbours_next(struct neighbours *neighbours,
                     struct neighbour *ret_neighbour, bool *ret_found,
                     struct err *err);

#endif
