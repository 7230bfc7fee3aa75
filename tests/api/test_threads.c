/* Threads with one device each, starting with the process's first OpenCL call. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <clformer/clformer.h>

#include "support/support.h"
#include "support/threads.h"

enum { THREADS = 3, PROCESSES = 6 };

static pthread_barrier_t start;

static void *list_devices(void *user)
{
    int *count = user;
    struct clf_device_list *list;
    pthread_barrier_wait(&start);
    if (clf_device_list_create(&list) == CLF_OK) {
        *count = clf_device_list_count(list);
        clf_device_list_free(list);
    }
    return NULL;
}

/* Results of one thread: status and message, translation. */
struct work {
    char folder[512];
    clf_status status;
    char text[512];
};

static clf_status translate(struct work *work, struct clf_model *model)
{
    static const struct clf_line line = {"w2 w3 w4", 8};
    struct clf_translate_options options;
    struct clf_translator *translator;
    struct clf_translation *translation;
    clf_translate_options_init(&options, model);
    options.max_length = 4;
    options.subwords = 1;
    clf_status status = clf_translator_create(&translator, model, &options);
    if (status == CLF_OK) {
        status = clf_translate(&translation, translator, &line, 1);
    }
    if (status == CLF_OK) {
        snprintf(work->text, sizeof work->text, "%s", translation->hypotheses[0].text);
        clf_translations_free(translation, 1);
    }
    clf_translator_free(translator);
    return status;
}

static void *work_alone(void *user)
{
    struct work *work = user;
    struct clf_device *device;
    struct clf_model *model = NULL;
    pthread_barrier_wait(&start);
    work->status = clf_device_open(&device, NULL, NULL);
    if (work->status == CLF_OK) {
        work->status = clf_model_load(&model, device, work->folder, NULL);
    }
    if (work->status == CLF_OK) {
        work->status = translate(work, model);
    }
    if (work->status != CLF_OK) {
        snprintf(work->text, sizeof work->text, "%s", clf_last_error());
    }
    clf_model_free(model);
    clf_device_close(device);
    return NULL;
}

static void run_threads(void *(*body)(void *), void *items, size_t size)
{
    pthread_t threads[THREADS];
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, body, (char *)items + (size_t)i * size), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    pthread_barrier_destroy(&start);
}

/* In a child: returns whether all threads see the same devices. */
static int sees_devices(void)
{
    int counts[THREADS] = {0}, same = 1;
    run_threads(list_devices, counts, sizeof *counts);
    for (int i = 0; i < THREADS; i++) {
        same &= counts[i] > 0 && counts[i] == counts[0];
    }
    return same;
}

/* Drivers start once per process, so every attempt needs a new process. */
static void test_listing(void **state)
{
    (void)state;
    for (int i = 0; i < PROCESSES; i++) {
        pid_t process = fork();
        assert_true(process >= 0);
        if (process == 0) {
            _exit(sees_devices() ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(process, &status, 0), process);
        assert_int_equal(status, 0);
    }
}

static void test_working(void **state)
{
    (void)state;
    struct work work[THREADS];
    memset(work, 0, sizeof work);
    for (int i = 0; i < THREADS; i++) {
        snprintf(work[i].folder, sizeof work[i].folder, "%s", support_fixture("models/marian"));
    }
    run_threads(work_alone, work, sizeof *work);
    for (int i = 0; i < THREADS; i++) {
        if (work[i].status != CLF_OK) {
            fail_msg("thread %d: %s", i, work[i].text);
        }
        assert_true(work[i].text[0] != '\0');
        assert_string_equal(work[i].text, work[0].text);
    }
}

int main(void)
{
    /* Neither this process nor its children have called OpenCL before. */
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_listing), cmocka_unit_test(test_working)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
