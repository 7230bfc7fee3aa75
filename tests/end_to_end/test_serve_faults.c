/* `clformer serve`: clients that are cut off, a model folder that disappears, and a device that fails. */
#include "support/support.h"

#ifdef CLF_HAS_SERVER
#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "support/http.h"

#define MERCI "q=Merci.&source=fr&target=en"

static struct http_server server;
static struct http_answer last;

static void check_translate(const char *form, const char *expected)
{
    http_request(&last, server.port, "POST /translate", FORM_TYPE, form);
    if (last.status != 200 || strcmp(last.body, expected) != 0) {
        fail_msg("%s: expected 200 %s\ngot %d %s", form, expected, last.status, last.body);
    }
}

static void check_merci(void)
{
    check_translate(MERCI, "{\"translatedText\":\"Thanks.\"}");
}

static void stop(int expected)
{
    int status = http_stop(&server, SIGTERM);
    server.process.child = 0;
    if (status != expected) {
        fail_msg("the server ended with %d:\n%s", status, server.process.errors);
    }
}

/* ---- clients that are cut off ---- */

enum { THREADS = 8 };

struct cut {
    const char *request;
    int clients;
    unsigned random;
};

/* Returns a number below `end`. */
static int draw(unsigned *random, int end)
{
    *random = *random * 1664525u + 1013904223u;
    return (int)((*random >> 8) % (unsigned)end);
}

static void wait_some_time(unsigned *random)
{
    enum { MOST_MICROSECONDS = 20000 };
    nanosleep(&(struct timespec){.tv_nsec = 1000L * draw(random, MOST_MICROSECONDS)}, NULL);
}

/* Half of the clients send only a part of the request; the others read only a part of the answer, or nothing.
 * Half of the clients reset the connection instead of closing it. */
static void cut_client(struct cut *cut)
{
    char bytes[256];
    int size = (int)strlen(cut->request), client = http_connect(server.port);
    if (client < 0) {
        return;
    }
    int is_partial = draw(&cut->random, 2), reads = draw(&cut->random, 2), resets = draw(&cut->random, 2);
    http_send(client, cut->request, (size_t)(is_partial ? draw(&cut->random, size) : size));
    if (!is_partial && reads) {
        (void)recv(client, bytes, (size_t)(1 + draw(&cut->random, (int)sizeof bytes)), 0);
    } else {
        wait_some_time(&cut->random);
    }
    if (resets) {
        setsockopt(client, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1, .l_linger = 0},
                   sizeof(struct linger));
    }
    close(client);
}

static void *cut_clients(void *user)
{
    struct cut *cut = user;
    for (int i = 0; i < cut->clients; i++) {
        cut_client(cut);
    }
    return NULL;
}

