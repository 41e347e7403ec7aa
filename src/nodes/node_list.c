#include "nodes/node_list.h"

#include <stdlib.h>

void node_list_init(struct node_list *list, size_t most) {
    *list = (struct node_list){.most = most};
}

void node_list_clear(struct node_list *list) {
    arena_clear(&list->arena);
    map_clear(&list->places);
    map_clear(&list->levels);
    free(list->rows);
    *list = (struct node_list){0};
}

static struct span key_of(struct span name, struct span parent,
                          struct text *out) {
    text_reset(out);
    text_addspan(out, name);
    text_addc(out, '\0');
    text_addspan(out, parent);
    return text_span(out);
}

static struct node_row *row_at(const struct node_list *list, void *index) {
    return index == NULL ? NULL : &list->rows[(uintptr_t)index - 1];
}

struct node_row *node_list_find(const struct node_list *list, struct span name,
                                struct span parent) {
    CLEANUP(text_clear) struct text key = TEXT_INIT;

    return row_at(list, map_get(&list->places, key_of(name, parent, &key)));
}

static const struct node_row *first_of(const struct node_list *list,
                                       struct span name) {
    return row_at(list, map_get(&list->levels, name));
}

bool node_list_is_first(const struct node_list *list, size_t index) {
    return first_of(list, list->rows[index].name) == &list->rows[index];
}

static bool check(const struct node_list *list, const struct node_row *row,
                  unsigned level, struct err *err) {
    const struct node_row *other = first_of(list, row->name);
    const struct node_row *parent = first_of(list, row->parent);

    if (row->parent.len > 0 && parent == NULL)
        return err_set(err, ERR_DATA,
                       "node '%.*s': there is no node '%.*s' for it to be "
                       "below",
                       (int)row->name.len, row->name.p, (int)row->parent.len,
                       row->parent.p);
    if (parent != NULL && parent->depth >= level)
        return err_set(err, ERR_DATA,
                       "node '%.*s': level '%.*s' of '%.*s' is not above level "
                       "'%.*s'",
                       (int)row->name.len, row->name.p, (int)parent->level.len,
                       parent->level.p, (int)row->parent.len, row->parent.p,
                       (int)row->level.len, row->level.p);
    if (other != NULL && other->depth != level)
        return err_set(err, ERR_DATA,
                       "node '%.*s' is on level '%.*s' already, from source "
                       "'%.*s'",
                       (int)row->name.len, row->name.p, (int)other->level.len,
                       other->level.p, (int)other->source.len, other->source.p);
    other = node_list_find(list, row->name, row->parent);
    if (other != NULL)
        return err_set(err, ERR_DATA,
                       "node '%.*s' is there already%s%.*s, from source '%.*s'",
                       (int)row->name.len, row->name.p,
                       row->parent.len > 0 ? " below " : "",
                       (int)row->parent.len, row->parent.p,
                       (int)other->source.len, other->source.p);
    return list->count < list->most ||
           err_set(err, ERR_DATA, "there are more than %zu nodes (max-nodes)",
                   list->most);
}

bool node_list_add(struct node_list *list, const struct node_row *row,
                   unsigned level, struct err *err) {
    CLEANUP(text_clear) struct text key = TEXT_INIT;
    struct node_row *added;
    void *index;

    if (!check(list, row, level, err))
        return false;
    if (list->count == list->room) {
        list->room = list->room * 2 + 64;
        list->rows = mem_grow(list->rows, list->room, sizeof(*list->rows));
    }
    added = &list->rows[list->count++];
    index = (void *)(uintptr_t)list->count;
    *added = *row;
    added->name = arena_span(&list->arena, row->name);
    added->parent = arena_span(&list->arena, row->parent);
    added->level = arena_span(&list->arena, row->level);
    added->source = arena_span(&list->arena, row->source);
    added->tags = arena_span(&list->arena, row->tags);
    added->depth = level;
    map_put(&list->places, key_of(row->name, row->parent, &key), index);
    if (first_of(list, row->name) == NULL)
        map_put(&list->levels, row->name, index);
    return true;
}

void node_list_cut(struct node_list *list, size_t count) {
    CLEANUP(text_clear) struct text key = TEXT_INIT;

    while (list->count > count) {
        const struct node_row *row = &list->rows[list->count - 1];
        map_remove(&list->places, key_of(row->name, row->parent, &key));
        if (first_of(list, row->name) == row)
            map_remove(&list->levels, row->name);
        list->count--;
    }
}
