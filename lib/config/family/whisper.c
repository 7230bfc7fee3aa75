/* Whisper (Radford et al. 2022), as Hugging Face's folders have it. */
#include "config/family/family.h"

enum { MOST_POSITIONS = 1 << 20 };

static const struct clf__name_rule rules[] = {
    {"lm_head.weight", "proj_out.weight"},
    {"model.*", "*"},
    {"*", "*"},
};

static const char *const frozen[] = {NULL};

static const struct clf__tensor_names names = {rules, sizeof rules / sizeof *rules, frozen};

static const struct clf__family_key keys[] = {
    {"max_position_embeddings", NULL, 0}, /* each side has its own */
    {"feature_size", "num_mel_bins", 0},
    {NULL, NULL, 0},
};

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    clf__family_start_bart(config, choices);
    config->feature_size = 80;
    config->convolves_frames = 1;
    config->encoder_positions = config->decoder_positions =
        CLF__POSITIONS_LEARNED; /* its sinusoids are stored */
    config->encoder_max_positions = 1500;
    config->decoder_max_positions = 448;
    config->source_vocabulary = 0;
    config->target_vocabulary = 51865;
    config->d_model = 384;
    config->encoder_layers = config->decoder_layers = 4;
    config->encoder_heads = config->decoder_heads = 6;
    config->encoder_ffn = config->decoder_ffn = 1536;
    config->norm_first = config->norm_final = 1;
    config->key_bias = 0;
    config->logits_bias = 0;
    config->pad_id = config->start_id = config->end_id = 50256;
    config->decoder_start_id = 50257;
}

static clf_status read(struct clf__config *config, struct clf__config_choices *choices,
                       const struct clf__json *json)
{
    choices->scale = CLF__SCALE_NONE; /* transformers reads "scale_embedding" and scales nothing */
    CLF__TRY(clf__json_int(json, "max_source_positions", 1, MOST_POSITIONS, &config->encoder_max_positions));
    return clf__json_int(json, "max_target_positions", 1, MOST_POSITIONS, &config->decoder_max_positions);
}

const struct clf__family clf__family_whisper = {
    .hugging_face = "whisper",
    .start = start,
    .keys = keys,
    .read = read,
    .names = &names,
    .takes_frames = 1,
    .searches_all_positions = 1,
};
