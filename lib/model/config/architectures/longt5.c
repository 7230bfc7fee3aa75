/* LongT5 (Guo et al. 2022) in Hugging Face folders: T5 v1.1 with an encoder that attends to a window around
 * each token ("local") and optionally to sums over blocks of the source ("transient-global"). */
#include "model/config/architectures/t5.h"
#include "model/config/word.h"

/* clang-format off */
#define ENCODER_RULES(kind) \
    {"model.encoder.relative_attention_bias.weight", "encoder.block.0.layer.0." kind ".relative_attention_bias.weight"}, \
    {"model.encoder.layers.#.self_attn.q_proj.*", "encoder.block.#.layer.0." kind ".q.*"}, \
    {"model.encoder.layers.#.self_attn.k_proj.*", "encoder.block.#.layer.0." kind ".k.*"}, \
    {"model.encoder.layers.#.self_attn.v_proj.*", "encoder.block.#.layer.0." kind ".v.*"}, \
    {"model.encoder.layers.#.self_attn.out_proj.*", "encoder.block.#.layer.0." kind ".o.*"}
/* clang-format on */
static const struct clf__name_rule rules[] = {
    ENCODER_RULES("LocalSelfAttention"),
    ENCODER_RULES("TransientGlobalSelfAttention"),
    {"model.encoder.global_relative_attention_bias.weight",
     "encoder.block.0.layer.0.TransientGlobalSelfAttention.global_relative_attention_bias.weight"},
    {"model.encoder.layers.#.self_attn.global_input_layer_norm.*",
     "encoder.block.#.layer.0.TransientGlobalSelfAttention.global_input_layer_norm.*"},
    {"model.decoder.relative_attention_bias.weight",
     "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"},
    CLF__T5_RULES,
};

static const char *const frozen[] = {NULL};
static const struct clf__tensor_names names = {rules, sizeof rules / sizeof *rules, frozen};

/* The longest source in the paper's experiments, used as the limit of targets and, if the tokenizer sets
 * none, of sources.
 */
enum { LONGEST = 16384 };

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    clf__t5_start(config, choices);
    config->encoder_mixer = CLF__MIXER_LOCAL;
    config->usual_source = config->decoder_max_positions = LONGEST;
    config->local_radius = 127;
    config->global_block_size = 16;
}

static clf_status read(struct clf__config *config, struct clf__config_choices *choices,
                       const struct clf__json *json)
{
    enum { MOST = 1 << 20 };
    static const struct clf__key_word attentions[] = {CLF__ARCHITECTURE_ENCODER_ATTENTIONS, {NULL, 0}};
    int attention = (int)config->encoder_mixer;
    CLF__TRY(clf__config_read_word(json, "encoder_attention_type", attentions, &attention));
    config->encoder_mixer = (enum clf__mixer_type)attention;
    CLF__TRY(clf__json_int(json, "local_radius", 0, MOST, &config->local_radius));
    CLF__TRY(clf__json_int(json, "global_block_size", 1, MOST, &config->global_block_size));
    return clf__t5_read_scaled(config, choices, json);
}

const struct clf__architecture clf__architecture_longt5 = {
    .hugging_face = "longt5",
    .start = start,
    .read = read,
    .names = &names,
    CLF__T5_ARCHITECTURE,
};
