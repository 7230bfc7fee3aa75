#include <stddef.h>
#include <string.h>

#include "base/log.h"
#include "model/config_build.h"
#include "model/family.h"

enum { MAX_LAYERS = 4096, MAX_HEADS = 4096, MAX_WIDTH = 65536 };
enum { MAX_FFN = 1 << 20, MAX_POSITIONS = 1 << 20 };

/* A whole number of the file and its field. */
struct number_key {
    const char *key;
    size_t field;
    int low, high;
};
#define NUMBER(key, field, low, high)                                                                        \
    {                                                                                                        \
        key, offsetof(struct clf__config, field), low, high                                                  \
    }

struct flag_key {
    const char *key;
    size_t field;
};
#define FLAG(key, field)                                                                                     \
    {                                                                                                        \
        key, offsetof(struct clf__config, field)                                                             \
    }

static const struct number_key sizes[] = {
    NUMBER("d_model", d_model, 1, MAX_WIDTH),
    NUMBER("encoder_layers", encoder_layers, 1, MAX_LAYERS),
    NUMBER("decoder_layers", decoder_layers, 1, MAX_LAYERS),
    NUMBER("encoder_attention_heads", encoder_heads, 1, MAX_HEADS),
    NUMBER("decoder_attention_heads", decoder_heads, 1, MAX_HEADS),
    NUMBER("encoder_ffn_dim", encoder_ffn, 1, MAX_FFN),
    NUMBER("decoder_ffn_dim", decoder_ffn, 1, MAX_FFN),
    NUMBER("max_position_embeddings", max_positions, 1, MAX_POSITIONS),
};

/* The keys below are read where model_type is clformer. */
static const struct number_key numbers[] = {
    NUMBER("position_offset", position_offset, 0, MAX_POSITIONS),
    NUMBER("relative_attention_num_buckets", relative_buckets, 4, MAX_POSITIONS),
    NUMBER("relative_attention_max_distance", relative_distance, 2, MAX_POSITIONS),
};

static const struct flag_key flags[] = {
    FLAG("position_padding_aware", position_padding_aware),
    FLAG("normalize_before", norm_first),
    FLAG("add_final_layer_norm", norm_final),
    FLAG("normalize_embedding", norm_embedding),
    FLAG("q_proj_bias", query_bias),
    FLAG("k_proj_bias", key_bias),
    FLAG("v_proj_bias", value_bias),
    FLAG("out_proj_bias", output_bias),
    FLAG("scale_attention", attention_scaled),
    FLAG("gated_feed_forward", ffn_gated),
    FLAG("feed_forward_bias", ffn_bias),
    FLAG("add_bias_logits", logits_bias),
    FLAG("mask_pad_tokens", mask_pad_tokens),
};

static int *field_of(struct clf__config *config, size_t field)
{
    return (int *)((char *)config + field);
}

static clf_status read_numbers(struct clf__config *config, const struct clf__json *json,
                               const struct number_key *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        CLF__TRY(
            clf__json_int(json, keys[i].key, keys[i].low, keys[i].high, field_of(config, keys[i].field)));
    }
    return CLF_OK;
}

/* transformers writes all of them: without one, the weights are hardly those of the default. */
static void warn_of_missing_sizes(struct clf__config *config, const struct clf__json *json)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (!clf__json_has(json, sizes[i].key)) {
            clf__log(CLF_LOG_WARNING, "%s: \"%s\" is missing; the default %d is taken", json->path,
                     sizes[i].key, *field_of(config, sizes[i].field));
        }
    }
}

/* One of several words. */
struct word {
    const char *word;
    int value;
};

static clf_status read_word(const struct clf__json *json, const char *key, const struct word *words,
                            size_t count, int *out)
{
    const char *text = NULL;
    CLF__TRY(clf__json_string(json, key, &text));
    for (size_t i = 0; text && i < count; i++) {
        if (strcmp(words[i].word, text) == 0) {
            *out = words[i].value;
            return CLF_OK;
        }
    }
    if (text) {
        char known[256] = "";
        for (size_t i = 0; i < count; i++) {
            size_t used = strlen(known);
            snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", words[i].word);
        }
        return clf__fail(CLF_UNSUPPORTED, "%s: \"%s\" is \"%.64s\"; supported: %s", json->path, key, text,
                         known);
    }
    return CLF_OK;
}

#define READ_WORD(json, key, words, out) read_word(json, key, words, sizeof(words) / sizeof *(words), out)

