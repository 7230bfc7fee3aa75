/* Measures the model: encodes and decodes random sources. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "engine/batch_size.h"
#include "model/config/sides.h"
#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"
#include "runtime/device/queue.h"
#include "runtime/program/launch.h"
#include "tune/tune.h"

/* Sizes with and without --quick. */
enum { SOURCES = 64, LENGTH = 32, QUICK_SOURCES = 16, QUICK_LENGTH = 8, STEPS = 4, CANDIDATES = 4 };

struct tune_session {
    struct clf_device *device;
    struct clf__session *session;
    int sources, length, vocabulary;
    int *first;     /* (sources + 1) */
    int32_t *ids;   /* (sources * length), or NULL */
    float *frames;  /* (sources * length, feature size), or NULL */
    int32_t *words; /* inputs of a step: tokens, positions, cache rows, parents, cache_rows, banned ids and
                       their offsets */
    float *values;  /* (STEPS, sources, CANDIDATES) results of the last steps */
    float *statistics;
    int32_t *chosen;
};

/* Generates pseudo-random sources, which are identical in every session. */
static clf_status fill_sources(struct tune_session *session, const struct clf__config *config)
{
    size_t tokens = (size_t)session->sources * (size_t)session->length;
    size_t features = (size_t)config->feature_size;
    CLF__TRY(clf__allocate(&session->first, (size_t)session->sources + 1, sizeof *session->first));
    for (int i = 0; i <= session->sources; i++) {
        session->first[i] = i * session->length;
    }
    if (features > 0) {
        CLF__TRY(clf__allocate(&session->frames, tokens * features, sizeof *session->frames));
        for (size_t i = 0; i < tokens * features; i++) {
            session->frames[i] = sinf((float)i);
        }
        return CLF_OK;
    }
    CLF__TRY(clf__allocate(&session->ids, tokens, sizeof *session->ids));
    for (size_t i = 0; i < tokens; i++) {
        int32_t id = (int32_t)((i * 7919 + 3) % (size_t)config->source_vocabulary);
        session->ids[i] = id == config->pad_id ? (id + 1) % config->source_vocabulary : id;
    }
    return CLF_OK;
}

static clf_status allocate_step(struct tune_session *session)
{
    size_t rows = (size_t)session->sources;
    CLF__TRY(clf__allocate(&session->words, 6 * rows + 1, sizeof *session->words));
    CLF__TRY(clf__allocate(&session->values, STEPS * rows * CANDIDATES, sizeof *session->values));
    CLF__TRY(clf__allocate(&session->statistics, 4 * rows, sizeof *session->statistics));
    return clf__allocate(&session->chosen, rows * CANDIDATES, sizeof *session->chosen);
}

static struct clf__sequences sequences_of(const struct tune_session *session, int count)
{
    return (struct clf__sequences){
        .count = count, .first = session->first, .ids = session->ids, .frames = session->frames};
}

static struct clf__session_limits limits_of(const struct tune_session *session)
{
    return (struct clf__session_limits){
        .sources = session->sources,
        .source_tokens = session->sources * session->length,
        .source_length = session->length,
        .cache_rows = session->sources,
        .positions = STEPS,
        .candidates = CANDIDATES,
        .banned = 1,
    };
}

/* Sets the number of sources of large batches: 8 per compute unit, using at most half of the free memory. */
static clf_status choose_sources(struct tune_session *session, struct clf_model *model)
{
    enum { UNIT_SOURCES = 8, MOST_SOURCES = 1024 };
    uint64_t half = clf__device_free_bytes(session->device) / 2;
    unsigned units = clf__device_caps(session->device)->compute_units;
    session->sources = SOURCES;
    while (session->sources < MOST_SOURCES && (unsigned)session->sources < UNIT_SOURCES * units) {
        session->sources *= 2;
    }
    for (; session->sources > SOURCES; session->sources /= 2) {
        struct clf__session_limits limits = limits_of(session);
        struct clf__session_size size = {.bytes = UINT64_MAX};
        clf_status status = clf__session_measure(&size, model->transformer, &limits);
        CLF__TRY(status == CLF_DEVICE_MEMORY ? CLF_OK : status);
        if (status == CLF_OK && size.bytes <= half) {
            return CLF_OK;
        }
    }
    return CLF_OK;
}

static clf_status fill(struct tune_session *session, struct clf_model *model, int is_large, int is_quick)
{
    const struct clf__config *config = &model->transformer->config;
    int length = is_quick ? QUICK_LENGTH : LENGTH;
    session->device = model->transformer->device;
    session->sources = is_quick ? QUICK_SOURCES : SOURCES;
    session->length = clf__min_int(length, clf__config_longest_source(config));
    session->vocabulary = config->target_vocabulary;
    CLF__TRY(is_large ? choose_sources(session, model) : CLF_OK);
    CLF__TRY(fill_sources(session, config));
    CLF__TRY(allocate_step(session));
    const struct clf__session_limits limits = limits_of(session);
    CLF__TRY(clf__session_create(&session->session, model->transformer, &limits));
    struct clf__sequences all = sequences_of(session, session->sources);
    return clf__session_start(session->session, &all);
}

