/* Times the transcription of a recording per batch size and beam size, without loading and compilation. */
#include "bench/transcribe.h"

#include <math.h>

#include "base/memory.h"
#include "transcribe/internal.h"

static clf_status open_audio(struct clf_audio **out, int index, void *user)
{
    *out = ((struct transcribe_case *)user)->audios[index];
    return CLF_OK;
}

static void end_recording(int index, clf_status status, struct clf_transcript *transcript, void *user)
{
    struct transcribe_case *one = user;
    (void)index;
    if (status != CLF_OK && one->failure.status == CLF_OK) {
        one->failure = clf__failure_keep(status);
    }
    for (int i = 0; status == CLF_OK && i < transcript->count; i++) {
        one->tokens += transcript->segments[i].token_count;
    }
    clf_transcript_free(transcript);
}

clf_status transcribe_case_run(void *context)
{
    struct transcribe_case *one = context;
    struct clf_recordings recordings;
    clf_recordings_init(&recordings);
    recordings.count = one->batch;
    recordings.open = open_audio;
    recordings.done = end_recording;
    recordings.payload = one;
    int64_t before = one->transcriber->generated;
    one->tokens = 0;
    CLF__TRY(clf_transcribe_several(one->transcriber, &recordings));
    if (one->transcriber->text_only) { /* segments omit the empty text that random weights may generate */
        one->tokens = one->transcriber->generated - before;
    }
    return clf__failure_again(&one->failure);
}

/* Makes every window generate exactly --max-length tokens: windows are not skipped as silence, advance by 30
 * s and do not depend on each other. */
static void force_length(struct clf_transcribe_options *options)
{
    options->timestamps = 0;
    options->condition_on_previous = 0;
    options->no_speech_threshold = (double)NAN;
}

static clf_status limit_length(struct clf_transcriber *transcriber, const struct flags *flags)
{
    if (flags->max_length < 0) {
        return CLF_OK;
    }
    if (flags->max_length < 1 || flags->max_length > transcriber->most_tokens) {
        return clf__fail(CLF_BAD_ARGUMENT, "--max-length %d: must be 1 to %d for this model",
                         flags->max_length, transcriber->most_tokens);
    }
    transcriber->most_tokens = flags->max_length;
    transcriber->text_only = flags->min_length >= 0;
    return CLF_OK;
}

static clf_status open_audios(struct transcribe_case *one, const char *path)
{
    CLF__TRY(clf__allocate(&one->audios, (size_t)one->batch, sizeof(struct clf_audio *)));
    for (int i = 0; i < one->batch; i++) {
        CLF__TRY(clf_audio_open(&one->audios[i], path));
    }
    return CLF_OK;
}

clf_status transcribe_case_prepare(struct transcribe_case *one, const struct bench_call *call,
                                   struct clf_model *model)
{
    static const double zero[] = {0};
    const struct flags *flags = &call->flags;
    struct clf_transcribe_options options;
    clf_transcribe_options_init(&options);
    options.beam = one->beam;
    options.batch = one->batch;
    options.temperatures = zero; /* windows are not decoded again */
    options.temperature_count = 1;
    options.interrupted = signals_interrupted;
    if (flags->min_length >= 0) {
        force_length(&options);
    }
    CLF__TRY(clf_transcriber_create(&one->transcriber, model, &options));
    CLF__TRY(limit_length(one->transcriber, flags));
    return open_audios(one, call->work);
}

static json_t *case_row(const struct bench_call *call, const struct setup *setup,
                        const struct transcribe_case *one, const struct timing *timing)
{
    json_t *row = bench_row(call, setup->device, "transcribe");
    uint64_t weights = clf_model_describe(setup->model)->weight_bytes;
    int failed = json_object_set_new(row, "weight_bytes", json_integer((json_int_t)weights)) != 0 ||
                 json_object_set_new(row, "batch", json_integer(one->batch)) != 0 ||
                 json_object_set_new(row, "beam", json_integer(one->beam)) != 0 ||
                 bench_row_time(row, timing, one->tokens) != EXIT_DONE;
    if (failed) {
        json_decref(row);
        return NULL;
    }
    return row;
}

void transcribe_case_release(struct transcribe_case *one)
{
    for (int i = 0; one->audios != NULL && i < one->batch; i++) {
        clf_audio_free(one->audios[i]);
    }
    clf__free((void *)one->audios);
    clf_transcriber_free(one->transcriber);
}

/* Returns an exit status. */
static int run_case(const struct bench_call *call, const struct setup *setup, int batch, int beam)
{
    struct transcribe_case one = {.batch = batch, .beam = beam};
    struct timing timing;
    clf_status status = transcribe_case_prepare(&one, call, setup->model);
    if (status == CLF_OK) {
        status = timing_measure(&timing, transcribe_case_run, &one,
                                call->flags.repeats > 0 ? call->flags.repeats : BENCH_REPEATS,
                                signals_interrupted);
    }
    json_t *row = status == CLF_OK ? case_row(call, setup, &one, &timing) : NULL;
    int result = bench_end_case(call, &(struct bench_case){setup->device, batch, beam}, status, row);
    transcribe_case_release(&one);
    return result;
}

static int run_cases(const struct bench_call *call, const struct setup *setup)
{
    int status = EXIT_DONE, batch_count = call->flags.batches != NULL ? call->batches.count : 1;
    for (int i = 0; i < batch_count; i++) {
        for (int j = 0; j < call->beams.count && !signals_interrupted(NULL) && !output_failed(); j++) {
            int batch = call->flags.batches != NULL ? call->batches.values[i] : 1;
            int ended = run_case(call, setup, batch, call->beams.values[j]);
            status = ended != EXIT_DONE ? ended : status;
        }
    }
    return status;
}

int bench_transcribe_run(struct bench_call *call)
{
    struct setup setup;
    int status = setup_open(&setup, &call->flags);
    if (status == EXIT_DONE) {
        status = print_all_kernel_times(&setup, run_cases(call, &setup));
        setup_close(&setup);
    }
    return status;
}
