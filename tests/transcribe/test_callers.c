/* Threads that share an engine: the transcript of each recording equals that of the recording alone, bit for
 * bit, whatever the options of the others. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "engine/engine.h"
#include "runtime/opencl/testing.h"
#include "support/threads.h"
#include "transcribe/recording.h"

enum { CALLERS = 8, OFFSET = 1000, LONGEST = 64 };

/* A recording and its options. */
struct request {
    struct clf_transcribe_options options;
    double temperatures[2], clips[3];
    const float *samples;
    int count;
    struct clf_transcript *expected;
};

struct callers {
    struct clf_model *model;
    struct clf_engine *engine;
    struct request requests[CALLERS];
    struct clf_stage_times alone; /* sum of the recordings alone */
};

static void choose_options(struct request *request, struct support_random *random, int number)
{
    static const char *const prompts[] = {NULL, "bread and butter", NULL, ""};
    struct clf_transcribe_options *options = &request->options;
    clf_transcribe_options_init(options);
    options->beam = 1 + support_integer(random, 4);
    options->best_of = 1 + support_integer(random, 4);
    options->patience = number % 3 == 1 ? 2 : 1;
    options->length_penalty = number % 4 == 3 ? 0.5 : -1;
    options->language = number % 2 ? "pt" : NULL;
    options->translate = number == 5;
    options->word_timestamps = number % 3 == 2;
    options->timestamps = number != 3;
    options->condition_on_previous = number % 4 != 1;
    options->initial_prompt = prompts[support_integer(random, 4)];
    options->hotwords = number == 4 ? "salt" : NULL;
    options->no_speech_threshold = NAN;
    options->log_probability_threshold = number % 2 ? 0 : -4.2; /* all windows are decoded again, or some */
    options->compression_ratio_threshold = NAN;
    options->seed = (uint64_t)support_integer(random, 1000);
    options->priority = number % 4 == 2 ? CLF_PRIORITY_BULK : CLF_PRIORITY_INTERACTIVE;
    request->temperatures[0] = number == 6 ? 0.5 : 0;
    request->temperatures[1] = 0.7;
    options->temperatures = request->temperatures;
    options->temperature_count = 2;
    request->clips[0] = 1;
    request->clips[1] = 2.5;
    request->clips[2] = 3;
    options->clips = number == 7 ? request->clips : NULL;
    options->clip_count = number == 7 ? 3 : 0;
}

static struct clf_transcript *transcribe_alone(struct callers *callers, const struct request *request)
{
    struct clf_transcriber *transcriber;
    struct clf_transcript *transcript;
    struct clf_stage_times times;
    struct clf_audio *audio;
    assert_ok(clf_transcriber_create(&transcriber, callers->model, &request->options));
    assert_ok(clf_audio_open_samples(&audio, request->samples, (size_t)request->count));
    assert_ok(clf_transcribe(&transcript, transcriber, audio));
    clf__engine_copy_times(transcriber->engine, &times);
    clf__times_add(&callers->alone, &times);
    clf_audio_free(audio);
    clf_transcriber_free(transcriber);
    return transcript;
}

static void set_up(struct callers *callers, int slots)
{
    static const int seconds[CALLERS] = {34, 5, 31, 8, 12, 1, 0, 7};
    struct support_random random = {29};
    struct clf_engine_options options;
    const float *samples = make_samples(LONGEST * CLF_AUDIO_RATE);
    *callers = (struct callers){.model = load_model()};
    callers->alone.size = sizeof callers->alone;
    for (int i = 0; i < CALLERS; i++) {
        struct request *request = &callers->requests[i];
        choose_options(request, &random, i);
        request->samples = samples + (size_t)i * OFFSET;
        request->count = seconds[i] * CLF_AUDIO_RATE;
        request->expected = transcribe_alone(callers, request);
    }
    clf_engine_options_init(&options);
    options.batch_windows = slots;
    assert_ok(clf_engine_create(&callers->engine, &callers->model, 1, &options));
}

static void tear_down(struct callers *callers)
{
    for (int i = 0; i < CALLERS; i++) {
        clf_transcript_free(callers->requests[i].expected);
    }
    clf_engine_free(callers->engine);
    clf_model_free(callers->model);
}

/* cmocka's assertions may only be used on the main thread. */
static int is_equal(const struct clf_transcript *one, const struct clf_transcript *other)
{
    int equal = one->count == other->count && strcmp(one->text, other->text) == 0 &&
                strcmp(one->language, other->language) == 0;
    for (int i = 0; equal && i < one->count; i++) {
        const struct clf_segment *a = &one->segments[i], *b = &other->segments[i];
        equal = a->seek == b->seek && a->start == b->start && a->end == b->end &&
                a->avg_logprob == b->avg_logprob && a->no_speech_prob == b->no_speech_prob &&
                a->temperature == b->temperature && a->token_count == b->token_count &&
                a->word_count == b->word_count;
        for (int k = 0; equal && k < a->token_count; k++) {
            equal = a->tokens[k] == b->tokens[k];
        }
        for (int k = 0; equal && k < a->word_count; k++) {
            equal = a->words[k].start == b->words[k].start && a->words[k].end == b->words[k].end &&
                    a->words[k].probability == b->words[k].probability;
        }
    }
    return equal;
}

