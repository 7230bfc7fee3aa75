#include "serve/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/status.h"

enum { BACKLOG = 128 };

clf_status socket_bind(int *out, const char *host, int port)
{
    char service[16];
    struct addrinfo *found = NULL;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    snprintf(service, sizeof service, "%d", port);
    *out = -1;
    int error = port <= 65535 ? getaddrinfo(host, service, &hints, &found) : EAI_SERVICE;
    if (error != 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s, port %d: %s; change --host or --port", host, port,
                         gai_strerror(error));
    }
    int one = 1, descriptor = -1;
    errno = 0;
    for (const struct addrinfo *each = found; each != NULL && descriptor < 0; each = each->ai_next) {
        descriptor = socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (descriptor >= 0 && bind(descriptor, each->ai_addr, each->ai_addrlen) != 0) {
            int reason = errno;
            close(descriptor);
            descriptor = -1;
            errno = reason;
        }
    }
    int reason = errno;
    freeaddrinfo(found);
    *out = descriptor;
    return descriptor >= 0 ? CLF_OK
                           : clf__fail(CLF_BAD_ARGUMENT, "%s, port %d: %s; choose another --host or --port",
                                       host, port, strerror(reason));
}

clf_status socket_listen(int descriptor, const char *scheme, char *address, size_t size)
{
    struct sockaddr_storage bound;
    socklen_t length = sizeof bound;
    char host[INET6_ADDRSTRLEN + 32], port[8]; /* numeric, with a scope */
    if (listen(descriptor, BACKLOG) != 0 ||
        getsockname(descriptor, (struct sockaddr *)&bound, &length) != 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "cannot listen: %s; choose another --port", strerror(errno));
    }
    int error = getnameinfo((struct sockaddr *)&bound, length, host, sizeof host, port, sizeof port,
                            NI_NUMERICHOST | NI_NUMERICSERV);
    if (error != 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "cannot listen: %s; change --host", gai_strerror(error));
    }
    int is_ipv6 = strchr(host, ':') != NULL;
    snprintf(address, size, "%s://%s%s%s:%s", scheme, is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", port);
    return CLF_OK;
}