static void cut_all(const char *request, int clients, unsigned seed)
{
    pthread_t threads[THREADS];
    struct cut cuts[THREADS];
    for (int i = 0; i < THREADS; i++) {
        cuts[i] = (struct cut){request, clients / THREADS, seed + (unsigned)i};
        assert_int_equal(pthread_create(&threads[i], NULL, cut_clients, &cuts[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* Returns the number of threads or descriptors of the server: `name` is "task" or "fd". */
static int count_of_server(const char *name)
{
    int count = 0;
    DIR *folder = opendir(process_format("/proc/%d/%s", (int)server.process.child, name));
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

static long kilobytes_of_server(void)
{
    char text[4096] = "";
    FILE *file = fopen(process_format("/proc/%d/status", (int)server.process.child), "r");
    assert_non_null(file);
    (void)fread(text, 1, sizeof text - 1, file);
    fclose(file);
    const char *line = strstr(text, "VmRSS:");
    assert_non_null(line);
    return strtol(line + strlen("VmRSS:"), NULL, 10);
}

/* Waits until the server has this number of threads or descriptors. */
static void await_count(const char *name, int expected)
{
    int count = -1;
    for (int i = 0; i < 3000 && (count = count_of_server(name)) != expected; i++) {
        http_pause();
    }
    if (count != expected) {
        fail_msg("the server has %d of /proc/PID/%s instead of %d", count, name, expected);
    }
}

/* Returns the number when it no longer changes: the threads of earlier requests have ended. */
static int settled_count(const char *name)
{
    enum { PAUSES = 30 };
    int count = count_of_server(name);
    for (int i = 0; i < PAUSES; i++) {
        http_pause();
        int now = count_of_server(name);
        i = now == count ? i : 0;
        count = now;
    }
    return count;
}

static const char *long_request(void)
{
    enum { LINES = 8 };
    char text[4096] = "q=";
    for (int i = 0; i < LINES; i++) {
        strcat(text, "Je+suis+%c3%a9tudiant+et+je+cherche+une+chambre+en+ville.%0a");
    }
    strcat(text, "&source=fr&target=en");
    return process_format("POST /translate HTTP/1.1\r\nHost: test\r\nContent-Type: " FORM_TYPE
                          "\r\nContent-Length: %zu\r\n\r\n%s",
                          strlen(text), text);
}

static void test_cut_clients(void **state)
{
    (void)state;
    server = http_start("-m " DEMO_MODEL);
    check_merci();
    int descriptors = settled_count("fd"), threads = settled_count("task");
    const char *request = long_request();
    int clients = support_small() ? 200 : 1000;
    long growth = LONG_MAX;
    /* The heaps of threads stop growing after some rounds; with a leak, every round adds as much. */
    enum { MOST_ROUNDS = 6, SPARE_KILOBYTES = 2 << 10 };
    for (int round = 0; round < MOST_ROUNDS && growth > SPARE_KILOBYTES; round++) {
        long before = kilobytes_of_server();
        cut_all(request, clients, 1000 * (unsigned)round);
        check_merci();
        await_count("fd", descriptors);
        await_count("task", threads);
        growth = kilobytes_of_server() - before;
        print_message("%d threads, %d descriptors, %ld KiB, growth %ld KiB\n", threads, descriptors, before,
                      growth);
    }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they keep freed memory */
    assert_true(growth <= SPARE_KILOBYTES);
#endif
    stop(0);
}

/* ---- a model folder that disappears ---- */

static void test_no_folder(void **state)
{
    (void)state;
    const char *folder = process_model_copy(DEMO_MODEL);
    server = http_start(process_format("-m %s", folder));
    process_shell(process_format("rm -r '%s'", folder));
    check_merci();
    http_request(&last, server.port, "POST /translate", FORM_TYPE,
                 MERCI "&alternatives=2"); /* a new translator */
    assert_int_equal(last.status, 200);
    assert_non_null(strstr(last.body, "Thanks."));
    http_request(&last, server.port, "POST /v1/translate", JSON_TYPE,
                 "{\"text\":\"Merci.\",\"source\":\"fr\",\"target\":\"en\",\"beam\":2}");
    assert_int_equal(last.status, 200);
    assert_non_null(strstr(last.body, "Thanks."));
    http_request(&last, server.port, "GET /languages", "", "");
    assert_int_equal(last.status, 200);
    stop(0);
}

/* ---- a device that fails ---- */

static void start_losing(int launch)
{
#ifdef __SANITIZE_ADDRESS__
    skip(); /* its runtime must be loaded first */
#endif
    struct process process = {.environment = process_format("LD_PRELOAD=%s", process_library("lost.so"))};
    setenv("LOST_AFTER", process_format("%d", launch), 1);
    server = http_start_by(&process, "-m " DEMO_MODEL);
    unsetenv("LOST_AFTER");
}

/* Sends the form until the server reports the failure; returns the number of requests before. */
static int await_failure(void)
{
    enum { MOST_REQUESTS = 200 };
    for (int i = 0; i < MOST_REQUESTS; i++) {
        http_request(&last, server.port, "POST /translate", FORM_TYPE, MERCI);
        if (last.status != 200) {
            assert_int_equal(last.status, 500);
            assert_string_equal(last.body, "{\"error\":\"The translation failed; see the server's log\"}");
            return i;
        }
        assert_string_equal(last.body, "{\"translatedText\":\"Thanks.\"}");
    }
    fail_msg("no launch failed in %d requests", MOST_REQUESTS);
    return 0;
}

/* One launch fails: one request gets 500, and the next requests are translated. */
static void test_failed_launch(void **state)
{
    (void)state;
    setenv("LOST_ONCE", "1", 1);
    for (int launch = 100; launch <= 400; launch += support_small() ? 300 : 50) {
        start_losing(launch);
        await_failure();
        for (int i = 0; i < 4; i++) {
            check_merci();
        }
        stop(0);
        assert_int_equal(process_count(server.process.errors, "clformer: a request failed: "), 1);
    }
}

/* The device is lost: every request gets 500 at once, the process answers and ends as usual. */
static void test_lost_device(void **state)
{
    (void)state;
    start_losing(300);
    await_failure();
    for (int i = 0; i < 4; i++) {
        http_request(&last, server.port, "POST /translate", FORM_TYPE, MERCI);
        assert_int_equal(last.status, 500);
    }
    http_request(&last, server.port, "GET /health", "", "");
    assert_int_equal(last.status, 200);
    stop(0);
}

static int end(void **state)
{
    unsetenv("LOST_AFTER");
    unsetenv("LOST_ONCE");
    if (server.process.child > 0) {
        http_stop(&server, SIGKILL);
        server.process.child = 0;
    }
    return support_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_cut_clients, end),
        cmocka_unit_test_teardown(test_no_folder, end),
        cmocka_unit_test_teardown(test_failed_launch, end),
        cmocka_unit_test_teardown(test_lost_device, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
