/* M2M100 and dense NLLB models (Fan et al. 2020, NLLB team 2022) in Hugging Face folders. */
#include "model/config/architectures/architecture.h"

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    clf__architecture_start_bart(config, choices);
    choices->scale = CLF__SCALE_EMBEDDING;
    config->source_vocabulary = config->target_vocabulary = 128112;
    config->sinusoid_layout = CLF__SINUSOID_HALVES;
    config->sinusoid_frequency = CLF__SINUSOID_BY_LAST;
    config->position_padding_aware = 1;
    config->norm_first = config->norm_final = 1;
    config->activation = CLF__RELU;
    config->logits_bias = 0;
}

/* Sets the position offset: the first position uses the row after the pad token's row. */
static clf_status read(struct clf__config *config, struct clf__config_choices *choices,
                       const struct clf__json *json)
{
    (void)choices;
    (void)json;
    config->position_offset = config->pad_id + 1;
    return CLF_OK;
}

const struct clf__architecture clf__architecture_m2m100 = {
    .hugging_face = "m2m_100",
    .start = start,
    .read = read,
    .names = &clf__names_bare,
    .specials = CLF__BART_SPECIALS,
    .tokenizer_class = "M2M100Tokenizer",
    .searches_all_positions = 1,
    .keeps_pad_row = 1,
    .stores_embeddings_variously = 1,
};
