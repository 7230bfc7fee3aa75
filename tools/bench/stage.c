/* Times the cases of one stage of a model, without loading and compilation. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "bench/bench.h"
#include "bench/callers.h"
#include "runtime/device/buffer.h"
#include "runtime/device/queue.h"
#include "runtime/program/launch.h"
#include "shared/lines.h"
#include "shared/page.h"
#include "translate/internal.h"

/* The state of a running case, which uses the first `batch` lines. */
struct stage_case {
    struct clf_translator *translator;
    struct clf_device *device;
    const struct clf_line *lines;
    int batch, beam;
    long long tokens; /* per call: source tokens for encode, target tokens otherwise */
    /* For the stage encode: */
    struct clf__session *session;
    struct clf__source *sources; /* (batch) */
    struct clf__joined joined;
    struct callers *callers; /* for the stage serve */
};

/* Runs the encoder without tokenization, on a batch of ids. */
static clf_status encode(void *context)
{
    struct stage_case *one = context;
    CLF__TRY(clf__session_encode(one->session, &one->joined.sequences));
    return clf__device_finish(one->device);
}

clf_status bench_unusable_line(int index, const char *problem)
{
    return clf__fail(CLF_TEXT, "line %d of the work file cannot be used: %s", index + 1, problem);
}

static clf_status blank_work(const struct stage_case *one)
{
    return clf__fail(CLF_TEXT, "the first %d lines of the work file are blank", one->batch);
}

static clf_status translate(void *context)
{
    struct stage_case *one = context;
    struct clf_translation *results;
    CLF__TRY(clf_translate(&results, one->translator, one->lines, one->batch));
    clf_status status = CLF_OK;
    one->tokens = 0;
    for (int i = 0; i < one->batch && status == CLF_OK; i++) {
        if (results[i].status != CLF_OK) {
            status = bench_unusable_line(i, results[i].problem);
        }
        one->tokens += results[i].count > 0 ? results[i].hypotheses[0].count : 0;
    }
    clf_translations_free(results, one->batch);
    return status == CLF_OK && one->tokens == 0 ? blank_work(one) : status;
}

/* Scores each line as its own translation; the time does not depend on the target's text. */
static clf_status score(void *context)
{
    struct stage_case *one = context;
    struct clf_score *results;
    CLF__TRY(clf_score(&results, one->translator, one->lines, one->lines, one->batch));
    clf_status status = CLF_OK;
    one->tokens = 0;
    for (int i = 0; i < one->batch && status == CLF_OK; i++) {
        if (results[i].status != CLF_OK) {
            status = bench_unusable_line(i, results[i].problem);
        }
        one->tokens += results[i].count;
    }
    clf_scores_free(results, one->batch);
    return status;
}

/* Lets each thread translate its line. */
static clf_status serve(void *context)
{
    struct stage_case *one = context;
    CLF__TRY(callers_run(&one->tokens, one->callers));
    return one->tokens == 0 ? blank_work(one) : CLF_OK;
}

static const struct stage {
    const char *word;
    timed_work *work;
} stages[] = {{"encode", encode}, {"translate", translate}, {"score", score}, {"serve", serve}};

static clf_status read_sources(struct stage_case *one)
{
    CLF__TRY(clf__allocate(&one->sources, (size_t)one->batch, sizeof *one->sources));
    for (int i = 0; i < one->batch; i++) {
        clf_status line_status = CLF_OK;
        char *problem = NULL;
        clf_status status = clf__translator_read(&one->sources[i], one->translator, &one->lines[i]);
        status = clf__line_problem(status, &line_status, &problem);
        if (status == CLF_OK && line_status != CLF_OK) {
            status = bench_unusable_line(i, problem);
        }
        clf__free(problem);
        CLF__TRY(status);
    }
    return CLF_OK;
}

/* Tokenizes the batch and creates a session of its size. Blank lines are skipped, as in clf_translate(). */
static clf_status prepare_encode(struct stage_case *one, struct clf_model *model)
{
    CLF__TRY(read_sources(one));
    const struct clf__source **sources;
    int count = 0, longest = 0;
    CLF__TRY(clf__allocate(&sources, (size_t)one->batch, sizeof *sources));
    for (int i = 0; i < one->batch; i++) {
        int length = one->sources[i].length;
        longest = length > longest ? length : longest;
        if (length > 0) {
            sources[count++] = &one->sources[i];
        }
    }
    clf_status status = count > 0 ? CLF_OK : blank_work(one);
    if (status == CLF_OK) {
        status = clf__sources_join(&one->joined, sources, count, model->info.feature_size);
    }
    clf__free(sources);
    CLF__TRY(status);
    one->tokens = one->joined.first[count];
    struct clf__session_limits limits = {
        .sources = count, .source_tokens = one->joined.first[count], .source_length = longest};
    return clf__session_create(&one->session, model->transformer, &limits);
}

