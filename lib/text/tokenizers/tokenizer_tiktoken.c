/* Creates a tokenizer from one file of tokens and ranks. */
#include <string.h>

#include "base/memory.h"
#include "text/tokenizers/json/pipeline.h"
#include "text/tokenizers/tokenizer_internal.h"

static clf_status load(struct clf__tokenizer **out, const struct clf__pipeline_options *source,
                       const struct clf__tokenizer_options *options)
{
    struct clf__tokenizer *tokenizer = NULL;
    *out = NULL;
    CLF__TRY(clf__allocate(&tokenizer, 1, sizeof *tokenizer));
    tokenizer->options = *options;
    tokenizer->source.unknown_id = tokenizer->target.unknown_id = -1;
    clf_status status = clf__tokenizer_read_pipeline(tokenizer, source);
    if (status == CLF_OK) {
        status = clf__tokenizer_frame(&tokenizer->framing, tokenizer, NULL, NULL);
    }
    if (status != CLF_OK) {
        clf__tokenizer_free(tokenizer);
        return status;
    }
    *out = tokenizer;
    return CLF_OK;
}

clf_status clf__tokenizer_load_tiktoken(struct clf__tokenizer **out, const char *folder, const char *name,
                                        const struct clf__tokenizer_options *options)
{
    const struct clf__pipeline_options source = {.folder = folder,
                                                 .source = CLF__PIPELINE_TIKTOKEN,
                                                 .model = name,
                                                 .rows = options->target_vocabulary};
    return load(out, &source, options);
}

clf_status clf__tokenizer_load_ranked(struct clf__tokenizer **out, const char *folder,
                                      const struct clf__vocabulary *vocabulary,
                                      const struct clf__tokenizer_options *options)
{
    const char *stroke = strrchr(vocabulary->path, '/');
    const struct clf__pipeline_options source = {.folder = folder,
                                                 .source = CLF__PIPELINE_VOCABULARY,
                                                 .vocabulary = vocabulary,
                                                 .model = stroke != NULL ? stroke + 1 : vocabulary->path,
                                                 .rows = options->target_vocabulary};
    return load(out, &source, options);
}
