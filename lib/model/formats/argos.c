/* Unpacked Argos Translate packages: a CTranslate2 folder model/, a SentencePiece model or BPE merges, and
 * metadata.json (see package.py, translate.py and tokenizer.py in Argos Translate). */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/formats/copy.h"
#include "model/formats/ctranslate2.h"

static const char converted[] = "model/" CLF__CTRANSLATE2_CONVERTED;

static clf_status find_folder(int *is_one, const char *folder)
{
    int has_metadata;
    *is_one = 0;
    CLF__TRY(clf__file_exists_in(&has_metadata, folder, "metadata.json"));
    if (has_metadata) {
        CLF__TRY(clf__file_exists_in(is_one, folder, "model/model.bin"));
    }
    return has_metadata && !*is_one ? clf__file_exists_in(is_one, folder, converted) : CLF_OK;
}

/* Checks the metadata and rejects unsupported packages. */
static clf_status check_metadata(const struct clf__json *metadata)
{
    const char *type = NULL;
    CLF__TRY(clf__json_string(metadata, "type", &type));
    return type == NULL || strcmp(type, "translate") == 0
               ? CLF_OK
               : clf__fail(CLF_UNSUPPORTED,
                           "%s: \"type\" is \"%.60s\", but only \"translate\" is supported; use a "
                           "translation package",
                           metadata->path, type);
}

/* Segmenter files: SentencePiece, or BPE on words split by the Moses tokenizer. SentencePiece takes
 * precedence. */
static const char sentencepiece[] = "sentencepiece.model", pairs[] = "bpe.model";

static clf_status find_pairs(int *out, const char *folder)
{
    int has_other;
    CLF__TRY(clf__file_exists_in(&has_other, folder, sentencepiece));
    CLF__TRY(clf__file_exists_in(out, folder, pairs));
    *out = *out && !has_other;
    return *out || has_other
               ? CLF_OK
               : clf__fail(CLF_FILE, "%s: neither %s nor %s in the package; download the package again",
                           folder, sentencepiece, pairs);
}

/* Reads a language code; *out is NULL if there is none. */
static clf_status read_language(const char **out, const struct clf__json *metadata, const char *key,
                                int is_needed)
{
    CLF__TRY(clf__json_string(metadata, key, out));
    return *out != NULL || !is_needed
               ? CLF_OK
               : clf__fail(
                     CLF_FORMAT,
                     "%s: \"%s\" is missing, but the tokenizer of %s requires it; download the package again",
                     metadata->path, key, pairs);
}

/* Reads "target_prefix", the first token of every translation, which is not part of its text. */
static clf_status read_prefix(struct clf__config *out, const struct clf__json *metadata, const char *model)
{
    const char *prefix = NULL;
    CLF__TRY(clf__json_string(metadata, "target_prefix", &prefix));
    if (prefix == NULL || prefix[0] == '\0') {
        return CLF_OK;
    }
    CLF__TRY(clf__ctranslate2_find_target(&out->forced_first, model, prefix));
    return out->forced_first >= 0 ? CLF_OK
                                  : clf__fail(CLF_FORMAT,
                                              "%s: \"target_prefix\" \"%.60s\" is not in the model's "
                                              "vocabulary; download the package again",
                                              metadata->path, prefix);
}

/* Reads the configuration. Unlike CTranslate2, Argos Translate uses four beams and a length penalty of 0.2.
 */
static clf_status read_parts(struct clf__config *out, const struct clf__json *metadata, const char *model)
{
    CLF__TRY(check_metadata(metadata));
    CLF__TRY(clf__ctranslate2_read_config(out, model));
    out->generation.beams = 4;
    out->generation.length_penalty = 0.2;
    return read_prefix(out, metadata, model);
}

static clf_status read_config(struct clf__config *out, const char *folder)
{
    char *model;
    struct clf__json metadata;
    CLF__TRY(clf__json_load_in(&metadata, folder, "metadata.json"));
    int has_pairs;
    clf_status status = find_pairs(&has_pairs, folder);
    if (status == CLF_OK) {
        status = clf__path_join(&model, folder, "model");
    }
    if (status == CLF_OK) {
        status = read_parts(out, &metadata, model);
        clf__free(model);
    }
    clf__json_free(&metadata);
    return status;
}

static clf_status open_weights(struct clf__weights **out, const char *folder)
{
    char *model;
    CLF__TRY(clf__path_join(&model, folder, "model"));
    clf_status status = clf__format_ctranslate2.open_weights(out, model);
    clf__free(model);
    return status;
}

/* Fills in the text settings; the strings are owned by the metadata. */
static clf_status read_text(struct clf__ctranslate2_text *out, const struct clf__json *metadata)
{
    int has_pairs;
    CLF__TRY(find_pairs(&has_pairs, out->model_folder));
    CLF__TRY(read_language(&out->language, metadata, "from_code", has_pairs));
    CLF__TRY(read_language(&out->target_language, metadata, "to_code", has_pairs));
    out->segmenter = has_pairs ? &clf__segmenter_moses : NULL;
    out->model = has_pairs ? pairs : NULL;
    return CLF_OK;
}

static clf_status load_tokenizer(struct clf__tokenizer **out, const char *folder,
                                 const struct clf__config *config)
{
    char *model;
    struct clf__json metadata;
    CLF__TRY(clf__json_load_in(&metadata, folder, "metadata.json"));
    struct clf__ctranslate2_text text = {.model_folder = folder, .hidden = config->forced_first};
    clf_status status = read_text(&text, &metadata);
    if (status == CLF_OK) {
        status = clf__path_join(&model, folder, "model");
    }
    if (status == CLF_OK) {
        text.vocabulary_folder = model;
        status = clf__ctranslate2_load_tokenizer(out, &text, config);
        clf__free(model);
    }
    clf__json_free(&metadata);
    return status;
}

static clf_status describe(struct clf__beside *out, const char *folder)
{
    char *model;
    *out = (struct clf__beside){.metadata = NULL};
    CLF__TRY(clf__path_join(&model, folder, "model"));
    clf_status status = clf__ctranslate2_describe(out, model);
    clf__free(model);
    return status;
}

static clf_status copy_files(const char *target, const char *folder,
                             const struct clf__format_weights *weights)
{
    char *model, *target_model = NULL;
    CLF__TRY(clf__path_join(&model, folder, "model"));
    clf_status status = clf__path_join(&target_model, target, "model");
    if (status == CLF_OK) {
        status = clf__folder_create(target_model);
    }
    if (status == CLF_OK) {
        status = clf__ctranslate2_copy_files(target_model, model, weights);
    }
    clf__free(target_model);
    clf__free(model);
    return status == CLF_OK ? clf__format_copy_others(target, folder, NULL) : status;
}

const struct clf__format clf__format_argos = {
    .name = "Argos Translate",
    .find = find_folder,
    .read_config = read_config,
    .open_weights = open_weights,
    .load_tokenizer = load_tokenizer,
    .weights = converted,
    .copy_files = copy_files,
    .describe = describe,
};
