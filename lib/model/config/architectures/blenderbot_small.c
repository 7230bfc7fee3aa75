/* Blenderbot Small (Roller et al. 2020, 90 million parameters) in Hugging Face folders. The decoder
 * normalises the token embedding, the encoder the sum of token and position embedding. */
#include "model/config/architectures/architecture.h"

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    clf__architecture_start_bart(config, choices);
    config->d_model = 512;
    config->encoder_layers = config->decoder_layers = 8;
    config->encoder_ffn = config->decoder_ffn = 2048;
    config->encoder_max_positions = config->decoder_max_positions = 512;
    config->encoder_positions = config->decoder_positions = CLF__POSITIONS_LEARNED;
    config->norm_embedding = config->norm_decoder_tokens = 1;
    config->pad_id = 0;
    config->start_id = config->decoder_start_id = 1;
}

const struct clf__architecture clf__architecture_blenderbot_small = {
    .hugging_face = "blenderbot-small",
    .start = start,
    .names = &clf__names_bare,
    .specials = {.first = {"__null__", "__start__", "__end__", "__unk__"}},
    .tokenizer_class = "BlenderbotSmallTokenizer",
    .reads_texts = 1,
    .leaves_sources_open = 1,
    .searches_all_positions = 1,
    .keeps_pad_row = 1,
    .stores_embeddings_variously = 1,
    .has_fixed_logits_bias = 1,
};
