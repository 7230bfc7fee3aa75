/* The Annotated Transformer (Rush 2018, Huang et al. 2022). */
#include "model/config/architectures/architecture.h"

static const struct clf__name_rule rules[] = {
    {"model.@.layers.#.self_attn.q_proj.*", "@.layers.#.self_attn.linears.0.*"},
    {"model.@.layers.#.self_attn.k_proj.*", "@.layers.#.self_attn.linears.1.*"},
    {"model.@.layers.#.self_attn.v_proj.*", "@.layers.#.self_attn.linears.2.*"},
    {"model.@.layers.#.self_attn.out_proj.*", "@.layers.#.self_attn.linears.3.*"},
    {"model.@.layers.#.self_attn_layer_norm.weight", "@.layers.#.sublayer.0.norm.a_2"},
    {"model.@.layers.#.self_attn_layer_norm.bias", "@.layers.#.sublayer.0.norm.b_2"},
    {"model.@.layers.#.fc1.*", "@.layers.#.feed_forward.w_1.*"},
    {"model.@.layers.#.fc2.*", "@.layers.#.feed_forward.w_2.*"},
    {"model.@.layer_norm.weight", "@.norm.a_2"},
    {"model.@.layer_norm.bias", "@.norm.b_2"},
    {"model.encoder.embed_tokens.weight", "src_embed.0.lut.weight"},
    {"model.encoder.layers.#.final_layer_norm.weight", "encoder.layers.#.sublayer.1.norm.a_2"},
    {"model.encoder.layers.#.final_layer_norm.bias", "encoder.layers.#.sublayer.1.norm.b_2"},
    {"model.decoder.embed_tokens.weight", "tgt_embed.0.lut.weight"},
    {"model.decoder.layers.#.encoder_attn.q_proj.*", "decoder.layers.#.src_attn.linears.0.*"},
    {"model.decoder.layers.#.encoder_attn.k_proj.*", "decoder.layers.#.src_attn.linears.1.*"},
    {"model.decoder.layers.#.encoder_attn.v_proj.*", "decoder.layers.#.src_attn.linears.2.*"},
    {"model.decoder.layers.#.encoder_attn.out_proj.*", "decoder.layers.#.src_attn.linears.3.*"},
    {"model.decoder.layers.#.encoder_attn_layer_norm.weight", "decoder.layers.#.sublayer.1.norm.a_2"},
    {"model.decoder.layers.#.encoder_attn_layer_norm.bias", "decoder.layers.#.sublayer.1.norm.b_2"},
    {"model.decoder.layers.#.final_layer_norm.weight", "decoder.layers.#.sublayer.2.norm.a_2"},
    {"model.decoder.layers.#.final_layer_norm.bias", "decoder.layers.#.sublayer.2.norm.b_2"},
    {"lm_head.weight", "generator.proj.weight"},
    {"final_logits_bias", "generator.proj.bias"},
};

static const char *const frozen[] = {".pe", NULL};

static const struct clf__tensor_names names = {rules, sizeof rules / sizeof *rules, frozen};

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    (void)choices;
    config->encoder_max_positions = config->decoder_max_positions = 5000;
    config->norm = CLF__NORM_STD;
    config->norm_first = config->norm_final = 1;
    clf__architecture_bias_projections(config);
    config->share_source_target = config->share_target_output = 0;
    config->logits_bias = 1;
    config->attention_dropout = config->activation_dropout = 0.1f;
    config->mask_pad_tokens = 1;
    config->start_id = config->decoder_start_id = 0;
    config->end_id = 1;
    config->pad_id = 2;
    clf__architecture_greedy(config, 256);
}

const struct clf__architecture clf__architecture_annotated = {
    .start = start,
    .initial = clf__initial_pytorch,
    .names = &names,
    .specials = {.first = {"<s>", "</s>", "<pad>", "<unk>"}},
    .frames_sources = 1,
    .hides_start_pad = 1,
    .recipe = {{"loss", "kl"}, {"warm-up", "3000"}},
    .drops_activations = 1,
    /* PyTorch's LambdaLR counts steps from zero, the paper and jadore from one */
    .counts_updates_done = 1,
};
