#include "model/tree.h"

#include <stdint.h>
#include <stdio.h>

#include "model/config/architectures/architecture.h"
#include "model/config/sides.h"

/* Sizes of parameters that depend on the stack. */
enum extent { MODEL_WIDTH, KEYS, VALUES, FFN };

/* A parameter of a layer. */
struct part_row {
    const char *name; /* "<prefix><name>.weight", "<prefix><name>.bias" */
    enum clf__role role;
    enum extent rows;
    size_t bias; /* offset of the configuration field that enables the bias; or ALWAYS, NEVER */
    int is_gate; /* 1: only in gated feed-forwards */
};
struct module_row {
    enum clf__module_kind kind;
    size_t offset;
    const char *prefix;
    enum extent columns;
    int part_count;
    struct part_row parts[CLF__MODULE_PARTS];
};

/* clang-format off */
#define HAS(field) offsetof(struct clf__config, field)
#define NEVER  SIZE_MAX
#define ALWAYS (SIZE_MAX - 1)
#define QUERY  {"q_proj", CLF__QUERY_OR_KEY, KEYS, HAS(query_bias), 0}
#define KEY    {"k_proj", CLF__QUERY_OR_KEY, KEYS, HAS(key_bias), 0}
#define VALUE  {"v_proj", CLF__VALUE_OR_OUTPUT, VALUES, HAS(value_bias), 0}
#define OUTPUT {"out_proj", CLF__VALUE_OR_OUTPUT, MODEL_WIDTH, HAS(output_bias), 0}
#define UP     {"fc1", CLF__MATRIX, FFN, HAS(ffn_bias), 0}
#define GATE   {"fc_gate", CLF__MATRIX, FFN, HAS(ffn_bias), 1}
#define DOWN   {"fc2", CLF__MATRIX, MODEL_WIDTH, HAS(ffn_bias), 0}
#define FORGET {"forget_proj", CLF__MATRIX, MODEL_WIDTH, ALWAYS, 0}
#define TAKE   {"in_proj", CLF__MATRIX, MODEL_WIDTH, NEVER, 0}
#define INPUT_GATE {"input_gate", CLF__MATRIX, MODEL_WIDTH, ALWAYS, 0}
#define MEAN_GATE {"mean_gate", CLF__MATRIX, MODEL_WIDTH, ALWAYS, 0}

#define LINEAR(member, prefix, columns, count, ...) \
    {CLF__MODULE_LINEAR, offsetof(struct clf__layer, member), prefix, columns, count, {__VA_ARGS__}}
#define NORM(member, name) \
    {CLF__MODULE_NORM, offsetof(struct clf__layer, member), "", MODEL_WIDTH, 1, {{name, CLF__GAIN, 0, 0, 0}}}

static const struct module_row self_attention_rows[] = {
    LINEAR(mixer.attention.input, "self_attn.", MODEL_WIDTH, 3, QUERY, KEY, VALUE),
    LINEAR(mixer.attention.output, "self_attn.", VALUES, 1, OUTPUT),
    NORM(mixer_norm, "self_attn_layer_norm"),
};
static const struct module_row transient_global_rows[] = {
    LINEAR(mixer.attention.input, "self_attn.", MODEL_WIDTH, 3, QUERY, KEY, VALUE),
    LINEAR(mixer.attention.output, "self_attn.", VALUES, 1, OUTPUT),
    NORM(mixer.window.global_norm, "self_attn.global_input_layer_norm"),
    NORM(mixer_norm, "self_attn_layer_norm"),
};
static const struct module_row ssru_rows[] = {
    LINEAR(mixer.recurrence.input, "rnn.", MODEL_WIDTH, 2, FORGET, TAKE),
    NORM(mixer_norm, "rnn_layer_norm"),
};
static const struct module_row average_rows[] = {
    NORM(mixer_norm, "average_layer_norm"),
};
static const struct module_row average_gate_rows[] = {
    LINEAR(mixer.average.input_gate, "average.", MODEL_WIDTH, 1, INPUT_GATE),
    LINEAR(mixer.average.mean_gate, "average.", MODEL_WIDTH, 1, MEAN_GATE),
};
static const struct module_row cross_attention_rows[] = {
    LINEAR(cross_attention.input, "encoder_attn.", MODEL_WIDTH, 1, QUERY),
    LINEAR(cross_attention.memory, "encoder_attn.", MODEL_WIDTH, 2, KEY, VALUE),
    LINEAR(cross_attention.output, "encoder_attn.", VALUES, 1, OUTPUT),
    NORM(cross_attention_norm, "encoder_attn_layer_norm"),
};
static const struct module_row feed_forward_rows[] = {
    LINEAR(feed_forward.up, "", MODEL_WIDTH, 2, UP, GATE),
    LINEAR(feed_forward.down, "", FFN, 1, DOWN),
    NORM(feed_forward_norm, "final_layer_norm"),
};
/* clang-format on */

