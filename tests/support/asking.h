/* Makes API calls the way a transport does, on a store in memory. */
#ifndef POINTSMAN_TESTS_SUPPORT_ASKING_H
#define POINTSMAN_TESTS_SUPPORT_ASKING_H

#include "support/test.h"

#include "lib/json.h"
#include "api/api.h"
#include "store/store.h"

struct asking {
    struct store *store;
    struct api *api;
    struct access_rules access;
    struct access_actor actor;
    struct wall now;
    const char *key; /* Idempotency-Key; NULL: none */
};

struct answer {
    int status; /* 0: none yet */
    bool ended;
    struct text body;
    struct api_call *call; /* open while it has not ended */
    unsigned ready;        /* number of calls of on_ready */
};

void asking_begin(struct asking *asking);
void asking_end(struct asking *asking);
/* Later requests come from this account. */
void asking_become(struct asking *asking, uint32_t uid);

/* Returns the whole answer; runs the store until it is complete. */
struct answer ask(struct asking *asking, enum api_method method,
                  const char *uri, const char *body);
/* Opens the call and reads the part of the answer that is ready at once. */
void ask_open(struct asking *asking, enum api_method method, const char *uri,
              const char *body, struct answer *ret_answer);
/* Reads the part of the answer that became ready since. */
void answer_more(struct answer *answer);
void answer_clear(struct answer *answer);
/* Makes the request and asserts the status of the answer. */
void ask_expect(struct asking *asking, enum api_method method, const char *uri,
                const char *body, int status);

/* Moves a job through the given states, one after the other: "PXF". */
void asking_advance(struct asking *asking, const char *id, const char *letters,
                    int exit_code);
bool answer_has(const struct answer *answer, const char *part);

#endif
