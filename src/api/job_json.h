/* Jobs, tasks, attempts and events as JSON, the same for lists, pages and
 * the command line, and the exit code that a job's end stands for. */
#ifndef POINTSMAN_API_JOB_JSON_H
#define POINTSMAN_API_JOB_JSON_H

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/json.h"
#include "base/output_loss.h"
#include "core/job.h"
#include "store/store.h"

/* One object: id, kind, class, state (its word), since, target, reason,
 * attempt, and more. */
void job_json(struct json *json, const struct job *job, struct arena *arena);
/* A member with a time; null if it is 0. */
void job_json_time(struct json *json, const char *key, struct wall wall);
/* The same members inside an object already open. */
void job_json_members(struct json *json, const struct job *job,
                      struct arena *arena);
/* A submission, `spec` of struct job, or null if there is none. Not
 * `with_values`: each value of its environment is null. */
void job_submission_json(struct json *json, struct span spec, bool with_values,
                         struct arena *arena);
void job_attempt_json(struct json *json, const struct job *job,
                      const struct store_attempt *attempt,
                      const struct output_loss *loss);
/* The members `lost_bytes`, `lost_origins` and `lost_reason`. */
void job_loss_json(struct json *json, const struct output_loss *loss);
/* The members `cpu_us` and `peak_kib` of the open object; null: not known. */
void job_usage_json(struct json *json, uint64_t cpu_us, uint64_t peak_kib);
/* `ended`: the attempt that ended with the event, to show what it used; NULL:
 * none. */
void job_event_json(struct json *json, const struct store_event *event,
                    const struct store_attempt *ended);

/* What the job does, in one line: the command as typed, or the first line of
 * a change's message. */
struct span job_what(const struct job *job, struct arena *arena);
/* The node it must run on: the submission's `node`; empty: anywhere. */
struct span job_node(const struct job *job, struct arena *arena);

/* The exit code of `run` and `wait` for a job that has ended. */
bool job_exit_code(struct store *store, const struct job *job,
                   struct arena *arena, int *ret_code, struct err *err);

#endif
