#include "model/backprop/training.h"

#include <math.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "math/ops/bias.h"
#include "model/backprop/internal.h"
#include "model/config/sides.h"
#include "model/stacks.h"
#include "runtime/device/caps.h"
#include "runtime/device/lock.h"

static int trains_logits_bias(const struct clf__training *training)
{
    const struct clf__parameter *last = &training->list.items[training->list.count - 1];
    return training->transformer->config.logits_bias && last->is_trained;
}

static const struct clf__front_end_kind *front_end_of(const struct clf__training *training)
{
    return training->transformer->encoder.embedder.front_end.kind;
}

/* Returns an upper bound, because the rows of each source may be rounded up. */
static int most_source_rows(const struct clf__training *training)
{
    const struct clf__training_limits *limits = &training->limits;
    int rows = front_end_of(training)->rows(limits->source_tokens);
    return clf__min_int(limits->source_tokens,
                        rows + clf__min_int(limits->sequences, limits->source_tokens - rows));
}

/* Returns the maximum scratch memory for row sums over up to `rows` rows; fewer rows may be divided into more
 * parts. */
static size_t row_sums_scratch(int rows, int columns, size_t (*needed)(int, int))
{
    size_t most = 0;
    for (int count = 1; count <= rows; count++) {
        most = clf__max_size(most, needed(count, columns));
    }
    return most;
}

static size_t attention_scratch(const struct clf__training *training, enum clf__side side, int query_rows)
{
    const struct clf__config *config = &training->transformer->config;
    struct clf__heads heads = clf__config_heads(config, side);
    return clf__attention_backward_scratch(
        &heads, query_rows, training->limits.sequences,
        clf__training_stack(training, side)->embedder.relative.table.columns);
}

static struct clf__gradient_sizes gradient_sizes(const struct clf__training *training)
{
    const struct clf__config *config = &training->transformer->config;
    const struct clf__training_limits *limits = &training->limits;
    struct clf__heads decoder = clf__config_heads(config, CLF__DECODER);
    struct clf__gradient_sizes sizes = {
        .widths = clf__stacks_widths(config),
        .rows = clf__max_int(training->source_rows, limits->target_tokens),
        .source_rows = training->source_rows,
        .activated = clf__max_int(config->encoder_ffn, config->decoder_ffn),
        .memory = clf__memory_projection_width(&decoder),
    };
    int widest = clf__max_int(clf__max_int(sizes.widths.projected, sizes.widths.hidden),
                              clf__max_int(sizes.memory, sizes.widths.d_model));
    sizes.scratch =
        clf__max_size(row_sums_scratch(sizes.rows, widest, clf__bias_backward_scratch),
                      row_sums_scratch(sizes.rows, sizes.widths.d_model, clf__layernorm_backward_scratch));
    if (front_end_of(training)->record != NULL) {
        sizes.scratch =
            clf__max_size(sizes.scratch, row_sums_scratch(limits->source_tokens, sizes.widths.d_model,
                                                          clf__bias_backward_scratch));
    }
    if (trains_logits_bias(training)) {
        sizes.scratch = clf__max_size(sizes.scratch, row_sums_scratch(clf__training_logits_rows(training),
                                                                      config->target_vocabulary,
                                                                      clf__bias_backward_scratch));
    }
    sizes.scratch =
        clf__max_size(sizes.scratch, attention_scratch(training, CLF__ENCODER, training->source_rows));
    sizes.scratch =
        clf__max_size(sizes.scratch, attention_scratch(training, CLF__DECODER, limits->target_tokens));
    return sizes;
}

static clf_status reserve_activations(struct clf__training *training, enum clf__side side, int rows)
{
    const struct clf__config *config = &training->transformer->config;
    const struct clf__stack *stack = clf__training_stack(training, side);
    struct clf__activations_of_side *its = &training->activations[side];
    struct clf__arena *arena = &training->arena;
    if (config->norm_embedding) {
        CLF__TRY(clf__arena_reserve(arena, &its->sums, CLF__F32, rows, config->d_model,
                                    "the sums of the embeddings"));
    }
    if (config->norm_final) {
        CLF__TRY(clf__arena_reserve(arena, &its->normed, CLF__F32, rows, config->d_model,
                                    "the final norm's rows"));
    }
    CLF__TRY(
        clf__arena_reserve(arena, &its->inputs, CLF__F32, rows, config->d_model, "the embeddings' rows"));
    CLF__TRY(clf__allocate(&its->layers, (size_t)stack->layer_count, sizeof *its->layers));
    for (int i = 0; i < stack->layer_count; i++) {
        CLF__TRY(clf__layer_record_reserve(&its->layers[i], arena, &stack->layers[i], rows,
                                           training->source_rows));
    }
    return CLF_OK;
}