/* --- Threads that call clf_transcribe() --- */

struct caller {
    struct callers *callers;
    struct request request;
    clf_status status;
    int equal;
};

static void *call(void *argument)
{
    struct caller *caller = argument;
    const struct request *request = &caller->request;
    struct clf_transcriber *transcriber = NULL;
    struct clf_transcript *transcript = NULL;
    struct clf_audio *audio = NULL;
    clf_status status =
        clf_transcriber_create_shared(&transcriber, caller->callers->engine, &request->options);
    if (status == CLF_OK) {
        status = clf_audio_open_samples(&audio, request->samples, (size_t)request->count);
    }
    if (status == CLF_OK) {
        status = clf_transcribe(&transcript, transcriber, audio);
    }
    caller->status = status;
    caller->equal = status == CLF_OK && is_equal(transcript, request->expected);
    clf_transcript_free(transcript);
    clf_audio_free(audio);
    clf_transcriber_free(transcriber);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    struct callers callers;
    for (int slots = support_small() ? 3 : 0; slots < 4;
         slots += 3) { /* as many as are useful, and fewer than callers */
        struct caller each[CALLERS];
        struct clf_stage_times together;
        pthread_t threads[CALLERS];
        set_up(&callers, slots);
        for (int i = 0; i < CALLERS; i++) {
            each[i] = (struct caller){.callers = &callers, .request = callers.requests[i]};
            assert_int_equal(pthread_create(&threads[i], NULL, call, &each[i]), 0);
        }
        for (int i = 0; i < CALLERS; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(each[i].status, CLF_OK);
            assert_true(each[i].equal);
        }
        clf__engine_copy_times(callers.engine, &together);
        assert_int_equal(together.lines, callers.alone.lines);
        assert_int_equal(together.target_tokens, callers.alone.target_tokens);
        assert_int_equal(together.step_rows, callers.alone.step_rows);
        assert_true(together.steps < callers.alone.steps);      /* windows share decoding steps */
        assert_true(together.batches <= callers.alone.batches); /* and the encoder, if they arrive in time */
        tear_down(&callers);
    }
}

/* --- Jobs --- */

/* A job and what its callbacks have counted. */
struct task {
    struct clf_transcriber *transcriber;
    struct clf_audio *audio;
    struct clf_job *job;
    atomic_int segments, progress, finished, asked, wrong;
    double last;
};

/* A callback of a job must not wait for a job. */
static void count_segment(const struct clf_segment *segment, void *payload)
{
    struct task *task = payload;
    int is_over;
    atomic_fetch_add(&task->wrong, segment->id != atomic_load(&task->segments));
    atomic_fetch_add(&task->wrong, clf_job_wait(&is_over, task->job, -1) != CLF_BAD_ARGUMENT);
    atomic_fetch_add(&task->segments, 1);
}

static void count_progress(double seconds, double of, void *payload)
{
    struct task *task = payload;
    atomic_fetch_add(&task->wrong, !(seconds >= task->last && seconds <= of));
    task->last = seconds;
    atomic_fetch_add(&task->progress, 1);
}

static int count_asked(void *payload)
{
    atomic_fetch_add(&((struct task *)payload)->asked, 1);
    return 0;
}

static void count_finished(struct clf_job *job, void *payload)
{
    struct task *task = payload;
    (void)job;
    atomic_fetch_add(&task->finished, 1);
}

static void begin_task(struct task *task, const struct callers *callers, const struct request *request)
{
    struct clf_transcribe_options options = request->options;
    struct clf_job_options job_options;
    options.segment = count_segment;
    options.progress = count_progress;
    options.interrupted = count_asked;
    *task = (struct task){.job = NULL};
    assert_ok(clf_transcriber_create_shared(&task->transcriber, callers->engine, &options));
    assert_ok(clf_audio_open_samples(&task->audio, request->samples, (size_t)request->count));
    clf_job_options_init(&job_options);
    job_options.finished = count_finished;
    job_options.payload = task;
    assert_ok(clf_transcribe_submit(&task->job, task->transcriber, task->audio, &job_options));
}

static void end_task(struct task *task)
{
    clf_job_free(task->job);
    clf_audio_free(task->audio);
    clf_transcriber_free(task->transcriber);
    assert_int_equal(atomic_load(&task->wrong), 0);
}

