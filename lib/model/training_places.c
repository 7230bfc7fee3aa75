/* From named parameters to arrays on the device: walks the layers in the order of the parameter list. */
#include <assert.h>

#include "base/memory.h"
#include "model/training_internal.h"

/* Four of `name`: the member of each of four owners, of values, gradients and moments. */
#define TAKE_FORMS(name, owners, member)                                                                     \
    for (int form = 0; form < CLF__TRAINED_KINDS; form++) {                                                  \
        (name)[form] = &(owners)[form]->member;                                                              \
    }

struct walker {
    struct clf__training *training;
    int index;         /* of the next parameter */
    clf_status status; /* of the last one that was refused */
};

static struct clf__tensor vector_of(struct clf__buffer *buffer, int count)
{
    return (struct clf__tensor){
        .buffer = buffer, .type = CLF__F32, .rows = 1, .columns = count, .stride = count};
}

/* A weight's whole array, whatever its layout; it was checked that an int counts it. */
static struct clf__tensor array_of(const struct clf__weight *weight)
{
    struct clf__buffer *buffer = (struct clf__buffer *)clf__weight_layout(weight).buffer;
    return vector_of(buffer, (int)clf__weight_elements(weight));
}

/* Parameters of one stacked layer alternate between its weight and its bias. */
static int is_known(const struct clf__training *training, const struct clf__buffer *buffer)
{
    enum { STACKED = 2 };
    for (int i = training->trained_count - 1; i >= 0 && i >= training->trained_count - STACKED; i--) {
        if (training->trained[i].arrays[CLF__VALUES].buffer == buffer) {
            return 1;
        }
    }
    return 0;
}

static void add_trained(struct walker *walker, const struct clf__tensor *arrays, struct clf__weight *weight)
{
    struct clf__training *training = walker->training;
    const struct clf__parameter *item = &training->list.items[walker->index];
    if (!item->is_trained || is_known(training, arrays[CLF__VALUES].buffer)) {
        return;
    }
    struct clf__trained *trained = &training->trained[training->trained_count++];
    const struct clf__trained *before = training->trained_count > 1 ? trained - 1 : NULL;
    *trained = (struct clf__trained){
        .weight = weight,
        .decays = item->decays,
        .first_part = before != NULL ? before->first_part + before->parts : 0,
        .parts = clf__sum_squares_parts((size_t)arrays[CLF__VALUES].columns),
    };
    for (int form = 0; form < CLF__TRAINED_KINDS; form++) {
        trained->arrays[form] = arrays[form];
    }
}

static void walk_weight(struct walker *walker, struct clf__weight *const weights[CLF__TRAINED_KINDS],
                        int first)
{
    struct clf__place *place = &walker->training->places[walker->index];
    struct clf__tensor arrays[CLF__TRAINED_KINDS];
    /* Its own rows are not too many; those stacked with them, and what a layout adds, are counted too. */
    const char *name = walker->training->list.items[walker->index].name;
    clf_status status = clf__training_check_count(name, (int64_t)clf__weight_elements(weights[CLF__VALUES]));
    if (status != CLF_OK) {
        walker->status = status;
        walker->index++;
        return;
    }
    place->first = first;
    for (int form = 0; form < CLF__TRAINED_KINDS; form++) {
        place->weights[form] = weights[form];
        arrays[form] = array_of(weights[form]);
    }
    add_trained(walker, arrays, weights[CLF__VALUES]);
    walker->index++;
}

static void walk_vector(struct walker *walker, const struct clf__tensor vectors[CLF__TRAINED_KINDS],
                        int first)
{
    struct clf__place *place = &walker->training->places[walker->index];
    place->first = first;
    for (int form = 0; form < CLF__TRAINED_KINDS; form++) {
        place->vectors[form] = vectors[form];
    }
    add_trained(walker, vectors, NULL);
    walker->index++;
}

