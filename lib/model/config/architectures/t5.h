/* Common parts of T5 and the architectures derived from it. */
#ifndef CLF_CONFIG_ARCHITECTURES_T5_H
#define CLF_CONFIG_ARCHITECTURES_T5_H

#include "model/config/architectures/architecture.h"

/* T5's tensor names, except for relative biases. */
/* clang-format off */
#define CLF__T5_RULES \
    {"model.shared.weight", "shared.weight"}, \
    {"model.@.embed_tokens.weight", "@.embed_tokens.weight"}, \
    {"model.@.layers.#.self_attn.q_proj.*", "@.block.#.layer.0.SelfAttention.q.*"}, \
    {"model.@.layers.#.self_attn.k_proj.*", "@.block.#.layer.0.SelfAttention.k.*"}, \
    {"model.@.layers.#.self_attn.v_proj.*", "@.block.#.layer.0.SelfAttention.v.*"}, \
    {"model.@.layers.#.self_attn.out_proj.*", "@.block.#.layer.0.SelfAttention.o.*"}, \
    {"model.@.layers.#.self_attn_layer_norm.*", "@.block.#.layer.0.layer_norm.*"}, \
    {"model.decoder.layers.#.encoder_attn.q_proj.*", "decoder.block.#.layer.1.EncDecAttention.q.*"}, \
    {"model.decoder.layers.#.encoder_attn.k_proj.*", "decoder.block.#.layer.1.EncDecAttention.k.*"}, \
    {"model.decoder.layers.#.encoder_attn.v_proj.*", "decoder.block.#.layer.1.EncDecAttention.v.*"}, \
    {"model.decoder.layers.#.encoder_attn.out_proj.*", "decoder.block.#.layer.1.EncDecAttention.o.*"}, \
    {"model.decoder.layers.#.encoder_attn_layer_norm.*", "decoder.block.#.layer.1.layer_norm.*"}, \
    /* feed-forward without a gate */ \
    {"model.encoder.layers.#.fc1.*", "encoder.block.#.layer.1.DenseReluDense.wi_0.*"}, \
    {"model.encoder.layers.#.fc1.*", "encoder.block.#.layer.1.DenseReluDense.wi.*"}, \
    {"model.encoder.layers.#.fc_gate.*", "encoder.block.#.layer.1.DenseReluDense.wi_1.*"}, \
    {"model.encoder.layers.#.fc2.*", "encoder.block.#.layer.1.DenseReluDense.wo.*"}, \
    {"model.encoder.layers.#.final_layer_norm.*", "encoder.block.#.layer.1.layer_norm.*"}, \
    {"model.decoder.layers.#.fc1.*", "decoder.block.#.layer.2.DenseReluDense.wi_0.*"}, \
    {"model.decoder.layers.#.fc1.*", "decoder.block.#.layer.2.DenseReluDense.wi.*"}, \
    {"model.decoder.layers.#.fc_gate.*", "decoder.block.#.layer.2.DenseReluDense.wi_1.*"}, \
    {"model.decoder.layers.#.fc2.*", "decoder.block.#.layer.2.DenseReluDense.wo.*"}, \
    {"model.decoder.layers.#.final_layer_norm.*", "decoder.block.#.layer.2.layer_norm.*"}, \
    {"model.@.layer_norm.*", "@.final_layer_norm.*"}, \
    {"lm_head.weight", "lm_head.weight"}
/* clang-format on */

/* Fields of struct clf__architecture that T5 and the architectures derived from it share. */
#define CLF__T5_ARCHITECTURE                                                                                 \
    .keys = clf__t5_keys, .specials = {.first = {"<pad>", "</s>", "<unk>"}},                                 \
    .tokenizer_class = "T5Tokenizer", .reads_texts = 1, .has_no_start_token = 1, .ties_by_file = 1

void clf__t5_start(struct clf__config *config, struct clf__config_choices *choices);
/* Reads the head width, the type of the feed-forward and the decoder depth. */
clf_status clf__t5_read(struct clf__config *config, struct clf__config_choices *choices,
                        const struct clf__json *json);
/* clf__t5_read() for models that may scale logits; also reads whether they do. */
clf_status clf__t5_read_scaled(struct clf__config *config, struct clf__config_choices *choices,
                               const struct clf__json *json);
/* Default sizes of mT5 and UMT5. */
void clf__mt5_start(struct clf__config *config, struct clf__config_choices *choices);
extern const struct clf__architecture_key clf__t5_keys[];
/* clf__umt5_names has a relative bias in each layer */
extern const struct clf__tensor_names clf__t5_names, clf__umt5_names;

#endif
