/* The tokens of growing translations, for the hook `generated`. The hook runs on another thread than the
 * search, which may generate further tokens before it knows that the hook has ended a translation; these are
 * removed from the result. */
#include <string.h>

#include "base/memory.h"
#include "engine/internal.h"
#include "search/search.h"

static clf_status copy_logits(struct clf_generated_token *token, const float *logits, int count)
{
    float *copy;
    CLF__TRY(clf__allocate(&copy, (size_t)count, sizeof *copy));
    memcpy(copy, logits, (size_t)count * sizeof *copy);
    token->logits = copy;
    token->logit_count = count;
    return CLF_OK;
}

static clf_status emit(struct clf__lane *lane, int slot, const struct clf__hypothesis *found, int is_last)
{
    struct clf__unit *unit = lane->units[slot];
    const float *logits = clf__search_logits(lane->search, slot);
    struct clf__part *part;
    CLF__TRY(clf__allocate(&part, 1, sizeof *part));
    part->line = unit->number;
    part->sum = found->log_probability;
    part->token = (struct clf_generated_token){.size = sizeof part->token,
                                               .step = found->length - 1,
                                               .id = found->ids[found->length - 1],
                                               .log_probability = found->log_probability - unit->emitted.sum,
                                               .is_last = is_last};
    clf_status status = logits != NULL ? copy_logits(&part->token, logits, unit->search.vocabulary) : CLF_OK;
    if (status != CLF_OK) {
        clf__free(part);
        return status;
    }
    unit->emitted.count = found->length;
    unit->emitted.sum = found->log_probability;
    clf__job_stream(unit->job, part);
    return CLF_OK;
}

clf_status clf__tokens_emit(struct clf__lane *lane)
{
    for (int slot = 0; slot < lane->max_lines; slot++) {
        const struct clf__unit *unit = lane->units[slot];
        struct clf__hypothesis found;
        int is_last;
        /* A line that a failed device began has emitted tokens that this one generates again. */
        if (unit != NULL && unit->settings->options.generated != NULL &&
            clf__search_see(&found, &is_last, lane->search, slot) && found.length > unit->emitted.count) {
            CLF__TRY(emit(lane, slot, &found, is_last));
        }
    }
    return CLF_OK;
}

void clf__tokens_stop(struct clf__lane *lane)
{
    for (int slot = 0; lane->units != NULL && slot < lane->max_lines; slot++) {
        if (lane->units[slot] != NULL && lane->units[slot]->emitted.kept > 0) {
            clf__search_stop(lane->search, slot);
        }
    }
}
