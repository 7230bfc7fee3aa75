#include "serve/live_sessions.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "audio/resampler.h"
#include "base/clock.h"
#include "base/little_endian.h"
#include "base/status.h"

enum { BLOCK = 1024, WAIT_NANOSECONDS = 50000000, SECOND_NANOSECONDS = 1000000000 };

struct live_sessions {
    pthread_mutex_t lock; /* guards the list and the samples of its sessions */
    pthread_cond_t changed;
    struct live_session *first;
    int count;
};

clf_status live_sessions_create(struct live_sessions **out)
{
    struct live_sessions *sessions = *out = calloc(1, sizeof *sessions);
    if (sessions == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for live sessions");
    }
    pthread_mutex_init(&sessions->lock, NULL);
    pthread_cond_init(&sessions->changed, NULL);
    return CLF_OK;
}

void live_session_free(struct live_session *session)
{
    if (session != NULL) {
        clf_live_free(session->live);
        clf_transcriber_free(session->transcriber);
        clf__resampler_free(session->resampler);
        free(session->samples);
        free(session->prompt);
        free(session);
    }
}

static void free_all(struct live_session *first)
{
    while (first != NULL) {
        struct live_session *next = first->next;
        live_session_free(first);
        first = next;
    }
}

void live_sessions_free(struct live_sessions *sessions)
{
    if (sessions == NULL) {
        return;
    }
    free_all(sessions->first);
    pthread_cond_destroy(&sessions->changed);
    pthread_mutex_destroy(&sessions->lock);
    free(sessions);
}

/* Removes a session from the list. */
static void remove_session(struct live_sessions *sessions, const struct live_session *session)
{
    struct live_session **at = &sessions->first;
    while (*at != session) {
        at = &(*at)->next;
    }
    *at = session->next;
    sessions->count--;
}

void live_sessions_remove_idle(struct live_sessions *sessions)
{
    struct live_session *removed = NULL;
    double oldest = clf__seconds() - LIVE_IDLE_SECONDS;
    pthread_mutex_lock(&sessions->lock);
    for (struct live_session *session = sessions->first, *next; session != NULL; session = next) {
        next = session->next;
        if (!session->has_reader && session->last < oldest) {
            remove_session(sessions, session);
            session->next = removed;
            removed = session;
        }
    }
    pthread_mutex_unlock(&sessions->lock);
    free_all(removed);
}

static struct live_session *find(const struct live_sessions *sessions, const char *id)
{
    struct live_session *session = sessions->first;
    while (session != NULL && strcmp(session->id, id) != 0) {
        session = session->next;
    }
    return session;
}

enum live_result live_sessions_add(char *id, struct live_sessions *sessions, struct live_session *session)
{
    uint64_t random[2];
    clf_status status = clf__resampler_create(&session->resampler, session->rate, "live audio");
    if (status != CLF_OK) {
        return status == CLF_UNSUPPORTED ? LIVE_HAS_BAD_RATE : LIVE_HAS_FAILED;
    }
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
        return LIVE_HAS_FAILED;
    }
    snprintf(session->id, sizeof session->id, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
    memcpy(id, session->id, sizeof session->id);
    session->last = clf__seconds();
    live_sessions_remove_idle(sessions);
    pthread_mutex_lock(&sessions->lock);
    int is_full = sessions->count >= LIVE_MOST_SESSIONS;
    if (!is_full) {
        session->next = sessions->first;
        sessions->first = session;
        sessions->count++;
    }
    pthread_mutex_unlock(&sessions->lock);
    return is_full ? LIVE_IS_FULL : LIVE_DONE;
}

/* Makes room for samples; returns 0 if out of memory. */
static int make_room(struct live_session *session, size_t more)
{
    if (session->taken > session->count) { /* more samples were taken since the last move than are moved */
        memmove(session->samples, session->samples + session->taken,
                session->count * sizeof *session->samples);
        session->taken = 0;
    }
    if (session->taken + session->count + more > session->capacity) {
        size_t capacity = 2 * (session->taken + session->count + more);
        float *grown = realloc(session->samples, capacity * sizeof *grown);
        if (grown == NULL) {
            return 0;
        }
        session->samples = grown;
        session->capacity = capacity;
    }
    return 1;
}

/* Resamples samples, and at the end (count 0) the samples that the resampler still has; returns 0 if out of
 * memory. */
