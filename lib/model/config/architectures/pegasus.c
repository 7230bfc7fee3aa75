/* Pegasus (Zhang et al. 2020) in Hugging Face folders. */
#include "model/config/architectures/architecture.h"

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    clf__architecture_start_bart(config, choices);
    config->sinusoid_layout = CLF__SINUSOID_HALVES;
    config->norm_first = config->norm_final = 1;
    config->pad_id = config->decoder_start_id = 0;
    config->start_id = -1;
    config->end_id = 1;
}

const struct clf__architecture clf__architecture_pegasus = {
    .hugging_face = "pegasus",
    .start = start,
    .names = &clf__names_bare,
    .specials = {.first = {"<pad>", "</s>"}},
    .tokenizer_class = "PegasusTokenizer",
    .reads_texts = 1,
    .has_no_start_token = 1,
    .searches_all_positions = 1,
    .keeps_pad_row = 1,
    .stores_sinusoids = {1, 1},
    .stores_embeddings_variously = 1,
    .has_fixed_logits_bias = 1,
};
