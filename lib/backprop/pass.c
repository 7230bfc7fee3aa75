#include "backprop/internal.h"
#include "config/family/family.h"
#include "config/sides.h"

/* Each dropout of the model has a site of its own. */
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

/* Of an encoder layer, or of a decoder layer, counted after them. */
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
    float output_rate = clf__family_of(config->system)->drops_feed_forward_alone ? 0.0f : config->dropout;
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

/* The biases of the distances that the gradient has: a session over the same model may have asked for more.
 */
static struct clf__tensor cut_relative(struct clf__tensor relative, struct clf__tensor gradient)
{
    int more = relative.columns - gradient.columns;
    return more > 0 ? clf__tensor_columns(relative, more / 2, gradient.columns) : relative;
}

static struct clf__encoder_layer_training encoder_layer_training(struct clf__training *training,
                                                                 const struct clf__pass *pass, int layer)
{
    struct clf__encoder_layer_training out = {
        .self_attention = attention_training(training, pass, CLF__ENCODER, layer, 0),
        .feed_forward = feed_forward_training(training, pass, layer),
    };
    out.self_attention.call.ranges = pass->sources.ranges;
    out.self_attention.call.mask.hidden_keys = pass->sources.hidden;
    out.self_attention.call.mask.relative = cut_relative(training->transformer->encoder.embedder.relative,
                                                         training->gradients.encoder.embedder.relative);
    out.self_attention.drelative = training->gradients.encoder.embedder.relative;
    return out;
}

static struct clf__decoder_layer_training decoder_layer_training(struct clf__training *training,
                                                                 const struct clf__pass *pass, int index,
                                                                 struct clf__tensor encoded)
{
    int layer = training->transformer->encoder.layer_count + index;
    struct clf__decoder_layer_training out = {
        .mixer = attention_training(training, pass, CLF__DECODER, layer, 0),
        .cross_attention = attention_training(training, pass, CLF__DECODER, layer, 1),
        .feed_forward = feed_forward_training(training, pass, layer),
        .encoded = {.x = encoded,
                    .dx = clf__tensor_rows(training->dencoded, 0, pass->source_rows),
                    .adds = index + 1 < training->transformer->decoder.layer_count},
    };
    out.mixer.call.ranges = pass->inputs.ranges;
    out.mixer.call.mask.causal = 1;
    out.mixer.call.mask.hidden_keys = pass->inputs.hidden;
    out.mixer.call.mask.relative = cut_relative(training->transformer->decoder.embedder.relative,
                                                training->gradients.decoder.embedder.relative);
    out.mixer.drelative = training->gradients.decoder.embedder.relative;
    out.cross_attention.call.ranges = pass->cross;
    out.cross_attention.call.mask.hidden_keys = pass->sources.hidden;
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
    int is_encoder = side == CLF__ENCODER;
    const struct clf__sequence_views *views = is_encoder ? &pass->sources : &pass->inputs;
    return (struct clf__embedder_training){
        .input = {.ids = views->ids,
                  .frames = cut(training->frames, pass->source_rows),
                  .id_groups = is_encoder ? pass->source_ids : pass->input_ids},
        .positions = views->positions,
        .position_groups = is_encoder ? pass->source_positions : pass->input_positions,
        .sums = is_encoder ? cut(training->encoder_sums, pass->source_rows)
                           : cut(training->decoder_sums, pass->rows),
        .dropout = dropout_at(training, pass, config->embedding_dropout,
                              is_encoder ? ENCODER_EMBEDDING : DECODER_EMBEDDING),
        .drops_before_norm = clf__family_of(config->system)->drops_before_norm,
    };
}

/* What goes into layer `index`, and, at the count of layers, what comes out of the last one. */
static struct clf__tensor encoder_rows(const struct clf__training *training, const struct clf__pass *pass,
                                       int index)
{
    struct clf__tensor x =
        index > 0 ? training->encoder_layers[index - 1].feed_forward_sums.y : training->encoder_inputs;
    return clf__tensor_rows(x, 0, pass->source_rows);
}

static struct clf__tensor decoder_rows(const struct clf__training *training, const struct clf__pass *pass,
                                       int index)
{
    struct clf__tensor x =
        index > 0 ? training->decoder_layers[index - 1].feed_forward_sums.y : training->decoder_inputs;
    return clf__tensor_rows(x, 0, pass->rows);
}

/* What the decoder looks at. */
static struct clf__tensor encoded_rows(const struct clf__training *training, const struct clf__pass *pass)
{
    const struct clf__encoder *encoder = &training->transformer->encoder;
    return encoder->norm.gamma.buffer != NULL
               ? clf__tensor_rows(training->encoder_normed, 0, pass->source_rows)
               : encoder_rows(training, pass, encoder->layer_count);
}