clf_status tune_session_create(struct tune_session **out, struct clf_model *model, int is_large, int is_quick)
{
    struct tune_session *session;
    CLF__TRY(clf__allocate(&session, 1, sizeof *session));
    clf_status status = fill(session, model, is_large, is_quick);
    if (status != CLF_OK) {
        tune_session_free(session);
        return status;
    }
    *out = session;
    return CLF_OK;
}

void tune_session_free(struct tune_session *session)
{
    if (session == NULL) {
        return;
    }
    clf__session_free(session->session);
    clf__free(session->first);
    clf__free(session->ids);
    clf__free(session->frames);
    clf__free(session->words);
    clf__free(session->values);
    clf__free(session->statistics);
    clf__free(session->chosen);
    clf__free(session);
}

static clf_status encode(struct tune_session *session, int sources)
{
    struct clf__sequences some = sequences_of(session, sources);
    CLF__TRY(clf__session_encode(session->session, &some));
    return clf__device_finish(session->device);
}

/* Runs the first steps of `rows` greedy translations. */
static clf_status decode(struct tune_session *session, int rows)
{
    size_t stride = (size_t)session->sources;
    int32_t *tokens = session->words, *positions = tokens + stride, *cache_rows = positions + stride;
    int32_t *offsets = cache_rows + stride; /* (rows + 1), all zero */
    for (int at = 0; at < STEPS; at++) {
        for (int r = 0; r < rows; r++) {
            tokens[r] = (r * 31 + at * 17 + 5) % session->vocabulary;
            positions[r] = at;
            cache_rows[r] = r;
        }
        struct clf__step step = {
            .rows = rows,
            .tokens = tokens,
            .positions = positions,
            .cache_rows = cache_rows,
            .parents = cache_rows,
            .slots = cache_rows,
            .banned = offsets,
            .banned_offsets = offsets,
            .candidates = CANDIDATES,
            .values = session->values + (size_t)at * (size_t)rows * CANDIDATES,
            .ids = session->chosen,
            .statistics = session->statistics,
        };
        CLF__TRY(clf__session_step(session->session, &step));
    }
    return CLF_OK;
}

static size_t values_of(int rows)
{
    return (size_t)STEPS * (size_t)rows * CANDIDATES;
}

/* Returns the distance relative to the norm; NaN if a value is NaN. */
static double distance(const float *values, const float *expected, size_t count)
{
    double difference = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        double d = (double)values[i] - (double)expected[i];
        difference += d * d;
        norm += (double)expected[i] * (double)expected[i];
    }
    return sqrt(difference) / (norm > 0 ? sqrt(norm) : 1);
}

/* Compares the results of steps with those of the first candidate, within a tolerance or bit for bit. */
static clf_status check_steps(float **expected, const struct tune_session *session, int rows, int is_first,
                              double tolerance, int *is_right)
{
    size_t count = values_of(rows);
    if (is_first && *expected == NULL) {
        CLF__TRY(clf__allocate(expected, count, sizeof **expected));
        memcpy(*expected, session->values, count * sizeof **expected);
    }
    *is_right = distance(session->values, *expected, count) <= tolerance &&
                (tolerance > 0 || memcmp(session->values, *expected, count * sizeof **expected) == 0);
    return CLF_OK;
}

/* Number of rows of each case. */
static const int step_rows[] = {1, 4, 8, 16, 32, 64};
enum { STEP_CASES = sizeof step_rows / sizeof *step_rows };

static clf_status select_steps(void *context, int value)
{
    struct tune_steps *steps = context;
    clf__device_set_tunable(steps->session->device, steps->tunable, value);
    return CLF_OK;
}

static int are_steps_alike(void *context, int case_index, int value, int other)
{
    (void)context;
    return (step_rows[case_index] <= value) == (step_rows[case_index] <= other);
}

static clf_status run_steps(void *context, int case_index)
{
    struct tune_steps *steps = context;
    return decode(steps->session, step_rows[case_index]);
}

static clf_status compare_steps(void *context, int case_index, int is_first, int *is_right)
{
    struct tune_steps *steps = context;
    return check_steps(&steps->expected[case_index], steps->session, step_rows[case_index], is_first, 0,
                       is_right);
}

