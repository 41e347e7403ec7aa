#include "worker/log_packer.h"

#include <stdlib.h>

#include "lib/list.h"
#include "lib/log.h"

struct packing {
    struct list link;
    char *place;
};

struct log_packer {
    uv_loop_t *loop;
    struct output *output;
    struct list waiting; /* of struct packing */
    uv_work_t work;
    uv_timer_t last;     /* closes from the loop, never from within a call */
    struct packing *now; /* being packed in the thread; NULL: none */
    struct err err;
    bool ok, closing;
    void (*closed)(void *ctx);
    void *ctx;
};

struct log_packer *log_packer_new(uv_loop_t *loop, struct output *output) {
    struct log_packer *packer = mem_alloc(sizeof *packer);
    packer->loop = loop;
    packer->output = output;
    packer->work.data = packer->last.data = packer;
    list_init(&packer->waiting);
    return packer;
}

static void pack(uv_work_t *work) {
    struct log_packer *packer = work->data;
    packer->ok =
        output_pack(packer->output, span_of(packer->now->place), &packer->err);
}

static void next(struct log_packer *packer);

static void packed(uv_work_t *work, int status) {
    struct log_packer *packer = work->data;
    if (status == 0 && !packer->ok)
        log_warning("an output stays uncompressed: %s", packer->err.text);
    free(packer->now->place);
    free(packer->now);
    packer->now = NULL;
    next(packer);
}

static void on_last_closed(uv_handle_t *handle) {
    struct log_packer *packer = handle->data;
    void (*closed)(void *) = packer->closed;
    void *ctx = packer->ctx;
    free(packer);
    closed(ctx);
}

static void next(struct log_packer *packer) {
    struct list *link = packer->now == NULL ? list_pop(&packer->waiting) : NULL;
    if (link != NULL) {
        packer->now = LIST_OF(link, struct packing, link);
        packer->err = (struct err){0};
        uv_queue_work(packer->loop, &packer->work, pack, packed);
    } else if (packer->now == NULL && packer->closing) {
        uv_timer_init(packer->loop, &packer->last);
        uv_close((uv_handle_t *)&packer->last, on_last_closed);
    }
}

void log_packer_add(struct log_packer *packer, struct span place) {
    struct packing *packing = mem_alloc(sizeof *packing);
    packing->place = span_string(place);
    list_push(&packer->waiting, &packing->link);
    next(packer);
}

void log_packer_close(struct log_packer *packer, void (*closed)(void *ctx),
                      void *ctx) {
    packer->closing = true;
    packer->closed = closed;
    packer->ctx = ctx;
    next(packer);
}