/* Waits by polling or in clf_job_wait(). */
static void await(struct clf_job *job, int polls)
{
    int is_over = 0;
    while (polls && !clf_job_poll(job, NULL)) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_ok(clf_job_wait(&is_over, job, -1));
    assert_true(is_over);
}

static void test_jobs(void **state)
{
    (void)state;
    struct callers callers;
    struct task tasks[CALLERS];
    set_up(&callers, 0);
    for (int i = 0; i < CALLERS; i++) {
        begin_task(&tasks[i], &callers, &callers.requests[i]);
    }
    for (int i = 0; i < CALLERS; i++) {
        const struct clf_transcript *expected = callers.requests[i].expected;
        struct clf_transcript *transcript;
        struct clf_translation *translations;
        int segments;
        await(tasks[i].job, i % 2);
        assert_int_equal(clf_job_poll(tasks[i].job, &segments), 1);
        assert_int_equal(segments, expected->count);
        assert_fails(clf_job_take(&translations, tasks[i].job), CLF_BAD_ARGUMENT,
                     "the job has a transcript; call clf_job_take_transcript()");
        assert_ok(clf_job_take_transcript(&transcript, tasks[i].job));
        assert_true(is_equal(transcript, expected));
        clf_transcript_free(transcript);
        assert_fails(clf_job_take_transcript(&transcript, tasks[i].job), CLF_BAD_ARGUMENT,
                     "already been taken");
        assert_int_equal(atomic_load(&tasks[i].segments), expected->count);
        assert_int_equal(atomic_load(&tasks[i].finished), 1);
        assert_true(atomic_load(&tasks[i].asked) > 0);
        assert_true(callers.requests[i].count == 0 || atomic_load(&tasks[i].progress) > 0);
        end_task(&tasks[i]);
    }
    tear_down(&callers);
}

/* Some jobs are cancelled or freed at once or later; the others are not disturbed. */
static void test_cancelled(void **state)
{
    (void)state;
    struct callers callers;
    struct task tasks[CALLERS];
    set_up(&callers, 0);
    for (int round = 0; round < (support_small() ? 1 : 3); round++) {
        for (int i = 0; i < CALLERS; i++) {
            begin_task(&tasks[i], &callers, &callers.requests[i]);
        }
        nanosleep(&(struct timespec){.tv_nsec = (round + 1) * 20000000L}, NULL);
        for (int i = 0; i < CALLERS; i += 2) {
            clf_job_cancel(tasks[i].job);
        }
        for (int i = 0; i < CALLERS; i++) {
            struct clf_transcript *transcript = NULL;
            if (i % 4 == 2) { /* freed without waiting for its end */
                end_task(&tasks[i]);
                continue;
            }
            await(tasks[i].job, 0);
            clf_status status = clf_job_take_transcript(&transcript, tasks[i].job);
            if (status != CLF_OK) {
                assert_int_equal(i % 2, 0);
                assert_fails(status, CLF_INTERRUPTED, "the job was cancelled");
            } else {
                assert_true(is_equal(transcript, callers.requests[i].expected));
            }
            clf_transcript_free(transcript);
            end_task(&tasks[i]);
        }
    }
    tear_down(&callers);
}

/* A job that its own callback takes and frees. */
struct left {
    struct callers *callers;
    const struct request *request;
    struct clf_transcriber *transcriber;
    struct clf_audio *audio;
    atomic_int state; /* 1: equal, 2: not */
};

static void take_left(struct clf_job *job, void *payload)
{
    struct left *left = payload;
    struct clf_transcript *transcript;
    int equal =
        clf_job_take_transcript(&transcript, job) == CLF_OK && is_equal(transcript, left->request->expected);
    clf_transcript_free(transcript);
    clf_job_free(job);
    clf_transcriber_free(left->transcriber);
    clf_audio_free(left->audio);
    atomic_store(&left->state, equal ? 1 : 2);
}