static clf_status read_system(enum clf__system *system, int *is_ours, const struct clf__json *json)
{
    static const struct word presets[] = {
#define PRESET_WORD(name, word) {#word, CLF__##name},
        CLF__SYSTEM_LIST(PRESET_WORD)
#undef PRESET_WORD
    };
    static const char known[] =
        "\"marian\", as in the MarianMT folders of Hugging Face, and \"clformer\", as in "
        "what `clformer train` writes with its other presets";
    const char *type = NULL;
    CLF__TRY(clf__json_string(json, "model_type", &type));
    if (type == NULL) {
        return clf__fail(CLF_FORMAT, "%s: \"model_type\" is missing; supported are %s", json->path, known);
    }
    *is_ours = strcmp(type, "clformer") == 0;
    if (!*is_ours && !clf__family_find_type(system, type)) {
        return clf__fail(CLF_UNSUPPORTED, "%s: \"model_type\" is \"%.64s\"; supported are %s", json->path,
                         type, known);
    }
    if (*is_ours) {
        int preset = 0;
        if (!clf__json_has(json, "preset")) {
            return clf__fail(CLF_FORMAT, "%s: \"preset\" is missing, which model_type clformer needs",
                             json->path);
        }
        CLF__TRY(READ_WORD(json, "preset", presets, &preset));
        *system = (enum clf__system)preset;
    }
    return CLF_OK;
}

/* An id, or -1 where the file says null. */
static clf_status read_id(const struct clf__json *json, const char *key, int *id)
{
    if (json_is_null(json_object_get(json->root, key))) {
        *id = -1;
        return CLF_OK;
    }
    return clf__json_int(json, key, 0, CLF__MAX_VOCABULARY - 1, id);
}

static clf_status read_ids(struct clf__config *config, const struct clf__json *json, int is_ours)
{
    CLF__TRY(read_id(json, "pad_token_id", &config->pad_id));
    CLF__TRY(read_id(json, "bos_token_id", &config->start_id));
    CLF__TRY(clf__config_read_end_id(json, &config->end_id));
    if (is_ours) {
        config->decoder_start_id = config->start_id;
    }
    return clf__json_int(json, "decoder_start_token_id", 0, CLF__MAX_VOCABULARY - 1,
                         &config->decoder_start_id);
}

/* A flag that has one name in Hugging Face's files and another in jadore's. */
static clf_status read_shared_flag(const struct clf__json *json, const char *key, const char *other, int *out)
{
    int theirs = *out;
    CLF__TRY(clf__json_bool(json, key, out));
    CLF__TRY(clf__json_bool(json, other, &theirs));
    if (clf__json_has(json, key) && clf__json_has(json, other) && *out != theirs) {
        return clf__fail(CLF_FORMAT, "%s: \"%s\" is %s and \"%s\" is %s; they must agree", json->path, key,
                         *out ? "true" : "false", other, theirs ? "true" : "false");
    }
    if (clf__json_has(json, other)) {
        *out = theirs;
    }
    return CLF_OK;
}

static clf_status read_vocabularies(struct clf__config *config, const struct clf__json *json)
{
    int source = config->target_vocabulary;
    CLF__TRY(clf__json_int(json, "vocab_size", 1, CLF__MAX_VOCABULARY, &source));
    int target = source;
    CLF__TRY(clf__json_int(json, "decoder_vocab_size", 1, CLF__MAX_VOCABULARY, &target));
    config->source_vocabulary = config->feature_size > 0 ? 0 : source;
    config->target_vocabulary = target;
    return CLF_OK;
}

static clf_status read_marian_sharing(struct clf__config *config, const struct clf__json *json)
{
    int share = 1, tie = 1;
    CLF__TRY(clf__json_bool(json, "share_encoder_decoder_embeddings", &share));
    CLF__TRY(clf__json_bool(json, "tie_word_embeddings", &tie));
    if (share && config->target_vocabulary != config->source_vocabulary) {
        clf__log(CLF_LOG_WARNING,
                 "%s: \"decoder_vocab_size\" is %d and the shared vocabulary has %d; the latter is used",
                 json->path, config->target_vocabulary, config->source_vocabulary);
        config->target_vocabulary = config->source_vocabulary;
    }
    /* Where embeddings are shared and words are not tied, transformers 5 keeps three separate matrices. */
    config->share_source_target = share && tie;
    config->separate_vocabularies = !share;
    config->share_target_output = tie;
    return CLF_OK;
}