#define COUNT(rows) ((int)(sizeof(rows) / sizeof *(rows)))

/* The functions and parameters of each mixer, indexed by enum clf__mixer_type. */
static const struct mixer_row {
    const struct clf__mixer_kind *kind;
    const struct module_row *rows;
    int row_count;
} mixers[] = {
    {&clf__self_attention_mixer, self_attention_rows, COUNT(self_attention_rows)},
    {&clf__ssru_mixer, ssru_rows, COUNT(ssru_rows)},
    {&clf__average_mixer, average_rows, COUNT(average_rows)},
    {&clf__local_attention_mixer, self_attention_rows, COUNT(self_attention_rows)},
    {&clf__transient_global_mixer, transient_global_rows, COUNT(transient_global_rows)},
};

static const struct mixer_row *mixer_of(const struct clf__config *config, enum clf__side side)
{
    return &mixers[side == CLF__ENCODER ? config->encoder_mixer : config->decoder_mixer];
}

const struct clf__mixer_kind *clf__tree_mixer(const struct clf__config *config, enum clf__side side)
{
    return mixer_of(config, side)->kind;
}

struct walk {
    const struct clf__config *config;
    clf__module_visitor *visit;
    void *context;
    enum clf__side side;
};

static int extent_of(const struct walk *walk, enum extent extent)
{
    const struct clf__config *config = walk->config;
    struct clf__heads heads = clf__config_heads(config, walk->side);
    switch (extent) {
    case MODEL_WIDTH:
        break;
    case KEYS:
        return heads.count * heads.key_width;
    case VALUES:
        return heads.count * heads.value_width;
    case FFN:
        return clf__config_ffn(config, walk->side);
    }
    return config->d_model;
}

static int has_norm_shift(const struct clf__config *config)
{
    return config->norm != CLF__NORM_RMS;
}

static int has_part_bias(const struct clf__config *config, const struct part_row *part)
{
    if (part->bias == ALWAYS || part->bias == NEVER) {
        return part->bias == ALWAYS;
    }
    return *(const int *)((const char *)config + part->bias);
}

/* Describes a parameter according to its table row. */
static void describe_part(struct clf__module_part *out, const struct walk *walk, const struct module_row *row,
                          const struct part_row *part, const char *layer)
{
    struct clf__heads heads = clf__config_heads(walk->config, walk->side);
    int is_norm = row->kind == CLF__MODULE_NORM;
    int has_bias = is_norm ? has_norm_shift(walk->config) : has_part_bias(walk->config, part);
    *out = (struct clf__module_part){.role = part->role, .rows = is_norm ? 1 : extent_of(walk, part->rows)};
    out->head_width = part->role == CLF__QUERY_OR_KEY      ? heads.key_width
                      : part->role == CLF__VALUE_OR_OUTPUT ? heads.value_width
                                                           : 0;
    snprintf(out->weight, sizeof out->weight, "%s%s%s.weight", layer, row->prefix, part->name);
    if (has_bias) {
        snprintf(out->bias, sizeof out->bias, "%s%s%s.bias", layer, row->prefix, part->name);
    }
}