static void release_case(struct stage_case *one)
{
    callers_stop(one->callers);
    clf__session_free(one->session);
    clf__joined_free(&one->joined);
    for (int i = 0; i < one->batch && one->sources != NULL; i++) {
        clf__source_free(&one->sources[i]);
    }
    clf__free(one->sources);
    clf_translator_free(one->translator);
}

/* Adds the maximum number of tokens and lines per batch to a row. The stage encode has no such limits. */
static int add_batch_size(json_t *row, const struct stage_case *one)
{
    if (one->session != NULL) {
        return 0;
    }
    const struct clf_translator_device *first = clf_translator_device_at(one->translator, 0);
    return json_object_set_new(row, "batch_tokens", json_integer(first->batch_tokens)) != 0 ||
           json_object_set_new(row, "batch_lines", json_integer(first->batch_lines)) != 0;
}

static json_t *case_row(const struct bench_call *call, const struct clf_model *model,
                        const struct stage_case *one, const struct timing *timing)
{
    json_t *row = bench_row(call, one->device, stages[call->flags.stage].word);
    uint64_t weights = clf_model_describe(model)->weight_bytes;
    int failed = json_object_set_new(row, "weight_bytes", json_integer((json_int_t)weights)) != 0 ||
                 json_object_set_new(row, "batch", json_integer(one->batch)) != 0 ||
                 json_object_set_new(row, "beam", json_integer(one->beam)) != 0 ||
                 json_object_set_new(row, "devices",
                                     json_integer(clf__engine_working(one->translator->engine))) != 0 ||
                 add_batch_size(row, one) != 0 || bench_row_time(row, timing, one->tokens) != EXIT_DONE;
    if (failed) {
        json_decref(row);
        return NULL;
    }
    return row;
}

static clf_status measure(struct stage_case *one, struct timing *timing, const struct bench_call *call,
                          const struct setup *setup)
{
    const struct stage *stage = &stages[call->flags.stage];
    CLF__TRY(setup_translator(&one->translator, setup, &call->flags));
    if (stage->work == encode) {
        CLF__TRY(prepare_encode(one, setup->model));
    }
    if (stage->work == serve) {
        CLF__TRY(callers_start(&one->callers, one->translator, one->lines, one->batch));
    }
    return timing_measure(timing, stage->work, one,
                          call->flags.repeats > 0 ? call->flags.repeats : BENCH_REPEATS, signals_interrupted);
}

/* Returns -1 on success, or an exit status for invalid usage. */
static int set_beam(struct bench_call *call, const struct setup *setup, int beam)
{
    call->flags.beam = beam;
    call->flags.n_best = 1;
    return flags_apply(&call->flags, setup->model);
}

/* Checks, before measuring, that the model supports every beam size and length. Returns an exit status. */
static int check_search(struct bench_call *call, const struct setup *setup)
{
    for (int i = 0; i < call->beams.count; i++) {
        int result = set_beam(call, setup, call->beams.values[i]);
        if (result >= 0) {
            return result;
        }
        struct clf_translator *translator = NULL;
        clf_status status = clf_translator_create(&translator, setup->model, &call->flags.translate);
        clf_translator_free(translator);
        if (status == CLF_BAD_ARGUMENT) { /* other failures are reported in a row */
            return report_failure(status);
        }
    }
    return EXIT_DONE;
}

/* Returns an exit status. */
static int run_case(struct bench_call *call, const struct setup *setup, const struct clf_line *lines,
                    int batch, int beam)
{
    struct stage_case one = {.device = setup->device, .lines = lines, .batch = batch, .beam = beam};
    int result = set_beam(call, setup, beam);
    if (result >= 0) {
        return result;
    }
    struct timing timing;
    clf_status status = measure(&one, &timing, call, setup);
    json_t *row = status == CLF_OK ? case_row(call, setup->model, &one, &timing) : NULL;
    result = bench_end_case(call, &(struct bench_case){setup->device, batch, beam}, status, row);
    release_case(&one);
    return result;
}

