/* Keys of clients, and their limits of requests per minute. Any number of threads may call these functions.
 */
#ifndef CLF_TOOLS_SERVE_CLIENTS_H
#define CLF_TOOLS_SERVE_CLIENTS_H

#include <clformer/clformer.h>

struct clients;

enum { CLIENT_ADDRESS_BYTES = 64, CLIENT_KEY_BYTES = 128 };

enum client_verdict {
    CLIENT_IS_ADMITTED = 0,
    CLIENT_HAS_WRONG_KEY = 1,
    CLIENT_LACKS_KEY = 2,
    CLIENT_IS_TOO_FAST = 3,
};

/* Reads a file of keys: one per line, which a limit of its requests per minute may follow; a line that begins
 * with "#" is a comment.
 *
 * @param path NULL: there are no keys, and every client is admitted.
 * @param needs_key 1: clients without a key are refused.
 * @param per_minute the limit of clients without a key, by address, and of keys without a limit; 0: none.
 * @return CLF_FILE; CLF_FORMAT naming the line. */
clf_status clients_create(struct clients **out, const char *path, int needs_key, int per_minute);
void clients_free(struct clients *clients);

/* Counts a request.
 *
 * @param key NULL or "": none.
 * @param cost number of requests that this one counts for.
 * @param limit receives the requests per minute, for CLIENT_IS_TOO_FAST. */
enum client_verdict clients_admit(int *limit, struct clients *clients, const char *key, const char *address,
                                  int cost);
int clients_have_keys(const struct clients *clients);
int clients_need_keys(const struct clients *clients);

#endif
