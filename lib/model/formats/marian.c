/* Marian's native folders, including those for Bergamot and Firefox. */
#include "model/weights/marian.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/config/architectures/marian_options.h"
#include "model/config/config.h"
#include "model/formats/format.h"
#include "model/formats/marian_convert.h"
#include "model/weights/marian_folder.h"
#include "text/tokenizers/marian_words.h"

static clf_status find(int *is_one, const char *folder)
{
    struct clf__marian_folder files;
    CLF__TRY(clf__marian_folder_find(&files, is_one, folder));
    clf__marian_folder_free(&files);
    return CLF_OK;
}

static clf_status find_files(struct clf__marian_folder *out, const char *folder)
{
    int found;
    CLF__TRY(clf__marian_folder_find(out, &found, folder));
    return found ? CLF_OK
                 : clf__fail(CLF_FILE,
                             "%s: the folder no longer contains a Marian model; download the model again",
                             folder);
}

static clf_status read_ids(struct clf__marian_ids *out, const struct clf__marian_folder *files)
{
    struct clf__word_ids source, target;
    CLF__TRY(clf__marian_word_ids(&source, files->source_words));
    CLF__TRY(clf__marian_word_ids(&target, files->target_words));
    *out = (struct clf__marian_ids){
        .source_end = source.end, .target_end = target.end, .target_unknown = target.unknown};
    return CLF_OK;
}

static const char options_key[] = "marian_options";

static int is_converted(const struct clf__marian_folder *files)
{
    return clf__ends_with(files->model, "/" CLF__MARIAN_CONVERTED);
}

/* Reads the options and the precision recorded in a converted file. */
static clf_status read_converted(json_t **options, struct clf__config *recorded, const char *folder)
{
    struct clf__weights *weights;
    CLF__TRY(clf__weights_open_file(&weights, folder, CLF__MARIAN_CONVERTED));
    const json_t *kept = json_object_get(clf__weights_metadata(weights), options_key);
    clf_status status = clf__format_read_precision(recorded, weights);
    if (status == CLF_OK && !json_is_string(kept)) {
        status = clf__fail(CLF_FORMAT, "%s: \"%s\" is missing; convert the model again",
                           clf__weights_path(weights), options_key);
    }
    if (status == CLF_OK) {
        status = clf__json_parse(options, json_string_value(kept), json_string_length(kept),
                                 clf__weights_path(weights), clf__json_settings);
    }
    clf__weights_close(weights);
    return status;
}

static clf_status read_options(json_t **options, enum clf__precision *precision,
                               const struct clf__marian_folder *files, const char *folder)
{
    int is_int8 = 0;
    *options = NULL;
    if (is_converted(files)) {
        struct clf__config recorded = {.precision = CLF__PRECISION_FP32};
        CLF__TRY(read_converted(options, &recorded, folder));
        *precision = recorded.precision;
        return CLF_OK;
    }
    CLF__TRY(clf__marian_is_int8(&is_int8, files->model));
    *precision = is_int8 ? CLF__PRECISION_INT8 : CLF__PRECISION_FP32;
    return clf__marian_options(options, files->model);
}

static clf_status read_config(struct clf__config *out, const char *folder)
{
    struct clf__marian_folder files;
    struct clf__marian_ids ids;
    enum clf__precision precision;
    json_t *options = NULL;
    *out = (struct clf__config){0};
    CLF__TRY(find_files(&files, folder));
    clf_status status = read_options(&options, &precision, &files, folder);
    if (status == CLF_OK) {
        status = read_ids(&ids, &files);
    }
    if (status == CLF_OK) {
        status = clf__config_from_marian(out, options, files.decoding, &ids, files.model);
    }
    if (status == CLF_OK) {
        out->precision = precision;
    }
    json_decref(options);
    clf__marian_folder_free(&files);
    return status;
}

static clf_status open_weights(struct clf__weights **out, const char *folder)
{
    struct clf__marian_folder files;
    *out = NULL;
    CLF__TRY(find_files(&files, folder));
    clf_status status = is_converted(&files) ? clf__weights_open_file(out, folder, CLF__MARIAN_CONVERTED)
                                             : clf__weights_open_marian(out, files.model);
    clf__marian_folder_free(&files);
    return status;
}

