#include "text/tokenizers/segmenters/segmenter.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "text/tokenizers/vocabulary.h"

clf_status clf__segmenter_read_config(struct clf__segmenter_folder *folder, const struct clf__json *config)
{
    const char *cut = NULL;
    CLF__TRY(clf__json_bool(config, "clean_up_tokenization_spaces", &folder->cleans_up));
    CLF__TRY(clf__json_bool(config, "do_lower_case", &folder->lowers_case));
    CLF__TRY(clf__json_string(config, "pre_tokenizer", &cut));
    folder->splits_words = cut && strcmp(cut, "WhitespaceSplit") == 0;
    return clf__json_string(config, "word_delimiter_token", &folder->word_delimiter);
}

/* Returns whether a token of a vocabulary begins with a mark. */
static int has_mark(const struct clf__vocabulary *vocabulary, const char *mark)
{
    int id = 0;
    while (id < vocabulary->size && strncmp(vocabulary->tokens[id], mark, strlen(mark)) != 0) {
        id++;
    }
    return id < vocabulary->size;
}

int clf__segmenter_has_sentencepiece(const struct clf__vocabulary *vocabulary)
{
    return has_mark(vocabulary, "\u2581");
}

int clf__segmenter_has_byte_level(const struct clf__vocabulary *vocabulary)
{
    return has_mark(vocabulary, "\u0120");
}

static clf_status refuse_missing(const struct clf__segmenter_folder *folder,
                                 const struct clf__vocabulary *target)
{
    int is_bytes = !clf__segmenter_has_sentencepiece(target);
    return clf__fail(CLF_FILE,
                     "%s/%s: the file is missing, but the vocabulary contains %s; download the file",
                     folder->path, is_bytes ? "merges.txt" : "source.spm",
                     is_bytes ? "byte-level tokens" : "SentencePiece tokens");
}

clf_status clf__segmenter_choose(const struct clf__segmenter **out,
                                 const struct clf__segmenter_folder *folder,
                                 const struct clf__vocabulary *target)
{
    int has_source, has_target;
    CLF__TRY(clf__file_find(&has_source, folder->path, "source.spm"));
    CLF__TRY(clf__file_find(&has_target, folder->path, "target.spm"));
    if (has_source || has_target) {
        *out = &clf__segmenter_sentencepiece;
    } else if (folder->word_delimiter) {
        *out = &clf__segmenter_characters;
    } else if (folder->splits_words ||
               (!clf__segmenter_has_sentencepiece(target) && !clf__segmenter_has_byte_level(target))) {
        *out = &clf__segmenter_words;
    } else {
        return refuse_missing(folder, target);
    }
    return CLF_OK;
}
