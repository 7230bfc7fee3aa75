/* Threads that submit, poll, wait, cancel and free jobs at random; the result of each line equals the line
 * alone, bit for bit. Runs for $CLFORMER_SOAK_SECONDS, which is 6 in the short tier and otherwise 60. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <clformer/clformer.h>

#include "base/clock.h"
#include "support/requests.h"
#include "support/support.h"
#include "support/threads.h"

enum { THREADS = 16 };

/* How a thread ends a job. */
enum ending { WAIT, POLL, CANCEL, ABANDON, LEAVE_TO_CALLBACK, CALL, ENDINGS };

struct soak {
    struct clf_engine *engine;
    const struct support_request *requests;
    double end;
    pthread_mutex_t lock;
    struct clf_job *shared[THREADS]; /* with the lock: jobs that any thread may cancel */
    atomic_int equal, different, interrupted, failed, left; /* `left`: to callbacks that have not run */
};

struct worker {
    struct soak *soak;
    int number;
};

/* A request that its callback takes and frees. */
struct left {
    struct soak *soak;
    const struct support_request *request;
    struct clf_translator *translator;
};

static double seconds(void)
{
    const char *set = getenv("CLFORMER_SOAK_SECONDS");
    return set != NULL ? atof(set) : support_small() ? 6 : 60;
}

/* Counts the outcome of a request, and frees the translation. */
static void count(struct soak *soak, const struct support_request *request, clf_status status,
                  struct clf_translation *translation)
{
    if (status == CLF_OK) {
        int equal = support_translations_equal(translation, request->expected);
        atomic_fetch_add(equal ? &soak->equal : &soak->different, 1);
        clf_translations_free(translation, 1);
    } else {
        atomic_fetch_add(status == CLF_INTERRUPTED ? &soak->interrupted : &soak->failed, 1);
    }
}

static void take_left(struct clf_job *job, void *user)
{
    struct left *left = user;
    struct soak *soak = left->soak;
    struct clf_translation *translation;
    clf_status status = clf_job_take(&translation, job);
    count(soak, left->request, status, translation);
    clf_job_free(job);
    clf_translator_free(left->translator);
    free(left);
    atomic_fetch_sub(&soak->left, 1);
}

static clf_status submit(struct clf_job **job, const struct worker *worker, struct clf_translator *translator,
                         const struct support_request *request, enum ending ending)
{
    const struct clf_line line = {request->text, strlen(request->text)};
    const struct clf_line prefix = {request->prefix, strlen(request->prefix)};
    struct clf_job_options options;
    struct left *left = NULL;
    clf_job_options_init(&options);
    options.prefixes = prefix.size > 0 ? &prefix : NULL;
    if (ending == LEAVE_TO_CALLBACK) {
        left = malloc(sizeof *left);
        *left = (struct left){worker->soak, request, translator};
        atomic_fetch_add(&worker->soak->left, 1);
        options.finished = take_left;
        options.payload = left;
    }
    clf_status status = clf_translate_submit(job, translator, &line, 1, &options);
    if (status != CLF_OK) {
        atomic_fetch_add(&worker->soak->failed, 1);
    }
    return status;
}

static void share(const struct worker *worker, struct clf_job *job)
{
    pthread_mutex_lock(&worker->soak->lock);
    worker->soak->shared[worker->number] = job;
    pthread_mutex_unlock(&worker->soak->lock);
}

/* Cancels the job of any thread. */
static void cancel_one(const struct worker *worker, int number)
{
    pthread_mutex_lock(&worker->soak->lock);
    clf_job_cancel(worker->soak->shared[number]);
    pthread_mutex_unlock(&worker->soak->lock);
}