static clf_status load_tokenizer(struct clf__tokenizer **out, const char *folder,
                                 const struct clf__config *config)
{
    struct clf__marian_folder files;
    struct clf__tokenizer_options options = clf__tokenizer_options_of(config);
    *out = NULL;
    CLF__TRY(find_files(&files, folder));
    clf_status status = clf__tokenizer_load_marian(out, files.source_words, files.target_words, &options);
    clf__marian_folder_free(&files);
    return status;
}

/* Reads a number that follows the path in the configuration's "shortlist"; *out is unchanged if there is
 * none. */
static clf_status read_cut(double *out, const struct clf__marian_folder *files, size_t index, double most)
{
    const json_t *value = json_array_get(json_object_get(files->decoding, "shortlist"), index);
    const char *word = json_string_value(value);
    char *end = NULL;
    if (value == NULL) {
        return CLF_OK;
    }
    *out = word != NULL ? strtod(word, &end) : 0;
    if (word == NULL || end == word || *end != '\0' || !(*out >= 0 && *out <= most)) {
        return clf__fail(CLF_FORMAT,
                         "%s: \"shortlist\" in the model's configuration: \"%.40s\" (value %zu) is not a "
                         "number from 0 to %g; correct or remove the value",
                         files->shortlist, word != NULL ? word : "a list", index + 1, most);
    }
    return CLF_OK;
}

/* Reads the pruning options of a text shortlist. For a binary shortlist, the option after the path states
 * whether to verify the checksum. */
static clf_status find_cut(struct clf__shortlist_cut *cut, const struct clf__marian_folder *files)
{
    double first = cut->first, best = cut->best, threshold = (double)cut->threshold;
    if (files->shortlist == NULL || clf__ends_with(files->shortlist, ".bin") ||
        clf__ends_with(files->shortlist, ".bin.gz")) {
        return CLF_OK;
    }
    CLF__TRY(read_cut(&first, files, 1, INT32_MAX));
    CLF__TRY(read_cut(&best, files, 2, INT32_MAX));
    CLF__TRY(read_cut(&threshold, files, 3, 1));
    *cut = (struct clf__shortlist_cut){(int)first, (int)best, (float)threshold};
    return CLF_OK;
}

static clf_status find_shortlist(char **out, struct clf__shortlist_cut *cut, const char *folder)
{
    struct clf__marian_folder files;
    *out = NULL;
    CLF__TRY(find_files(&files, folder));
    clf_status status = find_cut(cut, &files);
    if (status == CLF_OK) {
        *out = files.shortlist;
        files.shortlist = NULL; /* now owned by the caller */
    }
    clf__marian_folder_free(&files);
    return status;
}

static clf_status describe(struct clf__beside *out, const char *folder)
{
    struct clf__marian_folder files;
    enum clf__precision precision;
    json_t *options;
    char *text = NULL;
    *out = (struct clf__beside){.metadata = NULL};
    CLF__TRY(find_files(&files, folder));
    clf_status status = read_options(&options, &precision, &files, folder);
    if (status == CLF_OK) {
        status = clf__json_text(&text, options, JSON_COMPACT);
    }
    if (status == CLF_OK) {
        out->metadata = json_pack("{ss}", options_key, text);
        status = out->metadata != NULL
                     ? CLF_OK
                     : clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to write the configuration");
    }
    clf__free(text);
    json_decref(options);
    clf__marian_folder_free(&files);
    return status;
}

static clf_status copy_files(const char *target, const char *folder,
                             const struct clf__format_weights *weights)
{
    (void)weights; /* the weights file itself describes the type */
    struct clf__marian_folder files;
    CLF__TRY(find_files(&files, folder));
    clf_status status = clf__marian_copy_files(target, folder, &files);
    clf__marian_folder_free(&files);
    return status;
}

const struct clf__format clf__format_marian = {
    .name = "Marian",
    .find = find,
    .read_config = read_config,
    .open_weights = open_weights,
    .load_tokenizer = load_tokenizer,
    .find_shortlist = find_shortlist,
    .weights = CLF__MARIAN_CONVERTED,
    .copy_files = copy_files,
    .describe = describe,
};
