#include "model/formats/format.h"

static const struct clf__name_rule rules[] = {
    {"model.encoder.frontend.*", "frontend.*"},
    {"model.encoder.layers.#.self_attn.q_proj.*", "encoder.layers.#.multi_head_attn.W_Q.*"},
    {"model.encoder.layers.#.self_attn.k_proj.*", "encoder.layers.#.multi_head_attn.W_K.*"},
    {"model.encoder.layers.#.self_attn.v_proj.*", "encoder.layers.#.multi_head_attn.W_V.*"},
    {"model.encoder.layers.#.self_attn.out_proj.*", "encoder.layers.#.multi_head_attn.W_out.*"},
    {"model.encoder.layers.#.self_attn_layer_norm.*", "encoder.layers.#.norm1.*"},
    {"model.encoder.layers.#.fc1.*", "encoder.layers.#.poswise_ffn.conv1.*"},
    {"model.encoder.layers.#.fc2.*", "encoder.layers.#.poswise_ffn.conv2.*"},
    {"model.encoder.layers.#.final_layer_norm.*", "encoder.layers.#.norm2.*"},
    {"model.decoder.embed_tokens.weight", "decoder.tgt_emb.weight"},
    {"model.decoder.layers.#.self_attn.q_proj.*", "decoder.layers.#.dec_attn.W_Q.*"},
    {"model.decoder.layers.#.self_attn.k_proj.*", "decoder.layers.#.dec_attn.W_K.*"},
    {"model.decoder.layers.#.self_attn.v_proj.*", "decoder.layers.#.dec_attn.W_V.*"},
    {"model.decoder.layers.#.self_attn.out_proj.*", "decoder.layers.#.dec_attn.W_out.*"},
    {"model.decoder.layers.#.self_attn_layer_norm.*", "decoder.layers.#.norm1.*"},
    {"model.decoder.layers.#.encoder_attn.q_proj.*", "decoder.layers.#.enc_dec_attn.W_Q.*"},
    {"model.decoder.layers.#.encoder_attn.k_proj.*", "decoder.layers.#.enc_dec_attn.W_K.*"},
    {"model.decoder.layers.#.encoder_attn.v_proj.*", "decoder.layers.#.enc_dec_attn.W_V.*"},
    {"model.decoder.layers.#.encoder_attn.out_proj.*", "decoder.layers.#.enc_dec_attn.W_out.*"},
    {"model.decoder.layers.#.encoder_attn_layer_norm.*", "decoder.layers.#.norm2.*"},
    {"model.decoder.layers.#.fc1.*", "decoder.layers.#.poswise_ffn.conv1.*"},
    {"model.decoder.layers.#.fc2.*", "decoder.layers.#.poswise_ffn.conv2.*"},
    {"model.decoder.layers.#.final_layer_norm.*", "decoder.layers.#.norm3.*"},
    {"lm_head.weight", "linear.weight"},
    {"final_logits_bias", "linear.bias"},
};

static const char *const frozen[] = {".pos_emb.weight", NULL};

const struct clf__format clf__format_speech = {rules, sizeof rules / sizeof *rules, frozen};