static void test_left_to_callback(void **state)
{
    (void)state;
    struct callers callers;
    struct left left[CALLERS];
    set_up(&callers, 2);
    for (int i = 0; i < CALLERS; i++) {
        const struct request *request = &callers.requests[i];
        struct clf_job_options options;
        struct clf_job *job;
        left[i] = (struct left){.callers = &callers, .request = request};
        assert_ok(clf_transcriber_create_shared(&left[i].transcriber, callers.engine, &request->options));
        assert_ok(clf_audio_open_samples(&left[i].audio, request->samples, (size_t)request->count));
        clf_job_options_init(&options);
        options.finished = take_left;
        options.payload = &left[i];
        assert_ok(clf_transcribe_submit(&job, left[i].transcriber, left[i].audio, &options));
    }
    for (int i = 0; i < CALLERS; i++) {
        while (atomic_load(&left[i].state) == 0) {
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
        assert_int_equal(atomic_load(&left[i].state), 1);
    }
    tear_down(&callers);
}

/* Recordings on two devices, one of which fails at some call: the other one takes its windows over. */
static void test_devices(void **state)
{
    (void)state;
    static const uint64_t failures[] = {60, 0, 1, 500, 1500};
    struct callers callers;
    struct clf_device *device;
    struct clf_model *models[2];
    struct task tasks[CALLERS];
    set_up(&callers, 0);
    models[0] = callers.model;
    assert_ok(clf_device_open(&device, NULL, NULL));
    assert_ok(clf_model_load(&models[1], device, tiny(), NULL));
    int rounds = support_small() ? 1 : (int)(sizeof failures / sizeof *failures);
    for (int i = 0; i < rounds; i++) {
        struct clf_transcriber *first;
        models[0]->is_lost = models[1]->is_lost = 0;
        clf_engine_free(callers.engine);
        assert_ok(clf_engine_create(&callers.engine, models, 2, NULL));
        assert_ok(clf_transcriber_create_shared(&first, callers.engine, NULL)); /* allocates the memory */
        clf__device_fail_at(failures[i]);
        for (int k = 0; k < CALLERS; k++) {
            begin_task(&tasks[k], &callers, &callers.requests[k]);
        }
        for (int k = 0; k < CALLERS; k++) {
            struct clf_transcript *transcript;
            await(tasks[k].job, 0);
            assert_ok(clf_job_take_transcript(&transcript, tasks[k].job));
            assert_true(is_equal(transcript, callers.requests[k].expected));
            clf_transcript_free(transcript);
            end_task(&tasks[k]);
        }
        clf__device_fail_at(0);
        assert_int_equal(clf__engine_working(callers.engine), failures[i] > 0 ? 1 : 2);
        clf_transcriber_free(first);
    }
    clf_engine_free(callers.engine);
    callers.engine = NULL;
    clf_model_free(models[1]);
    clf_device_close(device);
    tear_down(&callers);
}

static void test_refused(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    struct clf_engine *engine;
    struct clf_transcriber *transcriber;
    struct clf_audio *audio;
    struct clf_job *job;
    struct clf_transcript *transcript;
    const struct clf_line prefix = {"a", 1};
    struct clf_engine_options engine_options;
    struct clf_job_options options;
    struct clf_transcribe_options own;
    clf_engine_options_init(&engine_options);
    engine_options.batch_windows = -1;
    assert_fails(clf_engine_create(&engine, &model, 1, &engine_options), CLF_BAD_ARGUMENT,
                 "batch_windows: -1 is out of range; use 0 to 256");
    assert_ok(clf_engine_create(&engine, &model, 1, NULL));
    assert_fails(clf_transcriber_create_shared(&transcriber, NULL, NULL), CLF_BAD_ARGUMENT,
                 "engine: is NULL; create one with clf_engine_create()");
    clf_transcribe_options_init(&own);
    own.priority = (clf_priority)2;
    assert_fails(clf_transcriber_create_shared(&transcriber, engine, &own), CLF_BAD_ARGUMENT,
                 "priority: 2 is out of range; use 0 (interactive) or 1 (bulk)");
    assert_ok(clf_transcriber_create_shared(&transcriber, engine, NULL));
    assert_ok(clf_audio_open_samples(&audio, make_samples(CLF_AUDIO_RATE), CLF_AUDIO_RATE));
    assert_fails(clf_transcribe_submit(&job, NULL, audio, NULL), CLF_BAD_ARGUMENT, "transcriber: is NULL");
    assert_fails(clf_transcribe_submit(&job, transcriber, NULL, NULL), CLF_BAD_ARGUMENT, "audio: is NULL");
    clf_job_options_init(&options);
    options.prefixes = &prefix;
    assert_fails(clf_transcribe_submit(&job, transcriber, audio, &options), CLF_BAD_ARGUMENT,
                 "prefixes: are for translations");
    assert_fails(clf_job_take_transcript(&transcript, NULL), CLF_BAD_ARGUMENT, "job: is NULL");
    clf_engine_free(engine); /* logs a warning, because it is in use */
    assert_ok(clf_transcribe(&transcript, transcriber, audio));
    clf_transcript_free(transcript);
    clf_audio_free(audio);
    clf_transcriber_free(transcriber);
    clf_engine_free(engine);
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_threads, support_teardown),
        cmocka_unit_test_teardown(test_jobs, support_teardown),
        cmocka_unit_test_teardown(test_cancelled, support_teardown),
        cmocka_unit_test_teardown(test_left_to_callback, support_teardown),
        cmocka_unit_test_teardown(test_devices, support_teardown),
        cmocka_unit_test_teardown(test_refused, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