void tune_steps_work(struct tune_work *out, struct tune_steps *steps)
{
    int cases = 0;
    while (cases < STEP_CASES && step_rows[cases] <= steps->session->sources) {
        cases++;
    }
    *out = (struct tune_work){.context = steps,
                              .cases = cases,
                              .select = select_steps,
                              .is_alike = are_steps_alike,
                              .run = run_steps,
                              .check = compare_steps};
}

static void free_expected(float **expected)
{
    for (int i = 0; i < TUNE_MOST_CASES; i++) {
        clf__free(expected[i]);
    }
}

void tune_steps_free(struct tune_steps *steps)
{
    free_expected(steps->expected);
}

static int batch_rows(const struct tune_batches *batches, int tokens)
{
    const struct tune_session *session = batches->session;
    const struct clf__caps *caps = clf__device_caps(session->device);
    int wanted = tokens > 0 ? tokens : clf__batch_tokens_wanted(caps->variant, caps->compute_units);
    int rows = clf__min_int(wanted / LENGTH, clf__batch_lines_wanted(wanted));
    return clf__min_int(rows, session->sources);
}

static clf_status select_batch(void *context, int value)
{
    struct tune_batches *batches = context;
    batches->rows = batch_rows(batches, value);
    return CLF_OK;
}

static int are_batches_alike(void *context, int case_index, int value, int other)
{
    (void)case_index;
    return batch_rows(context, value) == batch_rows(context, other);
}

/* Translations are longer than STEPS, so each batch is decoded several times. */
static clf_status run_batches(void *context, int case_index)
{
    enum { DECODES = 4 };
    const struct tune_batches *batches = context;
    (void)case_index;
    for (int first = 0; first < batches->session->sources; first += batches->rows) {
        int rows = clf__min_int(batches->rows, batches->session->sources - first);
        CLF__TRY(encode(batches->session, rows));
        for (int i = 0; i < DECODES; i++) {
            CLF__TRY(decode(batches->session, rows));
        }
    }
    return CLF_OK;
}

/* Compares the results of the first rows, which every batch size has. */
static clf_status compare_batches(void *context, int case_index, int is_first, int *is_right)
{
    struct tune_batches *batches = context;
    const float *values = batches->session->values;
    size_t count = (size_t)clf__min_int(batches->session->sources, SOURCES) * CANDIDATES;
    (void)case_index;
    if (is_first && batches->expected == NULL) {
        CLF__TRY(clf__allocate(&batches->expected, count, sizeof *batches->expected));
        memcpy(batches->expected, values, count * sizeof *values);
    }
    *is_right = distance(values, batches->expected, count) <= batches->tolerance;
    return CLF_OK;
}

void tune_batches_work(struct tune_work *out, struct tune_batches *batches)
{
    *out = (struct tune_work){.context = batches,
                              .cases = 1,
                              .select = select_batch,
                              .is_alike = are_batches_alike,
                              .run = run_batches,
                              .check = compare_batches};
}

void tune_batches_free(struct tune_batches *batches)
{
    clf__free(batches->expected);
}

/* Cases for choices: encoding and decoding of one line and of many lines. */
enum { ENCODE_ONE, ENCODE_MANY, DECODE_ONE, DECODE_MANY, CHOICE_CASES };

static clf_status select_choice(void *context, int value)
{
    struct tune_choices *choices = context;
    choices->at = 0;
    while (choices->values[choices->at] != value) {
        choices->at++;
    }
    return CLF_OK;
}

static int rows_of(const struct tune_session *session, int case_index)
{
    return case_index == ENCODE_ONE || case_index == DECODE_ONE ? 1 : session->sources;
}

static clf_status run_choice(void *context, int case_index)
{
    struct tune_choices *choices = context;
    struct tune_session *session = choices->sessions[choices->at];
    int rows = rows_of(session, case_index);
    return case_index <= ENCODE_MANY ? encode(session, rows) : decode(session, rows);
}

/* The results of encoding are compared through the results of the steps. */
static clf_status compare_choice(void *context, int case_index, int is_first, int *is_right)
{
    struct tune_choices *choices = context;
    struct tune_session *session = choices->sessions[choices->at];
    *is_right = 1;
    return case_index <= ENCODE_MANY
               ? CLF_OK
               : check_steps(&choices->expected[case_index], session, rows_of(session, case_index), is_first,
                             choices->tolerance, is_right);
}

void tune_choices_work(struct tune_work *out, struct tune_choices *choices)
{
    *out = (struct tune_work){.context = choices,
                              .cases = CHOICE_CASES,
                              .select = select_choice,
                              .run = run_choice,
                              .check = compare_choice};
}

void tune_choices_free(struct tune_choices *choices)
{
    for (int i = 0; i < choices->count; i++) {
        tune_session_free(choices->sessions[i]);
    }
    free_expected(choices->expected);
}
