/* Model files of openai/whisper (load_model() in whisper/__init__.py). The tokenizer belongs to that program
 * and must be copied to the folder that contains the model file. */
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/config/architectures/architecture.h"
#include "model/config/build.h"
#include "model/config/config.h"
#include "model/formats/copy.h"
#include "model/formats/format.h"
#include "model/formats/openai_heads.h"
#include "text/tokenizers/json/tiktoken.h"
#include "text/tokenizers/speech_tokens.h"

/* The weights that `clformer convert` writes */
static const char converted[] = "model.openai.safetensors";

static int is_file(const char *path)
{
    return clf__ends_with(path, CLF__OPENAI_ENDING) && clf__file_exists(path);
}

static clf_status find(int *is_one, const char *path)
{
    *is_one = is_file(path);
    return *is_one ? CLF_OK : clf__file_exists_in(is_one, path, converted);
}

static clf_status open_weights(struct clf__weights **out, const char *path)
{
    return is_file(path) ? clf__weights_open_pytorch(out, path)
                         : clf__weights_open_file(out, path, converted);
}

/* --- The tokenizer's file --- */

/* Returns the folder that contains the model file; the caller frees *out. */
static clf_status folder_of(char **out, const char *path)
{
    const char *stroke = strrchr(path, '/');
    if (!is_file(path)) {
        return clf__copy_string(out, path);
    }
    return stroke == NULL ? clf__copy_string(out, ".")
                          : clf__copy_bytes(out, path, stroke == path ? 1 : (size_t)(stroke - path));
}

/* Finds the folder and name of the tokenizer file for a vocabulary size; the caller frees *folder. */
static clf_status find_tokens(char **folder, const char **name, const char *path, int vocabulary)
{
    int found;
    *name = vocabulary >= CLF__SPEECH_MULTILINGUAL ? "multilingual.tiktoken" : "gpt2.tiktoken";
    CLF__TRY(folder_of(folder, path));
    clf_status status = clf__file_find(&found, *folder, *name);
    if (status == CLF_OK && !found) {
        status =
            clf__fail(CLF_FILE,
                      "%s: the tokenizer file %s is not in the same folder; copy it from whisper/assets/ in "
                      "https://github.com/openai/whisper or from an installed openai-whisper",
                      path, *name);
    }
    if (status != CLF_OK) {
        clf__free(*folder);
        *folder = NULL;
    }
    return status;
}

static clf_status load_tokenizer(struct clf__tokenizer **out, const char *path,
                                 const struct clf__config *config)
{
    char *folder;
    const char *name;
    struct clf__tokenizer_options options = clf__tokenizer_options_of(config);
    *out = NULL;
    CLF__TRY(find_tokens(&folder, &name, path, config->target_vocabulary));
    clf_status status = clf__tokenizer_load_tiktoken(out, folder, name, &options);
    clf__free(folder);
    return status;
}

/* --- The configuration --- */

static clf_status fail_dims(const struct clf__weights *weights, const char *key, const char *what)
{
    return clf__fail(
        CLF_FORMAT,
        "%s: \"%s\" in \"dims\" %s, so the file is not an OpenAI Whisper model; download it again",
        clf__weights_path(weights), key, what);
}

static clf_status read_dim(json_t *config, const struct clf__weights *weights, const char *key,
                           const char *ours)
{
    char name[64];
    snprintf(name, sizeof name, CLF__DIMS_KEY "%s", key);
    const char *word = json_string_value(json_object_get(clf__weights_metadata(weights), name));
    long value = word != NULL ? strtol(word, NULL, 10) : 0;
    if (value < 1 || value > CLF__MAX_VOCABULARY) {
        return fail_dims(weights, key, word == NULL ? "is missing" : "is no size");
    }
    return json_object_set_new(config, ours, json_integer(value)) == 0
               ? CLF_OK
               : clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to read %s",
                           clf__weights_path(weights));
}

/* Converts dims to keys of config.json. */
static clf_status read_dims(json_t *config, const struct clf__weights *weights)
{
    static const char *const keys[][2] = {
        {"n_mels", "num_mel_bins"},
        {"n_audio_ctx", "max_source_positions"},
        {"n_audio_state", "d_model"},
        {"n_audio_head", "encoder_attention_heads"},
        {"n_audio_layer", "encoder_layers"},
        {"n_vocab", "vocab_size"},
        {"n_text_ctx", "max_target_positions"},
        {"n_text_state", "text_state"},
        {"n_text_head", "decoder_attention_heads"},
        {"n_text_layer", "decoder_layers"},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        CLF__TRY(read_dim(config, weights, keys[i][0], keys[i][1]));
    }
    json_int_t width = json_integer_value(json_object_get(config, "d_model"));
    if (json_integer_value(json_object_get(config, "text_state")) != width) {
        return fail_dims(weights, "n_text_state", "differs from \"n_audio_state\"");
    }
    json_object_del(config, "text_state");
    json_object_set_new(config, "encoder_ffn_dim", json_integer(4 * width));
    json_object_set_new(config, "decoder_ffn_dim", json_integer(4 * width));
    return CLF_OK;
}

