#include "model/backprop/internal.h"
#include "model/config/architectures/architecture.h"
#include "model/config/sides.h"

/* The dropout sites of the model. */
enum { ENCODER_EMBEDDING, DECODER_EMBEDDING, FIRST_LAYER };
enum { SELF_WEIGHTS, SELF_OUTPUT, CROSS_WEIGHTS, CROSS_OUTPUT, ACTIVATION, FEED_FORWARD, LAYER_SITES };

static struct clf__dropout dropout_at(const struct clf__training *training, const struct clf__pass *pass,
                                      float rate, int site)
{
    return (struct clf__dropout){
        .rate = pass->is_training ? rate : 0.0f,
        .seed = training->options.seed,
        .step = pass->number,
        .site = (uint32_t)site,
    };
}

/* Returns the number of a dropout site in a layer. Decoder layers are numbered after encoder layers. */
static int site_of(int layer, int which)
{
    return FIRST_LAYER + LAYER_SITES * layer + which;
}

static struct clf__attention_training attention_training(struct clf__training *training,
                                                         const struct clf__pass *pass, enum clf__side side,
                                                         int layer, int cross)
{
    const struct clf__config *config = &training->transformer->config;
    int weights = cross ? CROSS_WEIGHTS : SELF_WEIGHTS, output = cross ? CROSS_OUTPUT : SELF_OUTPUT;
    float output_rate =
        clf__architecture_of(config->architecture)->drops_feed_forward_alone ? 0.0f : config->dropout;
    return (struct clf__attention_training){
        .call = {.heads = clf__config_heads(config, side),
                 .scratch = &training->scratch,
                 .dropout = dropout_at(training, pass, config->attention_dropout, site_of(layer, weights))},
        .output = dropout_at(training, pass, output_rate, site_of(layer, output)),
    };
}

static struct clf__feed_forward_training feed_forward_training(const struct clf__training *training,
                                                               const struct clf__pass *pass, int layer)
{
    const struct clf__config *config = &training->transformer->config;
    return (struct clf__feed_forward_training){
        .activation = dropout_at(training, pass, config->activation_dropout, site_of(layer, ACTIVATION)),
        .output = dropout_at(training, pass, config->dropout, site_of(layer, FEED_FORWARD)),
    };
}

/* Returns the biases for the distances that the gradient's table covers, because a session may have enlarged
 * the model's table. */
static struct clf__tensor cut_relative(struct clf__tensor relative, struct clf__tensor gradient)
{
    int more = relative.columns - gradient.columns;
    return more > 0 ? clf__tensor_columns(relative, more / 2, gradient.columns) : relative;
}

static struct clf__layer_training layer_training(struct clf__training *training, const struct clf__pass *pass,
                                                 enum clf__side side, int index)
{
    int is_decoder = side == CLF__DECODER;
    int layer = is_decoder ? training->transformer->encoder.layer_count + index : index;
    struct clf__stack *gradient = clf__stack_of(clf__parameter_tree_stacks(&training->gradients), side);
    const struct clf__pass_side *its = &pass->sides[side], *sources = &pass->sides[CLF__ENCODER];
    struct clf__layer_training out = {
        .mixer = attention_training(training, pass, side, layer, 0),
        .feed_forward = feed_forward_training(training, pass, layer),
    };
    out.mixer.call.ranges = its->views.ranges;
    out.mixer.call.mask.causal = is_decoder;
    out.mixer.call.mask.hidden_keys = its->views.hidden;
    out.mixer.call.mask.relative = cut_relative(clf__training_stack(training, side)->embedder.relative.table,
                                                gradient->embedder.relative.table);
    out.mixer.drelative = gradient->embedder.relative.table;
    if (is_decoder) {
        out.cross_attention = attention_training(training, pass, side, layer, 1);
        out.cross_attention.call.ranges = pass->cross;
        out.cross_attention.call.mask.hidden_keys = sources->views.hidden;
        out.encoded = (struct clf__encoded){.x = clf__training_output(training, pass, CLF__ENCODER),
                                            .dx = clf__tensor_rows(training->dencoded, 0, sources->rows),
                                            .adds = index + 1 < training->transformer->decoder.layer_count};
    }
    return out;
}

static struct clf__tensor cut(struct clf__tensor tensor, int rows)
{
    return tensor.buffer != NULL ? clf__tensor_rows(tensor, 0, rows) : tensor;
}

static struct clf__embedder_training embedder_training(const struct clf__training *training,
                                                       const struct clf__pass *pass, enum clf__side side)
{
    const struct clf__config *config = &training->transformer->config;
    const struct clf__pass_side *its = &pass->sides[side];
    const struct clf__sequences *sources = pass->sources;
    return (struct clf__embedder_training){
        .input = {.ids = its->views.ids,
                  .frames = cut(training->frames, sources->first[sources->count]),
                  .count = sources->count,
                  .first = sources->first,
                  .record = training->front_record,
                  .id_groups = its->ids},
        .positions = its->views.positions,
        .position_groups = its->positions,
        .sums = cut(training->activations[side].sums, its->rows),
        .dropout = dropout_at(training, pass, config->embedding_dropout,
                              side == CLF__ENCODER ? ENCODER_EMBEDDING : DECODER_EMBEDDING),
        .drops_before_norm = clf__architecture_of(config->architecture)->drops_before_norm,
    };
}

