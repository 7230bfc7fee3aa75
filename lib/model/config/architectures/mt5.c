/* mT5 (Xue et al. 2021) in Hugging Face folders: T5 v1.1 with unscaled logits. */
#include "model/config/architectures/t5.h"

void clf__mt5_start(struct clf__config *config, struct clf__config_choices *choices)
{
    clf__t5_start(config, choices);
    config->source_vocabulary = config->target_vocabulary = 250112;
    config->encoder_layers = config->decoder_layers = 8;
    config->encoder_heads = config->decoder_heads = 6;
    config->encoder_ffn = config->decoder_ffn = 1024;
    config->activation = CLF__GELU_TANH;
    config->ffn_gated = 1;
}

const struct clf__architecture clf__architecture_mt5 = {
    .hugging_face = "mt5",
    .start = clf__mt5_start,
    .read = clf__t5_read,
    .names = &clf__t5_names,
    CLF__T5_ARCHITECTURE,
};
