/* Blenderbot (Roller et al. 2020) in Hugging Face folders. The small model is a separate architecture. */
#include "model/config/architectures/architecture.h"

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    clf__architecture_start_bart(config, choices);
    config->source_vocabulary = config->target_vocabulary = 8008;
    config->d_model = 2560;
    config->encoder_layers = 2;
    config->decoder_layers = 24;
    config->encoder_heads = config->decoder_heads = 32;
    config->encoder_ffn = config->decoder_ffn = 10240;
    config->encoder_max_positions = config->decoder_max_positions = 128;
    config->encoder_positions = config->decoder_positions = CLF__POSITIONS_LEARNED;
    config->norm_first = config->norm_final = 1;
    config->pad_id = 0;
    config->start_id = config->decoder_start_id = 1;
}

const struct clf__architecture clf__architecture_blenderbot = {
    .hugging_face = "blenderbot",
    .start = start,
    .names = &clf__names_bare,
    .specials = {.first = {"<pad>", "<s>", "</s>"}},
    .tokenizer_class = "BlenderbotTokenizer",
    .reads_texts = 1,
    .searches_all_positions = 1,
    .keeps_pad_row = 1,
    .stores_embeddings_variously = 1,
    .has_fixed_logits_bias = 1,
};
