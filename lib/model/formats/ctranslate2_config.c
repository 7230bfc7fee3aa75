/* The configuration of a CTranslate2 model, from its tensors, settings and texts (CTranslate2's
 * models/transformer.cc and specs/transformer_spec.py). */
#include "model/formats/ctranslate2.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "model/config/architectures/architecture.h"
#include "model/config/build.h"
#include "model/config/keys.h"

enum {
    LATEST_REVISION = 7,
    NAME_BYTES = 160,
    LONGEST_SOURCE = 1024, /* CTranslate2's default max_input_length; position tables may be shorter */
    NO_LIMIT = 1 << 20,
    MOST_LAYERS = 1024,
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* The state of reading a configuration. */
struct reading {
    struct clf__config *config;
    const struct clf__weights *weights;
    const char *path; /* path of model.bin */
};

/* --- Properties derived from names and shapes of tensors --- */

static const struct clf__stored_tensor *find(const struct reading *reading, int side, const char *rest)
{
    char name[2 * NAME_BYTES];
    snprintf(name, sizeof name, "model.%s.%s", clf__ctranslate2_sides[side], rest);
    return clf__weights_find(reading->weights, name);
}

/* Reads the rows and columns of a weight. Returns CLF_FORMAT if there is no such matrix. */
static clf_status read_shape(const struct reading *reading, int side, const char *rest, int *rows,
                             int *columns)
{
    const struct clf__stored_tensor *tensor = find(reading, side, rest);
    if (tensor == NULL || tensor->dimensions != 2 || tensor->shape[0] < 1 || tensor->shape[1] < 1 ||
        tensor->shape[0] > CLF__MAX_VOCABULARY || tensor->shape[1] > CLF__CONFIG_MOST_WIDTH) {
        return clf__fail(CLF_FORMAT, "%s: the matrix \"model.%s.%s\" is %s; download the file again",
                         reading->path, clf__ctranslate2_sides[side], rest,
                         tensor == NULL ? "missing" : "no matrix");
    }
    *rows = (int)tensor->shape[0];
    *columns = (int)tensor->shape[1];
    return CLF_OK;
}

static int count_layers(const struct reading *reading, int side)
{
    int count = 0;
    char rest[NAME_BYTES];
    do {
        snprintf(rest, sizeof rest, "layers.%d.self_attn.q_proj.weight", count);
    } while (find(reading, side, rest) != NULL && ++count < MOST_LAYERS);
    return count;
}

static int same_place(const struct clf__stored_tensor *a, const struct clf__stored_tensor *b)
{
    return a != NULL && b != NULL && a->offset == b->offset;
}

/* Determines whether the encoder's input is tokens or frames (which pass through convolutions). */
static clf_status read_source(const struct reading *reading)
{
    struct clf__config *config = reading->config;
    const struct clf__stored_tensor *convolution = find(reading, 0, "conv1.weight");
    int width;
    if (convolution == NULL) {
        return read_shape(reading, 0, "embed_tokens.weight", &config->source_vocabulary, &width);
    }
    const int64_t *shape = convolution->shape;
    if (convolution->dimensions != 3 || shape[1] < 1 || shape[1] > CLF__CONFIG_MOST_WIDTH) {
        return clf__fail(
            CLF_FORMAT,
            "%s: \"encoder/conv1/weight\" is not a three-dimensional convolution; download the file again",
            reading->path);
    }
    config->convolves_frames = 1;
    config->source_vocabulary = 0;
    config->feature_size = (int)shape[1];
    return CLF_OK;
}

static clf_status read_sizes(const struct reading *reading)
{
    struct clf__config *config = reading->config;
    int keys = 0, width;
    CLF__TRY(read_source(reading));
    CLF__TRY(read_shape(reading, 1, "embed_tokens.weight", &config->target_vocabulary, &config->d_model));
    config->encoder_layers = count_layers(reading, 0);
    config->decoder_layers = count_layers(reading, 1);
    if (config->encoder_layers == 0 || config->decoder_layers == 0) {
        return clf__fail(CLF_UNSUPPORTED, "%s: no %s layers; use an encoder-decoder", reading->path,
                         clf__ctranslate2_sides[config->encoder_layers != 0]);
    }
    CLF__TRY(read_shape(reading, 0, "layers.0.fc1.weight", &config->encoder_ffn, &width));
    CLF__TRY(read_shape(reading, 1, "layers.0.fc1.weight", &config->decoder_ffn, &width));
    /* The default number of heads is 16 for TransformerBig, otherwise 8. */
    const char *name = clf__ctranslate2_specification(reading->weights).name;
    int heads = name != NULL && strcmp(name, "TransformerBig") == 0 ? 16 : 8;
    config->encoder_heads = config->decoder_heads = heads;
    CLF__TRY(clf__ctranslate2_read_int(reading->weights, 0, "num_heads", 1, CLF__CONFIG_MOST_WIDTH,
                                       &config->encoder_heads));
    CLF__TRY(clf__ctranslate2_read_int(reading->weights, 1, "num_heads", 1, CLF__CONFIG_MOST_WIDTH,
                                       &config->decoder_heads));
    CLF__TRY(read_shape(reading, 0, "layers.0.self_attn.q_proj.weight", &keys, &width));
    if (keys % config->encoder_heads != 0 || keys % config->decoder_heads != 0) {
        return clf__fail(
            CLF_FORMAT,
            "%s: the %d columns of the keys are not divisible by %d and %d heads; download the file again",
            reading->path, keys, config->encoder_heads, config->decoder_heads);
    }
    config->encoder_key_width = config->encoder_value_width = keys / config->encoder_heads;
    config->decoder_key_width = config->decoder_value_width = keys / config->decoder_heads;
    return CLF_OK;
}

/* Reads a flag that must be the same in encoder and decoder. */
static clf_status read_switch(const struct reading *reading, const char *rest, int *out)
{
    int encoder = find(reading, 0, rest) != NULL, decoder = find(reading, 1, rest) != NULL;
    *out = encoder;
    return encoder == decoder
               ? CLF_OK
               : clf__fail(CLF_UNSUPPORTED,
                           "%s: \"%s\" exists only in the %s, which is not supported; use the original model",
                           reading->path, rest, clf__ctranslate2_sides[!encoder]);
}

/* Reads a number that must be the same in encoder and decoder. */
static clf_status read_shared(const struct reading *reading, const char *word, int high, int fallback,
                              int *out)
{
    int encoder = fallback, decoder = fallback;
    CLF__TRY(clf__ctranslate2_read_int(reading->weights, 0, word, 0, high, &encoder));
    CLF__TRY(clf__ctranslate2_read_int(reading->weights, 1, word, 0, high, &decoder));
    *out = encoder;
    return encoder == decoder ? CLF_OK
                              : clf__fail(CLF_UNSUPPORTED,
                                          "%s: \"%s\" is %d in the encoder and %d in the decoder, which is "
                                          "not supported; use a model with equal values",
                                          reading->path, word, encoder, decoder);
}

static clf_status read_norms(const struct reading *reading, float epsilon)
{
    struct clf__config *config = reading->config;
    CLF__TRY(read_switch(reading, "layer_norm.weight", &config->norm_final));
    CLF__TRY(read_switch(reading, "layernorm_embedding.weight", &config->norm_embedding));
    CLF__TRY(read_shared(reading, "pre_norm", 1, 1, &config->norm_first));
    int has_shift = find(reading, 0, "layers.0.self_attn_layer_norm.bias") != NULL;
    config->norm = has_shift ? CLF__NORM_LAYER : CLF__NORM_RMS;
    config->norm_epsilon = has_shift ? 1e-5f : 1e-6f;
    config->norm_epsilon = epsilon > 0.0f ? epsilon : config->norm_epsilon;
    return CLF_OK;
}

/* Reads the activation, stored as a code. */
static clf_status read_activation(const struct reading *reading)
{
    static const struct {
        enum clf__activation activation;
        const char *refused;
    } codes[] = {{CLF__RELU, NULL},
                 {CLF__GELU_TANH, NULL},
                 {CLF__SILU, NULL},
                 {CLF__GELU_ERF, NULL},
                 {CLF__RELU, "GELU with a sigmoid"},
                 {CLF__RELU, "tanh"},
                 {CLF__RELU, "the sigmoid"}};
    int code = 0;
    /* For frames, the defaults are GELU and pre-norm. */
    CLF__TRY(read_shared(reading, "activation", (int)COUNT(codes) - 1,
                         reading->config->convolves_frames ? 3 : 0, &code));
    if (codes[code].refused != NULL) {
        return clf__fail(CLF_UNSUPPORTED, "%s: the activation %s is not supported; use another model",
                         reading->path, codes[code].refused);
    }
    reading->config->activation = codes[code].activation;
    CLF__TRY(read_switch(reading, "layers.0.fc_gate.weight", &reading->config->ffn_gated));
    return read_switch(reading, "layers.0.fc1.bias", &reading->config->ffn_bias);
}

/* Checks that all layers scale queries by the same factor. */
static clf_status check_queries_scales(const struct reading *reading, float expected)
{
    for (int i = 0; i < clf__weights_count(reading->weights); i++) {
        const struct clf__stored_tensor *tensor = clf__weights_at(reading->weights, i);
        float scale = expected;
        if (tensor->dimensions == 0 && clf__ends_with(tensor->name, "/queries_scale")) {
            CLF__TRY(clf__ctranslate2_read_number(tensor, &scale));
        }
        if (fabsf(scale - expected) > 1e-6f) {
            return clf__fail(CLF_UNSUPPORTED,
                             "%s: \"%.100s\" is %g, but %g in the first encoder layer; only one value for "
                             "all layers is supported",
                             reading->path, tensor->name, (double)scale, (double)expected);
        }
    }
    return CLF_OK;
}

/* Reads whether queries are scaled by 1 / sqrt(K), the default. */
static clf_status read_attention(const struct reading *reading)
{
    struct clf__config *config = reading->config;
    float usual = 1.0f / sqrtf((float)config->encoder_key_width), scale;
    int has_bias = 0;
    CLF__TRY(read_switch(reading, "layers.0.self_attn.q_proj.bias", &has_bias));
    config->query_bias = config->key_bias = config->value_bias = has_bias;
    CLF__TRY(read_switch(reading, "layers.0.self_attn.out_proj.bias", &config->output_bias));
    CLF__TRY(clf__ctranslate2_read_setting(reading->weights, 0, "layer_0/self_attention/queries_scale", usual,
                                           &scale));
    CLF__TRY(check_queries_scales(reading, scale));
    config->attention_scaled = fabsf(scale - usual) < 1e-6f * usual;
    if (!config->attention_scaled && fabsf(scale - 1.0f) > 1e-6f) {
        return clf__fail(
            CLF_UNSUPPORTED,
            "%s: \"queries_scale\" is %g, but only 1 and 1/sqrt(head width) are supported; use another model",
            reading->path, (double)scale);
    }
    return CLF_OK;
}

/* --- Positions and embeddings --- */

static clf_status read_positions(const struct reading *reading, int side, enum clf__positions_kind *kind,
                                 int *limit)
{
    int width;
    struct clf__config *config = reading->config;
    const struct clf__stored_tensor *bias = find(reading, side, "relative_attention_bias.weight");
    if (find(reading, side, "embed_positions.weight") != NULL) {
        *kind = CLF__POSITIONS_LEARNED;
        return read_shape(reading, side, "embed_positions.weight", limit, &width);
    }
    *limit = side == 0 ? LONGEST_SOURCE : NO_LIMIT;
    *kind = bias != NULL ? CLF__POSITIONS_RELATIVE : CLF__POSITIONS_SINUSOID;
    if (bias == NULL) {
        config->position_offset = 1; /* OpenNMT-tf counts positions from 1 */
        return CLF_OK;
    }
    CLF__TRY(read_shape(reading, side, "relative_attention_bias.weight", &config->relative_buckets, &width));
    return clf__ctranslate2_read_int(reading->weights, side,
                                     "layer_0/self_attention/relative_attention_max_distance", 1, NO_LIMIT,
                                     &config->relative_distance);
}

static clf_status read_both_positions(const struct reading *reading)
{
    struct clf__config *config = reading->config;
    CLF__TRY(read_positions(reading, 0, &config->encoder_positions, &config->encoder_max_positions));
    CLF__TRY(read_positions(reading, 1, &config->decoder_positions, &config->decoder_max_positions));
    if (config->encoder_positions != config->decoder_positions) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: encoder and decoder have different types of positions, which is not supported; "
                         "use another model",
                         reading->path);
    }
    return CLF_OK;
}