static clf_status visit_rows(const struct walk *walk, int index, const struct module_row *rows, int count)
{
    char layer[64];
    snprintf(layer, sizeof layer, "model.%s.layers.%d.", clf__side_word(walk->side), index);
    for (int i = 0; i < count; i++) {
        const struct module_row *row = &rows[i];
        struct clf__module module = {.kind = row->kind,
                                     .side = walk->side,
                                     .layer = index,
                                     .offset = row->offset,
                                     .columns = extent_of(walk, row->columns)};
        for (int p = 0; p < row->part_count; p++) {
            if (!row->parts[p].is_gate || walk->config->ffn_gated) {
                describe_part(&module.parts[module.part_count++], walk, row, &row->parts[p], layer);
            }
        }
        CLF__TRY(walk->visit(walk->context, &module));
    }
    return CLF_OK;
}

/* Visits the relative bias of a layer. */
static clf_status visit_relative(const struct walk *walk, int index)
{
    const struct clf__config *config = walk->config;
    struct clf__module module = {
        .kind = CLF__MODULE_TABLE,
        .side = walk->side,
        .layer = index,
        .offset = offsetof(struct clf__layer, relative.by_bucket),
        .columns = clf__config_heads(config, walk->side).count,
        .part_count = 1,
        .parts = {{.role = CLF__RELATIVE_BIAS, .rows = config->relative_buckets}},
    };
    snprintf(module.parts[0].weight, sizeof module.parts[0].weight,
             "model.%s.layers.%d.self_attn.relative_attention_bias.weight", clf__side_word(walk->side),
             index);
    return walk->visit(walk->context, &module);
}

/* Visits the parameters of average attention, except its norm. */
static clf_status visit_average(const struct walk *walk, int index)
{
    const struct clf__config *config = walk->config;
    int count = config->average_filters, between = config->average_width, outside = config->d_model;
    for (int i = 0; i < count; i++) {
        struct clf__module module = {
            .kind = CLF__MODULE_LINEAR,
            .side = walk->side,
            .layer = index,
            .offset =
                offsetof(struct clf__layer, mixer.average.filters) + (size_t)i * sizeof(struct clf__linear),
            .columns = i == 0 ? outside : between,
            .part_count = 1,
            .parts = {{.role = CLF__MATRIX, .rows = i + 1 == count ? outside : between}},
        };
        struct clf__module_part *part = &module.parts[0];
        const char *side = clf__side_word(walk->side);
        snprintf(part->weight, sizeof part->weight, "model.%s.layers.%d.average.fc%d.weight", side, index,
                 i + 1);
        snprintf(part->bias, sizeof part->bias, "model.%s.layers.%d.average.fc%d.bias", side, index, i + 1);
        CLF__TRY(walk->visit(walk->context, &module));
    }
    return config->average_gated ? visit_rows(walk, index, average_gate_rows, COUNT(average_gate_rows))
                                 : CLF_OK;
}

static clf_status visit_layer(const struct walk *walk, int index)
{
    const struct mixer_row *mixer = mixer_of(walk->config, walk->side);
    CLF__TRY(visit_rows(walk, index, mixer->rows, mixer->row_count));
    if (mixer->kind == &clf__average_mixer) {
        CLF__TRY(visit_average(walk, index));
    }
    if (walk->config->relative_each_layer) {
        CLF__TRY(visit_relative(walk, index));
    }
    if (walk->side == CLF__DECODER) {
        CLF__TRY(visit_rows(walk, index, cross_attention_rows, COUNT(cross_attention_rows)));
    }
    return visit_rows(walk, index, feed_forward_rows, COUNT(feed_forward_rows));
}

