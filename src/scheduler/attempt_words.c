#include "scheduler/attempt_words.h"

#include <stdio.h>

#include "scheduler/runner.h"
#include "scheduler/work_kind.h"

/* `item` must be in the arena or static. */
static void add(struct attempt_words *words, char *item) {
    if (words->count + 1 >= words->cap) {
        size_t cap = words->cap ? words->cap * 2 : 32;
        char **items = arena_alloc(words->arena, cap * sizeof(*items));
        if (words->count)
            memcpy(items, words->items, words->count * sizeof(*items));
        words->items = items;
        words->cap = cap;
    }
    words->items[words->count++] = item;
    words->items[words->count] = NULL;
}

void attempt_words_add_string(struct attempt_words *words, const char *string) {
    add(words, arena_string(words->arena, span_of(string)));
}

void attempt_words_add_span(struct attempt_words *words, struct span span) {
    add(words, arena_string(words->arena, span));
}

/* Concatenates the parts, up to one without bytes (p is NULL). There are many
 * starts, and formatted printing costs several times as much. */
static char *joined(struct arena *arena, const struct span *parts) {
    size_t bytes = 1;
    for (size_t i = 0; parts[i].p; i++)
        bytes += parts[i].len;
    char *string = arena_alloc(arena, bytes), *at = string;
    for (; parts->p; parts++)
        at = mempcpy(at, parts->p, parts->len);
    return string;
}

#define JOINED(arena, ...) \
    joined(arena, (const struct span[]){__VA_ARGS__, {NULL, 0}})

void attempt_words_add_pair(struct attempt_words *words, struct span name,
                            struct span value) {
    add(words,
        JOINED(words->arena, name, SPAN("="), value.p ? value : SPAN("")));
}

/* FNV-1a: only to spread ids over a trace's bits, the same everywhere. */
static uint64_t spread(struct span span, uint64_t seed) {
    uint64_t hash = UINT64_C(14695981039346656037) ^ seed;
    for (size_t i = 0; i < span.len; i++)
        hash = (hash ^ (unsigned char)span.p[i]) * UINT64_C(1099511628211);
    return hash ? hash : 1;
}

static void hex_put(char *at, uint64_t value) {
    for (int i = 15; i >= 0; i--, value >>= 4)
        at[i] = "0123456789abcdef"[value & 15];
}

/* A W3C traceparent that is always the same for one attempt: trace of the job,
 * span of the attempt. */
static char *traceparent_of(const struct run_start *start,
                            struct arena *arena) {
    struct span id = start->job->id;
    uint64_t admitted = (uint64_t)start->job->admitted.ns;
    uint64_t attempt = (uint64_t)start->attempt << 32 | start->task;
    char *trace = arena_string(arena, SPAN("00-trace...........more............"
                                           "-span............-01"));
    hex_put(trace + 3, spread(id, 1));
    hex_put(trace + 19, spread(id, admitted));
    hex_put(trace + 36, spread(id, admitted ^ (attempt + 1)));
    return trace;
}

void attempt_words_add_environment(struct attempt_words *env,
                                   const struct work_site *site,
                                   const struct run_start *start) {
    static char status[] = "POINTSMAN_STATUS_FD=3";
    static char progress[] = "POINTSMAN_PROGRESS_FD=4";
    struct arena *arena = env->arena;
    struct span id = start->job->id, node = start->node;
    bool of_array = node.len > 0;
    char attempt[16];
    snprintf(attempt, sizeof(attempt), "%u", start->attempt);
    add(env, JOINED(arena, SPAN("POINTSMAN_JOB="), id));
    add(env,
        JOINED(arena, SPAN("POINTSMAN_TASK="), id,
               of_array ? SPAN("/") : SPAN(""), of_array ? node : SPAN("")));
    add(env, JOINED(arena, SPAN("POINTSMAN_ATTEMPT="), span_of(attempt)));
    add(env, JOINED(arena, SPAN("POINTSMAN_NODE="),
                    of_array ? node : SPAN("local")));
    if (start->level.len > 0) {
        add(env, JOINED(arena, SPAN("POINTSMAN_LEVEL="), start->level));
        add(env, JOINED(arena, SPAN("POINTSMAN_PLACE="), start->place));
        add(env, JOINED(arena, SPAN("POINTSMAN_JOB_NAME="), start->job_name));
    }
    add(env, JOINED(arena, SPAN("POINTSMAN_WORKER="), site->worker));
    add(env, status);
    add(env, progress);
    add(env, JOINED(arena, SPAN("TRACEPARENT="),
                    span_of(traceparent_of(start, arena))));
}