/* Reads the embedding scale. An integer turns the factor sqrt(D) on or off; it is on by default. */
static clf_status read_embedding_scale(const struct reading *reading, int side, float *out)
{
    const struct clf__stored_tensor *setting =
        clf__ctranslate2_find_setting(reading->weights, side, "scale_embeddings");
    setting = setting != NULL ? setting
                              : clf__ctranslate2_find_setting(reading->weights, side,
                                                              "embeddings/multiply_by_sqrt_depth");
    float value = 1.0f;
    int is_switch = setting == NULL || setting->type >= CLF__STORED_I8;
    if (setting != NULL) {
        CLF__TRY(clf__ctranslate2_read_number(setting, &value));
    }
    *out = !is_switch ? value : value != 0.0f ? sqrtf((float)reading->config->d_model) : 1.0f;
    return CLF_OK;
}

static clf_status read_embeddings(const struct reading *reading)
{
    struct clf__config *config = reading->config;
    const struct clf__stored_tensor *projection = clf__weights_find(reading->weights, "lm_head.weight");
    const struct clf__stored_tensor *source = find(reading, 0, "embed_tokens.weight");
    const struct clf__stored_tensor *target = find(reading, 1, "embed_tokens.weight");
    config->precision = clf__stored_tensor_is_int8(target) ? CLF__PRECISION_INT8 : CLF__PRECISION_FP32;
    CLF__TRY(clf__format_read_precision(config, reading->weights));
    config->share_source_target = source != NULL && same_place(source, target);
    config->share_target_output = same_place(target, projection);
    config->logits_bias = clf__weights_find(reading->weights, "final_logits_bias") != NULL;
    config->encoder_embedding_scale = 1.0f; /* frames have no embedding */
    CLF__TRY(source != NULL ? read_embedding_scale(reading, 0, &config->encoder_embedding_scale) : CLF_OK);
    CLF__TRY(read_embedding_scale(reading, 1, &config->decoder_embedding_scale));
    return clf__ctranslate2_read_setting(reading->weights, 1, "scale_outputs", 1.0f, &config->output_scale);
}