/* Sets the special ids, which follow the ids in the tokenizer file. */
static clf_status read_ids(json_t *config, const char *path)
{
    static const char *const ends[] = {"pad_token_id", "bos_token_id", "eos_token_id"};
    int vocabulary = (int)json_integer_value(json_object_get(config, "vocab_size")), end;
    char *folder, *file = NULL;
    const char *name;
    CLF__TRY(find_tokens(&folder, &name, path, vocabulary));
    clf_status status = clf__path_join(&file, folder, name);
    if (status == CLF_OK) {
        status = clf__tiktoken_count(&end, file, vocabulary);
    }
    for (size_t i = 0; status == CLF_OK && i < sizeof ends / sizeof *ends; i++) {
        json_object_set_new(config, ends[i], json_integer(end));
    }
    if (status == CLF_OK) {
        json_object_set_new(config, "decoder_start_token_id", json_integer(end + 1));
    }
    clf__free(file);
    clf__free(folder);
    return status;
}

/* Sets the alignment heads, in the form of generation_config.json. */
static clf_status read_heads(struct clf__config *config, const struct clf__json *json, const char *path)
{
    json_t *heads =
        clf__openai_heads(path, config->decoder_layers, config->decoder_heads, config->target_vocabulary);
    json_object_set_new(json->root, "alignment_heads", heads);
    return clf__config_read_word_heads(config, json);
}

static clf_status parse(struct clf__config *out, const struct clf__weights *weights, const char *path)
{
    const struct clf__json none = {NULL, NULL},
                           json = {json_pack("{ss sb}", "model_type", CLF__OPENAI_ARCHITECTURE,
                                             "tie_word_embeddings", 1),
                                   (char *)clf__weights_path(weights)};
    clf_status status = json.root != NULL
                            ? read_dims(json.root, weights)
                            : clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to read %s", json.path);
    if (status == CLF_OK) {
        status = read_ids(json.root, path);
    }
    if (status == CLF_OK) {
        status = clf__config_parse(out, &json, &none);
    }
    if (status == CLF_OK) {
        status = read_heads(out, &json, path);
    }
    json_decref(json.root);
    return status == CLF_OK ? clf__format_read_precision(out, weights) : status;
}

static clf_status read_config(struct clf__config *out, const char *path)
{
    struct clf__weights *weights;
    *out = (struct clf__config){0};
    CLF__TRY(open_weights(&weights, path));
    clf_status status = parse(out, weights, path);
    clf__weights_close(weights);
    return status;
}

/* Returns the dims, which the converted weights keep. */
static clf_status describe(struct clf__beside *out, const char *path)
{
    struct clf__weights *weights;
    *out = (struct clf__beside){.metadata = NULL};
    CLF__TRY(open_weights(&weights, path));
    out->metadata = json_copy((json_t *)clf__weights_metadata(weights));
    clf__weights_close(weights);
    return out->metadata != NULL
               ? CLF_OK
               : clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to write the configuration");
}

static clf_status copy_tokens(const char *target, const char *path, int vocabulary)
{
    char *folder, *from = NULL, *to = NULL;
    const char *name;
    CLF__TRY(find_tokens(&folder, &name, path, vocabulary));
    clf_status status = clf__path_join(&from, folder, name);
    if (status == CLF_OK) {
        status = clf__path_join(&to, target, name);
    }
    if (status == CLF_OK) {
        status = clf__file_copy(to, from);
    }
    clf__free(to);
    clf__free(from);
    clf__free(folder);
    return status;
}

/* If the model is a single file, copies only the tokenizer, because the folder may contain unrelated files.
 */
static clf_status copy_files(const char *target, const char *path, const struct clf__format_weights *weights)
{
    struct clf__config config;
    (void)weights; /* the weights file itself describes the type */
    if (!is_file(path)) {
        return clf__format_copy_others(target, path, NULL);
    }
    clf_status status = read_config(&config, path);
    int vocabulary = config.target_vocabulary;
    clf__config_free(&config);
    return status == CLF_OK ? copy_tokens(target, path, vocabulary) : status;
}

const struct clf__format clf__format_openai = {
    .name = "OpenAI",
    .may_be_file = 1,
    .find = find,
    .read_config = read_config,
    .open_weights = open_weights,
    .load_tokenizer = load_tokenizer,
    .weights = converted,
    .copy_files = copy_files,
    .describe = describe,
};