static clf_status encode(struct clf__training *training, const struct clf__pass *pass)
{
    const struct clf__encoder *encoder = &training->transformer->encoder;
    struct clf__gradient_workspace workspace =
        clf__gradient_workspace_rows(&training->workspace, pass->source_rows, pass->source_rows);
    struct clf__embedder_training embedder = embedder_training(training, pass, CLF__ENCODER);
    CLF__TRY(clf__embedder_record(encoder_rows(training, pass, 0), &encoder->embedder, &embedder));
    for (int i = 0; i < encoder->layer_count; i++) {
        struct clf__encoder_layer_record record =
            clf__encoder_layer_record_rows(&training->encoder_layers[i], pass->source_rows);
        struct clf__encoder_layer_training layer = encoder_layer_training(training, pass, i);
        CLF__TRY(clf__encoder_layer_record(&encoder->layers[i], encoder_rows(training, pass, i), &record,
                                           &workspace, &layer));
    }
    return encoder->norm.gamma.buffer != NULL
               ? clf__norm_forward(encoded_rows(training, pass),
                                   encoder_rows(training, pass, encoder->layer_count), &encoder->norm)
               : CLF_OK;
}

clf_status clf__training_forward(struct clf__training *training, const struct clf__pass *pass,
                                 struct clf__tensor *decoded)
{
    const struct clf__decoder *decoder = &training->transformer->decoder;
    struct clf__gradient_workspace workspace =
        clf__gradient_workspace_rows(&training->workspace, pass->rows, pass->source_rows);
    CLF__TRY(encode(training, pass));
    struct clf__tensor encoded = encoded_rows(training, pass);
    struct clf__embedder_training embedder = embedder_training(training, pass, CLF__DECODER);
    CLF__TRY(clf__embedder_record(decoder_rows(training, pass, 0), &decoder->embedder, &embedder));
    for (int i = 0; i < decoder->layer_count; i++) {
        struct clf__decoder_layer_record record = clf__decoder_layer_record_rows(
            &decoder->layers[i], &training->decoder_layers[i], pass->rows, pass->source_rows);
        struct clf__decoder_layer_training layer = decoder_layer_training(training, pass, i, encoded);
        CLF__TRY(clf__decoder_layer_record(&decoder->layers[i], decoder_rows(training, pass, i), &record,
                                           &workspace, &layer));
    }
    *decoded = decoder_rows(training, pass, decoder->layer_count);
    if (decoder->norm.gamma.buffer == NULL) {
        return CLF_OK;
    }
    struct clf__tensor last = *decoded;
    *decoded = clf__tensor_rows(training->decoder_normed, 0, pass->rows);
    return clf__norm_forward(*decoded, last, &decoder->norm);
}

static clf_status encoder_backward(struct clf__training *training, const struct clf__pass *pass)
{
    const struct clf__encoder *encoder = &training->transformer->encoder;
    const struct clf__encoder *gradient = &training->gradients.encoder;
    struct clf__gradient_workspace workspace =
        clf__gradient_workspace_rows(&training->workspace, pass->source_rows, pass->source_rows);
    workspace.x = clf__tensor_rows(training->dencoded, 0, pass->source_rows);
    if (encoder->norm.gamma.buffer != NULL) {
        CLF__TRY(clf__norm_backward(workspace.x, &gradient->norm, workspace.x,
                                    encoder_rows(training, pass, encoder->layer_count), &encoder->norm,
                                    workspace.scratch));
    }
    for (int i = encoder->layer_count - 1; i >= 0; i--) {
        struct clf__encoder_layer_record record =
            clf__encoder_layer_record_rows(&training->encoder_layers[i], pass->source_rows);
        struct clf__encoder_layer_training layer = encoder_layer_training(training, pass, i);
        CLF__TRY(clf__encoder_layer_backward(&gradient->layers[i], &encoder->layers[i],
                                             encoder_rows(training, pass, i), &record, &workspace, &layer));
    }
    struct clf__embedder_training embedder = embedder_training(training, pass, CLF__ENCODER);
    return clf__embedder_backward(&gradient->embedder, workspace.x, &encoder->embedder, &embedder,
                                  workspace.scratch);
}

clf_status clf__training_stacks_backward(struct clf__training *training, const struct clf__pass *pass)
{
    const struct clf__decoder *decoder = &training->transformer->decoder;
    const struct clf__decoder *gradient = &training->gradients.decoder;
    struct clf__gradient_workspace workspace =
        clf__gradient_workspace_rows(&training->workspace, pass->rows, pass->source_rows);
    if (decoder->norm.gamma.buffer != NULL) {
        CLF__TRY(clf__norm_backward(workspace.x, &gradient->norm, workspace.x,
                                    decoder_rows(training, pass, decoder->layer_count), &decoder->norm,
                                    workspace.scratch));
    }
    struct clf__tensor encoded = encoded_rows(training, pass);
    for (int i = decoder->layer_count - 1; i >= 0; i--) {
        struct clf__decoder_layer_record record = clf__decoder_layer_record_rows(
            &decoder->layers[i], &training->decoder_layers[i], pass->rows, pass->source_rows);
        struct clf__decoder_layer_training layer = decoder_layer_training(training, pass, i, encoded);
        CLF__TRY(clf__decoder_layer_backward(&gradient->layers[i], &decoder->layers[i],
                                             decoder_rows(training, pass, i), &record, &workspace, &layer));
    }
    struct clf__embedder_training embedder = embedder_training(training, pass, CLF__DECODER);
    CLF__TRY(clf__embedder_backward(&gradient->embedder, workspace.x, &decoder->embedder, &embedder,
                                    workspace.scratch));
    return encoder_backward(training, pass);
}
