#include "model/stacks.h"

#include "base/memory.h"
#include "base/minmax.h"
#include "runtime/device/lock.h"

struct clf__workspace_widths clf__stacks_widths(const struct clf__config *config)
{
    struct clf__heads encoder = clf__config_heads(config, CLF__ENCODER);
    struct clf__heads decoder = clf__config_heads(config, CLF__DECODER);
    int ffn = clf__max_int(config->encoder_ffn, config->decoder_ffn);
    int self = clf__max_int(clf__self_projection_width(&encoder), clf__self_projection_width(&decoder));
    int is_average = config->decoder_mixer == CLF__MIXER_AVERAGE;
    int average = is_average ? clf__max_int(config->average_width, 2 * config->d_model) : 0;
    int ssru = config->decoder_mixer == CLF__MIXER_SSRU ? 2 * config->d_model : 0;
    int context = clf__max_int(encoder.count * encoder.value_width, decoder.count * decoder.value_width);
    return (struct clf__workspace_widths){
        .d_model = config->d_model,
        .projected = clf__max_int(self, clf__max_int(ssru, average)),
        .context = is_average ? clf__max_int(context, config->d_model) : context,
        .hidden = clf__max_int(config->ffn_gated ? 2 * ffn : ffn, average),
    };
}

static int is_projection(const struct clf__module *module)
{
    return module->side == CLF__DECODER && module->layer < 0 &&
           module->offset == offsetof(struct clf__stack, projection);
}

static void build_average(struct clf__layer *layer, const struct clf__config *config)
{
    struct clf__averaging *average = &layer->mixer.average;
    average->filter_count = config->average_filters;
    average->last_is_plain = config->average_width != config->d_model;
    average->activation = config->average_activation;
    average->norm_first = config->norm_first;
    average->norm = &layer->mixer_norm;
}

/* Sets the kinds and sizes of a stack, without parameters. */
static clf_status build(struct clf__stack *stack, const struct clf__config *config, enum clf__side side)
{
    int count = clf__config_layers(config, side);
    stack->embedder.front_end.kind = clf__tree_front_end(config, side);
    stack->embedder.front_end.scale =
        side == CLF__ENCODER ? config->encoder_embedding_scale : config->decoder_embedding_scale;
    stack->embedder.norms_tokens = side == CLF__DECODER && config->norm_decoder_tokens;
    CLF__TRY(clf__allocate(&stack->layers, (size_t)count, sizeof *stack->layers));
    stack->layer_count = count;
    for (int i = 0; i < count; i++) {
        struct clf__layer *layer = &stack->layers[i];
        layer->mixer.kind = clf__tree_mixer(config, side);
        layer->mixer.attention.heads = layer->cross_attention.heads = clf__config_heads(config, side);
        layer->feed_forward.activation = config->activation;
        layer->feed_forward.width = clf__config_ffn(config, side);
        layer->feed_forward.gated = config->ffn_gated;
        layer->norm_first = config->norm_first;
        layer->mixer.window.radius = config->local_radius;
        layer->mixer.window.norm = &layer->mixer_norm;
        if (layer->mixer.kind == &clf__average_mixer) {
            build_average(layer, config);
        }
    }
    return CLF_OK;
}

static clf_status build_both(struct clf__stacks out, const struct clf__config *config)
{
    CLF__TRY(build(out.encoder, config, CLF__ENCODER));
    return build(out.decoder, config, CLF__DECODER);
}

/* Uses the source embedding for the target if the configuration shares it. */
static void share_tokens(struct clf__stacks stacks, const struct clf__config *config)
{
    if (config->share_source_target) {
        stacks.decoder->embedder.front_end.tokens = stacks.encoder->embedder.front_end.tokens;
    }
}

struct loader {
    struct clf__stacks out;
    struct clf_device *device;
    const struct clf__config *config;
    enum clf__precision precision;
    const struct clf__parameters *parameters;
};

/* Reads a parameter into host memory that the caller frees. */
static clf_status read_values(float **out, const struct loader *loader, const char *name, int rows,
                              int columns)
{
    *out = NULL;
    CLF__TRY(clf__resize(out, (size_t)rows * (size_t)columns, sizeof **out));
    clf_status status = clf__parameters_read(loader->parameters, name, *out);
    if (status != CLF_OK) {
        clf__free(*out);
        *out = NULL;
    }
    return status;
}

