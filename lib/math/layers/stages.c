/* The list of stages of decoder layers in a persistent launch. */
#include <string.h>

#include "base/memory.h"
#include "math/layers/grid_barrier.h"
#include "math/layers/persistent.h"
#include "math/ops/operand.h"
#include "runtime/device/caps.h"

/* LAYER_STAGES includes INT8_STAGES, which only int8 has: they quantize the results of both attentions and
 * the activations of the feed-forward network. */
enum { WORD = 16, VECTOR_FLOATS = 4, LAYER_STAGES = 11, INT8_STAGES = 3 };

static int round_up(int n, int unit)
{
    return (n + unit - 1) / unit * unit;
}

static int is_taken(const struct clf__linear *linear, enum clf__precision precision)
{
    struct clf__weight_layout layout = clf__weight_layout(linear->weight);
    return linear->scale == 1.0f && layout.precision == precision && clf__layout_has_matrix(layout);
}

static int same_heads(const struct clf__heads *a, const struct clf__heads *b)
{
    return a->count == b->count && a->key_width == b->key_width && a->value_width == b->value_width &&
           a->scale == b->scale;
}

/* Returns whether persistent launches can contain a layer together with the layer `first`. */
static int can_be_persistent(const struct clf__caps *caps, const struct clf__layer *layer,
                             const struct clf__layer *first)
{
    if (!layer->mixer.kind->is_in_single_launch || layer->cross_attention.input.weight == NULL) {
        return 0;
    }
    enum clf__precision precision = clf__decoder_layer_precision(first);
    const struct clf__linear *linears[CLF__DECODER_LINEARS];
    clf__decoder_layer_linears(linears, layer);
    for (int i = 0; i < CLF__DECODER_LINEARS; i++) {
        if (!is_taken(linears[i], precision)) {
            return 0;
        }
    }
    const struct clf__heads *heads = &first->mixer.attention.heads;
    return clf__caps_use_matrix(caps, precision) && !caps->level->matrix.has_few_registers &&
           clf__grid_barrier_works(caps) && caps->attention == CLF_ATTENTION_FUSED &&
           !layer->feed_forward.gated && layer->relative.table.buffer == NULL &&
           layer->norm_first == first->norm_first &&
           layer->mixer_norm.gamma.columns % CLF__MATRIX_INPUTS(CLF__PRECISION_FP16) == 0 &&
           layer->feed_forward.width == first->feed_forward.width &&
           layer->mixer_norm.kind == first->mixer_norm.kind &&
           layer->mixer_norm.epsilon == first->mixer_norm.epsilon &&
           same_heads(&layer->mixer.attention.heads, heads) &&
           same_heads(&layer->cross_attention.heads, heads);
}

/* Returns the number of bytes between rows of a matrix with this many columns. */
static int row_bytes(enum clf__stage_rows rows, int columns, enum clf__precision precision)
{
    if (rows < CLF__ROWS_FLOATS) {
        return round_up(columns * (int)sizeof(float), WORD);
    }
    int stride = precision == CLF__PRECISION_INT8 ? CLF__QUANTIZED_STRIDE(columns)
                                                  : round_up(columns, CLF__MATRIX_INPUTS(precision));
    return stride * (int)sizeof(uint16_t);
}

