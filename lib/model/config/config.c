#include "model/config/config.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "model/config/architectures/architecture.h"
#include "model/config/build.h"
#include "model/config/sides.h"

/* Returns a note for messages if a value is a default. */
static const char *if_missing(const struct clf__json *json, const char *key)
{
    return clf__json_has(json, key) ? "" : " (default, because the key is missing)";
}

static clf_status check_id(const struct clf__json *json, const char *key, int id, int vocabulary,
                           int is_needed)
{
    if (id >= vocabulary) {
        return clf__fail(CLF_FORMAT, "%s: \"%s\" is %d%s, outside the vocabulary of %d ids; correct it",
                         json->path, key, id, if_missing(json, key), vocabulary);
    }
    if (id < 0 && is_needed) {
        return clf__fail(CLF_FORMAT, "%s: \"%s\" is missing; add the key", json->path, key);
    }
    return CLF_OK;
}

static clf_status check_width(const struct clf__config *config, const struct clf__json *json, const char *key,
                              int heads, int key_width, int value_width)
{
    if (key_width == 0 || value_width == 0) {
        return clf__fail(
            CLF_FORMAT, "%s: \"d_model\" %d%s is not a multiple of \"%s\" %d%s; correct one of them",
            json->path, config->d_model, if_missing(json, "d_model"), key, heads, if_missing(json, key));
    }
    return CLF_OK;
}

static clf_status check_start(const struct clf__config *config, const struct clf__json *json, int id)
{
    if (clf__architecture_of(config->architecture)->hides_start_pad && id == config->pad_id) {
        return clf__fail(
            CLF_FORMAT,
            "%s: \"decoder_start_token_id\" is the pad id %d, which %s models mask; set another id",
            json->path, config->pad_id, clf__architecture_word(config->architecture));
    }
    return CLF_OK;
}

static clf_status check_ids(const struct clf__config *config, const struct clf__json *json)
{
    int source = config->feature_size > 0 ? config->target_vocabulary : config->source_vocabulary;
    int larger = source > config->target_vocabulary ? source : config->target_vocabulary;
    int smaller = source < config->target_vocabulary ? source : config->target_vocabulary;
    CLF__TRY(check_id(json, "pad_token_id", config->pad_id, larger, config->mask_pad_tokens));
    CLF__TRY(check_id(json, "bos_token_id", config->start_id, larger, 0));
    CLF__TRY(check_id(json, "eos_token_id", config->end_id, smaller, 1));
    CLF__TRY(
        check_id(json, "decoder_start_token_id", config->decoder_start_id, config->target_vocabulary, 1));
    return check_start(config, json, config->decoder_start_id);
}

static clf_status check_frames(const struct clf__config *config, const struct clf__json *json)
{
    int is_stacked = config->frame_stack > 1 || config->frame_step > 1;
    if (is_stacked && (config->feature_size == 0 || config->convolves_frames)) {
        return clf__fail(CLF_FORMAT,
                         "%s: \"frame_stack\" and \"frame_step\" require a model with one position per "
                         "frame; remove both keys",
                         json->path);
    }
    return config->feature_size % config->frame_stack == 0
               ? CLF_OK
               : clf__fail(
                     CLF_FORMAT,
                     "%s: \"feature_size\" %d is not a multiple of \"frame_stack\" %d; correct one of them",
                     json->path, config->feature_size, config->frame_stack);
}

static clf_status check(const struct clf__config *config, const struct clf__json *json)
{
    CLF__TRY(check_width(config, json, "encoder_attention_heads", config->encoder_heads,
                         config->encoder_key_width, config->encoder_value_width));
    CLF__TRY(check_width(config, json, "decoder_attention_heads", config->decoder_heads,
                         config->decoder_key_width, config->decoder_value_width));
    CLF__TRY(check_ids(config, json));
    CLF__TRY(check_frames(config, json));
    if (clf__config_has_positions(config, CLF__POSITIONS_RELATIVE) &&
        (config->relative_buckets % 2 != 0 || config->relative_distance <= config->relative_buckets / 2)) {
        return clf__fail(CLF_FORMAT,
                         "%s: \"relative_attention_num_buckets\" (%d) must be even and less than twice "
                         "\"relative_attention_max_distance\" (%d); correct them",
                         json->path, config->relative_buckets, config->relative_distance);
    }
    return CLF_OK;
}

/* Sets separate_vocabularies for clformer folders: vocabularies are separate if their sizes differ or
 * target_vocab.json exists. Hugging Face folders state it in config.json. */
static clf_status find_target_vocabulary(struct clf__config *config, const char *folder)
{
    if (clf__architecture_of(config->architecture)->hugging_face || config->share_source_target ||
        config->feature_size > 0) {
        return CLF_OK;
    }
    int is_there;
    CLF__TRY(clf__file_find(&is_there, folder, "target_vocab.json"));
    config->separate_vocabularies = config->source_vocabulary != config->target_vocabulary || is_there;
    return CLF_OK;
}

static int has_default_length(const struct clf__config *config, const struct clf__json *decoding)
{
    return clf__architecture_of(config->architecture)->hugging_face && config->feature_size == 0 &&
           config->generation.max_length == CLF__GENERATE_LENGTH && !clf__json_has(decoding, "max_length") &&
           !clf__json_has(decoding, "max_new_tokens");
}

