/* Live transcriptions: a client opens a session, sends samples to it in several requests, and reads the
 * events in another one. Any number of threads may call these functions. */
#ifndef CLF_TOOLS_SERVE_LIVE_SESSIONS_H
#define CLF_TOOLS_SERVE_LIVE_SESSIONS_H

#include <stdatomic.h>
#include <stdint.h>

#include <clformer/clformer.h>

struct live_sessions;

enum {
    LIVE_MOST_SESSIONS = 32,
    LIVE_ID_BYTES = 33,
    LIVE_IDLE_SECONDS = 60,    /* a session without new samples ends */
    LIVE_WAITING_SECONDS = 60, /* audio that may wait in a session */
};

/* A session. The creator sets the first members, which the reader of its events uses. */
struct live_session {
    struct clf_transcriber *transcriber; /* owned, like `live` */
    struct clf_live *live;
    struct service *service;
    struct speech_model *model;
    struct clf_transcribe_options options; /* of the transcriber */
    char *prompt;                          /* owned; NULL: none */
    int rate;                              /* of the samples, in Hz */
    atomic_int is_abandoned;               /* the reader has disconnected */
    char id[LIVE_ID_BYTES];
    /* Guarded by the lock of the sessions: */
    struct clf__resampler *resampler; /* NULL: none is needed */
    float *samples;                   /* (capacity) samples [taken, taken + count) wait for the reader */
    size_t taken, count, capacity;
    char half[2]; /* the first byte of an incomplete sample */
    int has_half;
    double last;               /* time of the last samples */
    int has_reader, has_ended; /* the events are read; no more samples will arrive */
    struct live_session *next;
};

/* How a call ended. */
enum live_result {
    LIVE_DONE = 0,
    LIVE_IS_UNKNOWN = 1,   /* no session has this id */
    LIVE_IS_FULL = 2,      /* too many sessions, or too much audio would wait */
    LIVE_IS_OVER = 3,      /* the session takes no more samples, or has a reader */
    LIVE_HAS_FAILED = 4,   /* out of memory */
    LIVE_HAS_BAD_RATE = 5, /* clf_last_error() describes why the rate cannot be converted */
};

clf_status live_sessions_create(struct live_sessions **out);
void live_sessions_free(struct live_sessions *sessions); /* NULL is ignored */

/* Frees a session that is not in the list. */
void live_session_free(struct live_session *session);

/* Adds a session to the list, which owns it, and gives it an id, which is also copied to `id`
 * (LIVE_ID_BYTES), because another thread may end the session at once. */
enum live_result live_sessions_add(char *id, struct live_sessions *sessions, struct live_session *session);

/* Removes the sessions without a reader that have received no samples for LIVE_IDLE_SECONDS. */
void live_sessions_remove_idle(struct live_sessions *sessions);

/* Adds 16-bit little-endian samples to a session. ends: no more will follow. *waiting receives the seconds of
 * audio that the reader has not taken. */
enum live_result live_sessions_send(double *waiting, struct live_sessions *sessions, const char *id,
                                    const char *bytes, size_t size, int ends);

/* Begins to read the events of a session; call live_sessions_end(), which frees it. */
enum live_result live_sessions_read(struct live_session **out, struct live_sessions *sessions,
                                    const char *id);
void live_sessions_end(struct live_sessions *sessions, struct live_session *session);

/* Takes up to `room` samples of the reader's session; waits up to 50 ms for them. *waiting receives the
 * number of samples that are left. Returns 0 if no more will arrive, or none has for a while. */
int live_sessions_take(float *samples, size_t *count, size_t *waiting, size_t room,
                       struct live_sessions *sessions, struct live_session *session);

#endif