static int resample(struct live_session *session, const float *samples, size_t count)
{
    size_t used, added;
    do {
        if (!make_room(session, BLOCK)) {
            return 0;
        }
        float *end = session->samples + session->taken + session->count;
        if (clf__resampler_run(session->resampler, samples, count, &used, end, BLOCK, &added) != CLF_OK) {
            return 0;
        }
        session->count += added;
        samples += used;
        count -= used;
    } while (count > 0 || (added == BLOCK && session->resampler != NULL));
    return 1;
}

/* Adds 16-bit samples, of which the first may have begun in an earlier call. */
static int add_bytes(struct live_session *session, const char *bytes, size_t size)
{
    float samples[BLOCK];
    size_t count = 0;
    for (size_t i = 0; i < size; i++) {
        session->half[session->has_half] = bytes[i];
        session->has_half = !session->has_half;
        if (!session->has_half) {
            samples[count++] = (float)(int16_t)clf__read_16((const uint8_t *)session->half) / 32768;
        }
        if (count == BLOCK || (count > 0 && i + 1 == size)) {
            if (!resample(session, samples, count)) {
                return 0;
            }
            count = 0;
        }
    }
    return 1;
}

static enum live_result send(double *waiting, struct live_session *session, const char *bytes, size_t size,
                             int ends)
{
    double seconds = (double)(size / 2) / session->rate;
    if (session->has_ended) {
        return LIVE_IS_OVER;
    }
    if ((double)session->count / CLF_AUDIO_RATE + seconds > LIVE_WAITING_SECONDS) {
        return LIVE_IS_FULL;
    }
    session->last = clf__seconds();
    const float none = 0;
    int is_added = add_bytes(session, bytes, size);
    if (ends) {
        session->has_ended = 1;
        is_added = is_added && (session->resampler == NULL || resample(session, &none, 0));
    }
    *waiting = (double)session->count / CLF_AUDIO_RATE;
    return is_added ? LIVE_DONE : LIVE_HAS_FAILED;
}

enum live_result live_sessions_send(double *waiting, struct live_sessions *sessions, const char *id,
                                    const char *bytes, size_t size, int ends)
{
    pthread_mutex_lock(&sessions->lock);
    struct live_session *session = find(sessions, id);
    enum live_result result = session != NULL ? send(waiting, session, bytes, size, ends) : LIVE_IS_UNKNOWN;
    pthread_cond_broadcast(&sessions->changed);
    pthread_mutex_unlock(&sessions->lock);
    return result;
}

enum live_result live_sessions_read(struct live_session **out, struct live_sessions *sessions, const char *id)
{
    pthread_mutex_lock(&sessions->lock);
    struct live_session *session = *out = find(sessions, id);
    enum live_result result = session == NULL       ? LIVE_IS_UNKNOWN
                              : session->has_reader ? LIVE_IS_OVER
                                                    : LIVE_DONE;
    if (result == LIVE_DONE) {
        session->has_reader = 1;
        session->last = clf__seconds();
    }
    pthread_mutex_unlock(&sessions->lock);
    return result;
}

void live_sessions_end(struct live_sessions *sessions, struct live_session *session)
{
    pthread_mutex_lock(&sessions->lock);
    remove_session(sessions, session);
    pthread_mutex_unlock(&sessions->lock);
    live_session_free(session);
}

static void wait_for_samples(struct live_sessions *sessions)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += WAIT_NANOSECONDS;
    end.tv_sec += end.tv_nsec / SECOND_NANOSECONDS;
    end.tv_nsec %= SECOND_NANOSECONDS;
    pthread_cond_timedwait(&sessions->changed, &sessions->lock, &end);
}

int live_sessions_take(float *samples, size_t *count, size_t *waiting, size_t room,
                       struct live_sessions *sessions, struct live_session *session)
{
    pthread_mutex_lock(&sessions->lock);
    if (session->count == 0 && !session->has_ended) {
        wait_for_samples(sessions);
    }
    *count = session->count < room ? session->count : room;
    if (*count > 0) {
        session->count -= *count;
        memcpy(samples, session->samples + session->taken, *count * sizeof *samples);
        session->taken += *count;
    }
    *waiting = session->count;
    session->has_ended |= *count == 0 && session->last < clf__seconds() - LIVE_IDLE_SECONDS;
    int continues = *count > 0 || !session->has_ended;
    pthread_mutex_unlock(&sessions->lock);
    return continues;
}