/* Computes the strides of all matrices and their offsets in the work space, and returns its size in words. */
static int place_rows(struct clf__place out[CLF__ROWS_COUNT], const struct clf__layer *layer, int rows)
{
    const struct clf__heads *heads = &layer->mixer.attention.heads;
    int d_model = layer->mixer_norm.gamma.columns, values = heads->count * heads->value_width, words = 0;
    enum clf__precision precision = clf__decoder_layer_precision(layer);
    const int columns[CLF__ROWS_COUNT] = {
        [CLF__ROWS_X] = d_model,
        [CLF__ROWS_SUMS] = d_model,
        [CLF__ROWS_PROJECTED] = clf__self_projection_width(heads),
        [CLF__ROWS_ATTENDED] = values,
        [CLF__ROWS_ACTIVATED] = layer->feed_forward.width,
        [CLF__ROWS_OPERAND] = d_model,
        [CLF__ROWS_CONTEXT] = values,
        [CLF__ROWS_HIDDEN] = layer->feed_forward.width,
    };
    int is_int8 = precision == CLF__PRECISION_INT8;
    const int is_elsewhere[CLF__ROWS_COUNT] = {
        [CLF__ROWS_X] = 1,
        [CLF__ROWS_ATTENDED] = !is_int8,
        [CLF__ROWS_ACTIVATED] = !is_int8,
        [CLF__ROWS_OPERAND] = 1,
    };
    for (int i = 0; i < CLF__ROWS_COUNT; i++) {
        int bytes = row_bytes((enum clf__stage_rows)i, columns[i], precision);
        int element = i < CLF__ROWS_FLOATS ? (int)sizeof(float) : (int)sizeof(uint16_t);
        out[i] = (struct clf__place){words, bytes / element};
        words += is_elsewhere[i] ? 0 : rows * (bytes / WORD);
    }
    return words;
}

/* Returns the number of floats of a layer's vectors, including vectors that the layer does not have. */
static int64_t count_vectors(const struct clf__layer *layer)
{
    const struct clf__linear *linears[CLF__DECODER_LINEARS];
    clf__decoder_layer_linears(linears, layer);
    int64_t count = 6 * (int64_t)round_up(layer->mixer_norm.gamma.columns, VECTOR_FLOATS);
    for (int i = 0; i < CLF__DECODER_LINEARS; i++) {
        count += round_up(clf__weight_outputs(linears[i]->weight), VECTOR_FLOATS);
    }
    return count;
}

clf_status clf__persistent_reserve(struct clf__persistent *persistent, struct clf__arena *arena,
                                   const struct clf__layer *layers, int count, int rows)
{
    const struct clf__caps *caps = clf__device_caps(arena->device);
    int64_t vectors = 0;
    persistent->stages = CLF__NO_TENSOR;
    persistent->fails_at = -1;
    persistent->most_looks = 0;
    for (int i = 0; i < count; i++) {
        if (!can_be_persistent(caps, &layers[i], &layers[0])) {
            return CLF_OK;
        }
        vectors += count_vectors(&layers[i]);
    }
    rows = rows < CLF__PERSISTENT_ROWS ? rows : CLF__PERSISTENT_ROWS;
    int words = place_rows(persistent->rows, layers, rows);
    persistent->layer_stages =
        LAYER_STAGES + (clf__decoder_layer_precision(layers) == CLF__PRECISION_INT8 ? INT8_STAGES : 0);
    CLF__TRY(clf__arena_reserve(arena, &persistent->vectors, CLF__F32, 1, vectors,
                                "the layers' biases and norms"));
    CLF__TRY(clf__arena_reserve(arena, &persistent->work, CLF__F32, words, WORD / (int)sizeof(float),
                                "the activations of a persistent launch"));
    int counters = CLF__ARRIVALS + rows * layers->mixer.attention.heads.count;
    CLF__TRY(clf__arena_reserve(arena, &persistent->arrivals, CLF__I32, 1, counters,
                                "the barrier counters of a persistent launch"));
    return clf__arena_reserve(arena, &persistent->stages, CLF__I32, 1 + count * persistent->layer_stages,
                              CLF__STAGE_INTS, "the stages of a persistent launch");
}

/* The list of stages while it is built. */
struct list {
    struct clf__persistent *persistent;
    struct clf__stage *stages;
    int count, vectors;
    int product; /* the last GEMM in the list; 0: none yet */
    int is_full; /* the kernel has no argument for another buffer */
    int is_int8;
};

static void place_buffer(struct list *list, int *index, int *first, const struct clf__buffer *buffer,
                         size_t offset)
{
    struct clf__persistent *persistent = list->persistent;
    size_t start;
    const struct clf__buffer *whole = clf__buffer_whole(buffer, &start);
    *index = 0;
    while (*index < persistent->buffer_count && persistent->buffers[*index] != whole) {
        ++*index;
    }
    start += offset;
    if (*index == CLF__STAGE_BUFFERS || start % WORD != 0 || start / WORD > INT32_MAX) {
        list->is_full = 1;
        return;
    }
    persistent->buffers[*index] = whole;
    persistent->buffer_count += *index == persistent->buffer_count;
    *first = (int)(start / WORD);
}