/* The rows of a module's stacked parameters, in file order. */
struct part_rows {
    const struct clf__module *module;
    const struct clf__stored_tensor *stored[CLF__MODULE_PARTS];
    size_t non_finite[CLF__MODULE_PARTS]; /* number of non-finite values */
};

/* Finds the parameter that contains row *first of the module; makes *first relative to the parameter and
 * limits *count to it. */
static int find_part(const struct part_rows *rows, int *first, int *count)
{
    const struct clf__module_part *parts = rows->module->parts;
    int i = 0;
    for (; *first >= parts[i].rows; i++) {
        *first -= parts[i].rows;
    }
    *count = parts[i].rows - *first < *count ? parts[i].rows - *first : *count;
    return i;
}

static clf_status read_part_rows(void *user, int first, int count, float *target)
{
    struct part_rows *rows = user;
    for (int done = 0; done < count;) {
        int row = first + done, here = count - done, part = find_part(rows, &row, &here);
        CLF__TRY(clf__parameters_read_rows(rows->stored[part], row, here,
                                           target + (size_t)done * (size_t)rows->module->columns,
                                           &rows->non_finite[part]));
        done += here;
    }
    return CLF_OK;
}

static clf_status read_part_int8(void *user, int first, int count, int8_t *target, float *factors)
{
    const struct part_rows *rows = user;
    for (int done = 0; done < count;) {
        int row = first + done, here = count - done, part = find_part(rows, &row, &here);
        struct clf__stored_tensor slice = clf__stored_tensor_rows(rows->stored[part], row, here);
        CLF__TRY(clf__stored_tensor_read_int8(&slice, target + (size_t)done * (size_t)rows->module->columns,
                                              factors + done));
        done += here;
    }
    return CLF_OK;
}

/* Returns the source of a module's weights. int8 values are read unchanged if all parameters of the module
 * are int8. */
static struct clf__weight_stream stream_of(struct part_rows *rows, const struct loader *loader,
                                           const struct clf__module *module)
{
    struct clf__weight_stream stream = {.inputs = module->columns,
                                        .precision = loader->precision,
                                        .what = module->parts[0].weight,
                                        .read = read_part_rows,
                                        .read_int8 = read_part_int8,
                                        .user = rows};
    *rows = (struct part_rows){.module = module};
    for (int i = 0; i < module->part_count; i++) {
        stream.outputs += module->parts[i].rows;
        rows->stored[i] = clf__parameters_stored(loader->parameters, module->parts[i].weight);
        if (!clf__stored_tensor_is_int8(rows->stored[i])) {
            stream.read_int8 = NULL;
        }
    }
    return stream;
}

static void warn_of_odd(const struct part_rows *rows)
{
    for (int i = 0; i < rows->module->part_count; i++) {
        clf__parameters_warn(rows->stored[i], rows->non_finite[i]);
    }
}

/* Reads the bias of a module. If only some parts have a bias, the others get zeros. */
static clf_status read_bias(float **out, const struct loader *loader, const struct clf__module *module)
{
    int rows = 0, has_bias = 0;
    *out = NULL;
    for (int i = 0; i < module->part_count; i++) {
        rows += module->parts[i].rows;
        has_bias |= module->parts[i].bias[0] != '\0';
    }
    clf_status status = has_bias ? clf__allocate(out, (size_t)rows, sizeof **out) : CLF_OK;
    for (int i = 0, row = 0; i < module->part_count && status == CLF_OK; row += module->parts[i].rows, i++) {
        const char *name = module->parts[i].bias;
        status = name[0] != '\0' ? clf__parameters_read(loader->parameters, name, *out + row) : CLF_OK;
    }
    if (status != CLF_OK) {
        clf__free(*out);
        *out = NULL;
    }
    return status;
}

static clf_status load_linear(struct clf__linear *out, const struct loader *loader,
                              const struct clf__module *module)
{
    float *bias;
    clf_status status;
    CLF__TRY(read_bias(&bias, loader, module));
    if (module->parts[0].weight[0] == '\0') {
        status = clf__linear_create_shared(
            out, loader->device, loader->out.decoder->embedder.front_end.tokens, bias, module->parts[0].bias);
    } else {
        struct part_rows rows;
        struct clf__weight_stream stream = stream_of(&rows, loader, module);
        status = clf__linear_create_streamed(out, loader->device, &stream, bias);
        warn_of_odd(&rows);
    }
    clf__free(bias);
    if (status == CLF_OK && is_projection(module)) {
        out->scale = loader->config->output_scale;
    }
    return status;
}