/* Reserves memory for attention scores if the device has no fused attention. */
static clf_status reserve_attention(struct clf__training *training)
{
    const struct clf__training_limits *limits = &training->limits;
    const struct clf__config *config = &training->transformer->config;
    if (clf__device_caps(training->transformer->device)->attention == CLF_ATTENTION_FUSED) {
        return CLF_OK;
    }
    struct clf__heads largest = clf__config_largest_heads(config);
    int longest = clf__max_int(front_end_of(training)->rows(limits->source_length), limits->target_length);
    return clf__attention_scratch_reserve(&training->scratch, &training->arena, limits->sequences, &largest,
                                          longest, longest);
}

static clf_status reserve_frames(struct clf__training *training)
{
    const struct clf__config *config = &training->transformer->config;
    const struct clf__front_end_kind *kind = front_end_of(training);
    int frames = training->limits.source_tokens;
    if (config->feature_size > 0) {
        CLF__TRY(clf__arena_reserve(&training->arena, &training->frames, CLF__F32, frames,
                                    config->feature_size, "the frames"));
    }
    return kind->record == NULL ? CLF_OK
                                : clf__arena_reserve(&training->arena, &training->front_record, CLF__F32, 1,
                                                     kind->record(config->d_model, config->feature_size,
                                                                  frames, training->source_rows),
                                                     "the record of the convolutions");
}

static clf_status reserve(struct clf__training *training)
{
    const struct clf__training_limits *limits = &training->limits;
    const struct clf__config *config = &training->transformer->config;
    struct clf__arena *arena = &training->arena;
    training->source_rows = most_source_rows(training);
    CLF__TRY(clf__allocate(&training->source_first, (size_t)limits->sequences + 1,
                           sizeof *training->source_first));
    struct clf__gradient_sizes sizes = gradient_sizes(training);
    CLF__TRY(reserve_activations(training, CLF__ENCODER, training->source_rows));
    CLF__TRY(reserve_activations(training, CLF__DECODER, limits->target_tokens));
    CLF__TRY(clf__gradient_workspace_reserve(&training->workspace, arena, &sizes));
    CLF__TRY(clf__arena_reserve(arena, &training->dencoded, CLF__F32, training->source_rows, config->d_model,
                                "the gradient of the encoder's output"));
    CLF__TRY(reserve_frames(training));
    CLF__TRY(clf__arena_reserve(arena, &training->logits, CLF__F32, clf__training_logits_rows(training),
                                config->target_vocabulary, "the logits"));
    CLF__TRY(clf__arena_reserve(arena, &training->losses, CLF__F32, limits->target_tokens, 2, "the losses"));
    CLF__TRY(clf__upload_reserve(&training->upload, arena, clf__training_upload_size(limits)));
    return reserve_attention(training);
}

static clf_status check_counts(const struct clf__parameter_list *list)
{
    for (int i = 0; i < list->count; i++) {
        const struct clf__parameter *item = &list->items[i];
        CLF__TRY(clf__training_check_count(item->name, (int64_t)item->rows * item->columns));
    }
    return CLF_OK;
}

/* Reserves host memory for sums of squares and losses. */
static clf_status reserve_host(struct clf__training *training)
{
    const struct clf__trained *last = &training->trained[training->trained_count - 1];
    int parts = last->first_part + last->parts;
    size_t count = clf__max_size((size_t)parts, 2 * (size_t)training->limits.target_tokens);
    CLF__TRY(clf__arena_reserve(&training->arena, &training->parts, CLF__F32, 1, parts, "sums of squares"));
    return clf__allocate(&training->host, clf__max_size(count, 1), sizeof *training->host);
}