clf_status clf__config_parse(struct clf__config *config, const struct clf__json *json,
                             const struct clf__json *generation)
{
    CLF__TRY(clf__config_read(config, json));
    CLF__TRY(check(config, json));
    const struct clf__json *decoding = generation->root ? generation : json;
    const struct clf__architecture *architecture = clf__architecture_of(config->architecture);
    if (generation->root == NULL && architecture->decode != NULL) {
        architecture->decode(config);
    }
    CLF__TRY(clf__config_read_generation(config, decoding));
    return check_start(config, decoding, config->generation.start_id);
}

static clf_status load(struct clf__config *config, const char *folder)
{
    struct clf__json json = {0}, generation = {0};
    clf_status status = clf__json_load_in(&json, folder, "config.json");
    if (status == CLF_FILE) {
        clf__fail(status, "%s; use a model folder, which contains config.json", clf_last_error());
    }
    if (status == CLF_OK) {
        status = clf__json_find_in(&generation, folder, "generation_config.json");
    }
    if (status == CLF_OK) {
        status = clf__config_parse(config, &json, &generation);
    }
    if (status == CLF_OK) {
        config->has_default_length = has_default_length(config, generation.root ? &generation : &json);
        status = find_target_vocabulary(config, folder);
    }
    clf__json_free(&generation);
    clf__json_free(&json);
    return status;
}

/* Returns the error for a path to a file, often one inside a model folder. */
static clf_status refuse_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    char *folder = NULL;
    int is_model = 0;
    CLF__TRY(clf__copy_bytes(&folder, length > 0 ? path : ".", length > 0 ? length : 1));
    clf_status status = clf__file_exists_in(&is_model, folder, "config.json");
    if (status == CLF_OK && is_model) {
        status = clf__fail(CLF_FILE, "%s: a file, not a model folder; use the folder %s", path, folder);
    } else if (status == CLF_OK && clf__ends_with(path, ".argosmodel")) {
        status = clf__fail(CLF_FILE,
                           "%s: an Argos Translate package, but a model folder is needed; unpack the package "
                           "(`unzip`) and use the folder in it",
                           path);
    } else if (status == CLF_OK && clf__ends_with(path, ".nemo")) {
        status = clf__fail(CLF_UNSUPPORTED,
                           "%s: an NVIDIA NeMo archive (Canary, Parakeet), which is not supported; use a "
                           "Whisper model for speech",
                           path);
    } else if (status == CLF_OK) {
        status = clf__fail(CLF_FILE, "%s: a file, not a model folder; use a folder with config.json", path);
    }
    clf__free(folder);
    return status;
}

/* Returns 1 if a path looks like a repository of the Hugging Face Hub, "owner/name". */
static int is_repository(const char *path)
{
    char owner[128];
    const char *slash = strchr(path, '/');
    if (slash == NULL || slash == path || path[0] == '.' || path[0] == '~' || slash[1] == '\0' ||
        strchr(slash + 1, '/') != NULL) {
        return 0;
    }
    snprintf(owner, sizeof owner, "%.*s", (int)(slash - path), path);
    return !clf__folder_exists(owner);
}

clf_status clf__config_check_folder(const char *folder)
{
    if (clf__file_exists(folder)) {
        return refuse_file(folder);
    }
    if (clf__folder_exists(folder)) {
        return CLF_OK;
    }
    if (is_repository(folder)) {
        const char *name = strchr(folder, '/') + 1;
        return clf__fail(CLF_FILE,
                         "%s: no such folder; download the model from the Hugging Face Hub with `hf download "
                         "%s --local-dir %s` and use %s",
                         folder, folder, name, name);
    }
    return clf__fail(CLF_FILE, "%s: no such folder; use a folder with config.json", folder);
}

clf_status clf__config_load(struct clf__config *out, const char *folder)
{
    *out = (struct clf__config){0};
    CLF__TRY(clf__config_check_folder(folder));
    CLF__TRY(clf__config_refuse_others(folder));
    clf_status status = load(out, folder);
    if (status != CLF_OK) {
        clf__config_free(out);
    }
    return status;
}

void clf__config_free(struct clf__config *config)
{
    clf__free((void *)config->generation.other_end_ids);
    clf__free((void *)config->generation.suppressed);
    clf__free((void *)config->generation.begin_suppressed);
    clf__free((void *)config->generation.bad_words);
    clf__free((void *)config->generation.bad_word_offsets);
    clf__free((void *)config->generation.biased);
    clf__free((void *)config->generation.biased_offsets);
    clf__free((void *)config->generation.biases);
    clf__free(config->word_heads);
    *config = (struct clf__config){0};
}

int clf__config_framing(const struct clf__config *config)
{
    return (config->source_start_id >= 0) + (config->source_end_id >= 0);
}

struct clf__tokenizer_options clf__tokenizer_options_of(const struct clf__config *config)
{
    return (struct clf__tokenizer_options){
        .source_vocabulary = config->source_vocabulary,
        .target_vocabulary = config->target_vocabulary,
        .separate = config->separate_vocabularies,
        .source_start_id = config->source_start_id,
        .source_end_id = config->source_end_id,
        .pad_id = config->pad_id,
        .start_id = config->start_id,
        .end_id = config->end_id,
        .class_name = clf__architecture_of(config->architecture)->tokenizer_class,
    };
}
