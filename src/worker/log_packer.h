/* Packs large outputs of ended attempts, one at a time, in a thread of the
 * loop's pool. An output that is not packed when the process dies stays as it
 * is and remains readable. */
#ifndef POINTSMAN_WORKER_LOG_PACKER_H
#define POINTSMAN_WORKER_LOG_PACKER_H

#include <uv.h>

#include "lib/text.h"
#include "os/output.h"

enum { LOG_PACK_BYTES = 64 << 10 }; /* smaller outputs are not packed */

struct log_packer;

/* `output` must outlive the packer. */
struct log_packer *log_packer_new(uv_loop_t *loop, struct output *output);
/* Queues the output in this place, to which nothing will be added any more. */
void log_packer_add(struct log_packer *packer, struct span place);
/* Packs the outputs still queued, frees the packer, calls `closed` from the
 * loop. */
void log_packer_close(struct log_packer *packer, void (*closed)(void *ctx),
                      void *ctx);

#endif