/* A table or a norm's vector, seen as one row. */
static void walk_tensor(struct walker *walker, const struct clf__tensor *const tensors[CLF__TRAINED_KINDS])
{
    struct clf__tensor vectors[CLF__TRAINED_KINDS];
    for (int form = 0; form < CLF__TRAINED_KINDS; form++) {
        vectors[form] = vector_of(tensors[form]->buffer, tensors[form]->rows * tensors[form]->columns);
    }
    walk_vector(walker, vectors, 0);
}

static void walk_bias(struct walker *walker, const struct clf__linear *const linear[CLF__TRAINED_KINDS],
                      int first)
{
    struct clf__tensor vectors[CLF__TRAINED_KINDS];
    for (int form = 0; form < CLF__TRAINED_KINDS; form++) {
        vectors[form] = vector_of(linear[form]->bias, clf__weight_outputs(linear[CLF__VALUES]->weight));
    }
    walk_vector(walker, vectors, first);
}

/* Outputs first .. first + rows - 1 of a stacked layer; where others of it have a bias and these have none,
 * zeros stand in the bias and stay. */
static void walk_linear(struct walker *walker, const struct clf__linear *const linear[CLF__TRAINED_KINDS],
                        int first, int rows, int has_bias)
{
    struct clf__weight *weights[CLF__TRAINED_KINDS];
    for (int form = 0; form < CLF__TRAINED_KINDS; form++) {
        weights[form] = linear[form]->weight;
    }
    walk_weight(walker, weights, first);
    struct clf__training *training = walker->training;
    if (has_bias) {
        walk_bias(walker, linear, first);
    } else if (linear[CLF__GRADIENTS]->bias != NULL) {
        struct clf__tensor bias = vector_of(linear[CLF__GRADIENTS]->bias, first + rows);
        training->untrained[training->untrained_count++] = clf__tensor_columns(bias, first, rows);
    }
}

static void walk_norm(struct walker *walker, const struct clf__norm *const norm[CLF__TRAINED_KINDS])
{
    const struct clf__tensor *gamma[CLF__TRAINED_KINDS];
    TAKE_FORMS(gamma, norm, gamma)
    const struct clf__tensor *beta[CLF__TRAINED_KINDS];
    TAKE_FORMS(beta, norm, beta)
    walk_tensor(walker, gamma);
    if (beta[CLF__VALUES]->buffer != NULL) {
        walk_tensor(walker, beta);
    }
}

static void walk_attention(struct walker *walker,
                           const struct clf__attention_layer *const layer[CLF__TRAINED_KINDS])
{
    const struct clf__config *config = &walker->training->transformer->config;
    const struct clf__heads *heads = &layer[CLF__VALUES]->heads;
    int keys = heads->count * heads->key_width, values = heads->count * heads->value_width;
    int cross = layer[CLF__VALUES]->memory.weight != NULL;
    const struct clf__linear *input[CLF__TRAINED_KINDS];
    TAKE_FORMS(input, layer, input)
    const struct clf__linear *memory[CLF__TRAINED_KINDS];
    TAKE_FORMS(memory, layer, memory)
    const struct clf__linear *output[CLF__TRAINED_KINDS];
    TAKE_FORMS(output, layer, output)
    walk_linear(walker, input, 0, keys, config->query_bias);
    walk_linear(walker, cross ? memory : input, cross ? 0 : keys, keys, config->key_bias);
    walk_linear(walker, cross ? memory : input, cross ? keys : 2 * keys, values, config->value_bias);
    walk_linear(walker, output, 0, config->d_model, config->output_bias);
}

static void walk_feed_forward(struct walker *walker,
                              const struct clf__feed_forward *const layer[CLF__TRAINED_KINDS])
{
    const struct clf__config *config = &walker->training->transformer->config;
    int width = layer[CLF__VALUES]->width;
    const struct clf__linear *up[CLF__TRAINED_KINDS];
    TAKE_FORMS(up, layer, up)
    const struct clf__linear *down[CLF__TRAINED_KINDS];
    TAKE_FORMS(down, layer, down)
    walk_linear(walker, up, 0, width, config->ffn_bias);
    if (layer[CLF__VALUES]->gated) {
        walk_linear(walker, up, width, width, config->ffn_bias);
    }
    walk_linear(walker, down, 0, config->d_model, config->ffn_bias);
}

