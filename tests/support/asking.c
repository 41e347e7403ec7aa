#include "support/asking.h"

#include "serve/tables.h"
#include "store/simulated.h"

static struct wall pretend_now;

static struct wall fixed_now(void) {
    return pretend_now;
}

void asking_begin(struct asking *asking) {
    *asking = (struct asking){0};
    pretend_now = wall_from_s(1800000000);
    asking->now = pretend_now;
    store_nouns_use(serve_nouns, serve_noun_count);
    config_sections_use(serve_sections, serve_section_count);
    asking->store = store_new_sqlite();
    asking->access = (struct access_rules){.owner = 1000};
    struct api_options options = {
        .tables = &serve_tables,
        .store = asking->store,
        .access = &asking->access,
        .now = fixed_now,
        .seed = 1,
    };
    asking_become(asking, 1000);
    asking->api = api_new(&options);
}

void asking_become(struct asking *asking, uint32_t uid) {
    asking->actor = access_actor_make(&asking->access, uid, NULL, 0);
}

void asking_end(struct asking *asking) {
    api_free(asking->api);
    store_close(asking->store);
}

static void on_ready(void *ctx) {
    ((struct answer *)ctx)->ready++;
}

void answer_more(struct answer *answer) {
    struct span bytes;
    if (answer->ended)
        return;
    answer->status = api_call_status(answer->call);
    if (answer->status == 0)
        return;
    while (api_call_read(answer->call, &bytes)) {
        if (bytes.len == 0)
            return;
        text_addspan(&answer->body, bytes);
        api_call_skip(answer->call, bytes.len);
    }
    answer->ended = true;
    api_call_close(answer->call);
    answer->call = NULL;
}

void ask_open(struct asking *asking, enum api_method method, const char *uri,
              const char *body, struct answer *ret_answer) {
    struct api_request request = {.method = method,
                                  .uri = span_of(uri),
                                  .actor = asking->actor,
                                  .idempotency_key = span_of(asking->key)};
    *ret_answer = (struct answer){0};
    ret_answer->call =
        api_call_open(asking->api, &request, on_ready, ret_answer);
    if (body != NULL)
        (void)api_call_give(ret_answer->call, span_of(body));
    api_call_finish(ret_answer->call);
    answer_more(ret_answer);
}

struct answer ask(struct asking *asking, enum api_method method,
                  const char *uri, const char *body) {
    static struct answer answer; /* on_ready keeps its address */
    ask_open(asking, method, uri, body, &answer);
    for (int i = 0; i < 1000 && !answer.ended; i++) {
        store_turn(asking->store);
        (void)api_turn(asking->api);
        answer_more(&answer);
    }
    assert_true(answer.ended);
    return answer;
}

void answer_clear(struct answer *answer) {
    api_call_close(answer->call);
    text_clear(&answer->body);
    *answer = (struct answer){0};
}

void ask_expect(struct asking *asking, enum api_method method, const char *uri,
                const char *body, int status) {
    struct answer answer = ask(asking, method, uri, body);
    if (answer.status != status)
        print_message("%s: %d %s\n", uri, answer.status,
                      text_string(&answer.body));
    assert_int_equal(answer.status, status);
    answer_clear(&answer);
}

bool answer_has(const struct answer *answer, const char *part) {
    return strstr(text_string(&answer->body), part) != NULL;
}

static struct span reason_of(enum job_state from, enum job_state to) {
    static const char *const reasons[] = {
        "admitted", "rb",       "staged", "ready", "start",      "ok",
        "exit-1",   "operator", "temp",   "retry", "dep-failed", "rollback"};
    for (size_t i = 0; i < COUNT(reasons); i++)
        if (job_step_is_legal(from, to, span_of(reasons[i])))
            return span_of(reasons[i]);
    fail_msg("no step from %c to %c", job_state_letter(from),
             job_state_letter(to));
    return (struct span){0};
}

void asking_advance(struct asking *asking, const char *id, const char *letters,
                    int exit_code) {
    struct arena arena = ARENA_INIT;
    struct job job;
    struct err err = {0};
    for (; *letters != '\0'; letters++) {
        enum job_state to;
        assert_true(store_find(asking->store, span_of(id), &arena, &job, &err));
        assert_true(job_state_of_letter(*letters, &to));
        struct store_batch *batch = store_batch_new(asking->store);
        store_batch_actor(batch, asking->now, SPAN("daemon:exec"));
        struct store_attempt attempt = {.num = job.num,
                                        .attempt = job.attempt + 1,
                                        .status = TASK_RUNNING,
                                        .assigned = asking->now,
                                        .exit_code = -1,
                                        .worker = SPAN("local")};
        bool starts = to == STATE_EXECUTING;
        bool ends = job.state == STATE_EXECUTING;
        if (starts)
            store_assign(batch, &attempt);
        if (ends) {
            attempt.attempt = job.attempt;
            attempt.status = to == STATE_DONE ? TASK_DONE : TASK_FAILED;
            attempt.exit_code = exit_code;
            store_end(batch, &attempt);
        }
        unsigned at = store_move(
            batch, &(struct store_move){.num = job.num,
                                        .from = job.state,
                                        .to = to,
                                        .reason = reason_of(job.state, to),
                                        .begin_attempt = starts});
        assert_true(store_write(batch, &err));
        assert_int_equal(store_batch_result(batch, at), STORE_DONE);
        store_batch_free(batch);
    }
    arena_clear(&arena);
}
