#include "serve/wyoming.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"
#include "serve/client.h"
#include "serve/wyoming_dialogue.h"

enum { POLL_MILLISECONDS = 50, HEADER_BYTES = 44 };
/* Time for a client to close its connection after its last answer. */
static const double LINGER_SECONDS = 1;

enum state { IS_FREE, IS_OPEN, IS_ENDED };

/* A connection and its thread; the lock of the server guards the state and is_busy. */
struct connection {
    struct wyoming *wyoming;
    struct wyoming_client client;
    pthread_t thread;
    enum state state;
    int is_busy; /* an utterance has begun */
};

struct wyoming {
    struct service *service;
    uint64_t most_audio;
    int listening;
    pthread_t thread; /* accepts connections */
    atomic_int is_stopping;
    pthread_mutex_t lock;
    struct connection connections[WYOMING_MOST_CONNECTIONS];
};

/* --- A connection --- */

static int begin(void *user)
{
    struct connection *connection = user;
    struct wyoming *wyoming = connection->wyoming;
    pthread_mutex_lock(&wyoming->lock);
    connection->is_busy = !atomic_load(&wyoming->is_stopping);
    if (connection->is_busy) {
        atomic_fetch_add(&wyoming->service->running, 1);
    }
    pthread_mutex_unlock(&wyoming->lock);
    return connection->is_busy;
}

static void end(void *user)
{
    const struct connection *connection = user;
    atomic_fetch_sub(&connection->wyoming->service->running, 1);
}

/* Ends the answers, and drains the client's remaining bytes: closing a connection with unread bytes would
 * discard the last answer in transit. */
static void linger(int socket)
{
    double last = clf__seconds() + LINGER_SECONDS;
    char bytes[1 << 12];
    ssize_t count = 1;
    shutdown(socket, SHUT_WR);
    while (count > 0 && clf__seconds() < last) {
        struct pollfd one = {.fd = socket, .events = POLLIN};
        count = poll(&one, 1, POLL_MILLISECONDS) > 0 ? recv(socket, bytes, sizeof bytes, MSG_DONTWAIT) : 1;
    }
}

static void *answer(void *user)
{
    struct connection *connection = user;
    struct wyoming *wyoming = connection->wyoming;
    wyoming_dialogue(&connection->client);
    linger(connection->client.socket);
    pthread_mutex_lock(&wyoming->lock);
    close(connection->client.socket);
    connection->state = IS_ENDED;
    pthread_mutex_unlock(&wyoming->lock);
    return NULL;
}

/* --- The server --- */

/* Returns a free connection, or NULL. */
static struct connection *find_free(struct wyoming *wyoming)
{
    struct connection *found = NULL;
    pthread_mutex_lock(&wyoming->lock);
    for (int i = 0; i < WYOMING_MOST_CONNECTIONS && found == NULL; i++) {
        struct connection *one = &wyoming->connections[i];
        found = one->state != IS_OPEN ? one : NULL;
    }
    pthread_mutex_unlock(&wyoming->lock);
    if (found != NULL && found->state == IS_ENDED) {
        pthread_join(found->thread, NULL);
        found->state = IS_FREE;
    }
    return found;
}

/* Starts a thread for a client, whose socket it closes. */
static void open_connection(struct wyoming *wyoming, int socket, const struct sockaddr *address)
{
    struct connection *connection = find_free(wyoming);
    if (connection == NULL) {
        close(socket);
        return;
    }
    *connection = (struct connection){.wyoming = wyoming};
    connection->client = (struct wyoming_client){.service = wyoming->service,
                                                 .socket = socket,
                                                 .most_audio = wyoming->most_audio,
                                                 .begin = begin,
                                                 .end = end,
                                                 .user = connection};
    client_format(connection->client.address, sizeof connection->client.address, address);
    pthread_mutex_lock(&wyoming->lock);
    int is_started = pthread_create(&connection->thread, NULL, answer, connection) == 0;
    connection->state = is_started ? IS_OPEN : IS_FREE;
    pthread_mutex_unlock(&wyoming->lock);
    if (!is_started) {
        close(socket);
    }
}

static void *accept_clients(void *user)
{
    struct wyoming *wyoming = user;
    struct pollfd one = {.fd = wyoming->listening, .events = POLLIN};
    while (!atomic_load(&wyoming->is_stopping)) {
        struct sockaddr_storage address;
        socklen_t length = sizeof address;
        errno = 0;
        int socket = poll(&one, 1, POLL_MILLISECONDS) > 0
                         ? accept(wyoming->listening, (struct sockaddr *)&address, &length)
                         : -1;
        if (socket >= 0) {
            fcntl(socket, F_SETFD, FD_CLOEXEC);
            open_connection(wyoming, socket, (const struct sockaddr *)&address);
        } else if (errno == EMFILE || errno == ENFILE) { /* the client stays in the queue of the socket */
            poll(NULL, 0, POLL_MILLISECONDS);
        }
    }
    return NULL;
}

clf_status wyoming_start(struct wyoming **out, int listening, struct service *service, uint64_t most_audio)
{
    struct wyoming *wyoming = *out = calloc(1, sizeof *wyoming);
    if (wyoming == NULL) {
        close(listening);
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the Wyoming server");
    }
    const uint64_t most_wav = UINT32_MAX - HEADER_BYTES; /* its header has a 32-bit size */
    wyoming->service = service;
    wyoming->most_audio = most_audio < most_wav ? most_audio : most_wav;
    wyoming->listening = listening;
    pthread_mutex_init(&wyoming->lock, NULL);
    fcntl(listening, F_SETFL, O_NONBLOCK); /* a client may disconnect between poll() and accept() */
    int error = pthread_create(&wyoming->thread, NULL, accept_clients, wyoming);
    if (error != 0) {
        pthread_mutex_destroy(&wyoming->lock);
        close(listening);
        free(wyoming);
        *out = NULL;
        return clf__fail(CLF_OUT_OF_MEMORY, "the Wyoming server cannot start a thread: %s", strerror(error));
    }
    return CLF_OK;
}

/* Makes the connection threads see the end of their streams. */
static void shut_down(struct wyoming *wyoming, int with_busy)
{
    pthread_mutex_lock(&wyoming->lock);
    for (int i = 0; i < WYOMING_MOST_CONNECTIONS; i++) {
        const struct connection *one = &wyoming->connections[i];
        if (one->state == IS_OPEN && (with_busy || !one->is_busy)) {
            shutdown(one->client.socket, SHUT_RDWR);
        }
    }
    pthread_mutex_unlock(&wyoming->lock);
}

void wyoming_stop(struct wyoming *wyoming)
{
    if (wyoming == NULL) {
        return;
    }
    atomic_store(&wyoming->is_stopping, 1);
    pthread_join(wyoming->thread, NULL);
    close(wyoming->listening);
    shut_down(wyoming, 0);
}

void wyoming_free(struct wyoming *wyoming)
{
    if (wyoming == NULL) {
        return;
    }
    shut_down(wyoming, 1);
    for (int i = 0; i < WYOMING_MOST_CONNECTIONS; i++) {
        pthread_mutex_lock(&wyoming->lock);
        int has_thread = wyoming->connections[i].state != IS_FREE;
        pthread_mutex_unlock(&wyoming->lock);
        if (has_thread) {
            pthread_join(wyoming->connections[i].thread, NULL);
        }
    }
    pthread_mutex_destroy(&wyoming->lock);
    free(wyoming);
}
