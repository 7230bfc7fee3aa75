#include "serve/client.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/clock.h"

static const double SECONDS_BETWEEN_CHECKS = 0.05;

static _Thread_local struct {
    int socket; /* -1: none */
    int is_gone, discards;
    double next_check, end;
} client = {.socket = -1};

void client_set(struct MHD_Connection *connection, double seconds)
{
    const union MHD_ConnectionInfo *info =
        connection != NULL ? MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD) : NULL;
    client_set_socket(info != NULL ? info->connect_fd : -1, seconds);
    client.discards = 0; /* the next request may have arrived */
}

void client_set_socket(int socket, double seconds)
{
    client.socket = socket;
    client.discards = 1;
    client.is_gone = 0;
    client.next_check = clf__seconds() + SECONDS_BETWEEN_CHECKS;
    client.end = clf__seconds() + seconds;
}

int client_is_gone(void)
{
    double now = client.socket >= 0 && !client.is_gone ? clf__seconds() : 0;
    if (now > client.next_check) {
        char bytes[4096];
        ssize_t size = recv(client.socket, bytes, client.discards ? sizeof bytes : 1,
                            MSG_DONTWAIT | (client.discards ? 0 : MSG_PEEK));
        client.is_gone = size == 0 || (size < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
        client.next_check = now + SECONDS_BETWEEN_CHECKS;
    }
    return client.is_gone;
}

int client_is_late(void)
{
    return client.socket >= 0 && clf__seconds() >= client.end;
}

void client_address(char *out, size_t size, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    client_format(out, size, info != NULL ? info->client_addr : NULL);
}

void client_format(char *out, size_t size, const struct sockaddr *address)
{
    size_t length = address != NULL && address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                                      : sizeof(struct sockaddr_in);
    if (address == NULL ||
        getnameinfo(address, (socklen_t)length, out, (socklen_t)size, NULL, 0, NI_NUMERICHOST) != 0) {
        snprintf(out, size, "unknown");
    }
}
