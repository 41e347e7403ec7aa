/* Which part of an attempt's output is lost: what the disk refused, as recorded
 * with the attempt, and what the file lacks today, because a power cut or a
 * damaged disk took it (G13). */
#ifndef POINTSMAN_BASE_OUTPUT_LOSS_H
#define POINTSMAN_BASE_OUTPUT_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/text.h"
#include "os/output.h"
#include "store/store.h"

struct output_loss {
    bool any;                 /* some was lost, or may be */
    bool origins;             /* only the streams and times of its bytes */
    uint64_t bytes;           /* 0: how many is not known */
    uint64_t unmarked;        /* of these, no mark in the output says so */
    uint64_t missing;         /* of these, recorded nowhere as lost */
    char why[ERR_TEXT_BYTES]; /* "No space left on device" */
};

/* `output` NULL: only what was recorded. The output of an attempt that has not
 * ended is not looked at. Opens and closes its file. */
void output_loss_find(struct output *output,
                      const struct store_attempt *attempt,
                      struct output_loss *ret_loss);

/* Appends "512 bytes of its output are lost: No space left on device", "the
 * streams and times of its output are lost: ..." or "some of its output may be
 * lost: ...". Only if `any`. */
void output_loss_format(const struct output_loss *loss, struct text *out);

#endif
