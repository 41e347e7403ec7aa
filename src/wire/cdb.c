#include "wire/cdb.h"

#include <stdlib.h>

enum { TABLES = 256, HEAD_BYTES = 2048, HASH_START = 5381 };

static uint32_t hash_of(struct span key) {
    uint32_t hash = HASH_START;
    for (size_t i = 0; i < key.len; i++)
        hash = ((hash << 5) + hash) ^ (unsigned char)key.p[i];
    return hash;
}

/* Little-endian, like all numbers of the format. */
static void put_number(char *at, uint32_t value) {
    for (int i = 0; i < 4; i++, value >>= 8)
        at[i] = (char)(value & 255);
}

static void add_number(struct text *text, uint32_t value) {
    char four[4];
    put_number(four, value);
    text_add(text, four, sizeof(four));
}

void cdb_init(struct cdb *cdb) {
    static const char head[HEAD_BYTES];
    *cdb = (struct cdb){0};
    text_add(&cdb->bytes, head, sizeof(head));
}

void cdb_clear(struct cdb *cdb) {
    text_clear(&cdb->bytes);
    free(cdb->slots);
    *cdb = (struct cdb){0};
}

/* Including the tables, which take 16 bytes per record. */
static bool has_room(const struct cdb *cdb, size_t bytes) {
    return cdb->bytes.len + bytes + 16 * (cdb->count + 1) < UINT32_MAX;
}

void cdb_add(struct cdb *cdb, struct span key, struct span value) {
    if (cdb->too_large || !has_room(cdb, 8 + key.len + value.len)) {
        cdb->too_large = true;
        return;
    }
    if (cdb->count == cdb->cap) {
        cdb->cap = cdb->cap ? cdb->cap * 2 : 64;
        cdb->slots = mem_grow(cdb->slots, cdb->cap, sizeof(*cdb->slots));
    }
    cdb->slots[cdb->count++] =
        (struct cdb_slot){hash_of(key), (uint32_t)cdb->bytes.len};
    add_number(&cdb->bytes, (uint32_t)key.len);
    add_number(&cdb->bytes, (uint32_t)value.len);
    text_addspan(&cdb->bytes, key);
    text_addspan(&cdb->bytes, value);
}

/* Adds one table: it has twice as many places as records, and each record takes
 * the first free place from where its hash points. */
static void add_table(struct text *bytes, unsigned table,
                      const struct cdb_slot *slots, size_t count,
                      struct cdb_slot *places) {
    size_t size = 2 * count;
    put_number(bytes->p + (size_t)table * 8, (uint32_t)bytes->len);
    put_number(bytes->p + (size_t)table * 8 + 4, (uint32_t)size);
    memset(places, 0, size * sizeof(*places));
    for (size_t i = 0; i < count; i++) {
        size_t at = (slots[i].hash >> 8) % size;
        while (places[at].at != 0)
            at = (at + 1) % size;
        places[at] = slots[i];
    }
    for (size_t i = 0; i < size; i++) {
        add_number(bytes, places[i].hash);
        add_number(bytes, places[i].at);
    }
}

/* By table, then in the order in which they were added. */
static int by_table(const void *a, const void *b) {
    const struct cdb_slot *x = a, *y = b;
    unsigned p = x->hash & 255, q = y->hash & 255;
    return p != q ? (p > q) - (p < q) : (x->at > y->at) - (x->at < y->at);
}

bool cdb_finish(struct cdb *cdb, struct err *err) {
    if (cdb->too_large)
        return err_set(err, ERR_DATA,
                       "a cdb file cannot hold 4 GiB; export less with "
                       "--since");
    if (cdb->count > 1)
        qsort(cdb->slots, cdb->count, sizeof(*cdb->slots), by_table);
    struct cdb_slot *places = mem_alloc((2 * cdb->count + 1) * sizeof(*places));
    size_t at = 0;
    for (unsigned table = 0; table < TABLES; table++) {
        size_t end = at;
        while (end < cdb->count && (cdb->slots[end].hash & 255) == table)
            end++;
        add_table(&cdb->bytes, table, cdb->count > 0 ? cdb->slots + at : NULL,
                  end - at, places);
        at = end;
    }
    free(places);
    return true;
}