static void place_tensor(struct list *list, int *index, int *first, struct clf__tensor tensor)
{
    place_buffer(list, index, first, tensor.buffer, tensor.offset * clf__type_bytes(tensor.type));
}

static clf_status copy_vector(struct list *list, int *place, const struct clf__buffer *vector, size_t offset,
                              int columns)
{
    *place = -1;
    if (vector == NULL) {
        return CLF_OK;
    }
    *place = list->vectors;
    list->vectors += round_up(columns, VECTOR_FLOATS);
    return clf__buffer_copy(list->persistent->vectors.buffer, (size_t)*place * sizeof(float), vector,
                            offset * sizeof(float), (size_t)columns * sizeof(float));
}

static struct clf__stage *add_stage(struct list *list, enum clf__stage_kind kind, enum clf__stage_rows to,
                                    enum clf__stage_rows from)
{
    struct clf__stage *stage = &list->stages[list->count++];
    if (kind == CLF__STAGE_PRODUCT) {
        list->stages[list->product].ahead = list->count - 1 - list->product;
        list->product = list->count - 1;
    }
    *stage =
        (struct clf__stage){.kind = (int)kind, .from = (int)from, .to = (int)to, .gamma = -1, .beta = -1};
    return stage;
}

static clf_status add_product(struct list *list, enum clf__stage_rows to, enum clf__stage_rows from,
                              const struct clf__linear *linear, enum clf__activation activation)
{
    struct clf__stage *stage = add_stage(list, CLF__STAGE_PRODUCT, to, from);
    stage->adds_x = to == CLF__ROWS_X || to == CLF__ROWS_SUMS;
    stage->inputs = clf__weight_inputs(linear->weight);
    stage->outputs = clf__weight_outputs(linear->weight);
    stage->activation = (int)activation;
    place_buffer(list, &stage->buffer, &stage->first, clf__weight_layout(linear->weight).buffer, 0);
    return copy_vector(list, &stage->beta, linear->bias, 0, stage->outputs);
}

/* In int8, adds a stage that quantizes `from` to `to`. In other precisions the previous stage writes
 * operands directly. */
static void add_quantizing(struct list *list, enum clf__stage_rows to, enum clf__stage_rows from, int inputs)
{
    if (list->is_int8) {
        add_stage(list, CLF__STAGE_ROUND, to, from)->inputs = inputs;
    }
}

static clf_status add_norm(struct list *list, const struct clf__norm *norm, enum clf__stage_rows from)
{
    struct clf__stage *stage = add_stage(list, CLF__STAGE_NORM, CLF__ROWS_OPERAND, from);
    stage->writes_x = from != CLF__ROWS_X;
    stage->inputs = norm->gamma.columns;
    CLF__TRY(copy_vector(list, &stage->gamma, norm->gamma.buffer, norm->gamma.offset, stage->inputs));
    return copy_vector(list, &stage->beta, norm->beta.buffer, norm->beta.offset, stage->inputs);
}

/* Adds attention, up to the operands of the output projection. */
static void add_attention(struct list *list, enum clf__stage_kind kind, const struct clf__linear *output,
                          struct clf__tensor keys, struct clf__tensor values)
{
    enum clf__stage_rows to = list->is_int8 ? CLF__ROWS_ATTENDED : CLF__ROWS_CONTEXT;
    struct clf__stage *stage = add_stage(list, kind, to, CLF__ROWS_PROJECTED);
    place_tensor(list, &stage->buffer, &stage->first, keys);
    place_tensor(list, &stage->values_buffer, &stage->values_first, values);
    add_quantizing(list, CLF__ROWS_CONTEXT, to, clf__weight_inputs(output->weight));
}