static int too_few_lines(const struct bench_call *call, const struct bench_case *one, int count)
{
    size_t length;
    const char *name = page_last_part(call->work, &length);
    clf_status status = clf__fail(CLF_TEXT, "%.*s: has %d line%s, fewer than the batch size %d", (int)length,
                                  name, count, count == 1 ? "" : "s", one->batch);
    return bench_end_case(call, one, status, NULL);
}

/* Returns whether the work file is a recording. */
static int decodes_recording(const struct bench_call *call, const struct setup *setup)
{
    return call->flags.stage == BENCH_STEP && clf_model_describe(setup->model)->feature_size > 0;
}

static int run_any(struct bench_call *call, const struct setup *setup, const struct window *window, int batch,
                   int beam)
{
    int is_recording = decodes_recording(call, setup);
    if (!is_recording && window->count < batch) {
        return too_few_lines(call, &(struct bench_case){setup->device, batch, beam}, window->count);
    }
    switch (call->flags.stage) {
    case BENCH_TRAIN:
        return bench_train_run(call, setup, window->lines, batch);
    case BENCH_STEP:
        return bench_step_run(call, setup, is_recording ? NULL : window->lines, batch);
    default:
        return run_case(call, setup, window->lines, batch, beam);
    }
}

static int has_beams(const struct bench_call *call)
{
    return call->flags.stage == BENCH_TRANSLATE || call->flags.stage == BENCH_SERVE;
}

/* Runs all cases. A failed case is reported in its row, and the next case runs. */
static int run_cases(struct bench_call *call, const struct setup *setup, const struct window *window)
{
    int status = EXIT_DONE, beam_count = has_beams(call) ? call->beams.count : 1;
    for (int i = 0; i < call->batches.count; i++) {
        for (int j = 0; j < beam_count && !signals_interrupted(NULL) && !output_failed(); j++) {
            int beam = has_beams(call) ? call->beams.values[j] : 1;
            int ended = run_any(call, setup, window, call->batches.values[i], beam);
            status = ended != EXIT_DONE ? ended : status;
        }
    }
    if (status == EXIT_DONE && signals_interrupted(NULL)) {
        return report_interrupted();
    }
    return status;
}

/* Reads as many lines as the largest batch needs, or all if there are fewer. Returns an exit status. */
static int read_work(struct window *window, const struct bench_call *call)
{
    int most = 0;
    for (int i = 0; i < call->batches.count; i++) {
        most = call->batches.values[i] > most ? call->batches.values[i] : most;
    }
    struct line_reader reader = {.quiet = call->flags.quiet};
    if (line_reader_open(&reader, call->work) != EXIT_DONE) {
        return EXIT_FAILED;
    }
    int status = windows_read(window, &reader, 1, &(struct window_limits){most, SIZE_MAX, 1});
    line_reader_close(&reader);
    if (status == EXIT_DONE && window->count == 0 && !signals_interrupted(NULL)) {
        fprintf(stderr, "clformer: %s: has no lines\n", call->work);
        status = EXIT_FAILED;
    }
    return status;
}

int bench_stage_run(struct bench_call *call)
{
    struct window window = {.bytes = NULL};
    struct setup setup = {.count = 0};
    struct flags flags = call->flags;
    int status = flags.stage == BENCH_STEP ? EXIT_DONE : read_work(&window, call);
    if (flags.stage == BENCH_TRAIN) {
        flags.model_options.precision = CLF_PRECISION_FP32; /* --precision is the precision of GEMM */
    }
    if (status == EXIT_DONE) { /* these stages distribute lines over devices; the others use one device */
        int shares = has_beams(call) || flags.stage == BENCH_SCORE;
        status = shares ? setup_open_several(&setup, &flags) : setup_open(&setup, &flags);
    }
    if (status == EXIT_DONE && flags.stage == BENCH_STEP) { /* the model decides what the work file is */
        status =
            !decodes_recording(call, &setup) ? read_work(&window, call)
            : flags.work != NULL
                ? EXIT_DONE
                : report_wrong_call("--stage step: a Whisper model requires a recording; add --work FILE");
    }
    if (status == EXIT_DONE && has_beams(call)) {
        status = check_search(call, &setup);
    }
    if (status == EXIT_DONE) {
        status = print_all_kernel_times(&setup, run_cases(call, &setup, &window));
    }
    setup_close(&setup);
    window_free(&window);
    return status;
}