/* Reads the alignment heads; the default is one head of the last layer. Negative layers count from the end:
 * -1 is the last. */
static clf_status read_alignment(const struct reading *reading)
{
    struct clf__config *config = reading->config;
    int layer = -1, layers = config->decoder_layers;
    config->alignment_heads = 1;
    CLF__TRY(clf__ctranslate2_read_int(reading->weights, 1, "alignment_layer", -layers, layers - 1, &layer));
    CLF__TRY(clf__ctranslate2_read_int(reading->weights, 1, "alignment_heads", 0, config->decoder_heads,
                                       &config->alignment_heads));
    config->alignment_layer = 1 + (layer < 0 ? layers + layer : layer);
    return CLF_OK;
}

/* --- Tokens and decoding --- */

static clf_status find_token(int *id, const struct clf__vocabulary *vocabulary, const char *token,
                             int is_needed)
{
    *id = token != NULL ? clf__vocabulary_id(vocabulary, token, strlen(token)) : -1;
    return *id >= 0 || !is_needed
               ? CLF_OK
               : clf__fail(CLF_FORMAT, "%s: the end token \"%.80s\" is missing; download the file again",
                           vocabulary->path, token != NULL ? token : "eos_token");
}

static clf_status set_tokens(const struct reading *reading, const struct clf__ctranslate2_tokens *tokens,
                             const struct clf__ctranslate2_vocabulary *vocabulary)
{
    struct clf__config *config = reading->config;
    const struct clf__vocabulary *source = &vocabulary->source;
    const struct clf__vocabulary *target = vocabulary->target.size > 0 ? &vocabulary->target : source;
    int zero = 0, source_id = -1;
    CLF__TRY(find_token(&config->end_id, target, tokens->end, 1));
    CLF__TRY(find_token(&config->start_id, target, tokens->start, 0));
    CLF__TRY(find_token(&config->decoder_start_id, target, tokens->decoder_start, 0));
    CLF__TRY(clf__ctranslate2_read_int(reading->weights, 1, "start_from_zero_embedding", 0, 1, &zero));
    config->start_is_given = !zero && tokens->decoder_start == NULL;
    if (zero) { /* decoding starts from an embedding of zeros, which has id -1 */
        config->decoder_start_id = -1;
    } else if (!config->start_is_given && config->decoder_start_id < 0) {
        return clf__fail(
            CLF_UNSUPPORTED,
            "%s: the decoder's start token \"%.80s\" is not in the vocabulary; use the original model",
            reading->path, tokens->decoder_start);
    }
    CLF__TRY(find_token(&source_id, source, tokens->end, tokens->adds_end));
    config->source_end_id = tokens->adds_end ? source_id : -1;
    CLF__TRY(find_token(&source_id, source, tokens->start, tokens->adds_start));
    config->source_start_id = tokens->adds_start ? source_id : -1;
    config->separate_vocabularies = vocabulary->target.size > 0;
    return CLF_OK;
}