static void end_job(struct clf_job *job, struct support_random *random, enum ending ending)
{
    int is_over = 0, lines;
    for (int tries = support_integer(random, 4); ending == CANCEL && tries > 0 && !is_over; tries--) {
        (void)clf_job_wait(&is_over, job, 1);
    }
    if (ending == CANCEL) {
        clf_job_cancel(job);
    }
    while (ending == POLL && !clf_job_poll(job, &lines)) {
        (void)clf_job_wait(&is_over, job, support_integer(random, 3));
    }
    if (ending != ABANDON) {
        (void)clf_job_wait(&is_over, job, -1);
    }
}

/* Runs one request, and ends it in a random way. */
static void run_one(const struct worker *worker, struct support_random *random)
{
    struct soak *soak = worker->soak;
    const struct support_request *request = &soak->requests[support_integer(random, support_request_count())];
    enum ending ending = (enum ending)support_integer(random, ENDINGS);
    struct clf_translate_options options = request->options;
    options.priority = (clf_priority)support_integer(random, 2);
    struct clf_translator *translator;
    struct clf_translation *translation = NULL;
    struct clf_job *job;
    clf_status status = clf_translator_create_shared(&translator, soak->engine, &options);
    if (status != CLF_OK || ending == CALL) {
        status = status == CLF_OK ? support_request_translate(&translation, translator, request) : status;
        count(soak, request, status, translation);
        clf_translator_free(translator);
        return;
    }
    if (submit(&job, worker, translator, request, ending) != CLF_OK || ending == LEAVE_TO_CALLBACK) {
        return;
    }
    share(worker, job);
    end_job(job, random, ending);
    if (support_integer(random, 4) == 0) {
        cancel_one(worker, support_integer(random, THREADS));
    }
    share(worker, NULL);
    if (ending != ABANDON) {
        status = clf_job_take(&translation, job);
        count(soak, request, status, translation);
    }
    clf_job_free(job);
    clf_translator_free(translator);
}

static void *work(void *user)
{
    const struct worker *worker = user;
    struct support_random random = {(uint64_t)worker->number + 1};
    while (clf__seconds() < worker->soak->end) {
        run_one(worker, &random);
    }
    return NULL;
}

static void run_threads(struct soak *soak)
{
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){soak, i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    while (atomic_load(&soak->left) > 0) {
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
    }
}

/* Runs half of the time, with an engine on this many devices. */
static void check(int devices)
{
    enum { MOST = 2 };
    struct clf_device *second = NULL;
    struct clf_model *models[MOST] = {NULL};
    assert_ok(
        clf_model_load(&models[0], support_device(CLF_VARIANT_AUTO), support_fixture("models/marian"), NULL));
    if (devices == MOST) {
        assert_ok(clf_device_open(&second, NULL, NULL));
        assert_ok(clf_model_load(&models[1], second, support_fixture("models/marian"), NULL));
    }
    struct support_request *requests = support_requests(models[0]);
    struct clf_engine_options options;
    struct soak soak = {.requests = requests};
    clf_engine_options_init(&options);
    options.batch_tokens = 64;
    assert_ok(clf_engine_create(&soak.engine, models, devices, &options));
    pthread_mutex_init(&soak.lock, NULL);
    soak.end = clf__seconds() + seconds() / 2;
    run_threads(&soak);
    print_message("%d equal, %d interrupted\n", atomic_load(&soak.equal), atomic_load(&soak.interrupted));
    assert_int_equal(atomic_load(&soak.different), 0);
    assert_int_equal(atomic_load(&soak.failed), 0);
    assert_in_range(atomic_load(&soak.equal), THREADS, INT32_MAX);
    assert_in_range(atomic_load(&soak.interrupted), 1, INT32_MAX);
    clf_engine_free(soak.engine);
    pthread_mutex_destroy(&soak.lock);
    support_requests_free(requests);
    clf_model_free(models[0]);
    clf_model_free(models[1]);
    clf_device_close(second);
}

static void test_one_device(void **state)
{
    (void)state;
    check(1);
}

static void test_two_devices(void **state)
{
    (void)state;
    check(2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_one_device, support_teardown),
        cmocka_unit_test_teardown(test_two_devices, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
