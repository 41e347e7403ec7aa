#include "api/neighbours.h"

enum { PAGE_EDGES = 250 };

void neighbours_open(struct store *store, uint64_t num, struct span id, bool up,
                     struct neighbours *ret_neighbours) {
    *ret_neighbours =
        (struct neighbours){.store = store, .num = num, .id = id, .up = up};
}

void neighbours_close(struct neighbours *neighbours) {
    arena_clear(&neighbours->arena);
}

static void page_begin(struct neighbours *neighbours, size_t count) {
    neighbours->page = arena_alloc(&neighbours->arena,
                                   (count + 1) * sizeof(*neighbours->page));
    neighbours->count = count;
    neighbours->at = 0;
    neighbours->rows += count;
}

static bool read_up(struct neighbours *neighbours, struct err *err) {
    struct store_edge_to *edges;
    size_t count;
    bool more;
    if (!store_edges_to_page(neighbours->store, neighbours->id,
                             neighbours->after_num, PAGE_EDGES,
                             &neighbours->arena, &edges, &count, &more, err))
        return false;
    page_begin(neighbours, count);
    for (size_t i = 0; i < count; i++)
        neighbours->page[i] = (struct neighbour){edges[i].id, edges[i].kind};
    if (count > 0)
        neighbours->after_num = edges[count - 1].num;
    neighbours->is_last = !more;
    return true;
}

/* The edges that a job names are bounded by the size of its submission. */
static bool read_down(struct neighbours *neighbours, struct err *err) {
    struct job_edge *edges;
    size_t count;
    if (!store_edges_from(neighbours->store, neighbours->num,
                          &neighbours->arena, &edges, &count, err))
        return false;
    page_begin(neighbours, count);
    for (size_t i = 0; i < count; i++)
        neighbours->page[i] = (struct neighbour){edges[i].to, edges[i].kind};
    neighbours->is_last = true;
    return true;
}

bool neighbours_next(struct neighbours *neighbours,
                     struct neighbour *ret_neighbour, bool *ret_found,
                     struct err *err) {
    while (neighbours->at == neighbours->count) {
        arena_clear(&neighbours->arena);
        neighbours->count = neighbours->at = 0;
        *ret_found = false;
        if (neighbours->is_last)
            return true;
        if (!(neighbours->up ? read_up(neighbours, err)
                             : read_down(neighbours, err)))
            return false;
    }
    *ret_neighbour = neighbours->page[neighbours->at++];
    *ret_found = true;
    return true;
}
