/* Times a decoding step relative to a stream read: most of the time of a step with few rows is spent on
 * reading the weights. */
#include "bench/transcribe.h"
#include "model/model.h"
#include "model/transformer.h"
#include "open/peak.h"
#include "shared/progress.h"

/* Target tokens of a short and a long translation or window, and the number of calls per round for each of
 * them. The fastest call is used, because other work on the machine only adds time. */
enum { SHORT_TARGET = 1, LONG_TARGET = 33, CALLS = 3 };

struct step_case {
    struct clf_device *device;
    struct clf_translator *translators[2]; /* short and long targets */
    const struct clf_line *lines;
    int is_speech;                        /* the model transcribes recordings instead of translating lines */
    struct transcribe_case recordings[2]; /* short and long targets */
    int batch;
    double weight_bytes; /* bytes of weights that a step reads */
};

static double linear_bytes(const struct clf__linear *linear)
{
    const struct clf__weight *weight = linear->weight;
    struct clf__weight_layout layout = clf__weight_layout(weight);
    return (double)clf__weight_bytes(clf__buffer_device(layout.buffer), layout.precision,
                                     clf__weight_outputs(weight), clf__weight_inputs(weight));
}

/* Returns the bytes of weights that a step reads. Excludes the projections of cross-attention keys and
 * values, which a step does not compute. */
static double count_weights(const struct clf__stack *decoder)
{
    double bytes = linear_bytes(&decoder->projection);
    for (int i = 0; i < decoder->layer_count; i++) {
        const struct clf__layer *layer = &decoder->layers[i];
        bytes += linear_bytes(&layer->mixer.attention.input) + linear_bytes(&layer->mixer.attention.output) +
                 linear_bytes(&layer->cross_attention.input) + linear_bytes(&layer->cross_attention.output) +
                 linear_bytes(&layer->feed_forward.up) + linear_bytes(&layer->feed_forward.down);
    }
    return bytes;
}

/* Translates once and measures the seconds and the number of steps. */
static clf_status translate(double *seconds, double *steps, struct step_case *one, int is_long)
{
    struct clf_translator *translator = one->translators[is_long];
    int64_t steps_before = clf_translator_times(translator)->steps;
    struct clf_translation *results;
    double start = seconds_now();
    CLF__TRY(clf_translate(&results, translator, one->lines, one->batch));
    *seconds = seconds_now() - start;
    clf_status status = CLF_OK;
    for (int i = 0; i < one->batch && status == CLF_OK; i++) {
        if (results[i].status != CLF_OK) {
            status = bench_unusable_line(i, results[i].problem);
        }
    }
    clf_translations_free(results, one->batch);
    *steps = (double)(clf_translator_times(translator)->steps - steps_before);
    return status;
}

/* Transcribes once; each step generates a token of every recording. */
static clf_status transcribe(double *seconds, double *steps, struct step_case *one, int is_long)
{
    struct transcribe_case *recordings = &one->recordings[is_long];
    double start = seconds_now();
    CLF__TRY(transcribe_case_run(recordings));
    *seconds = seconds_now() - start;
    *steps = (double)recordings->tokens / one->batch;
    return CLF_OK;
}

/* Measures the seconds per step, and the bytes per second of a stream read. Steps and reads alternate and get
 * equal time. The fastest step and the fastest read are used, because other work on the machine only adds
 * time. */
static clf_status run_round(double *step, double *read, struct step_case *one)
{
    double best[2] = {0, 0}, steps[2] = {0, 0}, rate;
    *read = 0;
    for (int i = 0; i < CALLS; i++) {
        double seconds = 0;
        for (int is_long = 0; is_long < 2; is_long++) {
            CLF__TRY(one->is_speech ? transcribe(&seconds, &steps[is_long], one, is_long)
                                    : translate(&seconds, &steps[is_long], one, is_long));
            best[is_long] = i == 0 || seconds < best[is_long] ? seconds : best[is_long];
        }
        CLF__TRY(clf__device_measure_read(one->device, seconds, &rate));
        *read = rate > *read ? rate : *read;
    }
    if (steps[1] <= steps[0] || best[1] <= best[0]) {
        return clf__fail(
            CLF_TEXT,
            "the time of a step cannot be measured, because a target of %d tokens takes no longer than "
            "one of %d; check that %s",
            (int)LONG_TARGET, (int)SHORT_TARGET,
            one->is_speech ? "the recording is not empty" : "the lines are not blank");
    }
    *step = (best[1] - best[0]) / (steps[1] - steps[0]);
    return CLF_OK;
}