static void walk_encoder_layer(struct walker *walker,
                               const struct clf__encoder_layer *const layer[CLF__TRAINED_KINDS])
{
    const struct clf__attention_layer *self_attention[CLF__TRAINED_KINDS];
    TAKE_FORMS(self_attention, layer, self_attention)
    const struct clf__norm *self_attention_norm[CLF__TRAINED_KINDS];
    TAKE_FORMS(self_attention_norm, layer, self_attention_norm)
    const struct clf__feed_forward *feed_forward[CLF__TRAINED_KINDS];
    TAKE_FORMS(feed_forward, layer, feed_forward)
    const struct clf__norm *feed_forward_norm[CLF__TRAINED_KINDS];
    TAKE_FORMS(feed_forward_norm, layer, feed_forward_norm)
    walk_attention(walker, self_attention);
    walk_norm(walker, self_attention_norm);
    walk_feed_forward(walker, feed_forward);
    walk_norm(walker, feed_forward_norm);
}

static void walk_decoder_layer(struct walker *walker,
                               const struct clf__decoder_layer *const layer[CLF__TRAINED_KINDS])
{
    const struct clf__attention_layer *self_attention[CLF__TRAINED_KINDS];
    TAKE_FORMS(self_attention, layer, self_attention)
    const struct clf__norm *self_attention_norm[CLF__TRAINED_KINDS];
    TAKE_FORMS(self_attention_norm, layer, self_attention_norm)
    const struct clf__attention_layer *cross_attention[CLF__TRAINED_KINDS];
    TAKE_FORMS(cross_attention, layer, cross_attention)
    const struct clf__norm *cross_attention_norm[CLF__TRAINED_KINDS];
    TAKE_FORMS(cross_attention_norm, layer, cross_attention_norm)
    const struct clf__feed_forward *feed_forward[CLF__TRAINED_KINDS];
    TAKE_FORMS(feed_forward, layer, feed_forward)
    const struct clf__norm *feed_forward_norm[CLF__TRAINED_KINDS];
    TAKE_FORMS(feed_forward_norm, layer, feed_forward_norm)
    walk_attention(walker, self_attention);
    walk_norm(walker, self_attention_norm);
    walk_attention(walker, cross_attention);
    walk_norm(walker, cross_attention_norm);
    walk_feed_forward(walker, feed_forward);
    walk_norm(walker, feed_forward_norm);
}

static void walk_tokens(struct walker *walker, const struct clf__embedder *const embedder[CLF__TRAINED_KINDS])
{
    struct clf__weight *weights[CLF__TRAINED_KINDS];
    for (int form = 0; form < CLF__TRAINED_KINDS; form++) {
        weights[form] = embedder[form]->tokens;
    }
    walk_weight(walker, weights, 0);
}

/* What stands before the layers, but for the tokens' matrix. */
static void walk_embedder(struct walker *walker,
                          const struct clf__embedder *const embedder[CLF__TRAINED_KINDS])
{
    const struct clf__config *config = &walker->training->transformer->config;
    if (embedder[CLF__VALUES]->tokens == NULL) {
        const struct clf__linear *frontend[CLF__TRAINED_KINDS];
        TAKE_FORMS(frontend, embedder, frontend)
        walk_linear(walker, frontend, 0, config->d_model, 1);
    }
    if (config->positions == CLF__POSITIONS_LEARNED) {
        const struct clf__tensor *positions[CLF__TRAINED_KINDS];
        TAKE_FORMS(positions, embedder, positions)
        walk_tensor(walker, positions);
    }
    if (config->positions == CLF__POSITIONS_RELATIVE) {
        const struct clf__tensor *relative[CLF__TRAINED_KINDS];
        TAKE_FORMS(relative, embedder, relative_by_bucket)
        walk_tensor(walker, relative);
    }
    if (config->norm_embedding) {
        const struct clf__norm *norm[CLF__TRAINED_KINDS];
        TAKE_FORMS(norm, embedder, norm)
        walk_norm(walker, norm);
    }
}

