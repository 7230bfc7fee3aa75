#include "model/parameters.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"

/* Names and shapes are counted in a first walk and written in a second. */
struct writer {
    const struct clf__config *config;
    struct clf__parameter *items; /* NULL while counting */
    int count;
};

/* What a parameter is to its layer decides how it begins. */
enum role { EMBEDDING, MATRIX, QUERY_OR_KEY, VALUE_OR_OUTPUT, RELATIVE_BIAS, BIAS, GAIN, SHIFT };

struct shape {
    int rows, columns;
    int inputs; /* of the product that the parameter belongs to */
    int width;  /* of a head, in attention */
};

static struct clf__initial constant(float value)
{
    return (struct clf__initial){CLF__INITIAL_CONSTANT, value, -1};
}

static struct clf__initial normal(double deviation)
{
    return (struct clf__initial){CLF__INITIAL_NORMAL, (float)deviation, -1};
}

static struct clf__initial uniform(double bound)
{
    return (struct clf__initial){CLF__INITIAL_UNIFORM, (float)bound, -1};
}

/* Glorot & Bengio 2010. */
static struct clf__initial xavier(const struct shape *shape)
{
    return uniform(sqrt(6.0 / ((double)shape->rows + shape->columns)));
}

/* What PyTorch gives a linear layer, weight and bias, that nobody initialises. */
static struct clf__initial by_inputs(const struct shape *shape)
{
    return uniform(1.0 / sqrt(shape->inputs));
}

static int is_table(enum role role)
{
    return role == EMBEDDING || role == RELATIVE_BIAS;
}

static struct clf__initial initial_speech(const struct clf__config *config, enum role role,
                                          const struct shape *shape)
{
    if (role == QUERY_OR_KEY || role == VALUE_OR_OUTPUT) {
        return normal(sqrt(2.0 / ((double)config->d_model + shape->width)));
    }
    return is_table(role) ? normal(1.0) : by_inputs(shape);
}

static struct clf__initial initial_of(const struct clf__config *config, enum role role,
                                      const struct shape *shape)
{
    if (role == GAIN || role == SHIFT) {
        return constant(role == GAIN ? 1.0f : 0.0f);
    }
    switch (config->system) {
    case CLF__MARIAN:
        return role == BIAS ? constant(0.0f) : normal(0.02);
    case CLF__JADORE:
    case CLF__ANNOTATED:
        return role == BIAS ? by_inputs(shape) : xavier(shape);
    case CLF__SPEECH:
        return initial_speech(config, role, shape);
    case CLF__PAPER:
    case CLF__ILLUSTRATED:
        break;
    }
    if (role == BIAS) {
        return constant(0.0f);
    }
    return is_table(role) ? normal(1.0 / sqrt(config->d_model)) : xavier(shape);
}

