/* The client whose request a thread answers. */
#ifndef CLF_TOOLS_SERVE_CLIENT_H
#define CLF_TOOLS_SERVE_CLIENT_H

#include <stddef.h>
#include <sys/socket.h>

#include <microhttpd.h>

/* Status of a request whose client is gone, for the log and the metrics, as in nginx. */
enum { CLIENT_IS_GONE = 499 };

/* Sets the client of this thread, and the time for its request; NULL: none. */
void client_set(struct MHD_Connection *connection, double seconds);
/* Sets the client to that of a socket, whose further bytes are discarded; -1: none. */
void client_set_socket(int socket, double seconds);
/* Returns 1 if the client of this thread has closed its connection, also if only for sending. Looks every 50
 * ms. */
int client_is_gone(void);
/* Returns 1 if the time for the request of this thread is over. */
int client_is_late(void);
/* Writes the address of a client, without its port. */
void client_address(char *out, size_t size, struct MHD_Connection *connection);
/* Writes an address without its port; NULL: unknown. */
void client_format(char *out, size_t size, const struct sockaddr *address);

#endif
