/* MarianMT (Junczys-Dowmunt et al. 2018) in Hugging Face folders. */
#include "model/config/architectures/architecture.h"
#include "model/config/write.h"

/* Sets the defaults of transformers' MarianConfig. */
static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    clf__architecture_start_bart(config, choices);
    config->source_vocabulary = config->target_vocabulary = 58101;
    config->sinusoid_layout = CLF__SINUSOID_HALVES;
    config->pad_id = config->decoder_start_id = 58100;
    config->start_id = -1;
    config->end_id = 0;
}

/* Writes keys that transformers requires, and values of OPUS-MT models that differ from transformers'
 * defaults.
 */
static int describe(json_t *config, json_t *generation, const struct clf__model_description *description)
{
    json_t *values = json_pack(
        "{ss s[s] sb ss sb sb sb sb sf sf sf ss si si si si si si si si}", "model_type", "marian",
        "architectures", "MarianMTModel", "is_encoder_decoder", 1, "activation_function", "swish",
        "scale_embedding", 1, "static_position_embeddings", 1, "share_encoder_decoder_embeddings",
        !description->separate_vocabularies, "tie_word_embeddings", 1, "dropout", 0.1, "attention_dropout",
        0.0, "activation_dropout", 0.0, "dtype", "float32", "d_model", 512, "encoder_layers", 6,
        "decoder_layers", 6, "encoder_attention_heads", 8, "decoder_attention_heads", 8, "encoder_ffn_dim",
        2048, "decoder_ffn_dim", 2048, "max_position_embeddings", 512);
    json_t *decoding = json_pack("{si s[[i]] si sb}", "num_beams", 4, "bad_words_ids", description->pad_id,
                                 "forced_eos_token_id", description->end_id, "renormalize_logits", 1);
    int failed = json_object_update_new(config, values) != 0;
    return json_object_update_new(generation, decoding) != 0 || failed;
}

static struct clf__initial initial(const struct clf__config *config, enum clf__role role,
                                   const struct clf__shape *shape)
{
    (void)config;
    (void)shape;
    return role == CLF__BIAS ? clf__initial_constant(0.0f) : clf__initial_normal(0.02);
}

/* In MarianMT, <pad> is the last id. With vocabularies of different sizes, that would give source and target
 * different pad ids, but a model has only one. */
static const struct clf__specials separate = {.first = {"</s>", "<unk>", "<pad>"}};

const struct clf__architecture clf__architecture_marian = {
    .hugging_face = "marian",
    .start = start,
    .describe = describe,
    .initial = initial,
    .names = &clf__names_bare,
    .specials = {.first = {"</s>", "<unk>"}, .last = "<pad>"},
    .tokenizer_class = "MarianTokenizer",
    .separate_specials = &separate,
    .has_no_start_token = 1,
    .searches_all_positions = 1,
    .keeps_pad_row = 1,
    .keeps_tied_pad_row = 1,
    .begins_with_zero_pad = 1,
    .has_fixed_logits_bias = 1,
    .stores_embeddings_variously = 1,
    .recipe = {{"schedule", "inverse-sqrt"}},
};
