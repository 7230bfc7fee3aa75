/* Marian's own folders, Bergamot's and Firefox's among them. */
#include "checkpoint/marian.h"

#include "checkpoint/marian_folder.h"
#include "config/family/marian_options.h"
#include "formats/format.h"
#include "text/marian_words.h"

static clf_status find(int *is_one, const char *folder)
{
    struct clf__marian_folder files;
    CLF__TRY(clf__marian_folder_find(&files, is_one, folder));
    clf__marian_folder_free(&files);
    return CLF_OK;
}

/* The files of a folder that is one. */
static clf_status find_files(struct clf__marian_folder *out, const char *folder)
{
    int found;
    CLF__TRY(clf__marian_folder_find(out, &found, folder));
    return found ? CLF_OK : clf__fail(CLF_FILE, "%s: holds no model of Marian's any more", folder);
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

static clf_status read_config(struct clf__config *out, const char *folder)
{
    struct clf__marian_folder files;
    struct clf__marian_ids ids;
    json_t *options = NULL;
    *out = (struct clf__config){0};
    CLF__TRY(find_files(&files, folder));
    clf_status status = clf__marian_options(&options, files.model);
    if (status == CLF_OK) {
        status = read_ids(&ids, &files);
    }
    if (status == CLF_OK) {
        status = clf__config_from_marian(out, options, files.decoding, &ids, files.model);
    }
    int is_int8 = 0;
    if (status == CLF_OK) {
        status = clf__marian_is_int8(&is_int8, files.model);
        out->precision = is_int8 ? CLF_PRECISION_INT8 : out->precision;
    }
    json_decref(options);
    clf__marian_folder_free(&files);
    return status;
}

static clf_status open_weights(struct clf__checkpoint **out, const char *folder)
{
    struct clf__marian_folder files;
    *out = NULL;
    CLF__TRY(find_files(&files, folder));
    clf_status status = clf__checkpoint_open_marian(out, files.model);
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

static clf_status find_shortlist(char **out, const char *folder)
{
    struct clf__marian_folder files;
    *out = NULL;
    CLF__TRY(find_files(&files, folder));
    *out = files.shortlist;
    files.shortlist = NULL; /* the caller's now */
    clf__marian_folder_free(&files);
    return CLF_OK;
}

const struct clf__format clf__format_marian = {
    .name = "Marian",
    .find = find,
    .read_config = read_config,
    .open_weights = open_weights,
    .load_tokenizer = load_tokenizer,
    .find_shortlist = find_shortlist,
};
