/* UMT5 (Chung et al. 2023) in Hugging Face folders: T5 v1.1 with a relative bias in each layer. Logits are
 * unscaled if embeddings are untied, as in transformers before version 5; later versions always scale them.
 * Scaling changes scores and beams, but not greedy output. */
#include "model/config/architectures/t5.h"

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    clf__mt5_start(config, choices);
    config->relative_each_layer = 1;
}

const struct clf__architecture clf__architecture_umt5 = {
    .hugging_face = "umt5",
    .start = start,
    .read = clf__t5_read_scaled,
    .names = &clf__umt5_names,
    CLF__T5_ARCHITECTURE,
};
