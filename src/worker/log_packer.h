/* Packs large outputs of attempts that have ended, one after the other, in a
 * thread of the loop's pool. What is not packed when the process dies stays as
 * it is, which is as good to read. */
#ifndef POINTSMAN_WORKER_LOG_PACKER_H
#define POINTSMAN_WORKER_LOG_PACKER_H

#include <uv.h>

#include "lib/text.h"
#include "os/output.h"

enum { LOG_PACK_BYTES = 64 << 10 }; /* smaller ones are not worth it */

struct log_packer;

/* `output` must outlive it. */
struct log_packer *log_packer_new(uv_loop_t *loop, struct output *output);
/* Nothing will be added to the output in this place. */
void log_packer_add(struct log_packer *packer, struct span place);
/* Packs what was given to it, frees itself, calls `closed` from the loop. */
void log_packer_close(struct log_packer *packer, void (*closed)(void *ctx),
                      void *ctx);

#endif
