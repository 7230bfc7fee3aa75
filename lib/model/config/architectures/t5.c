/* T5 (Raffel et al. 2020): v1.0, v1.1, FLAN-T5 and MADLAD-400 in Hugging Face folders. */
#include "model/config/architectures/t5.h"

#include "model/config/keys.h"

/* Relative positions do not limit the length, and NO_LIMIT is never reached in practice. */
enum { NO_LIMIT = 1 << 20, LONGEST_OUTPUT = 512 };

static const struct clf__name_rule rules[] = {
    {"model.@.relative_attention_bias.weight",
     "@.block.0.layer.0.SelfAttention.relative_attention_bias.weight"},
    CLF__T5_RULES,
};
static const struct clf__name_rule rules_each_layer[] = {
    {"model.@.layers.#.self_attn.relative_attention_bias.weight",
     "@.block.#.layer.0.SelfAttention.relative_attention_bias.weight"},
    CLF__T5_RULES,
};

/* A cross-attention bias in old files that no version of transformers reads. */
static const char *const frozen[] = {".EncDecAttention.relative_attention_bias.weight", NULL};

const struct clf__tensor_names clf__t5_names = {rules, sizeof rules / sizeof *rules, frozen};
const struct clf__tensor_names clf__umt5_names = {rules_each_layer,
                                                  sizeof rules_each_layer / sizeof *rules_each_layer, frozen};

const struct clf__architecture_key clf__t5_keys[] = {
    {"encoder_layers", "num_layers", 0},
    {"decoder_layers", "num_decoder_layers", 1},
    {"encoder_attention_heads", "num_heads", 0},
    {"decoder_attention_heads", "num_heads", 0},
    {"encoder_ffn_dim", "d_ff", 0},
    {"decoder_ffn_dim", "d_ff", 0},
    {"max_position_embeddings", NULL, 0},
    {"activation_function", NULL, 0}, /* part of feed_forward_proj */
    {"dropout", "dropout_rate", 0},
    {"layer_norm_eps", "layer_norm_epsilon", 0},
    {"relative_attention_num_buckets", "relative_attention_num_buckets", 0},
    {"relative_attention_max_distance", "relative_attention_max_distance", 0},
    {NULL, NULL, 0},
};

void clf__t5_start(struct clf__config *config, struct clf__config_choices *choices)
{
    choices->scale = CLF__SCALE_NONE;
    choices->key_width = choices->value_width = 64;
    config->source_vocabulary = config->target_vocabulary = 32128;
    config->encoder_max_positions = config->decoder_max_positions = NO_LIMIT;
    config->encoder_positions = config->decoder_positions = CLF__POSITIONS_RELATIVE;
    config->norm = CLF__NORM_RMS;
    config->norm_first = config->norm_final = 1;
    config->attention_scaled = 0;
    config->ffn_bias = 0;
    config->pad_id = 0;
    config->start_id = config->decoder_start_id = -1;
    config->end_id = 1;
    clf__architecture_greedy(config, LONGEST_OUTPUT);
}

/* Reads the activation; the prefix "gated-" means a gated feed-forward. transformers uses the exact GELU only
 * for "gelu". */
static clf_status read_feed_forward(struct clf__config *config, const struct clf__json *json)
{
    enum { GATED = 1 << 8 };
    static const struct clf__key_word words[] = {{"relu", CLF__RELU},
                                                 {"gated-gelu", GATED | CLF__GELU_TANH},
                                                 {"gated-silu", GATED | CLF__SILU},
                                                 {"gated-relu", GATED | CLF__RELU},
                                                 {"gated-gelu_new", GATED | CLF__GELU_TANH},
                                                 {"gelu", CLF__GELU_ERF},
                                                 {"gelu_new", CLF__GELU_TANH},
                                                 {"silu", CLF__SILU},
                                                 {NULL, 0}};
    int chosen = (int)config->activation | (config->ffn_gated ? GATED : 0);
    CLF__TRY(clf__config_read_word(json, "feed_forward_proj", words, &chosen));
    config->activation = (enum clf__activation)(chosen & ~GATED);
    config->ffn_gated = (chosen & GATED) != 0;
    return CLF_OK;
}

clf_status clf__t5_read(struct clf__config *config, struct clf__config_choices *choices,
                        const struct clf__json *json)
{
    if (!clf__json_has(json, "num_decoder_layers")) {
        config->decoder_layers = config->encoder_layers;
    }
    config->attention_dropout = config->activation_dropout = config->dropout;
    CLF__TRY(clf__json_int(json, "d_kv", 1, CLF__CONFIG_MOST_WIDTH, &choices->key_width));
    choices->value_width = choices->key_width;
    return read_feed_forward(config, json);
}

/* Reads T5's keys and whether logits are scaled, which is the case if embeddings are tied. transformers 5
 * declares tied embeddings for every model and stores the scaling in "scale_decoder_outputs". */
clf_status clf__t5_read_scaled(struct clf__config *config, struct clf__config_choices *choices,
                               const struct clf__json *json)
{
    int is_scaled = 1;
    CLF__TRY(clf__json_bool(json, "tie_word_embeddings", &is_scaled));
    CLF__TRY(clf__json_bool(json, "scale_decoder_outputs", &is_scaled));
    choices->scale = is_scaled ? CLF__SCALE_PROJECTION : CLF__SCALE_NONE;
    return clf__t5_read(config, choices, json);
}

const struct clf__architecture clf__architecture_t5 = {
    .hugging_face = "t5",
    .start = clf__t5_start,
    .read = clf__t5_read_scaled,
    .names = &clf__t5_names,
    CLF__T5_ARCHITECTURE,
};