static clf_status add_feed_forward(struct list *list, const struct clf__feed_forward *feed,
                                   enum clf__stage_rows out)
{
    enum clf__stage_rows activated = list->is_int8 ? CLF__ROWS_ACTIVATED : CLF__ROWS_HIDDEN;
    CLF__TRY(add_product(list, activated, CLF__ROWS_OPERAND, &feed->up, feed->activation));
    add_quantizing(list, CLF__ROWS_HIDDEN, activated, feed->width);
    return add_product(list, out, CLF__ROWS_HIDDEN, &feed->down, CLF__IDENTITY);
}

static clf_status add_layer(struct list *list, const struct clf__layer *layer,
                            const struct clf__mixer_state *state, struct clf__tensor memory)
{
    const struct clf__attention_layer *self = &layer->mixer.attention, *cross = &layer->cross_attention;
    int norm_first = layer->norm_first;
    enum clf__stage_rows out = norm_first ? CLF__ROWS_X : CLF__ROWS_SUMS;
    CLF__TRY(norm_first ? add_norm(list, &layer->mixer_norm, out) : CLF_OK);
    CLF__TRY(add_product(list, CLF__ROWS_PROJECTED, CLF__ROWS_OPERAND, &self->input, CLF__IDENTITY));
    add_attention(list, CLF__STAGE_SELF_ATTENTION, &self->output, state->parts[0], state->parts[1]);
    CLF__TRY(add_product(list, out, CLF__ROWS_CONTEXT, &self->output, CLF__IDENTITY));
    CLF__TRY(add_norm(list, norm_first ? &layer->cross_attention_norm : &layer->mixer_norm, out));
    CLF__TRY(add_product(list, CLF__ROWS_PROJECTED, CLF__ROWS_OPERAND, &cross->input, CLF__IDENTITY));
    add_attention(list, CLF__STAGE_CROSS_ATTENTION, &cross->output, memory, memory);
    CLF__TRY(add_product(list, out, CLF__ROWS_CONTEXT, &cross->output, CLF__IDENTITY));
    CLF__TRY(add_norm(list, norm_first ? &layer->feed_forward_norm : &layer->cross_attention_norm, out));
    CLF__TRY(add_feed_forward(list, &layer->feed_forward, out));
    return norm_first ? CLF_OK : add_norm(list, &layer->feed_forward_norm, out);
}

static clf_status list_stages(struct list *list, const struct clf__layer *layers, int count,
                              const struct clf__mixer_state *states, const struct clf__tensor *memory)
{
    add_stage(list, CLF__STAGE_ROUND, CLF__ROWS_OPERAND, CLF__ROWS_X)->inputs =
        layers->mixer_norm.gamma.columns;
    for (int i = 0; i < count; i++) {
        list->is_full |= memory[i].stride != memory->stride || memory[i].type != states->parts[0].type;
        CLF__TRY(add_layer(list, &layers[i], &states[i], memory[i]));
    }
    return list->is_full ? CLF_OK : clf__tensor_write(list->persistent->stages, list->stages);
}

clf_status clf__persistent_prepare(struct clf__persistent *persistent, const struct clf__layer *layers,
                                   int count, const struct clf__mixer_state *states,
                                   const struct clf__tensor *memory)
{
    if (persistent->stages.buffer == NULL) {
        return CLF_OK;
    }
    /* Padding of 16-bit rows must be zero: it is multiplied with the weights' padding. */
    struct clf__buffer *zeros[] = {persistent->work.buffer, persistent->arrivals.buffer};
    for (int i = 0; i < 2; i++) {
        CLF__TRY(clf__buffer_fill(zeros[i], 0, clf__buffer_bytes(zeros[i]), 0.0f));
    }
    struct list list = {.persistent = persistent,
                        .is_int8 = clf__decoder_layer_precision(layers) == CLF__PRECISION_INT8};
    CLF__TRY(clf__allocate(&list.stages, (size_t)persistent->stages.rows, sizeof *list.stages));
    clf_status status = list_stages(&list, layers, count, states, memory);
    clf__free(list.stages);
    if (status != CLF_OK || list.is_full) {
        persistent->stages.buffer = NULL;
    }
    return status;
}
