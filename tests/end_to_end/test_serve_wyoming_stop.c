/* `clformer serve --wyoming`: the end of the server while utterances are running, and invalid flags. */
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "end_to_end/wyoming_client.h"

#if defined CLF_HAS_SERVER && defined CLF_HAS_AUDIO

static double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Begins an utterance of an hour, whose transcription takes far longer than the test. */
static int begin_long(void)
{
    const struct format least = {1000, 1, 1};
    return begin(utterance("", least, noise((size_t)3600 * 1000)));
}

/* Work for a client that has disconnected is cancelled; a signal ends idle connections, and an utterance that
 * has begun is answered. */
static void test_grace(void **state)
{
    char byte;
    (void)state;
    struct http_server server = start("--verbose --grace 600");
    struct packet samples = noise(320);
    int gone = begin_long(), idle = begin(text_packet(DESCRIBE));
    struct packet start_of_utterance = join(chunk(usual, samples), text_packet(DESCRIBE));
    int unfinished = begin(start_of_utterance), busy = begin(start_of_utterance);
    assert_int_equal(recv(unfinished, &byte, 1, 0), 1); /* the chunk before was read */
    assert_int_equal(recv(busy, &byte, 1, 0), 1);
    close(gone);
    double before = seconds_now();
    kill(server.process.child, SIGTERM);
    http_receive(&last, idle); /* to its end */
    close(unfinished);
    http_send(busy, STOP, strlen(STOP));
    http_receive(&last, busy);
    assert_non_null(strstr(last.bytes, "{\"type\":\"transcript\","));
    assert_int_equal(coprocess_end(&server.process), 0);
    assert_true(seconds_now() - before < 60);
    assert_int_equal(process_count(server.process.errors, "clformer: wyoming transcribe 499 "), 2);
    assert_int_equal(process_count(server.process.errors, "clformer: wyoming transcribe 200 "), 1);
    assert_null(strstr(server.process.errors, "a request failed"));
}

/* A signal ends running utterances after the grace period. */
static void test_stop(void **state)
{
    (void)state;
    struct http_server server = start("--verbose --grace 0 --req-limit 2");
    int running = begin_long(), unfinished = begin(chunk(usual, noise(2)));
    do { /* until the others have begun */
        http_pause();
        exchange_text(STOP);
    } while (strstr(last.bytes, "\"transcript\"") != NULL);
    check_error("too many requests; try again in a minute");
    double before = seconds_now();
    assert_int_equal(http_stop(&server, SIGTERM), 0);
    assert_true(seconds_now() - before < 60);
    assert_int_equal(process_count(server.process.errors, "clformer: wyoming transcribe 503 "), 2);
    close(running);
    close(unfinished);
}

static void test_refused(void **state)
{
    (void)state;
    struct process_result result = run_clformer(NULL, "serve -q -m " DEMO_MODEL " --port 0 --wyoming 0");
    assert_refused(result, 2, "--wyoming: requires a Whisper model; add -m MODEL");
    result = run_clformer(NULL, "serve -m x --wyoming 0 --require-api-key --api-keys /dev/null");
    assert_refused(result, 2, "--wyoming: the protocol has no keys; remove --require-api-key or --wyoming");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_grace, support_teardown),
        cmocka_unit_test_teardown(test_stop, support_teardown),
        cmocka_unit_test_teardown(test_refused, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
