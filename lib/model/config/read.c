#include <string.h>

#include "base/log.h"
#include "model/config/architectures/architecture.h"
#include "model/config/build.h"
#include "model/config/keys.h"

/* Warns about missing sizes: transformers always writes all sizes, so a missing size is unlikely to be the
 * default. */
static void warn_of_missing_sizes(const struct clf__config *config, const struct clf__json *json)
{
    const struct clf__architecture *architecture = clf__architecture_of(config->architecture);
    for (const struct clf__config_key *key = clf__config_keys; key->name != NULL; key++) {
        int is_optional;
        const char *name = clf__architecture_key_name(architecture, key->name, &is_optional);
        if (key->stage == CLF__KEY_SIZE && name && !is_optional && !clf__json_has(json, name)) {
            clf__log(CLF_LOG_WARNING, "%s: \"%s\" is missing; using the default, %d", json->path, name,
                     *(const int *)((const char *)config + key->fields[0]));
        }
    }
}

static clf_status read_preset(enum clf__architecture_id *id, const struct clf__json *json)
{
    struct clf__key_word presets[] = {
#define PRESET_WORD(name, word) {#word, CLF__##name},
        CLF__PRESET_LIST(PRESET_WORD){NULL, 0}
#undef PRESET_WORD
    };
    if (!clf__json_has(json, "preset")) {
        return clf__fail(CLF_FORMAT,
                         "%s: \"preset\" is missing, but model_type clformer requires it; add the key",
                         json->path);
    }
    int preset = 0;
    CLF__TRY(clf__config_read_word(json, "preset", presets, &preset));
    *id = (enum clf__architecture_id)preset;
    return CLF_OK;
}

/* Rejects classes that are not an encoder-decoder, or that have a head other than a language model head. */
static clf_status check_class(const struct clf__json *json)
{
    const json_t *first = json_array_get(json_object_get(json->root, "architectures"), 0);
    const char *word = json_is_string(first) ? json_string_value(first) : "";
    const char *what = clf__architecture_refused_class(word);
    if (what) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: \"architectures\" is %.64s, %s; use an encoder-decoder that generates text",
                         json->path, word, what);
    }
    int is_whole = 1;
    CLF__TRY(clf__json_bool(json, "is_encoder_decoder", &is_whole));
    if (!is_whole) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: \"is_encoder_decoder\" is false, so the model is encoder-only or decoder-only; "
                         "use an encoder-decoder",
                         json->path);
    }
    return CLF_OK;
}

/* Finds the architecture by the class in "architectures" if "model_type" is missing. */
static clf_status read_class(enum clf__architecture_id *id, const struct clf__json *json, const char *known)
{
    const json_t *classes = json_object_get(json->root, "architectures");
    for (size_t i = 0; i < json_array_size(classes); i++) {
        const char *class = json_string_value(json_array_get(classes, i));
        if (class && clf__architecture_find_class(id, class)) {
            return check_class(json);
        }
    }
    const char *first = json_string_value(json_array_get(classes, 0));
    if (first) {
        const char *what = clf__architecture_refused_class(first);
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: \"model_type\" is missing and \"architectures\" is %.64s%s%s; use a model "
                         "trained by clformer or an encoder-decoder of the Hugging Face types %s",
                         json->path, first, what ? ": " : "", what ? what : "", known);
    }
    return clf__fail(CLF_FORMAT,
                     "%s: \"model_type\" and \"architectures\" are missing; use a model trained by clformer "
                     "or an encoder-decoder of the Hugging Face types %s",
                     json->path, known);
}

static clf_status read_architecture(enum clf__architecture_id *id, int *is_ours, const struct clf__json *json)
{
    char known[256];
    const char *type = NULL;
    clf__architecture_list_types(known, sizeof known);
    CLF__TRY(clf__json_string(json, "model_type", &type));
    if (type == NULL) {
        return read_class(id, json, known);
    }
    *is_ours = strcmp(type, "clformer") == 0;
    if (*is_ours) {
        return read_preset(id, json);
    }
    if (!clf__architecture_find_type(id, type)) {
        const char *what = clf__architecture_refused_type(type);
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: \"model_type\" is \"%.64s\"%s%s; use a model trained by clformer or an "
                         "encoder-decoder of the Hugging Face types %s",
                         json->path, type, what ? ", " : "", what ? what : "", known);
    }
    return check_class(json);
}

