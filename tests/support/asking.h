/* Calls of the API, made like a transport makes them, over a store in
 * memory. */
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
    unsigned ready;        /* how often the call said so */
};

void asking_begin(struct asking *asking);
void asking_end(struct asking *asking);
/* Requests made from now on come from this account. */
void asking_become(struct asking *asking, uint32_t uid);

/* The whole answer; the store turns until it is there. */
struct answer ask(struct asking *asking, enum api_method method,
                  const char *uri, const char *body);
/* Opens the call and reads what is there at once. */
void ask_open(struct asking *asking, enum api_method method, const char *uri,
              const char *body, struct answer *ret_answer);
/* Reads what has come since. */
void answer_more(struct answer *answer);
void answer_clear(struct answer *answer);
/* Asserts the status and clears. */
void ask_expect(struct asking *asking, enum api_method method, const char *uri,
                const char *body, int status);

/* Puts a job through steps of its life: "PXF" from where it is. */
void asking_live(struct asking *asking, const char *id, const char *letters,
                 int exit_code);
bool answer_has(const struct answer *answer, const char *part);

#endif