static clf_status read_sharing(struct clf__config *config, const struct clf__json *json)
{
    CLF__TRY(read_shared_flag(json, "share_encoder_decoder_embeddings", "emb_src_trg_weight_sharing",
                              &config->share_source_target));
    CLF__TRY(read_shared_flag(json, "tie_word_embeddings", "trg_emb_prj_weight_sharing",
                              &config->share_target_output));
    if (config->share_source_target && config->feature_size > 0) {
        return clf__fail(CLF_FORMAT, "%s: \"share_encoder_decoder_embeddings\" needs a source of tokens",
                         json->path);
    }
    if (config->share_source_target && config->source_vocabulary != config->target_vocabulary) {
        return clf__fail(CLF_FORMAT,
                         "%s: \"share_encoder_decoder_embeddings\" needs one vocabulary, but \"vocab_size\" "
                         "is %d and \"decoder_vocab_size\" %d",
                         json->path, config->source_vocabulary, config->target_vocabulary);
    }
    return CLF_OK;
}

static clf_status read_scale(struct clf__config_choices *choices, const struct clf__json *json)
{
    static const struct word places[] = {
        {"emb", CLF__SCALE_EMBEDDING}, {"prj", CLF__SCALE_PROJECTION}, {"none", CLF__SCALE_NONE}};
    int place = (int)choices->scale;
    CLF__TRY(READ_WORD(json, "scale_emb_or_prj", places, &place));
    int embedding = place == CLF__SCALE_EMBEDDING;
    int wanted = embedding;
    CLF__TRY(clf__json_bool(json, "scale_embedding", &wanted));
    if (wanted != embedding && clf__json_has(json, "scale_emb_or_prj")) {
        return clf__fail(CLF_FORMAT, "%s: \"scale_embedding\" and \"scale_emb_or_prj\" contradict each other",
                         json->path);
    }
    if (wanted != embedding) {
        place = wanted ? CLF__SCALE_EMBEDDING : CLF__SCALE_NONE;
    }
    choices->scale = (enum clf__scale_place)place;
    return CLF_OK;
}

static clf_status read_activation(struct clf__config *config, const struct clf__json *json)
{
    static const struct word words[] = {
        {"relu", CLF__RELU},
        {"gelu", CLF__GELU_ERF},
        {"gelu_python", CLF__GELU_ERF},
        {"gelu_new", CLF__GELU_TANH},
        {"gelu_fast", CLF__GELU_TANH},
        {"gelu_accurate", CLF__GELU_TANH},
        {"gelu_pytorch_tanh", CLF__GELU_TANH},
        {"silu", CLF__SILU},
        {"swish", CLF__SILU},
        {"linear", CLF__IDENTITY},
    };
    int activation = (int)config->activation;
    CLF__TRY(READ_WORD(json, "activation_function", words, &activation));
    config->activation = (enum clf__activation)activation;
    return CLF_OK;
}

static clf_status read_kinds(struct clf__config *config, const struct clf__json *json)
{
    static const struct word positions[] = {{"sinusoid", CLF__POSITIONS_SINUSOID},
                                            {"learned", CLF__POSITIONS_LEARNED},
                                            {"relative", CLF__POSITIONS_RELATIVE},
                                            {"none", CLF__POSITIONS_NONE}};
    static const struct word layouts[] = {{"interleaved", CLF__SINUSOID_INTERLEAVED},
                                          {"halves", CLF__SINUSOID_HALVES}};
    static const struct word frequencies[] = {{"by_width", CLF__SINUSOID_BY_WIDTH},
                                              {"by_last", CLF__SINUSOID_BY_LAST}};
    static const struct word norms[] = {
        {"layer", CLF__NORM_LAYER}, {"rms", CLF__NORM_RMS}, {"std", CLF__NORM_STD}};
    int kind = (int)config->positions, layout = (int)config->sinusoid_layout;
    int frequency = (int)config->sinusoid_frequency, norm = (int)config->norm;
    CLF__TRY(READ_WORD(json, "position_embedding_type", positions, &kind));
    CLF__TRY(READ_WORD(json, "sinusoid_layout", layouts, &layout));
    CLF__TRY(READ_WORD(json, "sinusoid_frequency", frequencies, &frequency));
    CLF__TRY(READ_WORD(json, "norm", norms, &norm));
    config->positions = (enum clf__positions_kind)kind;
    config->sinusoid_layout = (enum clf__sinusoid_layout)layout;
    config->sinusoid_frequency = (enum clf__sinusoid_frequency)frequency;
    config->norm = (enum clf__norm_kind)norm;
    return CLF_OK;
}