/* Sets the GEMM precision of weights and gradients, and reserves the scratch memory. */
static clf_status prepare_gemms(struct clf__training *training)
{
    const struct clf__transformer *transformer = training->transformer;
    struct clf_device *device = transformer->device;
    enum clf__precision precision = training->options.gemm_precision;
    const struct clf__weight *projection = transformer->decoder.projection.weight;
    int most = clf__max_int(training->limits.source_tokens, training->limits.target_tokens);
    for (int i = 0; i < training->list.count; i++) {
        struct clf__weight *weight = training->places[i].weights[CLF__VALUES];
        int is_looked_up = weight == transformer->encoder.embedder.front_end.tokens ||
                           weight == transformer->decoder.embedder.front_end.tokens;
        if (weight == NULL || training->places[i].first > 0 || (is_looked_up && weight != projection)) {
            continue;
        }
        int outputs = clf__weight_outputs(weight), inputs = clf__weight_inputs(weight);
        int rows = weight == projection ? training->logits.rows : most;
        CLF__TRY(clf__weight_multiply_in(weight, precision));
        CLF__TRY(clf__weight_prepare(weight));
        CLF__TRY(clf__weight_multiply_in(training->places[i].weights[CLF__GRADIENTS], precision));
        CLF__TRY(clf__gemm_reserve(device, rows, inputs, precision));
        CLF__TRY(clf__gemm_reserve_gradients(device, rows, outputs, inputs, precision));
    }
    return CLF_OK;
}

static clf_status make(struct clf__training *training)
{
    const struct clf__transformer *transformer = training->transformer;
    CLF__TRY(clf__config_check_heads(&transformer->config, transformer->device, NULL, 1));
    CLF__TRY(clf__parameter_list_create(&training->list, &transformer->config));
    CLF__TRY(check_counts(&training->list));
    CLF__TRY(clf__transformer_ensure_positions(training->transformer, training->limits.source_length,
                                               training->limits.target_length));
    CLF__TRY(reserve(training));
    for (int kind = CLF__GRADIENTS; kind < clf__training_kinds(training); kind++) {
        CLF__TRY(clf__parameter_tree_create_zero(
            clf__training_tree(training, kind), clf__transformer_stacks(training->transformer),
            &transformer->config, kind == CLF__GRADIENTS ? "room for gradients" : "room for moments"));
    }
    CLF__TRY(clf__training_place(training));
    CLF__TRY(clf__buckets_create(training));
    CLF__TRY(clf__shards_create(training));
    CLF__TRY(reserve_host(training));
    if (training->options.keeps_padding) {
        CLF__TRY(
            clf__allocate(&training->zeros, (size_t)transformer->config.d_model, sizeof *training->zeros));
    }
    CLF__TRY(clf__arena_allocate(&training->arena));
    return prepare_gemms(training);
}

clf_status clf__training_create(struct clf__training **out, struct clf__transformer *transformer,
                                const struct clf__training_limits *limits,
                                const struct clf__training_options *options)
{
    CLF__LOCK_DEVICE(transformer->device);
    struct clf__training *training;
    CLF__TRY(clf__allocate(&training, 1, sizeof *training));
    training->transformer = transformer;
    training->limits = *limits;
    training->options = *options;
    training->ranks = options->communicator != NULL ? options->communicator : &clf__communicator_null;
    clf__arena_init(&training->arena, transformer->device);
    training->arena.is_swept = 1;
    clf_status status = make(training);
    if (status != CLF_OK) {
        clf__training_free(training);
        return status;
    }
    *out = training;
    return CLF_OK;
}

void clf__training_pause(struct clf__training *training, int is_paused)
{
    for (int i = 0; i < training->list.count; i++) {
        struct clf__weight *weight = training->places[i].weights[CLF__VALUES];
        if (weight != NULL) {
            clf__weight_pause_copies(weight, is_paused);
        }
    }
}

/* Restores the GEMM precision of the model's weights. This cannot fail. */
static void leave_weights(struct clf__training *training)
{
    for (int i = 0; training->places != NULL && i < training->list.count; i++) {
        struct clf__weight *weight = training->places[i].weights[CLF__VALUES];
        if (weight != NULL) {
            (void)clf__weight_multiply_in(weight, CLF__PRECISION_FP32);
        }
    }
}

void clf__training_free(struct clf__training *training)
{
    CLF__LOCK_DEVICE(training != NULL ? training->transformer->device : NULL);
    if (training == NULL) {
        return;
    }
    clf__arena_free(&training->arena);
    leave_weights(training);
    clf__buckets_free(training);
    clf__shards_free(training);
    for (int kind = CLF__TRAINED_KINDS - 1; kind >= CLF__GRADIENTS; kind--) {
        clf__parameter_tree_free(clf__training_tree(training, kind), &training->transformer->config);
    }
    clf__parameter_list_free(&training->list);
    clf__free(training->places);
    clf__free(training->zeros);
    clf__free(training->trained);
    clf__free(training->untrained);
    clf__free(training->activations[CLF__ENCODER].layers);
    clf__free(training->activations[CLF__DECODER].layers);
    clf__free(training->upload.staging);
    clf__free(training->source_first);
    clf__free(training->host);
    clf__free(training);
}
