#include "text/tokenizers/tokenizer_make.h"

#include <string.h>

#include "base/memory.h"
#include "text/tokenizers/tokenizer_internal.h"

static clf_status open_side(struct clf__tokenizer_side *side, const struct clf__tokenizer_material *material,
                            int target)
{
    const struct clf__segmenter *segmenter = material->segmenter;
    if (segmenter->open != NULL) {
        CLF__TRY(segmenter->open(&side->state, &material->folder, target));
    }
    side->segmenter = segmenter;
    side->unknown_id = clf__vocabulary_id(side->vocabulary, material->unknown, strlen(material->unknown));
    return CLF_OK;
}

static clf_status make(struct clf__tokenizer *tokenizer, struct clf__tokenizer_material *material)
{
    struct clf__tokenizer_side *source = &tokenizer->source, *target = &tokenizer->target;
    tokenizer->options = material->options;
    tokenizer->vocabulary = material->source;
    tokenizer->target_vocabulary = material->target;
    material->source = material->target = (struct clf__vocabulary){.size = 0};
    source->vocabulary = target->vocabulary = &tokenizer->vocabulary;
    if (tokenizer->target_vocabulary.size > 0) {
        target->vocabulary = &tokenizer->target_vocabulary;
    }
    if (material->source_language != NULL) {
        CLF__TRY(clf__copy_string(&tokenizer->source_language, material->source_language));
    }
    if (material->target_language != NULL) {
        CLF__TRY(clf__copy_string(&tokenizer->target_language, material->target_language));
    }
    CLF__TRY(open_side(source, material, 0));
    CLF__TRY(open_side(target, material, 1));
    return clf__tokenizer_frame(&tokenizer->framing, tokenizer, NULL, NULL);
}

clf_status clf__tokenizer_make(struct clf__tokenizer **out, struct clf__tokenizer_material *material)
{
    *out = NULL;
    struct clf__tokenizer *tokenizer;
    CLF__TRY(clf__allocate(&tokenizer, 1, sizeof *tokenizer));
    clf_status status = make(tokenizer, material);
    if (status != CLF_OK) {
        clf__tokenizer_free(tokenizer);
        return status;
    }
    *out = tokenizer;
    return CLF_OK;
}
