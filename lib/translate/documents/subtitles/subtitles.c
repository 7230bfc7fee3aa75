/* Creates and frees the state of subtitles. */
#include "translate/documents/subtitles/subtitles.h"

#include "base/memory.h"

clf_status clf__subtitles_create(struct clf__subtitles **out, struct clf_document *document,
                                 const struct clf__cue_syntax *syntax)
{
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    (*out)->syntax = syntax;
    document->state = *out;
    return CLF_OK;
}

void clf__subtitles_close(struct clf_document *document)
{
    struct clf__subtitles *subtitles = document->state;
    if (subtitles != NULL) {
        clf__free(subtitles->plain.bytes);
        clf__free(subtitles->cues);
        clf__free(subtitles->slots);
        clf__free(subtitles->marks);
        clf__free(subtitles->parts);
        clf__segments_free(&subtitles->fixed);
    }
    clf__free(subtitles);
    document->state = NULL;
}

clf_status clf__subtitles_add(struct clf__subtitles *subtitles, const struct clf__cue *cue)
{
    CLF__TRY(
        clf__grow(&subtitles->cues, subtitles->cue_count, &subtitles->cue_capacity, sizeof *subtitles->cues));
    struct clf__cue *added = &subtitles->cues[subtitles->cue_count++];
    *added = *cue;
    added->text_line = cue->text_line > 0 ? cue->text_line : cue->line + 1;
    return CLF_OK;
}
