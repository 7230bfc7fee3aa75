#include "serve/clients.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"

enum {
    SECONDS = 60, /* period of the rate limits */
    MOST_CLIENTS =
        4096, /* clients whose requests are counted; a new one replaces the least recently active */
    LINE_BYTES = CLIENT_KEY_BYTES + 32
};

struct key {
    char bytes[CLIENT_KEY_BYTES]; /* padded with NUL */
    int per_minute;               /* 0: no limit */
};

/* The requests of a key or an address in the last minute. */
struct counted_client {
    char name[CLIENT_ADDRESS_BYTES]; /* "" for an unused entry; "#3" for the fourth key */
    int counts[SECONDS];             /* by second */
    int64_t last_second;
};

struct clients {
    struct key *keys;
    int key_count, capacity;
    int needs_key, per_minute;
    pthread_mutex_t lock; /* guards the members below */
    struct counted_client counted[MOST_CLIENTS];
};

static clf_status add_key(struct clients *clients, char *line, const char *path, int number)
{
    char *rest = NULL, *word = strtok_r(line, " \t\r\n", &rest), *end = NULL;
    if (word == NULL || *word == '#') {
        return CLF_OK;
    }
    const char *limit = strtok_r(NULL, " \t\r\n", &rest);
    errno = 0;
    long per_minute = limit != NULL ? strtol(limit, &end, 10) : clients->per_minute;
    int is_wrong = limit != NULL && (end == limit || *end != '\0' || errno != 0);
    if (strlen(word) >= CLIENT_KEY_BYTES || is_wrong || per_minute < 0 || per_minute > INT_MAX ||
        strtok_r(NULL, " \t\r\n", &rest) != NULL) {
        return clf__fail(
            CLF_FORMAT,
            "%s, line %d: must be a key of at most %d bytes, optionally followed by its requests per minute",
            path, number, CLIENT_KEY_BYTES - 1);
    }
    if (clients->key_count == clients->capacity) {
        int capacity = 2 * clients->capacity + 16;
        struct key *grown = realloc(clients->keys, (size_t)capacity * sizeof *grown);
        if (grown == NULL) {
            return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for %d keys", capacity);
        }
        clients->keys = grown;
        clients->capacity = capacity;
    }
    struct key *key = &clients->keys[clients->key_count++];
    *key = (struct key){.per_minute = (int)per_minute};
    memcpy(key->bytes, word, strlen(word));
    return CLF_OK;
}

static clf_status read_keys(struct clients *clients, const char *path)
{
    char line[LINE_BYTES];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return clf__fail(CLF_FILE, "%s: %s", path, strerror(errno));
    }
    clf_status status = CLF_OK;
    for (int number = 1; status == CLF_OK && fgets(line, sizeof line, file) != NULL; number++) {
        int is_long = strchr(line, '\n') == NULL && !feof(file);
        status = is_long && line[0] != '#' ? clf__fail(CLF_FORMAT, "%s, line %d: is longer than %d bytes",
                                                       path, number, LINE_BYTES - 2)
                                           : add_key(clients, line, path, number);
        for (int byte = is_long ? fgetc(file) : '\n'; byte != '\n' && byte != EOF; byte = fgetc(file)) {
        }
    }
    if (status == CLF_OK && ferror(file)) {
        status = clf__fail(CLF_FILE, "%s: cannot be read", path);
    }
    fclose(file);
    return status == CLF_OK && clients->key_count == 0 ? clf__fail(CLF_FORMAT, "%s: has no keys", path)
                                                       : status;
}

clf_status clients_create(struct clients **out, const char *path, int needs_key, int per_minute)
{
    struct clients *clients = *out = calloc(1, sizeof *clients);
    if (clients == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the counts of %d clients",
                         MOST_CLIENTS);
    }
    clients->needs_key = needs_key;
    clients->per_minute = per_minute;
    pthread_mutex_init(&clients->lock, NULL);
    return path != NULL ? read_keys(clients, path) : CLF_OK;
}

void clients_free(struct clients *clients)
{
    if (clients != NULL) {
        pthread_mutex_destroy(&clients->lock);
        free(clients->keys);
    }
    free(clients);
}

int clients_have_keys(const struct clients *clients)
{
    return clients->key_count > 0;
}

int clients_need_keys(const struct clients *clients)
{
    return clients->needs_key;
}

/* Returns the index of a key, or -1. The running time does not depend on which bytes match. */
static int find_key(const struct clients *clients, const char *word)
{
    char padded[CLIENT_KEY_BYTES] = "";
    int found = -1;
    if (strlen(word) >= sizeof padded) {
        return -1;
    }
    memcpy(padded, word, strlen(word));
    for (int i = 0; i < clients->key_count; i++) {
        unsigned difference = 0;
        for (int j = 0; j < CLIENT_KEY_BYTES; j++) {
            difference |= (unsigned char)padded[j] ^ (unsigned char)clients->keys[i].bytes[j];
        }
        found = difference == 0 ? i : found;
    }
    return found;
}

static struct counted_client *find_counted(struct clients *clients, const char *name)
{
    struct counted_client *oldest = &clients->counted[0];
    for (int i = 0; i < MOST_CLIENTS; i++) {
        struct counted_client *one = &clients->counted[i];
        if (strcmp(one->name, name) == 0) {
            return one;
        }
        if (one->name[0] == '\0') {
            oldest = one;
            break; /* entries are used in order */
        }
        oldest = one->last_second < oldest->last_second ? one : oldest;
    }
    *oldest = (struct counted_client){.name = ""};
    snprintf(oldest->name, sizeof oldest->name, "%s", name);
    return oldest;
}

/* Counts a request of a client, even if it is refused. Returns 1 if the client is within its limit. */
static int count_request(struct counted_client *client, int64_t second, int cost, int per_minute)
{
    int64_t passed = second - client->last_second, sum = 0;
    for (int64_t i = 1; i <= passed && i <= SECONDS; i++) {
        client->counts[(client->last_second + i) % SECONDS] = 0;
    }
    client->last_second = second;
    int *now = &client->counts[second % SECONDS];
    *now = cost < INT_MAX / SECONDS - *now ? *now + cost : INT_MAX / SECONDS;
    for (int i = 0; i < SECONDS; i++) {
        sum += client->counts[i];
    }
    return sum <= per_minute;
}

enum client_verdict clients_admit(int *limit, struct clients *clients, const char *key, const char *address,
                                  int cost)
{
    char name[CLIENT_ADDRESS_BYTES];
    int has_key = key != NULL && *key != '\0' && clients->key_count > 0;
    int index = has_key ? find_key(clients, key) : -1;
    if (has_key && index < 0) {
        return CLIENT_HAS_WRONG_KEY;
    }
    if (clients->needs_key && index < 0) {
        return CLIENT_LACKS_KEY;
    }
    *limit = index >= 0 ? clients->keys[index].per_minute : clients->per_minute;
    if (*limit == 0) {
        return CLIENT_IS_ADMITTED;
    }
    if (index >= 0) {
        snprintf(name, sizeof name, "#%d", index);
    } else {
        snprintf(name, sizeof name, "%s", address);
    }
    pthread_mutex_lock(&clients->lock);
    int is_kept = count_request(find_counted(clients, name), (int64_t)clf__seconds(), cost, *limit);
    pthread_mutex_unlock(&clients->lock);
    return is_kept ? CLIENT_IS_ADMITTED : CLIENT_IS_TOO_FAST;
}