/* Sets CTranslate2's decoding defaults. */
static void set_generation(struct clf__config *config)
{
    enum { LONGEST_OUTPUT = 256, BEAMS = 2 };
    int limit = config->decoder_max_positions;
    struct clf__search_options *options = &config->generation; /* initialised by preset */
    options->beams = BEAMS;
    options->vocabulary = config->target_vocabulary;
    options->start_id = config->decoder_start_id;
    options->end_id = config->end_id;
    options->min_length =
        config->convolves_frames
            ? 0
            : 2; /* one token and the end token; 0 for recordings because they may be silent */
    options->max_length = limit < LONGEST_OUTPUT ? limit : LONGEST_OUTPUT;
    options->length_rule = CLF__LENGTH_HUGGINGFACE;
    options->length_penalty = 1.0;
    options->early_stopping = CLF__STOP_CTRANSLATE2;
    options->renormalize = 1;
    options->divides_greedy = options->skips_start = 1;
    options->counts_prompt = 1;
}

static clf_status read_text(const struct reading *reading, const char *folder)
{
    struct clf__ctranslate2_tokens tokens;
    struct clf__ctranslate2_vocabulary vocabulary = {.source = {.size = 0}};
    CLF__TRY(clf__ctranslate2_read_tokens(&tokens, folder, reading->weights));
    clf_status status = clf__ctranslate2_load_vocabulary(&vocabulary, folder, tokens.unknown);
    if (status == CLF_OK) {
        status = set_tokens(reading, &tokens, &vocabulary);
    }
    if (status == CLF_OK) {
        status = read_norms(reading, tokens.norm_epsilon);
    }
    clf__ctranslate2_free_vocabulary(&vocabulary);
    clf__ctranslate2_free_tokens(&tokens);
    return status;
}

