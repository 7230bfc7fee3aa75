#include "config/family/family.h"

void clf__family_bias_projections(struct clf__config *config)
{
    config->query_bias = config->key_bias = config->value_bias = config->output_bias = 1;
}

void clf__family_greedy(struct clf__config *config, int max_length)
{
    config->generation.beams = 1;
    config->generation.length_rule = CLF__LENGTH_HUGGINGFACE;
    config->generation.length_penalty = 1;
    config->generation.max_length = max_length;
}
