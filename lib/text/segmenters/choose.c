#include "text/segmenters/segmenter.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "text/vocabulary.h"

clf_status clf__segmenter_read_config(struct clf__segmenter_folder *folder, const struct clf__json *config)
{
    const char *cut = NULL;
    CLF__TRY(clf__json_bool(config, "clean_up_tokenization_spaces", &folder->cleans_up));
    CLF__TRY(clf__json_string(config, "pre_tokenizer", &cut));
    folder->splits_words = cut && strcmp(cut, "WhitespaceSplit") == 0;
    return clf__json_string(config, "word_delimiter_token", &folder->word_delimiter);
}

/* Those with the mark that SentencePiece puts before a word. */
static int has_sentencepiece(const struct clf__vocabulary *vocabulary)
{
    const char *mark = "\u2581";
    int id = 0;
    while (id < vocabulary->size && strncmp(vocabulary->pieces[id], mark, strlen(mark)) != 0) {
        id++;
    }
    return id < vocabulary->size;
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
    } else if (folder->splits_words || !has_sentencepiece(target)) {
        *out = &clf__segmenter_words;
    } else {
        return clf__fail(
            CLF_FILE,
            "%s/source.spm: is missing, and the vocabulary holds SentencePiece's pieces; download "
            "it too",
            folder->path);
    }
    return CLF_OK;
}
