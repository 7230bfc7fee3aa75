/* Marian's native files (Junczys-Dowmunt et al. 2018), including those for Bergamot and Firefox.
 * marian_options.c reads the options. */
#include "model/config/architectures/architecture.h"

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    choices->scale = CLF__SCALE_EMBEDDING;
    config->encoder_max_positions = config->decoder_max_positions =
        512; /* sinusoids have no maximum length */
    config->sinusoid_layout = CLF__SINUSOID_HALVES;
    config->sinusoid_frequency = CLF__SINUSOID_BY_LAST;
    config->norm_epsilon = 1e-6f;
    clf__architecture_bias_projections(config);
    config->logits_bias = 1;
    config->pad_id = config->start_id = -1;
    config->decoder_start_id = -1; /* decoding starts from an embedding of zeros */
    clf__architecture_greedy(config, config->decoder_max_positions);
    config->generation.renormalize = 1;
}

/* clang-format off */
#define NORM(canonical, stored) \
    {"model.@.layers.#." canonical ".weight", "@_l+_" stored "_ln_scale"}, \
    {"model.@.layers.#." canonical ".weight", "@_l+_" stored "_ln_scale_pre"}, \
    {"model.@.layers.#." canonical ".bias", "@_l+_" stored "_ln_bias"}, \
    {"model.@.layers.#." canonical ".bias", "@_l+_" stored "_ln_bias_pre"}
#define LINEAR(canonical, stored, letter) \
    {"model.@.layers.#." canonical ".weight", "@_l+_" stored "W" letter}, \
    {"model.@.layers.#." canonical ".bias", "@_l+_" stored "b" letter}
#define ATTENTION(canonical, stored) \
    LINEAR(canonical ".q_proj", stored, "q"), LINEAR(canonical ".k_proj", stored, "k"), \
    LINEAR(canonical ".v_proj", stored, "v"), LINEAR(canonical ".out_proj", stored, "o"), \
    NORM(canonical "_layer_norm", stored "Wo")
/* clang-format on */

static const struct clf__name_rule rules[] = {
    ATTENTION("self_attn", "self_"),
    ATTENTION("encoder_attn", "context_"),
    LINEAR("rnn.forget_proj", "rnn_", "f"),
    {"model.@.layers.#.rnn.in_proj.weight", "@_l+_rnn_W"},
    NORM("rnn_layer_norm", "rnn_ffn"),
    {"model.@.layers.#.rnn_layer_norm.weight", "@_l+_rnn_ln_scale_pre"},
    {"model.@.layers.#.rnn_layer_norm.bias", "@_l+_rnn_ln_bias_pre"},
    LINEAR("average.fc1", "aan_", "1"),
    LINEAR("average.fc2", "aan_", "2"),
    LINEAR("average.fc3", "aan_", "3"),
    LINEAR("average.fc4", "aan_", "4"),
    LINEAR("average.input_gate", "aan_", "i"),
    LINEAR("average.mean_gate", "aan_", "f"),
    NORM("average_layer_norm", "aan_ffn"),
    LINEAR("fc1", "ffn_", "1"),
    LINEAR("fc2", "ffn_", "2"),
    NORM("final_layer_norm", "ffn_ffn"),
    {"model.@.layernorm_embedding.weight", "@_emb_ln_scale_pre"},
    {"model.@.layernorm_embedding.bias", "@_emb_ln_bias_pre"},
    {"model.@.layer_norm.weight", "@_top_ln_scale"},
    {"model.@.layer_norm.bias", "@_top_ln_bias"},
    {"model.shared.weight", "Wemb"},
    {"model.@.embed_tokens.weight", "@_Wemb"},
    {"lm_head.weight", "decoder_ff_logit_out_Wt"},
    {"lm_head.weight", "decoder_ff_logit_out_W"},
    {"final_logits_bias", "decoder_ff_logit_out_b"},
};

static const char *const frozen[] = {NULL};

static const struct clf__tensor_names names = {rules, sizeof rules / sizeof *rules, frozen};

const struct clf__architecture clf__architecture_marian_nmt = {
    .start = start,
    .names = &names,
};
