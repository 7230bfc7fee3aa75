/* Times a training step: forward, backward, gradient norm, Adam. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "bench/bench.h"
#include "model/backprop/training.h"
#include "model/model.h"
#include "model/transformer.h"
#include "runtime/device/buffer.h"
#include "runtime/device/queue.h"
#include "runtime/program/launch.h"
#include "text/tokenizers/tokenizer.h"

/* The ids of all lines of one side, concatenated. */
struct side {
    int *first; /* (batch + 1) */
    struct clf__ids ids;
    int longest;
};

/* A training batch in which each line is its own translation. */
struct train_case {
    struct clf_device *device;
    struct clf__training *training;
    struct side sources, labels;
    int32_t *inputs; /* the labels shifted right, after the start token */
    int batch;
    uint32_t steps; /* number of steps so far */
};

static int is_blank(const struct clf_line *line)
{
    size_t i = 0;
    while (i < line->size && (line->text[i] == ' ' || line->text[i] == '\t')) {
        i++;
    }
    return i == line->size;
}

static clf_status read_line(struct clf__ids *ids, const struct clf_model *model, const struct flags *flags,
                            const struct clf_line *line, int is_target)
{
    return clf__tokenizer_encode(model->tokenizer, ids, line->text, line->size, is_target, flags->tokens);
}

static clf_status append(struct side *side, int index, const struct clf__ids *ids)
{
    for (int i = 0; i < ids->count; i++) {
        CLF__TRY(clf__ids_append(&side->ids, ids->data[i]));
    }
    side->first[index + 1] = side->ids.count;
    side->longest = ids->count > side->longest ? ids->count : side->longest;
    return CLF_OK;
}

static clf_status read_side(struct side *side, const struct clf_model *model, const struct flags *flags,
                            const struct clf_line *lines, int batch, int is_target)
{
    CLF__TRY(clf__allocate(&side->first, (size_t)batch + 1, sizeof *side->first));
    struct clf__ids ids = {NULL, 0, 0};
    clf_status status = CLF_OK;
    for (int i = 0; i < batch && status == CLF_OK; i++) {
        status = read_line(&ids, model, flags, &lines[i], is_target);
        if (status == CLF_OK && is_blank(&lines[i])) {
            status = clf__fail(CLF_TEXT, "the line is blank");
        }
        if (status == CLF_OK) {
            status = append(side, i, &ids);
        } else {
            status = clf__fail_in(status, "line %d of the work file cannot be used", i + 1);
        }
    }
    clf__ids_free(&ids);
    return status;
}

static clf_status make_inputs(struct train_case *one, int32_t start_id)
{
    CLF__TRY(clf__allocate(&one->inputs, (size_t)one->labels.ids.count, sizeof *one->inputs));
    for (int i = 0; i < one->batch; i++) {
        int first = one->labels.first[i], count = one->labels.first[i + 1] - first;
        one->inputs[first] = start_id;
        memcpy(one->inputs + first + 1, one->labels.ids.data + first,
               (size_t)(count - 1) * sizeof *one->inputs);
    }
    return CLF_OK;
}

static clf_status prepare(struct train_case *one, const struct bench_call *call, struct clf_model *model,
                          const struct clf_line *lines)
{
    const struct clf__config *config = &model->transformer->config;
    if (config->feature_size > 0) {
        return clf__fail(CLF_UNSUPPORTED, "%s: is a speech model; --stage train supports text models only",
                         model->folder);
    }
    CLF__TRY(read_side(&one->sources, model, &call->flags, lines, one->batch, 0));
    CLF__TRY(read_side(&one->labels, model, &call->flags, lines, one->batch, 1));
    CLF__TRY(make_inputs(one, config->decoder_start_id));
    struct clf__training_limits limits = {
        .sequences = one->batch,
        .source_tokens = one->sources.ids.count,
        .target_tokens = one->labels.ids.count,
        .source_length = one->sources.longest,
        .target_length = one->labels.longest,
    };
    struct clf__training_options options = {
        .gemm_precision = clf__precision_of(call->flags.model_options.precision),
        .seed = 1,
        .smoothing = {0.1f, 0.1f / (float)(config->target_vocabulary - 1), -1},
    };
    return clf__training_create(&one->training, model->transformer, &limits, &options);
}

static clf_status step(void *context)
{
    struct train_case *one = context;
    struct clf__training_batch batch = {
        .sources = {.count = one->batch, .first = one->sources.first, .ids = one->sources.ids.data},
        .inputs = {.count = one->batch, .first = one->labels.first, .ids = one->inputs},
        .labels = one->labels.ids.data,
    };
    one->steps++;
    struct clf__adam adam = {.rate = 1e-4, .beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9, .gradient_scale = 1};
    adam.correction1 = 1 - pow(adam.beta1, one->steps);
    adam.correction2 = 1 - pow(adam.beta2, one->steps);
    struct clf__training_loss loss;
    double norm;
    CLF__TRY(clf__training_backward(one->training, &batch, 1.0f / (float)one->labels.ids.count, one->steps,
                                    &loss));
    CLF__TRY(clf__training_gradient_norm(one->training, &norm));
    CLF__TRY(clf__training_update(one->training, &adam));
    return clf__device_finish(one->device);
}

static void release(struct train_case *one)
{
    clf__training_free(one->training);
    clf__free(one->inputs);
    clf__free(one->sources.first);
    clf__free(one->labels.first);
    clf__ids_free(&one->sources.ids);
    clf__ids_free(&one->labels.ids);
}

static json_t *train_row(const struct bench_call *call, const struct train_case *one,
                         const struct timing *timing)
{
    json_t *row = bench_row(call, one->device, "train");
    int failed = json_object_set_new(row, "batch", json_integer(one->batch)) != 0 ||
                 json_object_set_new(row, "beam", json_integer(1)) != 0 ||
                 bench_row_time(row, timing, one->labels.ids.count) != EXIT_DONE;
    if (failed) {
        json_decref(row);
        return NULL;
    }
    return row;
}

int bench_train_run(struct bench_call *call, const struct setup *setup, const struct clf_line *lines,
                    int batch)
{
    struct train_case one = {.device = setup->device, .batch = batch};
    struct timing timing;
    clf_status status = prepare(&one, call, setup->model, lines);
    if (status == CLF_OK) {
        status =
            timing_measure(&timing, step, &one, call->flags.repeats > 0 ? call->flags.repeats : BENCH_REPEATS,
                           signals_interrupted);
    }
    json_t *row = status == CLF_OK ? train_row(call, &one, &timing) : NULL;
    int result = bench_end_case(call, &(struct bench_case){setup->device, batch, 1}, status, row);
    release(&one);
    return result;
}