static clf_status read_rate(const struct clf__json *json, const char *key, float *out)
{
    double rate = *out;
    CLF__TRY(clf__json_double(json, key, 0, 0.999, &rate));
    *out = (float)rate;
    return CLF_OK;
}

/* "dropout" is the embedding's too, and in some families the activation's, where these have no key of their
 * own; attention weights keep theirs. */
static clf_status read_dropout(struct clf__config *config, const struct clf__json *json)
{
    CLF__TRY(read_rate(json, "dropout", &config->dropout));
    config->embedding_dropout = config->dropout;
    if (clf__family_of(config->system)->drops_activations) {
        config->activation_dropout = config->dropout;
    }
    CLF__TRY(read_rate(json, "embedding_dropout", &config->embedding_dropout));
    CLF__TRY(read_rate(json, "attention_dropout", &config->attention_dropout));
    return read_rate(json, "activation_dropout", &config->activation_dropout);
}

/* What a clformer folder may set and a MarianMT folder fixes. */
static clf_status read_switches(struct clf__config *config, struct clf__config_choices *choices,
                                const struct clf__json *json)
{
    CLF__TRY(read_numbers(config, json, numbers, sizeof numbers / sizeof *numbers));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        CLF__TRY(clf__json_bool(json, flags[i].key, field_of(config, flags[i].field)));
    }
    double epsilon = config->norm_epsilon;
    CLF__TRY(clf__json_double(json, "layer_norm_eps", 0, 1, &epsilon));
    config->norm_epsilon = (float)epsilon;
    CLF__TRY(clf__json_int(json, "d_k", 1, MAX_WIDTH, &choices->key_width));
    CLF__TRY(clf__json_int(json, "d_v", 1, MAX_WIDTH, &choices->value_width));
    return read_kinds(config, json);
}

/* The scales as plain numbers, and the framing of a source line, over what was derived. */
static clf_status read_derived(struct clf__config *config, const struct clf__json *json)
{
    double encoder = config->encoder_embedding_scale, decoder = config->decoder_embedding_scale;
    double output = config->output_scale;
    CLF__TRY(clf__json_double(json, "encoder_embedding_scale", -1e6, 1e6, &encoder));
    CLF__TRY(clf__json_double(json, "decoder_embedding_scale", -1e6, 1e6, &decoder));
    CLF__TRY(clf__json_double(json, "output_scale", -1e6, 1e6, &output));
    config->encoder_embedding_scale = (float)encoder;
    config->decoder_embedding_scale = (float)decoder;
    config->output_scale = (float)output;
    int start = config->source_start_id >= 0, end = config->source_end_id >= 0;
    CLF__TRY(clf__json_bool(json, "source_starts_with_bos", &start));
    CLF__TRY(clf__json_bool(json, "source_ends_with_eos", &end));
    if (config->feature_size == 0) {
        config->source_start_id = start ? config->start_id : -1;
        config->source_end_id = end ? config->end_id : -1;
    }
    return CLF_OK;
}

clf_status clf__config_read(struct clf__config *config, const struct clf__json *json)
{
    enum clf__system system = (enum clf__system)0;
    int is_ours = 0;
    CLF__TRY(read_system(&system, &is_ours, json));
    struct clf__config_choices choices;
    clf__config_preset_start(config, &choices, system);
    CLF__TRY(read_numbers(config, json, sizes, sizeof sizes / sizeof *sizes));
    if (!is_ours) {
        warn_of_missing_sizes(config, json);
    }
    if (is_ours) {
        CLF__TRY(clf__json_int(json, "feature_size", 1, MAX_WIDTH, &config->feature_size));
    }
    CLF__TRY(read_vocabularies(config, json));
    CLF__TRY(read_ids(config, json, is_ours));
    CLF__TRY(read_activation(config, json));
    CLF__TRY(read_dropout(config, json));
    CLF__TRY(read_scale(&choices, json));
    CLF__TRY(is_ours ? read_sharing(config, json) : read_marian_sharing(config, json));
    if (is_ours) {
        CLF__TRY(read_switches(config, &choices, json));
    }
    clf__config_derive(config, &choices);
    return is_ours ? read_derived(config, json) : CLF_OK;
}
