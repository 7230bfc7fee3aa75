/* Times the transcription of one recording, beam by beam: loading and compilation excluded. */
#include <clformer/transcriber.h>

#include "bench/bench.h"

struct transcribe_case {
    struct clf_transcriber *transcriber;
    struct clf_audio *audio;
    long long tokens; /* of all segments */
};

static clf_status transcribe(void *context)
{
    struct transcribe_case *one = context;
    struct clf_transcript *transcript;
    clf_status status = clf_transcribe(&transcript, one->transcriber, one->audio);
    if (status == CLF_OK) {
        one->tokens = 0;
        for (int i = 0; i < transcript->count; i++) {
            one->tokens += transcript->segments[i].token_count;
        }
        clf_transcript_free(transcript);
    }
    return status;
}

static clf_status measure(struct transcribe_case *one, struct timing *timing, const struct bench_call *call,
                          const struct setup *setup, int beam)
{
    static const double zero[] = {0};
    struct clf_transcribe_options options;
    clf_transcribe_options_init(&options);
    options.beam = beam;
    options.temperatures = zero; /* no window is decoded again */
    options.temperature_count = 1;
    options.interrupted = signals_interrupted;
    clf_status status = clf_transcriber_create(&one->transcriber, setup->model, &options);
    if (status == CLF_OK) {
        status = clf_audio_open(&one->audio, call->work);
    }
    return status != CLF_OK ? status
                            : timing_measure(timing, transcribe, one,
                                             call->flags.repeats > 0 ? call->flags.repeats : BENCH_REPEATS,
                                             signals_interrupted);
}

static json_t *case_row(const struct bench_call *call, const struct setup *setup, int beam,
                        const struct timing *timing, long long tokens)
{
    json_t *row = bench_row(call, setup->device, "transcribe");
    uint64_t weights = clf_model_describe(setup->model)->weight_bytes;
    int failed = json_object_set_new(row, "weight_bytes", json_integer((json_int_t)weights)) != 0 ||
                 json_object_set_new(row, "batch", json_integer(1)) != 0 ||
                 json_object_set_new(row, "beam", json_integer(beam)) != 0 ||
                 bench_row_time(row, timing, tokens) != EXIT_DONE;
    if (failed) {
        json_decref(row);
        return NULL;
    }
    return row;
}

/* Returns an exit status. */
static int run_case(const struct bench_call *call, const struct setup *setup, int beam)
{
    struct transcribe_case one = {.tokens = 0};
    struct timing timing;
    clf_status status = measure(&one, &timing, call, setup, beam);
    json_t *row = status == CLF_OK ? case_row(call, setup, beam, &timing, one.tokens) : NULL;
    int result = bench_end_case(call, &(struct bench_case){setup->device, 1, beam}, status, row);
    clf_audio_free(one.audio);
    clf_transcriber_free(one.transcriber);
    return result;
}

static int run_cases(const struct bench_call *call, const struct setup *setup)
{
    int status = EXIT_DONE;
    for (int i = 0; i < call->beams.count && !signals_interrupted(NULL) && !output_failed(); i++) {
        int ended = run_case(call, setup, call->beams.values[i]);
        status = ended != EXIT_DONE ? ended : status;
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