static clf_status load_norm(struct clf__norm *out, const struct loader *loader,
                            const struct clf__module *module)
{
    const struct clf__config *config = loader->config;
    const struct clf__module_part *part = &module->parts[0];
    float *gamma = NULL, *beta = NULL;
    clf_status status = read_values(&gamma, loader, part->weight, part->rows, module->columns);
    if (status == CLF_OK && part->bias[0] != '\0') {
        status = read_values(&beta, loader, part->bias, part->rows, module->columns);
    }
    if (status == CLF_OK) {
        status = clf__norm_create(out, loader->device, config->norm, config->norm_epsilon, module->columns,
                                  gamma, beta, part->weight);
    }
    clf__free(gamma);
    clf__free(beta);
    return status;
}

static clf_status load_weight(struct clf__weight **out, const struct loader *loader,
                              const struct clf__module *module)
{
    struct part_rows rows;
    struct clf__weight_stream stream = stream_of(&rows, loader, module);
    CLF__TRY(clf__weight_create_streamed(out, loader->device, &stream));
    warn_of_odd(&rows);
    return CLF_OK;
}

static clf_status load_table(struct clf__tensor *out, const struct loader *loader,
                             const struct clf__module *module)
{
    const struct clf__module_part *part = &module->parts[0];
    float *values = NULL;
    CLF__TRY(read_values(&values, loader, part->weight, part->rows, module->columns));
    *out = clf__tensor_floats(NULL, part->rows, module->columns);
    clf_status status = clf__buffer_from_host(&out->buffer, loader->device, values,
                                              (size_t)part->rows * (size_t)module->columns, part->weight);
    clf__free(values);
    return status;
}

static clf_status load_module(void *context, const struct clf__module *module)
{
    CLF__LOCK_DEVICE(((const struct loader *)context)->device);
    const struct loader *loader = context;
    void *out = clf__tree_module(module, loader->out);
    switch (module->kind) {
    case CLF__MODULE_LINEAR:
        return load_linear(out, loader, module);
    case CLF__MODULE_NORM:
        return load_norm(out, loader, module);
    case CLF__MODULE_WEIGHT:
        CLF__TRY(load_weight(out, loader, module));
        share_tokens(loader->out, loader->config);
        return CLF_OK;
    case CLF__MODULE_TABLE:
        break;
    }
    return load_table(out, loader, module);
}

clf_status clf__stacks_load(struct clf__stacks out, struct clf_device *device,
                            const struct clf__config *config, enum clf__precision precision,
                            const struct clf__parameters *parameters)
{
    struct loader loader = {out, device, config, precision, parameters};
    CLF__TRY(build_both(out, config));
    CLF__TRY(clf__tree_visit(config, load_module, &loader));
    CLF__TRY(clf__stack_ensure_positions(out.encoder, device, config, CLF__ENCODER, 1));
    return clf__stack_ensure_positions(out.decoder, device, config, CLF__DECODER, 1);
}

clf_status clf__stack_ensure_positions(struct clf__stack *stack, struct clf_device *device,
                                       const struct clf__config *config, enum clf__side side, int length)
{
    CLF__LOCK_DEVICE(device);
    CLF__TRY(clf__embedder_ensure_positions(&stack->embedder, device, config, side, length));
    for (int i = 0; i < stack->layer_count; i++) {
        CLF__TRY(
            clf__relative_bias_ensure_positions(&stack->layers[i].relative, device, config, side, length));
    }
    return CLF_OK;
}

struct zeroing {
    struct clf__stacks out, like;
    const struct clf__config *config;
    struct clf__pool *pool;
};

static clf_status zero_linear(struct clf__linear *out, const struct clf__linear *like,
                              const struct zeroing *zeroing, const struct clf__module *module,
                              const char *what)
{
    struct clf__linear trained = *like;
    if (module->parts[0].bias_is_fixed) {
        trained.bias = NULL;
    }
    struct clf__weight *tokens = zeroing->out.decoder->embedder.front_end.tokens;
    return clf__linear_reserve_zero(out, zeroing->pool, &trained, like->weight_is_shared ? tokens : NULL,
                                    what);
}

/* Creates a zero table. The relative bias is computed from the table by bucket, and the gradient of the table
 * by bucket from the gradient of the bias. */
