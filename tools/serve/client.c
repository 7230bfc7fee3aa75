#include "serve/client.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/clock.h"

static const double SECONDS_BETWEEN_CHECKS = 0.05;

static _Thread_local struct {
    int socket; /* -1: none */
    int is_gone;
    double next_check;
} client = {.socket = -1};

void client_set(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        connection != NULL ? MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD) : NULL;
    client.socket = info != NULL ? info->connect_fd : -1;
    client.is_gone = 0;
    client.next_check = clf__seconds() + SECONDS_BETWEEN_CHECKS;
}

int client_is_gone(void)
{
    double now = client.socket >= 0 && !client.is_gone ? clf__seconds() : 0;
    if (now > client.next_check) {
        char byte;
        ssize_t size = recv(client.socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        client.is_gone = size == 0 || (size < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
        client.next_check = now + SECONDS_BETWEEN_CHECKS;
    }
    return client.is_gone;
}