static void walk_encoder(struct walker *walker, const struct clf__encoder *const encoder[CLF__TRAINED_KINDS])
{
    const struct clf__embedder *embedder[CLF__TRAINED_KINDS];
    TAKE_FORMS(embedder, encoder, embedder)
    walk_embedder(walker, embedder);
    for (int i = 0; i < encoder[CLF__VALUES]->layer_count; i++) {
        const struct clf__encoder_layer *layer[CLF__TRAINED_KINDS];
        TAKE_FORMS(layer, encoder, layers[i])
        walk_encoder_layer(walker, layer);
    }
    if (walker->training->transformer->config.norm_final) {
        const struct clf__norm *norm[CLF__TRAINED_KINDS];
        TAKE_FORMS(norm, encoder, norm)
        walk_norm(walker, norm);
    }
}

static void walk_decoder(struct walker *walker, const struct clf__decoder *const decoder[CLF__TRAINED_KINDS])
{
    const struct clf__config *config = &walker->training->transformer->config;
    const struct clf__embedder *embedder[CLF__TRAINED_KINDS];
    TAKE_FORMS(embedder, decoder, embedder)
    const struct clf__linear *projection[CLF__TRAINED_KINDS];
    TAKE_FORMS(projection, decoder, projection)
    walk_embedder(walker, embedder);
    for (int i = 0; i < decoder[CLF__VALUES]->layer_count; i++) {
        const struct clf__decoder_layer *layer[CLF__TRAINED_KINDS];
        TAKE_FORMS(layer, decoder, layers[i])
        walk_decoder_layer(walker, layer);
    }
    if (config->norm_final) {
        const struct clf__norm *norm[CLF__TRAINED_KINDS];
        TAKE_FORMS(norm, decoder, norm)
        walk_norm(walker, norm);
    }
    if (!config->share_target_output) {
        walk_linear(walker, projection, 0, config->target_vocabulary, config->logits_bias);
    } else if (config->logits_bias) {
        walk_bias(walker, projection, 0);
    }
}

clf_status clf__training_place(struct clf__training *training)
{
    const struct clf__config *config = &training->transformer->config;
    size_t count = (size_t)training->list.count;
    CLF__TRY(clf__allocate(&training->places, count, sizeof *training->places));
    CLF__TRY(clf__allocate(&training->trained, count, sizeof *training->trained));
    CLF__TRY(clf__allocate(&training->untrained, count, sizeof *training->untrained));
    const struct clf__mirror *mirrors[] = {&training->gradients, &training->moments[0],
                                           &training->moments[1]};
    const struct clf__encoder *encoder[CLF__TRAINED_KINDS] = {&training->transformer->encoder};
    const struct clf__decoder *decoder[CLF__TRAINED_KINDS] = {&training->transformer->decoder};
    for (int form = 1; form < CLF__TRAINED_KINDS; form++) {
        encoder[form] = &mirrors[form - 1]->encoder;
        decoder[form] = &mirrors[form - 1]->decoder;
    }
    struct walker walker = {.training = training};
    const struct clf__embedder *source[CLF__TRAINED_KINDS];
    TAKE_FORMS(source, encoder, embedder)
    const struct clf__embedder *target[CLF__TRAINED_KINDS];
    TAKE_FORMS(target, decoder, embedder)
    if (config->feature_size == 0) {
        walk_tokens(&walker, source);
    }
    if (!config->share_source_target) {
        walk_tokens(&walker, target);
    }
    walk_encoder(&walker, encoder);
    walk_decoder(&walker, decoder);
    assert(walker.index == training->list.count);
    return walker.status;
}
