/* LongT5 (Guo et al. 2022), as Hugging Face's folders have it: T5 v1.1 whose encoder looks at a window around
 * each token ("local"), and at sums of blocks of the whole source besides ("transient-global"). */
#include "config/family/t5.h"
#include "config/keys.h"

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    clf__t5_start(config, choices);
    config->encoder_mixer = CLF__MIXER_LOCAL;
    config->local_radius = 127;
    config->global_block_size = 16;
}

static clf_status read(struct clf__config *config, struct clf__config_choices *choices,
                       const struct clf__json *json)
{
    enum { MOST = 1 << 20 };
    static const char attention_key[] = "encoder_attention_type";
    int attention = (int)config->encoder_mixer;
    CLF__TRY(clf__config_read_word(json, attention_key,
                                   clf__config_key_find(attention_key, sizeof attention_key - 1)->words,
                                   &attention));
    config->encoder_mixer = (enum clf__mixer_type)attention;
    CLF__TRY(clf__json_int(json, "local_radius", 1, MOST, &config->local_radius));
    CLF__TRY(clf__json_int(json, "global_block_size", 1, MOST, &config->global_block_size));
    return clf__t5_read_scaled(config, choices, json);
}

const struct clf__family clf__family_longt5 = {
    .hugging_face = "longt5",
    .start = start,
    .keys = clf__t5_keys,
    .read = read,
    .names = &clf__longt5_names,
    .specials = {.first = {"<pad>", "</s>", "<unk>"}},
    .tokenizer_class = "T5Tokenizer",
    .reads_texts = 1,
    .has_no_start_token = 1,
    .ties_by_file = 1,
};