const struct clf__front_end_kind *clf__tree_front_end(const struct clf__config *config, enum clf__side side)
{
    if (side == CLF__DECODER || config->feature_size == 0) {
        return &clf__tokens_front_end;
    }
    return config->convolves_frames ? &clf__convolutions_front_end : &clf__frames_front_end;
}

#define OFFSET(member) offsetof(struct clf__stack, member)

/* Returns a module with a single parameter outside the layers, without names. */
static struct clf__module lone_module(const struct walk *walk, enum clf__module_kind kind, size_t offset,
                                      enum clf__role role, int rows, int columns)
{
    return (struct clf__module){.kind = kind,
                                .side = walk->side,
                                .layer = -1,
                                .offset = offset,
                                .columns = columns,
                                .part_count = 1,
                                .parts = {{.role = role, .rows = rows}}};
}

/* Visits a module named "model.SIDE.<name>.weight". */
static clf_status visit_one(const struct walk *walk, enum clf__module_kind kind, size_t offset,
                            const char *name, enum clf__role role, int rows, int columns)
{
    struct clf__module module = lone_module(walk, kind, offset, role, rows, columns);
    struct clf__module_part *part = &module.parts[0];
    const char *side = clf__side_word(walk->side);
    snprintf(part->weight, sizeof part->weight, "model.%s.%s.weight", side, name);
    if (kind == CLF__MODULE_LINEAR || (kind == CLF__MODULE_NORM && has_norm_shift(walk->config))) {
        snprintf(part->bias, sizeof part->bias, "model.%s.%s.bias", side, name);
    }
    return walk->visit(walk->context, &module);
}

static clf_status visit_tokens(struct walk *walk, enum clf__side side, const char *name, int rows)
{
    walk->side = side;
    struct clf__module module = lone_module(walk, CLF__MODULE_WEIGHT, OFFSET(embedder.front_end.tokens),
                                            CLF__EMBEDDING, rows, walk->config->d_model);
    snprintf(module.parts[0].weight, sizeof module.parts[0].weight, "%s", name);
    return walk->visit(walk->context, &module);
}

static clf_status visit_convolutions(const struct walk *walk)
{
    const struct clf__config *config = walk->config;
    for (int i = 0; i < CLF__CONVOLUTIONS; i++) {
        int channels = i == 0 ? config->feature_size : config->d_model;
        size_t offset = OFFSET(embedder.front_end.convolutions) + (size_t)i * sizeof(struct clf__linear);
        struct clf__module module = lone_module(walk, CLF__MODULE_LINEAR, offset, CLF__MATRIX,
                                                config->d_model, CLF__CONVOLUTION_WIDTH * channels);
        struct clf__module_part *part = &module.parts[0];
        part->kernel = CLF__CONVOLUTION_WIDTH;
        snprintf(part->weight, sizeof part->weight, "model.encoder.conv%d.weight", i + 1);
        snprintf(part->bias, sizeof part->bias, "model.encoder.conv%d.bias", i + 1);
        CLF__TRY(walk->visit(walk->context, &module));
    }
    return CLF_OK;
}

/* Visits a front end for frames. Token embeddings are visited before the stacks. */
static clf_status visit_front_end(const struct walk *walk)
{
    const struct clf__config *config = walk->config;
    if (walk->side == CLF__DECODER || config->feature_size == 0) {
        return CLF_OK;
    }
    return config->convolves_frames
               ? visit_convolutions(walk)
               : visit_one(walk, CLF__MODULE_LINEAR, OFFSET(embedder.front_end.frames), "frontend",
                           CLF__MATRIX, config->d_model, config->feature_size);
}

