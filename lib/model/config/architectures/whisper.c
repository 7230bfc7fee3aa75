/* Whisper (Radford et al. 2022) in Hugging Face folders and OpenAI model files. */
#include "model/config/architectures/architecture.h"
#include "model/config/write.h"

static const struct clf__name_rule rules[] = {
    {"lm_head.weight", "proj_out.weight"},
    {"*", "*"},
    {"model.*", "*"},
    /* Names in OpenAI model files (openai/whisper, model.py) */
    {"model.@.embed_positions.weight", "@.positional_embedding"},
    {"model.@.embed_tokens.weight", "@.token_embedding.weight"},
    {"model.encoder.layer_norm.*", "encoder.ln_post.*"},
    {"model.decoder.layer_norm.*", "decoder.ln.*"},
    {"model.@.layers.#.self_attn.q_proj.*", "@.blocks.#.attn.query.*"},
    {"model.@.layers.#.self_attn.k_proj.*", "@.blocks.#.attn.key.*"},
    {"model.@.layers.#.self_attn.v_proj.*", "@.blocks.#.attn.value.*"},
    {"model.@.layers.#.self_attn.out_proj.*", "@.blocks.#.attn.out.*"},
    {"model.@.layers.#.self_attn_layer_norm.*", "@.blocks.#.attn_ln.*"},
    {"model.@.layers.#.encoder_attn.q_proj.*", "@.blocks.#.cross_attn.query.*"},
    {"model.@.layers.#.encoder_attn.k_proj.*", "@.blocks.#.cross_attn.key.*"},
    {"model.@.layers.#.encoder_attn.v_proj.*", "@.blocks.#.cross_attn.value.*"},
    {"model.@.layers.#.encoder_attn.out_proj.*", "@.blocks.#.cross_attn.out.*"},
    {"model.@.layers.#.encoder_attn_layer_norm.*", "@.blocks.#.cross_attn_ln.*"},
    {"model.@.layers.#.fc1.*", "@.blocks.#.mlp.0.*"},
    {"model.@.layers.#.fc2.*", "@.blocks.#.mlp.2.*"},
    {"model.@.layers.#.final_layer_norm.*", "@.blocks.#.mlp_ln.*"},
};

static const char *const frozen[] = {NULL};

static const struct clf__tensor_names names = {rules, sizeof rules / sizeof *rules, frozen};

static const struct clf__architecture_key keys[] = {
    {"max_position_embeddings", NULL, 0}, /* encoder and decoder have separate keys */
    {"max_source_positions", "max_source_positions", 0},
    {"max_target_positions", "max_target_positions", 0},
    {"feature_size", "num_mel_bins", 0},
    {NULL, NULL, 0},
};

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    clf__architecture_start_bart(config, choices);
    config->feature_size = 80;
    config->convolves_frames = 1;
    config->encoder_positions = config->decoder_positions =
        CLF__POSITIONS_LEARNED; /* the encoder's sinusoids are stored */
    config->encoder_max_positions = 1500;
    config->decoder_max_positions = 448;
    config->source_vocabulary = 0;
    config->target_vocabulary = 51865;
    config->d_model = 384;
    config->encoder_layers = config->decoder_layers = 4;
    config->encoder_heads = config->decoder_heads = 6;
    config->encoder_ffn = config->decoder_ffn = 1536;
    config->norm_first = config->norm_final = 1;
    config->key_bias = 0;
    config->logits_bias = 0;
    config->pad_id = config->start_id = config->end_id = 50256;
    config->decoder_start_id = 50257;
}

static clf_status read(struct clf__config *config, struct clf__config_choices *choices,
                       const struct clf__json *json)
{
    (void)config;
    (void)json;
    choices->scale = CLF__SCALE_NONE; /* transformers reads "scale_embedding" but never applies it */
    return CLF_OK;
}

/* Writes keys that transformers requires, and overrides defaults that assume OpenAI's vocabulary, such as the
 * suppressed ids. */
static int describe(json_t *config, json_t *generation, const struct clf__model_description *description)
{
    (void)generation;
    (void)description;
    return json_object_update_new(
        config, json_pack("{ss s[s] sb ss sb sb sf sf sf ss si si si sn sn}", "model_type", "whisper",
                          "architectures", "WhisperForConditionalGeneration", "is_encoder_decoder", 1,
                          "activation_function", "gelu", "scale_embedding", 0, "tie_word_embeddings", 1,
                          "dropout", 0.1, "attention_dropout", 0.0, "activation_dropout", 0.0, "dtype",
                          "float32", "num_mel_bins", 80, "max_source_positions", 1500, "max_target_positions",
                          448, "suppress_tokens", "begin_suppress_tokens"));
}

/* Initialises as transformers does. */
static struct clf__initial initial(const struct clf__config *config, enum clf__role role,
                                   const struct clf__shape *shape)
{
    (void)config;
    (void)shape;
    return role == CLF__BIAS ? clf__initial_constant(0.0f) : clf__initial_normal(0.02);
}

const struct clf__architecture clf__architecture_whisper = {
    .hugging_face = "whisper",
    .start = start,
    .keys = keys,
    .read = read,
    .describe = describe,
    .initial = initial,
    .names = &names,
    .specials = CLF__BART_SPECIALS,
    .takes_frames = 1,
    .searches_all_positions = 1,
    .stores_sinusoids = {1, 0},
    .recipe = {{"label-smoothing", "0"},
               {"schedule", "inverse-sqrt"},
               {"max-source-length", "3000"},
               {"vocabulary", "0"}},
};
