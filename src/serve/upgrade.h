/* `pointsman upgrade`: another program goes on in place of this one, in the
 * same process and with the same supervisor, so that no task ends
 * (doc/design/processes.md, P18).
 *
 *     probing -> settling -> preparing -> quiescing -> the owner leaves and
 *         \_________\___________\___ failed: everything goes on as    executes
 *                                    before */
#ifndef POINTSMAN_SERVE_UPGRADE_H
#define POINTSMAN_SERVE_UPGRADE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "lib/err.h"
#include "base/base.h"
#include "serve/roles.h"
#include "serve/upgrade_state.h"

struct upgrade;

struct upgrade_options {
    uv_loop_t *loop;
    struct base *base;
    struct roles *roles;
    const char *program;                /* executed next; an absolute path */
    const struct upgrade_state *before; /* of the upgrade that this program is
                                           the result of, or NULL */
    /* All are called from the loop. Accept no more requests. */
    void (*quiesce)(void *ctx);
    /* Whether requests that were read are unanswered. */
    bool (*is_busy)(void *ctx);
    /* Everything can be handed over now. */
    void (*leave)(void *ctx);
    void *ctx;
};

struct upgrade *upgrade_new(const struct upgrade_options *options);
/* The loop frees it later. NULL is fine. */
void upgrade_free(struct upgrade *upgrade);
/* ERR_BUSY: one is under way; ERR_UNAVAILABLE: this process cannot do it. */
bool upgrade_begin(struct upgrade *upgrade, struct err *err);
/* ERR_BUSY: none is under way, or it is too late. */
bool upgrade_give_up(struct upgrade *upgrade, struct err *err);
/* What it waits for, in words, in the arena; NULL: it does not wait. */
const char *upgrade_waits_for(const struct upgrade *upgrade,
                              struct arena *arena);
/* Appends a JSON object and LF: number, state, program, error, waits_for. */
void upgrade_show(const struct upgrade *upgrade, struct text *out);
/* The end of a child of the guard; true: it was the probe. */
bool upgrade_ended(struct upgrade *upgrade, const struct guard_end *end);
uint64_t upgrade_number(const struct upgrade *upgrade);

/* `pointsman upgrade-probe`: whether this program could go on. One that can
 * prints the answer as a line, so that no other program is taken for it. */
#define UPGRADE_PROBE_ANSWER "this program can go on"
struct upgrade_needs {
    int64_t state, guard; /* versions that the server has */
};
bool upgrade_probe(const char *base_path, const struct upgrade_needs *needs,
                   struct err *err);

/* Executes the program with this process's arguments; on an error the one that
 * runs now, which reads why in the state. Returns only if neither can be
 * executed. */
void upgrade_execute(const char *program, int state_fd, int program_fd);
/* The program before goes on. */
void upgrade_fall_back(int state_fd, int program_fd, const struct err *why);
/* The descriptors that upgrade_execute passed on. False: none. */
bool upgrade_inherited(int *ret_state_fd, int *ret_program_fd);

#endif