static clf_status read_frames_decoding(struct clf__config *config, const char *folder)
{
    struct clf__json json;
    CLF__TRY(clf__json_load_in(&json, folder, "config.json"));
    clf_status status = clf__config_read_suppressed(config, &json, "suppress_ids", "suppress_ids_begin");
    if (status == CLF_OK) {
        status = clf__config_read_word_heads(config, &json);
    }
    clf__json_free(&json);
    return status;
}

/* Sets the tokens of a model whose input is frames: CTranslate2 defines their names, and only the target has
 * a vocabulary. */
static clf_status read_frames_text(const struct reading *reading, const char *folder)
{
    static char end[] = CLF__CTRANSLATE2_FRAMES_END, start[] = "<|startoftranscript|>";
    const struct clf__ctranslate2_tokens tokens = {
        .unknown = end, .end = end, .start = end, .decoder_start = start};
    struct clf__ctranslate2_vocabulary vocabulary;
    CLF__TRY(clf__ctranslate2_load_vocabulary(&vocabulary, folder, tokens.unknown));
    clf_status status = set_tokens(reading, &tokens, &vocabulary);
    clf__ctranslate2_free_vocabulary(&vocabulary);
    CLF__TRY(status);
    CLF__TRY(read_norms(reading, 0.0f));
    return read_frames_decoding(reading->config, folder);
}

static clf_status check_specification(const struct reading *reading)
{
    static const char *const known[] = {"", "TransformerBase", "TransformerBig", "TransformerSpec",
                                        "WhisperSpec"};
    struct clf__specification specification = clf__ctranslate2_specification(reading->weights);
    if (!clf__ctranslate2_is_listed(specification.name, known, COUNT(known))) {
        return clf__fail(
            CLF_UNSUPPORTED,
            "%s: the specification %.60s is not supported; use an encoder-decoder (TransformerSpec)",
            reading->path, specification.name);
    }
    return specification.revision <= LATEST_REVISION
               ? CLF_OK
               : clf__fail(CLF_UNSUPPORTED,
                           "%s: revision %d of %s is not supported, only revisions up to %d; convert the "
                           "model with an older release of CTranslate2",
                           reading->path, specification.revision, specification.name, LATEST_REVISION);
}

static clf_status read_all(const struct reading *reading, const char *folder)
{
    CLF__TRY(check_specification(reading));
    CLF__TRY(clf__ctranslate2_check_settings(reading->weights));
    CLF__TRY(read_sizes(reading));
    CLF__TRY(read_activation(reading));
    CLF__TRY(read_attention(reading));
    CLF__TRY(read_both_positions(reading));
    CLF__TRY(read_embeddings(reading));
    CLF__TRY(read_alignment(reading));
    CLF__TRY(reading->config->convolves_frames ? read_frames_text(reading, folder)
                                               : read_text(reading, folder));
    set_generation(reading->config);
    return CLF_OK;
}

clf_status clf__ctranslate2_read_config(struct clf__config *out, const char *folder)
{
    struct clf__config_choices choices;
    struct clf__weights *weights;
    enum clf__architecture_id id = (enum clf__architecture_id)0;
    clf__architecture_find(&id, CLF__DESCRIBED_ARCHITECTURE);
    clf__config_preset_start(out, &choices, id);
    CLF__TRY(clf__ctranslate2_open_model(&weights, folder, CLF__CTRANSLATE2_ALL));
    struct reading reading = {out, weights, clf__weights_path(weights)};
    clf_status status = read_all(&reading, folder);
    clf__weights_close(weights);
    return status;
}
