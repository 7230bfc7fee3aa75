/* Threads that share a device and a model: each gets the results of a single thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clformer/clformer.h>

#include "support/support.h"
#include "support/threads.h"
#include "support/training_fixture.h"

enum { THREADS = 8, LINES = 6, ROUNDS = 3, TEXT = 128 };

static const char *const sources[LINES] = {"w2 w3 w4", "w5",    "w6 w7 w8 w9 w10",
                                           "w11 w12",  "w3 w2", "w4 w4 w9"};

struct answers {
    char texts[LINES][TEXT];
    double scores[LINES];
};

/* A thread's translator, its results, and its error. */
struct worker {
    struct clf_model *model;
    struct clf_translator *translator; /* of this thread only */
    struct answers answers;
    clf_status status;
    char error[512];
};

static clf_status create(struct clf_translator **out, struct clf_model *model)
{
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.max_length = 8;
    options.subwords = 1;
    options.batch_tokens = 16; /* several batches per call */
    return clf_translator_create(out, model, &options);
}

static clf_status answer(struct answers *answers, struct clf_translator *translator)
{
    struct clf_line lines[LINES];
    struct clf_translation *translations;
    for (int i = 0; i < LINES; i++) {
        lines[i] = (struct clf_line){sources[i], strlen(sources[i])};
    }
    clf_status status = clf_translate(&translations, translator, lines, LINES);
    for (int i = 0; status == CLF_OK && i < LINES; i++) {
        const struct clf_hypothesis *best = &translations[i].hypotheses[0];
        snprintf(answers->texts[i], TEXT, "%s", best->text);
        answers->scores[i] = best->score;
    }
    clf_translations_free(translations, status == CLF_OK ? LINES : 0);
    return status;
}

static void *translate_again_and_again(void *user)
{
    struct worker *worker = user;
    for (int round = 0; worker->status == CLF_OK && round < ROUNDS; round++) {
        worker->status = create(&worker->translator, worker->model);
        if (worker->status == CLF_OK) {
            worker->status = answer(&worker->answers, worker->translator);
        }
        if (worker->status != CLF_OK) {
            snprintf(worker->error, sizeof worker->error, "%s", clf_last_error());
        }
        clf_translator_free(worker->translator);
        worker->translator = NULL;
    }
    return NULL;
}

/* The results of a single thread. */
static struct answers expected_of(struct clf_model *model)
{
    struct answers answers;
    struct clf_translator *translator;
    memset(&answers, 0, sizeof answers);
    assert_ok(create(&translator, model));
    assert_ok(answer(&answers, translator));
    clf_translator_free(translator);
    return answers;
}

static struct clf_model *load(const char *folder)
{
    struct clf_model *model;
    assert_ok(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), support_fixture(folder), NULL));
    return model;
}

static void check(const struct worker *worker, const struct answers *expected)
{
    if (worker->status != CLF_OK) {
        fail_msg("%s", worker->error);
    }
    for (int i = 0; i < LINES; i++) {
        assert_string_equal(worker->answers.texts[i], expected->texts[i]);
        assert_true(worker->answers.scores[i] == expected->scores[i]);
    }
}

/* Threads that translate over one model, and the answers that they must give. */
struct crowd {
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    struct clf_model *model;
    struct answers expected;
};
static struct crowd crowd;

static void load_crowd(void)
{
    crowd.model = load("models/marian");
    crowd.expected = expected_of(crowd.model);
}

static void start(void)
{
    for (int i = 0; i < THREADS; i++) {
        crowd.workers[i] = (struct worker){.model = crowd.model};
        assert_int_equal(
            pthread_create(&crowd.threads[i], NULL, translate_again_and_again, &crowd.workers[i]), 0);
    }
}

static void finish(void)
{
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(crowd.threads[i], NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        check(&crowd.workers[i], &crowd.expected);
    }
}

static void test_translators_over_one_model(void **state)
{
    (void)state;
    load_crowd();
    start();
    finish();
    clf_model_free(crowd.model);
}

/* Models are loaded and freed on the device while other threads translate. */
static void test_models_load_meanwhile(void **state)
{
    (void)state;
    load_crowd();
    start();
    for (int round = 0; round < ROUNDS; round++) {
        struct clf_model *other = load("models/marian");
        struct answers answers = expected_of(other);
        assert_memory_equal(answers.texts, crowd.expected.texts, sizeof answers.texts);
        clf_model_free(other);
    }
    finish();
    clf_model_free(crowd.model);
}

enum { UPDATES = 4 };

/* Updates a small model, and returns the loss after them. */
static double train(void)
{
    const struct training_fixture fixture = training_fixture_load("annotated");
    const struct clf__training_limits limits = training_fixture_limits(&fixture);
    const struct clf__training_options options = {
        .gemm_precision = CLF__PRECISION_FP32, .seed = 1, .smoothing = fixture.smoothing};
    struct clf__transformer *transformer;
    struct clf__training *training;
    struct clf__training_loss loss;
    assert_ok(clf__transformer_load(&transformer, support_device(CLF_VARIANT_AUTO), fixture.folder,
                                    CLF_PRECISION_FP32));
    assert_ok(clf__training_create(&training, transformer, &limits, &options));
    for (int step = 1; step <= UPDATES; step++) {
        training_fixture_step(training, &fixture, step);
    }
    assert_ok(clf__training_evaluate(training, &fixture.batches[0], &loss));
    clf__training_free(training);
    clf__transformer_free(transformer);
    return loss.loss;
}

static void test_training_meanwhile(void **state)
{
    (void)state;
    load_crowd();
    double loss = train();
    start();
    assert_true(train() == loss);
    finish();
    clf_model_free(crowd.model);
}

/* A callback's call, and the results of another translator that it uses. */
struct inner {
    struct clf_translator *self, *other;
    struct answers answers;
    int calls;
};

static int ask(void *user)
{
    struct inner *inner = user;
    const struct clf_line line = {sources[0], strlen(sources[0])};
    struct clf_translation *translation;
    assert_fails(clf_translate(&translation, inner->self, &line, 1), CLF_BAD_ARGUMENT, "callback");
    assert_ok(answer(&inner->answers, inner->other));
    inner->calls++;
    return 0;
}

/* Callbacks run while the device is unlocked: they may translate on it, and other threads continue. */
static void test_callbacks(void **state)
{
    (void)state;
    static struct inner inner;
    struct clf_translate_options options;
    struct answers answers;
    load_crowd();
    clf_translate_options_init(&options, crowd.model);
    options.max_length = 8;
    options.subwords = 1;
    options.interrupted = ask;
    options.payload = &inner;
    memset(&answers, 0, sizeof answers);
    assert_ok(create(&inner.other, crowd.model));
    assert_ok(clf_translator_create(&inner.self, crowd.model, &options));
    start();
    assert_ok(answer(&answers, inner.self));
    finish();
    assert_true(inner.calls > 0);
    assert_memory_equal(&answers, &crowd.expected, sizeof answers);
    assert_memory_equal(&inner.answers, &crowd.expected, sizeof crowd.expected);
    clf_translator_free(inner.self);
    clf_translator_free(inner.other);
    clf_model_free(crowd.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_translators_over_one_model),
                                       cmocka_unit_test(test_models_load_meanwhile),
                                       cmocka_unit_test_teardown(test_training_meanwhile, support_teardown),
                                       cmocka_unit_test(test_callbacks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
