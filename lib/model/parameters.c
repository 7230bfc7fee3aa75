#include "model/parameters.h"

#include <limits.h>
#include <stdarg.h>

#include "base/memory.h"

/* Names and shapes are counted in a first walk and written in a second. */
struct writer {
    struct clf__parameter *items; /* NULL while counting */
    int count;
};

static void add(struct writer *writer, int rows, int columns, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void add(struct writer *writer, int rows, int columns, const char *format, ...)
{
    if (writer->items) {
        struct clf__parameter *item = &writer->items[writer->count];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(item->name, sizeof item->name, format, arguments);
        va_end(arguments);
        item->rows = rows;
        item->columns = columns;
    }
    writer->count++;
}

static void add_linear(struct writer *writer, const char *prefix, const char *name, int outputs, int inputs,
                       int has_bias)
{
    add(writer, outputs, inputs, "%s%s.weight", prefix, name);
    if (has_bias) {
        add(writer, 1, outputs, "%s%s.bias", prefix, name);
    }
}

static void add_norm(struct writer *writer, const struct clf__config *config, const char *prefix,
                     const char *name)
{
    add(writer, 1, config->d_model, "%s%s.weight", prefix, name);
    if (config->norm != CLF__NORM_RMS) {
        add(writer, 1, config->d_model, "%s%s.bias", prefix, name);
    }
}

/* One of the two stacks. */
struct stack {
    const char *name;
    int layers, heads, key_width, value_width, ffn, is_decoder;
};

static void add_attention(struct writer *writer, const struct clf__config *config, const struct stack *stack,
                          const char *layer, const char *name)
{
    char prefix[96];
    snprintf(prefix, sizeof prefix, "%s%s.", layer, name);
    int keys = stack->heads * stack->key_width, values = stack->heads * stack->value_width;
    add_linear(writer, prefix, "q_proj", keys, config->d_model, config->query_bias);
    add_linear(writer, prefix, "k_proj", keys, config->d_model, config->key_bias);
    add_linear(writer, prefix, "v_proj", values, config->d_model, config->value_bias);
    add_linear(writer, prefix, "out_proj", config->d_model, values, config->output_bias);
    snprintf(prefix, sizeof prefix, "%s_layer_norm", name);
    add_norm(writer, config, layer, prefix);
}

static void add_layer(struct writer *writer, const struct clf__config *config, const struct stack *stack,
                      int index)
{
    char layer[64];
    snprintf(layer, sizeof layer, "model.%s.layers.%d.", stack->name, index);
    add_attention(writer, config, stack, layer, "self_attn");
    if (stack->is_decoder) {
        add_attention(writer, config, stack, layer, "encoder_attn");
    }
    add_linear(writer, layer, "fc1", stack->ffn, config->d_model, config->ffn_bias);
    if (config->ffn_gated) {
        add_linear(writer, layer, "fc_gate", stack->ffn, config->d_model, config->ffn_bias);
    }
    add_linear(writer, layer, "fc2", config->d_model, stack->ffn, config->ffn_bias);
    add_norm(writer, config, layer, "final_layer_norm");
}

static void add_stack(struct writer *writer, const struct clf__config *config, const struct stack *stack)
{
    char prefix[32];
    snprintf(prefix, sizeof prefix, "model.%s.", stack->name);
    if (!stack->is_decoder && config->feature_size > 0) {
        add_linear(writer, prefix, "frontend", config->d_model, config->feature_size, 1);
    }
    if (config->positions == CLF__POSITIONS_LEARNED) {
        add(writer, config->max_positions + config->position_offset, config->d_model,
            "%sembed_positions.weight", prefix);
    }
    if (config->positions == CLF__POSITIONS_RELATIVE) {
        add(writer, config->relative_buckets, stack->heads, "%srelative_attention_bias.weight", prefix);
    }
    if (config->norm_embedding) {
        add_norm(writer, config, prefix, "layernorm_embedding");
    }
    for (int i = 0; i < stack->layers; i++) {
        add_layer(writer, config, stack, i);
    }
    if (config->norm_final) {
        add_norm(writer, config, prefix, "layer_norm");
    }
}

static void add_all(struct writer *writer, const struct clf__config *config)
{
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
        add(writer, config->source_vocabulary, config->d_model, "%s", clf__source_embedding_name(config));
    }
    if (!config->share_source_target) {
        add(writer, config->target_vocabulary, config->d_model, "%s", clf__target_embedding_name(config));
    }
    add_stack(writer, config, &encoder);
    add_stack(writer, config, &decoder);
    if (!config->share_target_output) {
        add(writer, config->target_vocabulary, config->d_model, "%s", clf__output_projection_name(config));
    }
    if (config->logits_bias) {
        add(writer, 1, config->target_vocabulary, "final_logits_bias");
    }
}

clf_status clf__parameter_list_create(struct clf__parameter_list *out, const struct clf__config *config)
{
    *out = (struct clf__parameter_list){0};
    struct writer writer = {0};
    add_all(&writer, config);
    struct clf__parameter *items = NULL;
    CLF__TRY(clf__allocate(&items, (size_t)writer.count, sizeof *items));
    writer = (struct writer){.items = items};
    add_all(&writer, config);
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
