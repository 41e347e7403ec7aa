#include "core/walk.h"

#include <stdlib.h>
#include <string.h>

#include "lib/text.h"

enum { PAGE_NUMS = 4096, WORD_BITS = 64 };

struct walk_page {
    uint64_t bits[PAGE_NUMS / WORD_BITS];
};

void walk_clear(struct walk *walk) {
    for (size_t i = 0; i < walk->page_count; i++)
        free(walk->pages[i]);
    free(walk->pages);
    free(walk->steps);
    *walk = WALK_INIT;
}

static struct walk_page *page_of(struct walk *walk, uint64_t num) {
    size_t at = (size_t)(num / PAGE_NUMS);
    if (at >= walk->page_count) {
        size_t count = at + at / 2 + 8;
        walk->pages = mem_grow(walk->pages, count, sizeof(struct walk_page *));
        memset(walk->pages + walk->page_count, 0,
               (count - walk->page_count) * sizeof(struct walk_page *));
        walk->page_count = count;
    }
    if (!walk->pages[at])
        walk->pages[at] = mem_alloc(sizeof(struct walk_page));
    return walk->pages[at];
}

bool walk_met(const struct walk *walk, uint64_t num) {
    size_t at = (size_t)(num / PAGE_NUMS);
    if (at >= walk->page_count || !walk->pages[at])
        return false;
    uint64_t place = num % PAGE_NUMS;
    return walk->pages[at]->bits[place / WORD_BITS] >> (place % WORD_BITS) & 1;
}

bool walk_add(struct walk *walk, uint64_t num, size_t from) {
    struct walk_page *page = page_of(walk, num);
    uint64_t place = num % PAGE_NUMS;
    uint64_t bit = UINT64_C(1) << (place % WORD_BITS);
    if (page->bits[place / WORD_BITS] & bit)
        return false;
    page->bits[place / WORD_BITS] |= bit;
    if (walk->count == walk->cap) {
        walk->cap = walk->cap ? walk->cap * 2 : 64;
        walk->steps = mem_grow(walk->steps, walk->cap, sizeof(*walk->steps));
    }
    walk->steps[walk->count++] = (struct walk_step){
        .num = num,
        .from = from,
        .depth = from == WALK_START ? 0 : walk->steps[from].depth + 1,
    };
    return true;
}

bool walk_next(struct walk *walk, size_t *ret_at) {
    if (walk->at == walk->count)
        return false;
    *ret_at = walk->at++;
    return true;
}
