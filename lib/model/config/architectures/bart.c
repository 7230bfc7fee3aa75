/* BART (Lewis et al. 2020) in Hugging Face folders. */
#include "model/config/architectures/architecture.h"

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    clf__architecture_start_bart(config, choices);
    config->norm_embedding = 1;
    config->encoder_positions = config->decoder_positions = CLF__POSITIONS_LEARNED;
    config->position_offset = 2; /* fairseq's offset; the table contains the extra rows */
}

const struct clf__architecture clf__architecture_bart = {
    .hugging_face = "bart",
    .start = start,
    .names = &clf__names_bare,
    .specials = CLF__BART_SPECIALS,
    .tokenizer_class = "BartTokenizer",
    .reads_texts = 1,
    .frames_sources = 1,
    .searches_all_positions = 1,
    .keeps_pad_row = 1,
    .stores_embeddings_variously = 1,
    .has_fixed_logits_bias = 1,
};