/* Returns the input of layer `index`, or the output of the last layer if `index` is the number of layers. */
static struct clf__tensor layer_rows(const struct clf__training *training, const struct clf__pass *pass,
                                     enum clf__side side, int index)
{
    const struct clf__activations_of_side *its = &training->activations[side];
    return clf__tensor_rows(index > 0 ? its->layers[index - 1].feed_forward_sums.y : its->inputs, 0,
                            pass->sides[side].rows);
}

struct clf__tensor clf__training_output(const struct clf__training *training, const struct clf__pass *pass,
                                        enum clf__side side)
{
    const struct clf__stack *stack = clf__training_stack(training, side);
    return stack->norm.gamma.buffer != NULL
               ? clf__tensor_rows(training->activations[side].normed, 0, pass->sides[side].rows)
               : layer_rows(training, pass, side, stack->layer_count);
}

static clf_status forward(struct clf__training *training, const struct clf__pass *pass, enum clf__side side)
{
    const struct clf__stack *stack = clf__training_stack(training, side);
    int rows = pass->sides[side].rows, source_rows = pass->sides[CLF__ENCODER].rows;
    struct clf__gradient_workspace workspace =
        clf__gradient_workspace_rows(&training->workspace, rows, source_rows);
    struct clf__embedder_training embedder = embedder_training(training, pass, side);
    CLF__TRY(clf__embedder_record(layer_rows(training, pass, side, 0), &stack->embedder, &embedder));
    for (int i = 0; i < stack->layer_count; i++) {
        const struct clf__layer *layer = &stack->layers[i];
        struct clf__layer_record record =
            clf__layer_record_rows(layer, &training->activations[side].layers[i], rows, source_rows);
        struct clf__layer_training its = layer_training(training, pass, side, i);
        CLF__TRY(clf__layer_record(layer, layer_rows(training, pass, side, i), &record, &workspace, &its));
    }
    return stack->norm.gamma.buffer != NULL
               ? clf__norm_forward(clf__training_output(training, pass, side),
                                   layer_rows(training, pass, side, stack->layer_count), &stack->norm)
               : CLF_OK;
}

/* Runs the backward pass of a stack. `dx` holds the gradient of the output and is overwritten. */
static clf_status backward(struct clf__training *training, const struct clf__pass *pass, enum clf__side side,
                           struct clf__tensor dx)
{
    const struct clf__stack *stack = clf__training_stack(training, side);
    const struct clf__stack *gradient = clf__stack_of(clf__parameter_tree_stacks(&training->gradients), side);
    int rows = pass->sides[side].rows, source_rows = pass->sides[CLF__ENCODER].rows;
    struct clf__gradient_workspace workspace =
        clf__gradient_workspace_rows(&training->workspace, rows, source_rows);
    workspace.x = clf__tensor_rows(dx, 0, rows);
    if (stack->norm.gamma.buffer != NULL) {
        CLF__TRY(clf__norm_backward(workspace.x, &gradient->norm, workspace.x,
                                    layer_rows(training, pass, side, stack->layer_count), &stack->norm,
                                    workspace.scratch));
    }
    for (int i = stack->layer_count - 1; i >= 0; i--) {
        const struct clf__layer *layer = &stack->layers[i];
        struct clf__layer_record record =
            clf__layer_record_rows(layer, &training->activations[side].layers[i], rows, source_rows);
        struct clf__layer_training its = layer_training(training, pass, side, i);
        CLF__TRY(clf__layer_backward(&gradient->layers[i], layer, layer_rows(training, pass, side, i),
                                     &record, &workspace, &its));
        CLF__TRY(
            clf__buckets_map_until(training, clf__gradient_stage(&training->transformer->config, side, i)));
    }
    struct clf__embedder_training embedder = embedder_training(training, pass, side);
    return clf__embedder_backward(&gradient->embedder, workspace.x, &stack->embedder, &embedder,
                                  workspace.scratch);
}

clf_status clf__training_stacks_forward(struct clf__training *training, const struct clf__pass *pass)
{
    CLF__TRY(forward(training, pass, CLF__ENCODER));
    return forward(training, pass, CLF__DECODER);
}

clf_status clf__training_stacks_backward(struct clf__training *training, const struct clf__pass *pass)
{
    CLF__TRY(backward(training, pass, CLF__DECODER, training->workspace.x));
    return backward(training, pass, CLF__ENCODER, training->dencoded);
}
