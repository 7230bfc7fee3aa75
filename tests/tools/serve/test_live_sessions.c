/* The list of live transcriptions. */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include "audio/decoder.h"
#include "serve/live_sessions.h"

/* Adds a session without a transcriber. */
static struct live_session *add_session(struct live_sessions *sessions, char *id)
{
    struct live_session *session = calloc(1, sizeof *session);
    assert_non_null(session);
    session->rate = CLF_AUDIO_RATE;
    assert_int_equal(live_sessions_add(id, sessions, session), LIVE_DONE);
    assert_string_equal(id, session->id);
    return session;
}

static enum live_result send_samples(struct live_sessions *sessions, const char *id, const int16_t *samples,
                                     int count, int ends)
{
    double waiting;
    return live_sessions_send(&waiting, sessions, id, (const char *)samples, (size_t)count * sizeof *samples,
                              ends);
}

/* Takes up to `room` samples, which continue at *next. */
static int take(int *next, struct live_sessions *sessions, struct live_session *session, size_t room)
{
    float *samples = support_array(room, sizeof *samples);
    size_t count, waiting;
    int continues = live_sessions_take(samples, &count, &waiting, room, sessions, session);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(samples[i] * 32768, (*next)++ % 30000);
    }
    return continues;
}

/* Samples arrive in the order in which they were sent, however many are sent and taken at a time. */
static void test_order(void **state)
{
    (void)state;
    enum { ROUNDS = 40 };
    struct live_sessions *sessions;
    struct live_session *session;
    char id[LIVE_ID_BYTES];
    int sent = 0, taken = 0;
    assert_ok(live_sessions_create(&sessions));
    add_session(sessions, id);
    assert_int_equal(live_sessions_read(&session, sessions, id), LIVE_DONE);
    for (int round = 0; round < ROUNDS; round++) {
        int count = 1 + round * 977 % 5000;
        int16_t *samples = support_array((size_t)count, sizeof *samples);
        for (int i = 0; i < count; i++) {
            samples[i] = (int16_t)(sent++ % 30000);
        }
        assert_int_equal(send_samples(sessions, id, samples, count, round + 1 == ROUNDS), LIVE_DONE);
        assert_true(take(&taken, sessions, session, (size_t)(1 + round * 1543 % 4000)));
    }
    while (take(&taken, sessions, session, 4096)) {
    }
    assert_int_equal(taken, sent);
    live_sessions_end(sessions, session);
    live_sessions_free(sessions);
}

/* Idle sessions are removed, except those whose events are read. */
static void test_idle(void **state)
{
    (void)state;
    struct live_sessions *sessions;
    char idle_id[LIVE_ID_BYTES], new_id[LIVE_ID_BYTES], read_id[LIVE_ID_BYTES];
    int16_t sample = 0;
    assert_ok(live_sessions_create(&sessions));
    struct live_session *idle = add_session(sessions, idle_id), *read = add_session(sessions, read_id);
    add_session(sessions, new_id);
    assert_int_equal(live_sessions_read(&read, sessions, read_id), LIVE_DONE);
    read->last = idle->last -= LIVE_IDLE_SECONDS + 1;
    live_sessions_remove_idle(sessions);
    assert_int_equal(send_samples(sessions, idle_id, &sample, 1, 0), LIVE_IS_UNKNOWN);
    assert_int_equal(send_samples(sessions, new_id, &sample, 1, 0), LIVE_DONE);
    assert_int_equal(send_samples(sessions, read_id, &sample, 1, 0), LIVE_DONE);
    live_sessions_free(sessions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_idle)};
    return cmocka_run_group_tests(tests, NULL, support_teardown);
}
