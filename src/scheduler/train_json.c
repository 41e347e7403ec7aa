#include "scheduler/train_json.h"

#include "lib/json.h"
#include "scheduler/scheduler_state.h"
#include "scheduler/target_train.h"

enum { ATTEMPTS_MAX = 20 };

static const char *proof_word(enum train_proof proof) {
    static const char *const words[] = {[TRAIN_TIP_UNKNOWN] = "unknown",
                                        [TRAIN_TIP_UNPROVEN] = "unproven",
                                        [TRAIN_TIP_PROVEN] = "proven",
                                        [TRAIN_TIP_BROKEN] = "broken"};
    return words[proof];
}

static void add_environment(const struct target_train *target,
                            struct json *json) {
    static const char *const words[] = {[ENVIRONMENT_AWAITED] = "awaited",
                                        [ENVIRONMENT_KNOWN] = "known",
                                        [ENVIRONMENT_FAILED] = "failed"};
    const struct target_environment *environment = &target->environment;
    if (target->target == NULL || target->target->environment.len == 0)
        return;
    json_key(json, "environment");
    json_string(json, words[environment->state]);
    json_put_text(json, "environment_detail", text_span(&environment->fault));
}

static void train_line(struct scheduler *scheduler,
                       const struct target_train *target, struct text *out) {
    struct train_overview overview;
    struct json json;
    train_overview(target->train, &overview);
    json_open(&json, out);
    json_object(&json);
    json_key(&json, "kind");
    json_string(&json, "train");
    json_key(&json, "target");
    json_span(&json, target->name);
    json_put_text(&json, "tip", overview.commit);
    json_put_text(&json, "tree", overview.tree);
    json_key(&json, "proof");
    json_string(&json, proof_word(overview.proof));
    json_put_text(&json, "reason", overview.reason);
    json_put_text(&json, "detail", overview.detail);
    json_put_time(&json, "again", overview.again);
    json_put_i64(&json, "units", (int64_t)overview.units);
    json_put_i64(&json, "lanes", overview.lanes);
    json_put_i64(&json, "busy", overview.busy);
    json_put_i64(&json, "slots", scheduler->options.slots);
    json_put_i64(&json, "running", (int64_t)scheduler->running);
    json_put_i64(&json, "pass_ppm", overview.q_ppm);
    json_key(&json, "landing");
    json_bool(&json, overview.landing);
    add_environment(target, &json);
    json_end(&json);
    text_addc(out, '\n');
}

static void add_names(const struct target_train *target,
                      const struct train_place *place, struct arena *arena,
                      struct json *json) {
    json_key(json, "on_top_of");
    json_array(json);
    for (size_t i = 0; i < place->on_top_count; i++) {
        struct train_place other;
        if (train_find(target->train, place->on_top_of[i], arena, &other))
            json_span(json, other.id);
    }
    json_end(json);
}

/* Its checks and landings so far, and how they ended. */
static void add_attempts(struct scheduler *scheduler,
                         const struct train_place *place, struct arena *arena,
                         struct json *json) {
    struct store_attempt *rows;
    size_t count;
    struct err err;
    if (!store_attempts(scheduler->store, place->num, arena, &rows, &count,
                        &err))
        return;
    json_key(json, "attempts");
    json_array(json);
    for (size_t i = count > ATTEMPTS_MAX ? count - ATTEMPTS_MAX : 0; i < count;
         i++) {
        json_object(json);
        json_put_i64(json, "attempt", rows[i].attempt);
        json_put_text(json, "reason", rows[i].reason);
        if (rows[i].ended.ns != 0 && rows[i].started.ns != 0)
            json_put_i64(json, "ms",
                         wall_ms_since(rows[i].ended, rows[i].started));
        json_end(json);
    }
    json_end(json);
}

static void unit_line(struct scheduler *scheduler,
                      const struct target_train *target,
                      const struct train_place *place, struct arena *arena,
                      struct text *out) {
    struct json json;
    json_open(&json, out);
    json_object(&json);
    json_key(&json, "kind");
    json_string(&json, "unit");
    json_put_i64(&json, "position", (int64_t)place->position);
    json_key(&json, "id");
    json_span(&json, place->id);
    json_key(&json, "class");
    json_string(&json, job_class_word(place->job_class));
    json_key(&json, "state");
    json_string(&json, train_state_word(place->state));
    add_names(target, place, arena, &json);
    json_put_text(&json, "tree", place->tree);
    json_put_i64(&json, "runs", place->runs);
    add_attempts(scheduler, place, arena, &json);
    json_key(&json, "reused");
    json_bool(&json, place->reused);
    json_key(&json, "stale");
    json_bool(&json, place->stale);
    json_put_time(&json, "begun", place->begun);
    if (place->begun.ns != 0)
        json_put_i64(&json, "elapsed_ms",
                     wall_ms_since(scheduler->now, place->begun));
    if (place->expected_ms > 0)
        json_put_i64(&json, "expected_ms", place->expected_ms);
    json_put_text(&json, "reason", place->reason);
    json_put_text(&json, "detail", place->detail);
    json_end(&json);
    text_addc(out, '\n');
}

bool train_json(struct scheduler *scheduler, struct span name,
                struct text *out) {
    bool found = false;
    LIST_EACH (&scheduler->trains, link) {
        const struct target_train *target =
            LIST_OF(link, struct target_train, link);
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct train_place place;
        /* A target that is not configured any more is of interest only while
         * sets wait for it. */
        if ((name.len > 0 && !span_equal(target->name, name)) ||
            (target->target == NULL && list_empty(&target->units)))
            continue;
        found = true;
        train_line(scheduler, target, out);
        for (size_t at = 1; train_place(target->train, at, &arena, &place);
             at++)
            unit_line(scheduler, target, &place, &arena, out);
    }
    return found;
}
