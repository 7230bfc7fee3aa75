#include "model/config_build.h"

#include <math.h>

const char *clf__system_word(enum clf__system system)
{
    static const char *const words[] = {
#define SYSTEM_WORD(name, word) word,
        CLF__SYSTEM_LIST(SYSTEM_WORD)
#undef SYSTEM_WORD
    };
    return words[system];
}

/* Vaswani 2017, base, with the ids of the BART family. */
static void start_paper(struct clf__config *config, struct clf__config_choices *choices)
{
    *choices = (struct clf__config_choices){.scale = CLF__SCALE_EMBEDDING};
    *config = (struct clf__config){
        .system = CLF__PAPER,
        .source_vocabulary = 37000,
        .target_vocabulary = 37000,
        .d_model = 512,
        .encoder_layers = 6,
        .decoder_layers = 6,
        .encoder_heads = 8,
        .decoder_heads = 8,
        .encoder_ffn = 2048,
        .decoder_ffn = 2048,
        .max_positions = 1024,
        .positions = CLF__POSITIONS_SINUSOID,
        .sinusoid_layout = CLF__SINUSOID_INTERLEAVED,
        .sinusoid_frequency = CLF__SINUSOID_BY_WIDTH,
        .relative_buckets = 32,
        .relative_distance = 128,
        .norm = CLF__NORM_LAYER,
        .norm_epsilon = 1e-6f,
        .attention_scaled = 1,
        .activation = CLF__RELU,
        .ffn_bias = 1,
        .share_source_target = 1,
        .share_target_output = 1,
        .dropout = 0.1f,
        .embedding_dropout = 0.1f,
        .pad_id = 1,
        .start_id = 0,
        .end_id = 2,
        .decoder_start_id = 0,
    };
    config->generation = (struct clf__search_options){
        .beams = 4,
        .n_best = 1,
        .max_length = 256,
        .length_rule = CLF__LENGTH_GNMT,
        .length_penalty = 0.6f,
        .forced_first = -1,
        .forced_last = -1,
    };
}

static void start_greedy(struct clf__config *config, int max_length)
{
    config->generation.beams = 1;
    config->generation.length_rule = CLF__LENGTH_HUGGINGFACE;
    config->generation.length_penalty = 1;
    config->generation.max_length = max_length;
}

static void bias_projections(struct clf__config *config)
{
    config->query_bias = config->key_bias = config->value_bias = config->output_bias = 1;
}

static void start_jadore(struct clf__config *config, struct clf__config_choices *choices)
{
    *choices = (struct clf__config_choices){CLF__SCALE_PROJECTION, 64, 64};
    config->max_positions = 200;
    config->norm_embedding = 1;
    config->attention_dropout = 0.1f;
    config->mask_pad_tokens = 1;
    config->pad_id = 1;
    config->start_id = config->decoder_start_id = 2;
    config->end_id = 3;
    config->generation.beams = 5;
    config->generation.length_rule = CLF__LENGTH_JADORE;
    config->generation.length_penalty = 0.7f;
    config->generation.early_stopping = CLF__STOP_ALL;
    config->generation.max_length = 200;
}

static void start_annotated(struct clf__config *config)
{
    config->max_positions = 5000;
    config->norm = CLF__NORM_STD;
    config->norm_first = config->norm_final = 1;
    bias_projections(config);
    config->share_source_target = config->share_target_output = 0;
    config->logits_bias = 1;
    config->attention_dropout = config->activation_dropout = 0.1f;
    config->mask_pad_tokens = 1;
    config->start_id = config->decoder_start_id = 0;
    config->end_id = 1;
    config->pad_id = 2;
    start_greedy(config, 256);
}

static void start_speech(struct clf__config *config, struct clf__config_choices *choices)
{
    choices->scale = CLF__SCALE_NONE;
    config->source_vocabulary = 0;
    config->target_vocabulary = 32;
    config->feature_size = 80;
    config->max_positions = 5000;
    config->norm_epsilon = 1e-5f;
    bias_projections(config);
    config->share_source_target = config->share_target_output = 0;
    config->logits_bias = 1;
    start_greedy(config, 512);
}

/* What transformers' MarianConfig defaults to. */
static void start_marian(struct clf__config *config, struct clf__config_choices *choices)
{
    choices->scale = CLF__SCALE_NONE;
    config->source_vocabulary = config->target_vocabulary = 58101;
    config->d_model = 1024;
    config->encoder_layers = config->decoder_layers = 12;
    config->encoder_heads = config->decoder_heads = 16;
    config->encoder_ffn = config->decoder_ffn = 4096;
    config->sinusoid_layout = CLF__SINUSOID_HALVES;
    config->norm_epsilon = 1e-5f;
    bias_projections(config);
    config->activation = CLF__GELU_ERF;
    config->logits_bias = 1;
    config->pad_id = config->decoder_start_id = 58100;
    config->start_id = -1;
    config->end_id = 0;
    start_greedy(config, config->max_positions);
}

void clf__config_preset_start(struct clf__config *config, struct clf__config_choices *choices,
                              enum clf__system system)
{
    start_paper(config, choices);
    config->system = system;
    switch (system) {
    case CLF__PAPER:
        break;
    case CLF__MARIAN:
        start_marian(config, choices);
        break;
    case CLF__JADORE:
        start_jadore(config, choices);
        break;
    case CLF__ANNOTATED:
        start_annotated(config);
        break;
    case CLF__SPEECH:
        start_speech(config, choices);
        break;
    case CLF__ILLUSTRATED:
        config->sinusoid_layout = CLF__SINUSOID_HALVES;
        start_greedy(config, 256);
        break;
    }
}

static int head_width(int chosen, int d_model, int heads)
{
    if (chosen > 0) {
        return chosen;
    }
    return d_model % heads == 0 ? d_model / heads : 0;
}

void clf__config_derive(struct clf__config *config, const struct clf__config_choices *choices)
{
    config->encoder_key_width = head_width(choices->key_width, config->d_model, config->encoder_heads);
    config->decoder_key_width = head_width(choices->key_width, config->d_model, config->decoder_heads);
    config->encoder_value_width = head_width(choices->value_width, config->d_model, config->encoder_heads);
    config->decoder_value_width = head_width(choices->value_width, config->d_model, config->decoder_heads);
    enum clf__scale_place scale = choices->scale;
    if (config->system == CLF__JADORE && !config->share_target_output) {
        scale = CLF__SCALE_NONE; /* its code scales only where the target embedding is the projection */
    }
    double root = sqrt(config->d_model);
    config->encoder_embedding_scale = scale == CLF__SCALE_EMBEDDING ? (float)root : 1;
    config->decoder_embedding_scale = config->encoder_embedding_scale;
    config->output_scale = scale == CLF__SCALE_PROJECTION ? (float)(1 / root) : 1;
    int frames_both_ends = config->system == CLF__JADORE || config->system == CLF__ANNOTATED;
    config->source_start_id = frames_both_ends ? config->start_id : -1;
    config->source_end_id = config->feature_size > 0 ? -1 : config->end_id;
    if (config->system == CLF__MARIAN || config->generation.max_length > config->max_positions) {
        config->generation.max_length = config->max_positions;
    }
    config->generation.vocabulary = config->target_vocabulary;
    config->generation.start_id = config->decoder_start_id;
    config->generation.end_id = config->end_id;
}

void clf__config_preset(struct clf__config *out, enum clf__system system)
{
    struct clf__config_choices choices;
    clf__config_preset_start(out, &choices, system);
    clf__config_derive(out, &choices);
}
