#include "model/config/build.h"

#include <math.h>

#include "model/config/architectures/architecture.h"
#include "model/config/config.h"

/* The base model of Vaswani et al. 2017, with the ids of BART. */
static void start_paper(struct clf__config *config, struct clf__config_choices *choices)
{
    *choices = (struct clf__config_choices){.scale = CLF__SCALE_EMBEDDING};
    *config = (struct clf__config){
        .source_vocabulary = 37000,
        .target_vocabulary = 37000,
        .d_model = 512,
        .encoder_layers = 6,
        .decoder_layers = 6,
        .encoder_heads = 8,
        .decoder_heads = 8,
        .encoder_ffn = 2048,
        .decoder_ffn = 2048,
        .encoder_max_positions = 1024,
        .decoder_max_positions = 1024,
        .encoder_positions = CLF__POSITIONS_SINUSOID,
        .decoder_positions = CLF__POSITIONS_SINUSOID,
        .sinusoid_layout = CLF__SINUSOID_INTERLEAVED,
        .sinusoid_frequency = CLF__SINUSOID_BY_WIDTH,
        .relative_buckets = 32,
        .relative_distance = 128,
        .norm = CLF__NORM_LAYER,
        .norm_epsilon = 1e-6f,
        .frame_stack = 1,
        .frame_step = 1,
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
        .groups = 1,
        .max_length = 256,
        .length_rule = CLF__LENGTH_GNMT,
        .length_penalty = 0.6f,
        .forced_last = -1,
        .patience = 1,
        .repetition_penalty = 1,
        .source_repetition_penalty = 1,
        .decay_factor = 1,
        .sampling = {.temperature = 1, .top_k = 50, .top_p = 1, .typical_p = 1},
    };
    config->forced_first = -1;
}

void clf__config_preset_start(struct clf__config *config, struct clf__config_choices *choices,
                              enum clf__architecture_id id)
{
    start_paper(config, choices);
    config->architecture = id;
    const struct clf__architecture *architecture = clf__architecture_of(id);
    if (architecture->start) {
        architecture->start(config, choices);
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
    const struct clf__architecture *architecture = clf__architecture_of(config->architecture);
    config->encoder_key_width = head_width(choices->key_width, config->d_model, config->encoder_heads);
    config->decoder_key_width = head_width(choices->key_width, config->d_model, config->decoder_heads);
    config->encoder_value_width = head_width(choices->value_width, config->d_model, config->encoder_heads);
    config->decoder_value_width = head_width(choices->value_width, config->d_model, config->decoder_heads);
    enum clf__scale_place scale = choices->scale;
    if (architecture->scales_tied_projection_alone && !config->share_target_output) {
        scale = CLF__SCALE_NONE;
    }
    double root = sqrt(config->d_model);
    config->encoder_embedding_scale = scale == CLF__SCALE_EMBEDDING ? (float)root : 1;
    /* transformers does not scale token embeddings that the decoder normalises; scaling would only change the
     * effect of epsilon. */
    config->decoder_embedding_scale = config->norm_decoder_tokens ? 1 : config->encoder_embedding_scale;
    config->output_scale = scale == CLF__SCALE_PROJECTION ? (float)(1 / root) : 1;
    config->source_start_id = architecture->frames_sources ? config->start_id : -1;
    int has_end = config->feature_size == 0 && !architecture->leaves_sources_open;
    config->source_end_id = has_end ? config->end_id : -1;
    if (architecture->searches_all_positions ||
        config->generation.max_length > config->decoder_max_positions) {
        config->generation.max_length = config->decoder_max_positions;
    }
    config->generation.vocabulary = config->target_vocabulary;
    config->generation.start_id = config->decoder_start_id;
    config->generation.end_id = config->end_id;
}

void clf__config_preset(struct clf__config *out, enum clf__architecture_id id)
{
    struct clf__config_choices choices;
    clf__config_preset_start(out, &choices, id);
    clf__config_derive(out, &choices);
}
