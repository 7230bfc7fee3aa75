/* The speech architecture: from filterbank frames to characters. */
#include "model/config/architectures/architecture.h"

#include <math.h>

static const struct clf__name_rule rules[] = {
    {"model.@.layers.#.self_attn_layer_norm.*", "@.layers.#.norm1.*"},
    {"model.@.layers.#.fc1.*", "@.layers.#.poswise_ffn.conv1.*"},
    {"model.@.layers.#.fc2.*", "@.layers.#.poswise_ffn.conv2.*"},
    {"model.encoder.frontend.*", "frontend.*"},
    {"model.encoder.layers.#.self_attn.q_proj.*", "encoder.layers.#.multi_head_attn.W_Q.*"},
    {"model.encoder.layers.#.self_attn.k_proj.*", "encoder.layers.#.multi_head_attn.W_K.*"},
    {"model.encoder.layers.#.self_attn.v_proj.*", "encoder.layers.#.multi_head_attn.W_V.*"},
    {"model.encoder.layers.#.self_attn.out_proj.*", "encoder.layers.#.multi_head_attn.W_out.*"},
    {"model.encoder.layers.#.final_layer_norm.*", "encoder.layers.#.norm2.*"},
    {"model.decoder.embed_tokens.weight", "decoder.tgt_emb.weight"},
    {"model.decoder.layers.#.self_attn.q_proj.*", "decoder.layers.#.dec_attn.W_Q.*"},
    {"model.decoder.layers.#.self_attn.k_proj.*", "decoder.layers.#.dec_attn.W_K.*"},
    {"model.decoder.layers.#.self_attn.v_proj.*", "decoder.layers.#.dec_attn.W_V.*"},
    {"model.decoder.layers.#.self_attn.out_proj.*", "decoder.layers.#.dec_attn.W_out.*"},
    {"model.decoder.layers.#.encoder_attn.q_proj.*", "decoder.layers.#.enc_dec_attn.W_Q.*"},
    {"model.decoder.layers.#.encoder_attn.k_proj.*", "decoder.layers.#.enc_dec_attn.W_K.*"},
    {"model.decoder.layers.#.encoder_attn.v_proj.*", "decoder.layers.#.enc_dec_attn.W_V.*"},
    {"model.decoder.layers.#.encoder_attn.out_proj.*", "decoder.layers.#.enc_dec_attn.W_out.*"},
    {"model.decoder.layers.#.encoder_attn_layer_norm.*", "decoder.layers.#.norm2.*"},
    {"model.decoder.layers.#.final_layer_norm.*", "decoder.layers.#.norm3.*"},
    {"lm_head.weight", "linear.weight"},
    {"final_logits_bias", "linear.bias"},
};

static const char *const frozen[] = {".pos_emb.weight", NULL};

static const struct clf__tensor_names names = {rules, sizeof rules / sizeof *rules, frozen};

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    choices->scale = CLF__SCALE_NONE;
    config->source_vocabulary = 0;
    config->target_vocabulary = 32;
    config->feature_size = 80;
    config->encoder_max_positions = config->decoder_max_positions = 5000;
    config->norm_epsilon = 1e-5f;
    clf__architecture_bias_projections(config);
    config->share_source_target = config->share_target_output = 0;
    config->logits_bias = 1;
    clf__architecture_greedy(config, 512);
}

static struct clf__initial initial(const struct clf__config *config, enum clf__role role,
                                   const struct clf__shape *shape)
{
    if (role == CLF__QUERY_OR_KEY || role == CLF__VALUE_OR_OUTPUT) {
        return clf__initial_normal(sqrt(2.0 / ((double)config->d_model + shape->width)));
    }
    return clf__role_is_table(role) ? clf__initial_normal(1.0) : clf__initial_by_inputs(shape);
}

const struct clf__architecture clf__architecture_speech = {
    .start = start,
    .initial = initial,
    .names = &names,
    .specials = CLF__BART_SPECIALS,
    .takes_frames = 1,
    .recipe = {{"label-smoothing", "0"},
               {"schedule", "inverse-sqrt"},
               {"max-source-length", "3000"},
               {"vocabulary", "0"}},
    .drops_feed_forward_alone = 1,
};
