/* UMT5 (Chung et al. 2023), as Hugging Face's folders have it: T5 v1.1 with a relative bias in each layer.
 * Where the file says that words are not tied, the logits are not scaled, as up to transformers 4;
 * transformers 5 scales them always, which changes scores and beams and no greedy word. */
#include "config/family/t5.h"

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    clf__mt5_start(config, choices);
    config->relative_each_layer = 1;
}

const struct clf__family clf__family_umt5 = {
    .hugging_face = "umt5",
    .start = start,
    .keys = clf__t5_keys,
    .read = clf__t5_read_scaled,
    .names = &clf__umt5_names,
    .specials = {.first = {"<pad>", "</s>", "<unk>"}},
    .tokenizer_class = "T5Tokenizer",
    .reads_texts = 1,
    .has_no_start_token = 1,
    .ties_by_file = 1,
};
