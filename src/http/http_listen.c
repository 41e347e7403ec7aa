/* Listening sockets for HTTP over TCP. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/fd.h"
#include "http/http_server.h"

static bool address_parse(const char *text, struct sockaddr_storage *ret,
                          socklen_t *ret_bytes) {
    const char *colon = strrchr(text, ':');
    uint64_t port;
    char host[64];

    if (colon == NULL || !span_u64(span_of(colon + 1), &port) ||
        port > UINT16_MAX || (size_t)(colon - text) >= sizeof(host))
        return false;
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    memset(ret, 0, sizeof *ret);
    size_t len = strlen(host);
    if (len > 2 && host[0] == '[' && host[len - 1] == ']') {
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)ret;
        host[len - 1] = '\0';
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t)port);
        *ret_bytes = sizeof *six;
        return inet_pton(AF_INET6, host + 1, &six->sin6_addr) == 1;
    }
    struct sockaddr_in *four = (struct sockaddr_in *)ret;
    four->sin_family = AF_INET;
    four->sin_port = htons((uint16_t)port);
    *ret_bytes = sizeof *four;
    bool loopback = len == 0 || strcmp(host, "localhost") == 0;
    return inet_pton(AF_INET, loopback ? "127.0.0.1" : host, &four->sin_addr) ==
           1;
}

/* If the address has port 0, the kernel chose one. */
void http_server_url(int fd, struct text *url) {
    struct sockaddr_storage where;
    socklen_t bytes = sizeof(where);
    char host[INET6_ADDRSTRLEN] = "";

    if (getsockname(fd, (struct sockaddr *)&where, &bytes) < 0)
        return;
    if (where.ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&where;
        inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof(host));
        text_addf(url, "http://[%s]:%u/", host, ntohs(six->sin6_port));
    } else {
        const struct sockaddr_in *four = (const struct sockaddr_in *)&where;
        inet_ntop(AF_INET, &four->sin_addr, host, sizeof(host));
        text_addf(url, "http://%s:%u/", host, ntohs(four->sin_port));
    }
}

static bool address_wrong(const char *address, struct err *err) {
    return err_set(err, ERR_CONFIG,
                   "cannot listen on '%s': write ADDRESS:PORT, such as "
                   "127.0.0.1:8750, or off",
                   address);
}

bool http_server_address_check(const char *address, struct err *err) {
    struct sockaddr_storage where;
    socklen_t bytes;

    return address_parse(address, &where, &bytes) ||
           address_wrong(address, err);
}

bool http_server_listen_tcp(const char *address, int *ret_fd,
                            struct text *ret_url, struct err *err) {
    struct sockaddr_storage where;
    socklen_t bytes;
    int on = 1;

    if (!address_parse(address, &where, &bytes))
        return address_wrong(address, err);
    CLEANUP(fd_close)
    int fd =
        socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_errno(err, errno, "cannot create a socket");
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (const struct sockaddr *)&where, bytes) < 0 ||
        listen(fd, SOMAXCONN) < 0) {
        if (errno == EADDRINUSE)
            return err_set(err, ERR_UNAVAILABLE,
                           "cannot listen on '%s': the port is in use; choose "
                           "another one with --listen",
                           address);
        return err_errno(err, errno, "cannot listen on '%s'", address);
    }
    http_server_url(fd, ret_url);
    *ret_fd = take_fd(&fd);
    return true;
}