static struct clf__parameter *add(struct writer *writer, enum role role, const struct shape *shape,
                                  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* NULL while counting. */
static struct clf__parameter *add(struct writer *writer, enum role role, const struct shape *shape,
                                  const char *format, ...)
{
    int index = writer->count++;
    if (!writer->items) {
        return NULL;
    }
    struct clf__parameter *item = &writer->items[index];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(item->name, sizeof item->name, format, arguments);
    va_end(arguments);
    item->rows = shape->rows;
    item->columns = shape->columns;
    item->initial = initial_of(writer->config, role, shape);
    item->decays = role <= VALUE_OR_OUTPUT;
    item->is_trained = 1;
    return item;
}

static void add_linear(struct writer *writer, enum role role, const char *prefix, const char *name,
                       const struct shape *shape, int has_bias)
{
    struct shape weight = {shape->rows, shape->columns, shape->columns, shape->width};
    struct shape bias = {1, shape->rows, shape->columns, 0};
    add(writer, role, &weight, "%s%s.weight", prefix, name);
    if (has_bias) {
        add(writer, BIAS, &bias, "%s%s.bias", prefix, name);
    }
}

static void add_norm(struct writer *writer, const char *prefix, const char *name)
{
    struct shape vector = {1, writer->config->d_model, 0, 0};
    add(writer, GAIN, &vector, "%s%s.weight", prefix, name);
    if (writer->config->norm != CLF__NORM_RMS) {
        add(writer, SHIFT, &vector, "%s%s.bias", prefix, name);
    }
}

static void add_embedding(struct writer *writer, int rows, const char *name)
{
    struct shape shape = {rows, writer->config->d_model, 0, 0};
    struct clf__parameter *item = add(writer, EMBEDDING, &shape, "%s", name);
    if (item && writer->config->system == CLF__MARIAN && writer->config->pad_id < rows) {
        item->initial.zero_row = writer->config->pad_id;
    }
}

/* One of the two stacks. */
struct stack {
    const char *name;
    int layers, heads, key_width, value_width, ffn, is_decoder;
};

static void add_attention(struct writer *writer, const struct stack *stack, const char *layer,
                          const char *name)
{
    const struct clf__config *config = writer->config;
    char prefix[96];
    snprintf(prefix, sizeof prefix, "%s%s.", layer, name);
    const struct shape key = {stack->heads * stack->key_width, config->d_model, 0, stack->key_width};
    const struct shape value = {stack->heads * stack->value_width, config->d_model, 0, stack->value_width};
    const struct shape output = {config->d_model, value.rows, 0, stack->value_width};
    add_linear(writer, QUERY_OR_KEY, prefix, "q_proj", &key, config->query_bias);
    add_linear(writer, QUERY_OR_KEY, prefix, "k_proj", &key, config->key_bias);
    add_linear(writer, VALUE_OR_OUTPUT, prefix, "v_proj", &value, config->value_bias);
    add_linear(writer, VALUE_OR_OUTPUT, prefix, "out_proj", &output, config->output_bias);
    snprintf(prefix, sizeof prefix, "%s_layer_norm", name);
    add_norm(writer, layer, prefix);
}

static void add_layer(struct writer *writer, const struct stack *stack, int index)
{
    const struct clf__config *config = writer->config;
    const struct shape up = {stack->ffn, config->d_model, 0, 0}, down = {config->d_model, stack->ffn, 0, 0};
    char layer[64];
    snprintf(layer, sizeof layer, "model.%s.layers.%d.", stack->name, index);
    add_attention(writer, stack, layer, "self_attn");
    if (stack->is_decoder) {
        add_attention(writer, stack, layer, "encoder_attn");
    }
    add_linear(writer, MATRIX, layer, "fc1", &up, config->ffn_bias);
    if (config->ffn_gated) {
        add_linear(writer, MATRIX, layer, "fc_gate", &up, config->ffn_bias);
    }
    add_linear(writer, MATRIX, layer, "fc2", &down, config->ffn_bias);
    add_norm(writer, layer, "final_layer_norm");
}

static void add_stack(struct writer *writer, const struct stack *stack)
{
    const struct clf__config *config = writer->config;
    char prefix[32];
    snprintf(prefix, sizeof prefix, "model.%s.", stack->name);
    if (!stack->is_decoder && config->feature_size > 0) {
        const struct shape frontend = {config->d_model, config->feature_size, 0, 0};
        add_linear(writer, MATRIX, prefix, "frontend", &frontend, 1);
    }
    if (config->positions == CLF__POSITIONS_LEARNED) {
        const struct shape table = {config->max_positions + config->position_offset, config->d_model, 0, 0};
        add(writer, EMBEDDING, &table, "%sembed_positions.weight", prefix);
    }
    if (config->positions == CLF__POSITIONS_RELATIVE) {
        const struct shape table = {config->relative_buckets, stack->heads, 0, 0};
        add(writer, RELATIVE_BIAS, &table, "%srelative_attention_bias.weight", prefix);
    }
    if (config->norm_embedding) {
        add_norm(writer, prefix, "layernorm_embedding");
    }
    for (int i = 0; i < stack->layers; i++) {
        add_layer(writer, stack, i);
    }
    if (config->norm_final) {
        add_norm(writer, prefix, "layer_norm");
    }
}

static void add_projection(struct writer *writer)
{
    const struct clf__config *config = writer->config;
    if (!config->share_target_output) {
        const struct shape shape = {config->target_vocabulary, config->d_model, config->d_model, 0};
        add(writer, MATRIX, &shape, "%s", clf__output_projection_name(config));
    }
    if (config->logits_bias) {
        const struct shape shape = {1, config->target_vocabulary, config->d_model, 0};
        struct clf__parameter *item = add(writer, BIAS, &shape, "final_logits_bias");
        if (item) {
            item->is_trained = config->system != CLF__MARIAN;
        }
    }
}

static void add_all(struct writer *writer)
{
    const struct clf__config *config = writer->config;
    const struct stack encoder = {.name = "encoder",
                                  .layers = config->encoder_layers,
                                  .heads = config->encoder_heads,
                                  .key_width = config->encoder_key_width,
                                  .value_width = config->encoder_value_width,
                                  .ffn = config->encoder_ffn};
    const struct stack decoder = {.name = "decoder",
                                  .layers = config->decoder_layers,
                                  .heads = config->decoder_heads,
                                  .key_width = config->decoder_key_width,
                                  .value_width = config->decoder_value_width,
                                  .ffn = config->decoder_ffn,
                                  .is_decoder = 1};
    if (config->feature_size == 0) {
        add_embedding(writer, config->source_vocabulary, clf__source_embedding_name(config));
    }
    if (!config->share_source_target) {
        add_embedding(writer, config->target_vocabulary, clf__target_embedding_name(config));
    }
    add_stack(writer, &encoder);
    add_stack(writer, &decoder);
    add_projection(writer);
}

int clf__padding_row(const struct clf__config *config)
{
    int has_one = config->system == CLF__MARIAN || config->system == CLF__JADORE;
    return has_one ? config->pad_id : -1;
}

clf_status clf__parameter_list_create(struct clf__parameter_list *out, const struct clf__config *config)
{
    *out = (struct clf__parameter_list){0};
    struct writer writer = {.config = config};
    add_all(&writer);
    struct clf__parameter *items = NULL;
    CLF__TRY(clf__allocate(&items, (size_t)writer.count, sizeof *items));
    writer = (struct writer){.config = config, .items = items};
    add_all(&writer);
    *out = (struct clf__parameter_list){.items = items, .count = writer.count};
    return CLF_OK;
}

void clf__parameter_list_free(struct clf__parameter_list *list)
{
    clf__free(list->items);
    *list = (struct clf__parameter_list){0};
}

const char *clf__source_embedding_name(const struct clf__config *config)
{
    if (config->feature_size > 0) {
        return NULL;
    }
    return config->share_source_target ? "model.shared.weight" : "model.encoder.embed_tokens.weight";
}

const char *clf__target_embedding_name(const struct clf__config *config)
{
    return config->share_source_target ? "model.shared.weight" : "model.decoder.embed_tokens.weight";
}

const char *clf__output_projection_name(const struct clf__config *config)
{
    return config->share_target_output ? clf__target_embedding_name(config) : "lm_head.weight";
}
