#include "model/config/architectures/architecture.h"

void clf__architecture_bias_projections(struct clf__config *config)
{
    config->query_bias = config->key_bias = config->value_bias = config->output_bias = 1;
}

void clf__architecture_greedy(struct clf__config *config, int max_length)
{
    config->generation.beams = 1;
    config->generation.length_rule = CLF__LENGTH_HUGGINGFACE;
    config->generation.length_penalty = 1;
    config->generation.max_length = max_length;
}

void clf__architecture_start_bart(struct clf__config *config, struct clf__config_choices *choices)
{
    choices->scale = CLF__SCALE_NONE;
    config->source_vocabulary = config->target_vocabulary = 50265;
    config->d_model = 1024;
    config->encoder_layers = config->decoder_layers = 12;
    config->encoder_heads = config->decoder_heads = 16;
    config->encoder_ffn = config->decoder_ffn = 4096;
    config->norm_epsilon = 1e-5f;
    clf__architecture_bias_projections(config);
    config->activation = CLF__GELU_ERF;
    config->logits_bias = 1;
    config->decoder_start_id = config->end_id;
    clf__architecture_greedy(config, config->decoder_max_positions);
}