static clf_status visit_stack(struct walk *walk, enum clf__side side)
{
    const struct clf__config *config = walk->config;
    int width = config->d_model;
    walk->side = side;
    CLF__TRY(visit_front_end(walk));
    if (clf__config_positions(config, side) == CLF__POSITIONS_LEARNED) {
        int are_fixed = clf__architecture_of(config->architecture)->stores_sinusoids[side];
        CLF__TRY(visit_one(walk, CLF__MODULE_TABLE, OFFSET(embedder.positions), "embed_positions",
                           are_fixed ? CLF__SINUSOIDS : CLF__EMBEDDING,
                           clf__config_max_positions(config, side) + config->position_offset, width));
    }
    if (clf__config_positions(config, side) == CLF__POSITIONS_RELATIVE && !config->relative_each_layer) {
        CLF__TRY(visit_one(walk, CLF__MODULE_TABLE, OFFSET(embedder.relative.by_bucket),
                           "relative_attention_bias", CLF__RELATIVE_BIAS, config->relative_buckets,
                           clf__config_heads(config, side).count));
    }
    if (side == CLF__ENCODER && config->encoder_mixer == CLF__MIXER_TRANSIENT_GLOBAL) {
        CLF__TRY(visit_one(walk, CLF__MODULE_TABLE, OFFSET(embedder.global_relative.by_bucket),
                           "global_relative_attention_bias", CLF__RELATIVE_BIAS, config->relative_buckets,
                           clf__config_heads(config, side).count));
    }
    if (config->norm_embedding) {
        CLF__TRY(visit_one(walk, CLF__MODULE_NORM, OFFSET(embedder.norm), "layernorm_embedding", CLF__GAIN, 1,
                           width));
    }
    for (int i = 0; i < clf__config_layers(config, side); i++) {
        CLF__TRY(visit_layer(walk, i));
    }
    return config->norm_final
               ? visit_one(walk, CLF__MODULE_NORM, OFFSET(norm), "layer_norm", CLF__GAIN, 1, width)
               : CLF_OK;
}

static clf_status visit_projection(const struct walk *walk)
{
    const struct clf__config *config = walk->config;
    struct clf__module module = lone_module(walk, CLF__MODULE_LINEAR, OFFSET(projection), CLF__MATRIX,
                                            config->target_vocabulary, config->d_model);
    struct clf__module_part *part = &module.parts[0];
    part->bias_is_fixed = clf__architecture_of(config->architecture)->has_fixed_logits_bias;
    if (!config->share_target_output) {
        snprintf(part->weight, sizeof part->weight, "%s", clf__output_projection_name(config));
    }
    if (config->logits_bias) {
        snprintf(part->bias, sizeof part->bias, "final_logits_bias");
    }
    return walk->visit(walk->context, &module);
}

clf_status clf__tree_visit(const struct clf__config *config, clf__module_visitor *visit, void *context)
{
    struct walk walk = {.config = config, .visit = visit, .context = context};
    if (config->feature_size == 0) {
        CLF__TRY(
            visit_tokens(&walk, CLF__ENCODER, clf__source_embedding_name(config), config->source_vocabulary));
    }
    if (!config->share_source_target) {
        CLF__TRY(
            visit_tokens(&walk, CLF__DECODER, clf__target_embedding_name(config), config->target_vocabulary));
    }
    CLF__TRY(visit_stack(&walk, CLF__ENCODER));
    CLF__TRY(visit_stack(&walk, CLF__DECODER));
    return visit_projection(&walk);
}

clf_status clf__tree_visit_layer(clf__module_visitor *visit, void *context)
{
    static const struct clf__config none = {.d_model = 0};
    struct walk walk = {.config = &none, .visit = visit, .context = context, .side = CLF__DECODER};
    return visit_layer(&walk, 0);
}

void *clf__tree_module(const struct clf__module *module, struct clf__stacks stacks)
{
    struct clf__stack *stack = clf__stack_of(stacks, module->side);
    if (module->layer >= 0) {
        return stack->layers != NULL ? (char *)&stack->layers[module->layer] + module->offset : NULL;
    }
    return (char *)stack + module->offset;
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