static clf_status measure(struct timing *step, struct timing *read, struct timing *share,
                          struct step_case *one, int rounds)
{
    double steps[TIMING_MOST_REPEATS], reads[TIMING_MOST_REPEATS], shares[TIMING_MOST_REPEATS];
    CLF__TRY(run_round(steps, reads, one)); /* warm-up */
    for (int i = 0; i < rounds; i++) {
        if (signals_interrupted(NULL)) {
            return CLF_INTERRUPTED;
        }
        CLF__TRY(run_round(&steps[i], &reads[i], one));
        shares[i] = one->weight_bytes / steps[i] / reads[i];
    }
    timing_conclude(step, steps, rounds);
    timing_conclude(read, reads, rounds);
    timing_conclude(share, shares, rounds);
    return CLF_OK;
}

static clf_status create_transcribers(struct step_case *one, const struct bench_call *call,
                                      struct clf_model *model)
{
    for (int is_long = 0; is_long < 2; is_long++) {
        struct bench_call forced = *call;
        forced.flags.min_length = forced.flags.max_length = is_long ? LONG_TARGET : SHORT_TARGET;
        one->recordings[is_long] = (struct transcribe_case){.batch = one->batch, .beam = 1};
        CLF__TRY(transcribe_case_prepare(&one->recordings[is_long], &forced, model));
    }
    return CLF_OK;
}

static clf_status create_translators(struct step_case *one, struct bench_call *call, struct clf_model *model)
{
    for (int is_long = 0; is_long < 2; is_long++) {
        struct clf_translate_options options = call->flags.translate;
        options.min_length = options.max_length = is_long ? LONG_TARGET : SHORT_TARGET;
        CLF__TRY(clf_translator_create(&one->translators[is_long], model, &options));
    }
    return CLF_OK;
}

static json_t *step_row(const struct bench_call *call, const struct step_case *one, const struct timing *step,
                        const struct timing *read, const struct timing *share)
{
    json_t *row = bench_row(call, one->device, "step");
    json_t *rates =
        json_pack("{s:i, s:i, s:I, s:f, s:f, s:f, s:f}", "batch", one->batch, "beam", 1, "step_weight_bytes",
                  (json_int_t)one->weight_bytes, "read_bytes_per_second", read->seconds, "read_spread",
                  read->spread, "share_of_read", share->seconds, "share_spread", share->spread);
    int failed = json_object_update(row, rates) != 0 || bench_row_time(row, step, one->batch) != EXIT_DONE;
    json_decref(rates);
    if (failed) {
        json_decref(row);
        return NULL;
    }
    return row;
}

int bench_step_run(struct bench_call *call, const struct setup *setup, const struct clf_line *lines,
                   int batch)
{
    struct step_case one = {.device = setup->device,
                            .lines = lines,
                            .batch = batch,
                            .is_speech = lines == NULL,
                            .weight_bytes = count_weights(&setup->model->transformer->decoder)};
    struct timing step, read, share;
    call->flags.beam = call->flags.n_best = 1;
    int result = flags_apply(&call->flags, setup->model);
    if (result >= 0) {
        return result;
    }
    clf_status status = one.is_speech ? create_transcribers(&one, call, setup->model)
                                      : create_translators(&one, call, setup->model);
    if (status == CLF_OK) {
        status = measure(&step, &read, &share, &one,
                         call->flags.repeats > 0 ? call->flags.repeats : BENCH_REPEATS);
    }
    json_t *row = status == CLF_OK ? step_row(call, &one, &step, &read, &share) : NULL;
    result = bench_end_case(call, &(struct bench_case){setup->device, batch, 1}, status, row);
    for (int i = 0; i < 2; i++) {
        clf_translator_free(one.translators[i]);
        transcribe_case_release(&one.recordings[i]);
    }
    return result;
}
