/* Folders written by CTranslate2's converters. */
#include "model/formats/ctranslate2.h"

#include "base/file.h"

static clf_status open_weights(struct clf__weights **out, const char *folder)
{
    return clf__ctranslate2_open_model(out, folder, CLF__CTRANSLATE2_WEIGHTS);
}

static clf_status load_tokenizer(struct clf__tokenizer **out, const char *folder,
                                 const struct clf__config *config)
{
    const struct clf__ctranslate2_text text = {
        .vocabulary_folder = folder, .model_folder = folder, .hidden = -1};
    return clf__ctranslate2_load_tokenizer(out, &text, config);
}

/* Detects a CTranslate2 folder: model.bin with a vocabulary and no Hugging Face weights, or converted
 * weights. */
static clf_status find_folder(int *is_one, const char *folder)
{
    static const char *const vocabularies[] = {"shared_vocabulary.json", "shared_vocabulary.txt",
                                               "source_vocabulary.json", "source_vocabulary.txt",
                                               "vocabulary.json",        "vocabulary.txt"};
    int has_other;
    CLF__TRY(clf__file_exists_in(is_one, folder, CLF__CTRANSLATE2_CONVERTED));
    if (*is_one) {
        return CLF_OK;
    }
    CLF__TRY(clf__file_exists_in(is_one, folder, "model.bin"));
    CLF__TRY(clf__file_exists_in(&has_other, folder, "model.safetensors"));
    int may_be = *is_one && !has_other;
    *is_one = 0;
    for (size_t i = 0; may_be && !*is_one && i < sizeof vocabularies / sizeof *vocabularies; i++) {
        CLF__TRY(clf__file_exists_in(is_one, folder, vocabularies[i]));
    }
    return CLF_OK;
}

const struct clf__format clf__format_ctranslate2 = {
    .name = "CTranslate2",
    .find = find_folder,
    .read_config = clf__ctranslate2_read_config,
    .open_weights = open_weights,
    .load_tokenizer = load_tokenizer,
    .weights = CLF__CTRANSLATE2_CONVERTED,
    .copy_files = clf__ctranslate2_copy_files,
    .describe = clf__ctranslate2_describe,
};
