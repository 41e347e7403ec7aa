#include "http/http_caller.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/process.h"
#include "os/sock.h"

struct http_caller {
    bool is_known, is_refused;
    struct sock_peer peer;
    struct api_caller where;
    uint64_t account;      /* the one that its connections are counted for */
    struct count *counted; /* NULL: may have any number */
};

struct count {
    uint64_t connections;
};

/* The process may end, and its pid be used again, only after it was looked at.
 * If /proc hides it or its parents from us (hidepid), our own account gets the
 * benefit of the doubt: it can write to the registry anyway. */
static void look_at_process(const struct http_callers *callers, int fd,
                            struct http_caller *caller) {
    CLEANUP(fd_close) int pidfd = sock_peer_process(fd, &caller->peer);
    api_caller_find(callers->api, caller->peer.pid, &caller->where);
    if (caller->where.place == ACCESS_UNCLEAR && caller->peer.uid == geteuid())
        caller->where.place = ACCESS_OUTSIDE;
    /* Only a process of a job has a reason to leave its connection to another
     * one and end. */
    if (pidfd < 0 || process_has_ended(pidfd))
        caller->where = (struct api_caller){
            .place = caller->peer.pid > 0 ? ACCESS_IN_JOB : ACCESS_UNCLEAR};
}

static uint64_t most_of(const struct http_callers *callers) {
    uint64_t most =
        (uint64_t)callers->base->config.serve.connections_per_account;
    uint64_t half = callers->most / 2;
    return most < half ? most : half;
}

static void problem(const struct http_callers *callers,
                    const struct http_caller *caller, struct text *body) {
    struct err err = {0};
    err_set(&err, ERR_TEMPORARY,
            "uid %" PRIu64 " has %" PRIu64
            " connections to the server, and no account may have more "
            "(serve.connections-per-account): end some of its commands that "
            "wait or follow, then try again",
            caller->account, most_of(callers));
    api_problem_format(429, "too many connections", &err, body);
}

/* A caller that sends nothing would hold its place until it is idle too long,
 * so the answer does not wait for a request. It fits into any socket buffer. */
static void refuse(const struct http_callers *callers,
                   struct http_caller *caller, int fd) {
    CLEANUP(text_clear) struct text body = TEXT_INIT, reply = TEXT_INIT;
    problem(callers, caller, &body);
    text_addf(&reply,
              "HTTP/1.1 429 Too Many Requests\r\n"
              "Content-Type: application/problem+json\r\n"
              "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
              body.len, text_string(&body));
    (void)!send(fd, reply.p, reply.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)shutdown(fd, SHUT_RDWR);
    caller->is_refused = true;
}

static void count_in(struct http_callers *callers, struct http_caller *caller,
                     int fd) {
    struct span key = map_num_key(&caller->account);
    if (caller->account == 0 || caller->account == callers->base->uid)
        return;
    struct count *count = map_get(&callers->counts, key);
    if (count != NULL && count->connections >= most_of(callers)) {
        refuse(callers, caller, fd);
        return;
    }
    if (count == NULL) {
        count = mem_alloc(sizeof(*count));
        (void)map_put(&callers->counts, key, count);
    }
    count->connections++;
    caller->counted = count;
}

struct http_caller *http_caller_new(struct http_callers *callers, int fd) {
    struct http_caller *caller = mem_alloc(sizeof(*caller));
    caller->is_known =
        callers->base != NULL && sock_peer(fd, &caller->peer, NULL);
    if (!caller->is_known)
        return caller;
    look_at_process(callers, fd, caller);
    caller->account = caller->where.has_submitter ? caller->where.submitter
                                                  : caller->peer.uid;
    count_in(callers, caller, fd);
    return caller;
}

void http_caller_free(struct http_callers *callers,
                      struct http_caller *caller) {
    if (caller->counted != NULL && --caller->counted->connections == 0)
        free(map_remove(&callers->counts, map_num_key(&caller->account)));
    free(caller);
}

bool http_caller_is_refused(const struct http_caller *caller) {
    return caller->is_refused;
}

static struct access_actor account_of(const struct http_callers *callers,
                                      const struct http_caller *caller,
                                      int fd) {
    uint32_t groups[SOCK_PEER_GROUPS];
    size_t count = 0;
    if (access_needs_groups(&callers->base->access))
        count = sock_peer_groups(fd, groups);
    return access_actor_make(&callers->base->access, caller->peer.uid, groups,
                             count);
}

struct access_actor http_caller_actor(const struct http_callers *callers,
                                      const struct http_caller *caller, int fd,
                                      const char *person) {
    struct access_actor actor = {0};
    if (!caller->is_known)
        return actor;
    actor = person != NULL
                ? access_actor_person(&callers->base->access, caller->peer.uid,
                                      span_of(person))
                : account_of(callers, caller, fd);
    api_caller_apply(callers->api, &caller->where, &actor);
    return actor;
}
