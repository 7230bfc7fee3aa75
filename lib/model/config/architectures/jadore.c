/* "attention-is-all-you-need-pytorch" by jadore1801120. */
#include "model/config/architectures/architecture.h"

static const struct clf__name_rule rules[] = {
    {"model.@.layernorm_embedding.*", "@.layer_norm.*"},
    {"model.@.layers.#.self_attn.q_proj.*", "@.layer_stack.#.slf_attn.w_qs.*"},
    {"model.@.layers.#.self_attn.k_proj.*", "@.layer_stack.#.slf_attn.w_ks.*"},
    {"model.@.layers.#.self_attn.v_proj.*", "@.layer_stack.#.slf_attn.w_vs.*"},
    {"model.@.layers.#.self_attn.out_proj.*", "@.layer_stack.#.slf_attn.fc.*"},
    {"model.@.layers.#.self_attn_layer_norm.*", "@.layer_stack.#.slf_attn.layer_norm.*"},
    {"model.@.layers.#.fc1.*", "@.layer_stack.#.pos_ffn.w_1.*"},
    {"model.@.layers.#.fc2.*", "@.layer_stack.#.pos_ffn.w_2.*"},
    {"model.@.layers.#.final_layer_norm.*", "@.layer_stack.#.pos_ffn.layer_norm.*"},
    {"model.encoder.embed_tokens.weight", "encoder.src_word_emb.weight"},
    {"model.decoder.embed_tokens.weight", "decoder.trg_word_emb.weight"},
    {"model.decoder.layers.#.encoder_attn.q_proj.*", "decoder.layer_stack.#.enc_attn.w_qs.*"},
    {"model.decoder.layers.#.encoder_attn.k_proj.*", "decoder.layer_stack.#.enc_attn.w_ks.*"},
    {"model.decoder.layers.#.encoder_attn.v_proj.*", "decoder.layer_stack.#.enc_attn.w_vs.*"},
    {"model.decoder.layers.#.encoder_attn.out_proj.*", "decoder.layer_stack.#.enc_attn.fc.*"},
    {"model.decoder.layers.#.encoder_attn_layer_norm.*", "decoder.layer_stack.#.enc_attn.layer_norm.*"},
    {"lm_head.weight", "trg_word_prj.weight"},
};

static const char *const frozen[] = {".pos_table", NULL};

static const struct clf__tensor_names names = {rules, sizeof rules / sizeof *rules, frozen};

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    *choices = (struct clf__config_choices){CLF__SCALE_PROJECTION, 64, 64};
    config->encoder_max_positions = config->decoder_max_positions = 200;
    config->norm_embedding = 1;
    config->attention_dropout = 0.1f;
    config->mask_pad_tokens = 1;
    config->pad_id = 1;
    config->start_id = config->decoder_start_id = 2;
    config->end_id = 3;
    config->generation.beams = 5;
    config->generation.length_rule = CLF__LENGTH_INCLUDING_START;
    config->generation.length_penalty = 0.7f;
    config->generation.early_stopping = CLF__STOP_ALL;
    config->generation.max_length = 200;
}

const struct clf__architecture clf__architecture_jadore = {
    .start = start,
    .initial = clf__initial_pytorch,
    .names = &names,
    .specials = {.first = {"<unk>", "<pad>", "<s>", "</s>"}},
    .frames_sources = 1,
    .hides_start_pad = 1,
    .scales_tied_projection_alone = 1,
    .keeps_pad_row = 1,
    .recipe = {{"noam-factor", "2"}, {"normalize", "none"}},
    .drops_before_norm = 1,
    .validates_unsmoothed = 1,
};
