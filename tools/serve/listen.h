/* A listening socket. */
#ifndef CLF_TOOLS_SERVE_LISTEN_H
#define CLF_TOOLS_SERVE_LISTEN_H

#include <clformer/clformer.h>

/* Binds a socket to an address without listening, so that a port in use is reported before a model is loaded.
 * Port 0 is any free port. CLF_BAD_ARGUMENT names the address. */
clf_status socket_bind(int *out, const char *host, int port);
/* Listens, and writes "SCHEME://HOST:PORT". */
clf_status socket_listen(int descriptor, const char *scheme, char *address, size_t size);

#endif
