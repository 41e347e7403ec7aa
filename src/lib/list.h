/* Intrusive doubly linked list: the link is a member of each listed object.
 *
 *     struct list head; list_init(&head);
 *     list_push(&head, &thing->link);
 *     LIST_EACH(&head, link) { struct thing *t = LIST_OF(link, struct thing,
 *                              link); ... }       (t may be removed inside) */
#ifndef POINTSMAN_LIB_LIST_H
#define POINTSMAN_LIB_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next, *prev;
};

#define LIST_OF(pointer, type, member) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))
#define LIST_EACH(head, it)                                                   \
    for (struct list *it = (head)->next, *it##_next = it->next; it != (head); \
         it = it##_next, it##_next = it->next)

static inline void list_init(struct list *list) {
    list->next = list->prev = list;
}
static inline bool list_empty(const struct list *head) {
    return head->next == head;
}
static inline void list_insert_before(struct list *at, struct list *link) {
    link->prev = at->prev;
    link->next = at;
    at->prev->next = link;
    at->prev = link;
}
static inline void list_push(struct list *head, struct list *link) {
    list_insert_before(head, link); /* at the end */
}
/* Removes and re-initialises: removing twice is harmless. */
static inline void list_remove(struct list *link) {
    link->prev->next = link->next;
    link->next->prev = link->prev;
    list_init(link);
}
static inline struct list *list_pop(struct list *head) {
    struct list *link = head->next;
    if (link == head)
        return NULL;
    list_remove(link);
    return link;
}

#endif
