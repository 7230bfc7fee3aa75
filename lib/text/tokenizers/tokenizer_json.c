/* Tokenizers with a single file: tokenizer.json, or a SentencePiece model or a list of tokens and ranks,
 * which are converted to tokenizer.json. */
#include <string.h>

#include "base/file.h"
#include "text/tokenizers/json/pipeline.h"
#include "text/tokenizers/tokenizer_internal.h"

/* Returns whether the folder has the files that the class needs without tokenizer.json. */
static clf_status has_own_files(int *out, const struct clf__tokenizer *tokenizer, const char *folder)
{
    const struct clf__tokenizer_class *class = tokenizer->class;
    int has_source = 0, has_target = 0;
    *out = 1;
    if (class != NULL && class->model != NULL) {
        CLF__TRY(clf__file_find(out, folder, class->model));
        if (*out && class->has_vocabulary) {
            return clf__file_find(out, folder, "vocab.json");
        }
        return CLF_OK;
    }
    CLF__TRY(clf__file_find(&has_source, folder, "source.spm"));
    CLF__TRY(clf__file_find(&has_target, folder, "target.spm"));
    *out = has_source || has_target;
    return CLF_OK;
}

clf_status clf__tokenizer_has_json(int *out, const struct clf__tokenizer *tokenizer, const char *folder)
{
    int has_own;
    CLF__TRY(clf__file_find(out, folder, "tokenizer.json"));
    if (*out) {
        CLF__TRY(has_own_files(&has_own, tokenizer, folder));
        int prefers = tokenizer->class != NULL && tokenizer->class->prefers_json;
        *out = (!has_own || prefers) && !tokenizer->options.separate;
    }
    return CLF_OK;
}

/* Reads the framing of sources from the file, if transformers does not rebuild the post-processor. */
static void take_template(struct clf__tokenizer *tokenizer, const struct clf__template *template,
                          int is_rebuilt)
{
    if (is_rebuilt && !tokenizer->class->pipeline->takes_template) {
        return;
    }
    _Static_assert((int)CLF__TEMPLATE_IDS == (int)CLF__MOST_FRAMING,
                   "a template and a framing have equal sizes");
    tokenizer->has_own_framing = 1;
    memcpy(tokenizer->own_before, template->before, sizeof tokenizer->own_before);
    memcpy(tokenizer->own_behind, template->behind, sizeof tokenizer->own_behind);
}

clf_status clf__tokenizer_read_pipeline(struct clf__tokenizer *tokenizer,
                                        const struct clf__pipeline_options *options)
{
    struct clf__tokenizer_side *source = &tokenizer->source, *target = &tokenizer->target;
    struct clf__pipeline_result result;
    CLF__TRY(clf__pipeline_read(&result, options));
    tokenizer->vocabulary = result.vocabulary;
    target->segmenter = result.segmenter;
    target->state = result.state;
    target->vocabulary = &tokenizer->vocabulary;
    target->unknown_id = result.unknown;
    target->shows_unknown = 1; /* unless the token is marked as special */
    take_template(tokenizer, &result.template, options->is_rebuilt);
    if (tokenizer->options.source_vocabulary > 0) {
        *source = *target;
    }
    return CLF_OK;
}

clf_status clf__tokenizer_load_json(struct clf__tokenizer *tokenizer,
                                    const struct clf__segmenter_folder *folder,
                                    const struct clf__class_settings *settings, const char *unknown_token,
                                    int is_named)
{
    struct clf__pipeline_options options = {
        .folder = folder->path,
        .source = folder->model != NULL ? CLF__PIPELINE_SENTENCEPIECE : CLF__PIPELINE_JSON,
        .model = folder->model,
        .class = tokenizer->class,
        .settings = settings,
        .is_rebuilt = is_named && tokenizer->class != NULL && tokenizer->class->pipeline != NULL,
        .adds_prefix_space = folder->adds_prefix_space,
        .cleans_up = folder->cleans_up,
        .rows = tokenizer->options.target_vocabulary,
        .unknown_token = unknown_token,
    };
    return clf__tokenizer_read_pipeline(tokenizer, &options);
}
