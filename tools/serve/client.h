/* The client whose request a thread answers. */
#ifndef CLF_TOOLS_SERVE_CLIENT_H
#define CLF_TOOLS_SERVE_CLIENT_H

#include <stddef.h>
#include <sys/socket.h>

#include <microhttpd.h>

/* Status of a request whose client has disconnected, for the log and the metrics, as in nginx. */
enum { CLIENT_IS_GONE = 499 };

/* Sets this thread's client and the time limit of its request; NULL: none. */
void client_set(struct MHD_Connection *connection, double seconds);
/* Sets this thread's client to that of a socket, whose further bytes are discarded; -1: none. */
void client_set_socket(int socket, double seconds);
/* Returns 1 if this thread's client has closed its connection, even if only for sending. Checks every 50
 * ms. */
int client_is_gone(void);
/* Returns 1 if this thread's request has exceeded its time limit. */
int client_is_late(void);
/* Writes the address of a client, without the port. */
void client_address(char *out, size_t size, struct MHD_Connection *connection);
/* Writes an address without its port; NULL: unknown. */
void client_format(char *out, size_t size, const struct sockaddr *address);

#endif