static clf_status zero_table(struct clf__tensor *out, const struct clf__tensor *like,
                             const struct zeroing *zeroing, enum clf__side side, const char *what)
{
    *out = *like;
    out->buffer = NULL;
    CLF__TRY(clf__pool_reserve(&out->buffer, zeroing->pool, clf__buffer_bytes(like->buffer), what));
    struct clf__embedder *embedder = &clf__stack_of(zeroing->out, side)->embedder;
    return out == &embedder->relative.by_bucket
               ? clf__embedder_reserve_zero_relative(embedder, zeroing->pool,
                                                     &clf__stack_of(zeroing->like, side)->embedder)
               : CLF_OK;
}

static clf_status zero_module(void *context, const struct clf__module *module)
{
    const struct zeroing *zeroing = context;
    void *out = clf__tree_module(module, zeroing->out);
    const void *like = clf__tree_module(module, zeroing->like);
    const char *what = module->parts[0].weight;
    switch (module->kind) {
    case CLF__MODULE_LINEAR:
        return zero_linear(out, like, zeroing, module, what);
    case CLF__MODULE_NORM:
        return clf__norm_reserve_zero(out, zeroing->pool, like, what);
    case CLF__MODULE_TABLE:
        if (module->parts[0].role == CLF__SINUSOIDS) {
            *(struct clf__tensor *)out = CLF__NO_TENSOR;
            return CLF_OK;
        }
        return zero_table(out, like, zeroing, module->side, what);
    case CLF__MODULE_WEIGHT:
        break;
    }
    CLF__TRY(clf__weight_reserve_zero(out, zeroing->pool, *(struct clf__weight *const *)like, what));
    share_tokens(zeroing->out, zeroing->config);
    return CLF_OK;
}

clf_status clf__parameter_tree_create_zero(struct clf__parameter_tree *out, struct clf__stacks like,
                                           const struct clf__config *config, const char *what)
{
    struct zeroing zeroing = {clf__parameter_tree_stacks(out), like, config, &out->pool};
    out->pool.device = clf__buffer_device(clf__weight_layout(like.decoder->projection.weight).buffer);
    CLF__TRY(build_both(zeroing.out, config));
    CLF__TRY(clf__tree_visit(config, zero_module, &zeroing));
    return clf__pool_allocate(&out->pool, what);
}

static void free_at(enum clf__module_kind kind, void *at)
{
    switch (kind) {
    case CLF__MODULE_LINEAR:
        clf__linear_free(at);
        break;
    case CLF__MODULE_NORM:
        clf__norm_free(at);
        break;
    case CLF__MODULE_WEIGHT:
        clf__weight_free(*(struct clf__weight **)at);
        *(struct clf__weight **)at = NULL;
        break;
    case CLF__MODULE_TABLE:
        clf__buffer_free(((struct clf__tensor *)at)->buffer);
        ((struct clf__tensor *)at)->buffer = NULL;
        break;
    }
}

static clf_status free_module(void *context, const struct clf__module *module)
{
    const struct clf__stacks *stacks = context;
    void *at = clf__tree_module(module, *stacks);
    if (at != NULL) {
        free_at(module->kind, at);
    }
    return CLF_OK;
}

void clf__stacks_free(struct clf__stacks stacks, const struct clf__config *config)
{
    (void)clf__tree_visit(config, free_module, &stacks); /* cannot fail */
    for (enum clf__side side = CLF__ENCODER; side <= CLF__DECODER; side++) {
        struct clf__stack *stack = clf__stack_of(stacks, side);
        clf__embedder_free_tables(&stack->embedder);
        for (int i = 0; stack->layers != NULL && i < stack->layer_count; i++) {
            clf__relative_bias_free_table(&stack->layers[i].relative);
        }
        clf__free(stack->layers);
        *stack = (struct clf__stack){.layers = NULL};
    }
}

void clf__parameter_tree_free(struct clf__parameter_tree *tree, const struct clf__config *config)
{
    clf__stacks_free(clf__parameter_tree_stacks(tree), config);
    clf__pool_free(&tree->pool);
}

void clf__layer_free(struct clf__layer *layer)
{
    struct clf__stack lone = {.layers = layer};
    struct clf__stacks stacks = {.decoder = &lone};
    (void)clf__tree_visit_layer(free_module, &stacks);
}
