/* mBART and mBART-50 (Liu et al. 2020, Tang et al. 2020) in Hugging Face folders. */
#include "model/config/architectures/architecture.h"

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    clf__architecture_start_bart(config, choices);
    config->norm_first = config->norm_final = config->norm_embedding = 1;
    config->encoder_positions = config->decoder_positions = CLF__POSITIONS_LEARNED;
    config->position_offset = 2;
    config->decoder_start_id = -1; /* older models start with a language code */
}

const struct clf__architecture clf__architecture_mbart = {
    .hugging_face = "mbart",
    .start = start,
    .names = &clf__names_bare,
    .specials = CLF__BART_SPECIALS,
    .tokenizer_class = "MBartTokenizer",
    .searches_all_positions = 1,
    .keeps_pad_row = 1,
    .stores_embeddings_variously = 1,
    .has_fixed_logits_bias = 1,
};
