/* A generic encoder-decoder for formats of other engines whose files describe the model completely. */
#include "model/config/architectures/architecture.h"

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    choices->scale = CLF__SCALE_NONE;
    config->sinusoid_layout = CLF__SINUSOID_HALVES;
    config->sinusoid_frequency = CLF__SINUSOID_BY_LAST;
    config->pad_id = config->start_id = config->decoder_start_id = -1;
    config->dropout = config->embedding_dropout = 0.0f;
}

const struct clf__architecture clf__architecture_transformer = {
    .start = start,
    .names = &clf__names_canonical,
};