/* Reads an id; null means -1. */
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
    if (is_ours || config->decoder_start_id < 0) { /* as in transformers */
        config->decoder_start_id = config->start_id;
    }
    return clf__json_int(json, "decoder_start_token_id", 0, CLF__MAX_VOCABULARY - 1,
                         &config->decoder_start_id);
}

/* Reads a flag with different names in Hugging Face and jadore folders. */
static clf_status read_shared_flag(const struct clf__json *json, const char *key, const char *other, int *out)
{
    int theirs = *out;
    CLF__TRY(clf__json_bool(json, key, out));
    CLF__TRY(clf__json_bool(json, other, &theirs));
    if (clf__json_has(json, key) && clf__json_has(json, other) && *out != theirs) {
        return clf__fail(CLF_FORMAT, "%s: \"%s\" is %s, but \"%s\" is %s; correct one of them", json->path,
                         key, *out ? "true" : "false", other, theirs ? "true" : "false");
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

static clf_status read_tied_sharing(struct clf__config *config, const struct clf__json *json)
{
    int share = config->feature_size == 0, tie = 1;
    if (clf__architecture_of(config->architecture)->reads_sharing) {
        return CLF_OK;
    }
    CLF__TRY(clf__json_bool(json, "tie_word_embeddings", &tie));
    if (clf__architecture_of(config->architecture)->ties_by_file) { /* loading the weights decides */
        config->share_source_target = 1;
        config->share_target_output = tie;
        return CLF_OK;
    }
    CLF__TRY(clf__json_bool(json, "share_encoder_decoder_embeddings", &share));
    if (share && config->target_vocabulary != config->source_vocabulary) {
        clf__log(CLF_LOG_WARNING,
                 "%s: \"decoder_vocab_size\" is %d, but the shared vocabulary has %d tokens; using the size "
                 "of the shared vocabulary",
                 json->path, config->target_vocabulary, config->source_vocabulary);
        config->target_vocabulary = config->source_vocabulary;
    }
    /* For embeddings that are shared but not tied, transformers 5 has three separate matrices. */
    config->share_source_target = share && tie;
    config->separate_vocabularies = !share && config->feature_size == 0;
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
        return clf__fail(
            CLF_FORMAT,
            "%s: \"share_encoder_decoder_embeddings\" requires a source of tokens; set it to false",
            json->path);
    }
    if (config->share_source_target && config->source_vocabulary != config->target_vocabulary) {
        return clf__fail(CLF_FORMAT,
                         "%s: \"share_encoder_decoder_embeddings\" requires vocabularies of equal size, but "
                         "\"vocab_size\" is %d and \"decoder_vocab_size\" %d; correct one of them",
                         json->path, config->source_vocabulary, config->target_vocabulary);
    }
    return CLF_OK;
}

static clf_status read_scale(struct clf__config_choices *choices, const struct clf__json *json)
{
    static const struct clf__key_word places[] = {
        {"emb", CLF__SCALE_EMBEDDING}, {"prj", CLF__SCALE_PROJECTION}, {"none", CLF__SCALE_NONE}, {NULL, 0}};
    int place = (int)choices->scale;
    CLF__TRY(clf__config_read_word(json, "scale_emb_or_prj", places, &place));
    int embedding = place == CLF__SCALE_EMBEDDING;
    int wanted = embedding;
    CLF__TRY(clf__json_bool(json, "scale_embedding", &wanted));
    if (wanted != embedding && clf__json_has(json, "scale_emb_or_prj")) {
        return clf__fail(
            CLF_FORMAT,
            "%s: \"scale_embedding\" and \"scale_emb_or_prj\" contradict each other; remove one of them",
            json->path);
    }
    if (wanted != embedding) {
        place = wanted ? CLF__SCALE_EMBEDDING : CLF__SCALE_NONE;
    }
    choices->scale = (enum clf__scale_place)place;
    return CLF_OK;
}

/* Reads dropout rates. "dropout" is also the default for embeddings and, in some architectures, for
 * activations, but not for attention weights. */
static clf_status read_dropout(struct clf__config *config, const struct clf__json *json,
                               const struct clf__architecture *theirs)
{
    config->embedding_dropout = config->dropout;
    if (clf__architecture_of(config->architecture)->drops_activations) {
        config->activation_dropout = config->dropout;
    }
    return clf__config_read_stage(config, json, CLF__KEY_RATE, theirs);
}

/* Reads keys that replace derived values: scales, and the framing of sources. */
static clf_status read_derived(struct clf__config *config, const struct clf__json *json)
{
    CLF__TRY(clf__config_read_stage(config, json, CLF__KEY_DERIVED, NULL));
    int start = config->source_start_id >= 0, end = config->source_end_id >= 0;
    CLF__TRY(clf__json_bool(json, "source_starts_with_bos", &start));
    CLF__TRY(clf__json_bool(json, "source_ends_with_eos", &end));
    if (config->feature_size == 0) {
        config->source_start_id = start ? config->start_id : -1;
        config->source_end_id = end ? config->end_id : -1;
    }
    return CLF_OK;
}

/* Reads keys of clformer folders that Hugging Face architectures fix. */
static clf_status read_ours(struct clf__config *config, struct clf__config_choices *choices,
                            const struct clf__json *json)
{
    CLF__TRY(clf__config_read_stage(config, json, CLF__KEY_SWITCH, NULL));
    CLF__TRY(clf__json_int(json, "d_k", 1, CLF__CONFIG_MOST_WIDTH, &choices->key_width));
    return clf__json_int(json, "d_v", 1, CLF__CONFIG_MOST_WIDTH, &choices->value_width);
}

clf_status clf__config_read_precision(struct clf__config *config, const struct clf__json *json)
{
    static const struct clf__key_word words[] = {{"fp32", CLF__PRECISION_FP32},
                                                 {"fp16", CLF__PRECISION_FP16},
                                                 {"bf16", CLF__PRECISION_BF16},
                                                 {"int8", CLF__PRECISION_INT8},
                                                 {NULL, 0}};
    int precision = CLF__PRECISION_FP32;
    CLF__TRY(clf__config_read_word(json, "clformer_precision", words, &precision));
    config->precision = (enum clf__precision)precision;
    return CLF_OK;
}

clf_status clf__config_read(struct clf__config *config, const struct clf__json *json)
{
    enum clf__architecture_id id = (enum clf__architecture_id)0;
    int is_ours = 0;
    CLF__TRY(read_architecture(&id, &is_ours, json));
    struct clf__config_choices choices;
    clf__config_preset_start(config, &choices, id);
    const struct clf__architecture *theirs = is_ours ? NULL : clf__architecture_of(id);
    CLF__TRY(clf__config_read_stage(config, json, CLF__KEY_SIZE, theirs));
    CLF__TRY(clf__config_read_stage(config, json, CLF__KEY_KIND, theirs));
    if (is_ours) {
        CLF__TRY(read_ours(config, &choices, json));
    } else {
        warn_of_missing_sizes(config, json);
        CLF__TRY(clf__config_read_stage(config, json, CLF__KEY_SWITCH, theirs));
    }
    CLF__TRY(clf__config_read_precision(config, json));
    CLF__TRY(read_vocabularies(config, json));
    CLF__TRY(read_ids(config, json, is_ours));
    CLF__TRY(read_dropout(config, json, theirs));
    CLF__TRY(read_scale(&choices, json));
    if (theirs && theirs->read) {
        CLF__TRY(theirs->read(config, &choices, json));
    }
    CLF__TRY(is_ours ? read_sharing(config, json) : read_tied_sharing(config, json));
    clf__config_derive(config, &choices);
    if (theirs && config->feature_size == 0 && config->generation.max_length > CLF__GENERATE_LENGTH) {
        config->generation.max_length = CLF__GENERATE_LENGTH;
    }
    return is_ours ? read_derived(config, json) : CLF_OK;
}
