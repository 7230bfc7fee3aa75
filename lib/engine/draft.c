#include "engine/draft.h"

#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "engine/capacity.h"
#include "model/model.h"
#include "search/search.h"
#include "text/tokenizers/tokenizer.h"

enum { ROWS = 1 + CLF__MOST_PROPOSALS, FIRST_PROPOSALS = 5 };

struct clf__draft {
    struct clf__session *session;
    int source_length, positions, feature_size;
    int has_source; /* the source of the line is encoded */
    int wanted;     /* number of tokens to propose: grows when all are accepted, else shrinks */
    int proposed;   /* tokens proposed for the last step */
    int length;     /* tokens of the line before that step, with the start token */
    int32_t *fed;   /* (positions) tokens whose keys and values are cached */
    int fed_count;
};

static int tokens_differ(const char *a, const char *b)
{
    return (a == NULL) != (b == NULL) || (a != NULL && strcmp(a, b) != 0);
}

/* Returns whether ids have the same meaning in both models. */
static int has_same_vocabulary(const struct clf_model *a, const struct clf_model *b)
{
    const struct clf__config *left = &a->transformer->config, *right = &b->transformer->config;
    int is_same = left->source_vocabulary == right->source_vocabulary &&
                  left->target_vocabulary == right->target_vocabulary;
    for (int32_t id = 0; is_same && id < left->source_vocabulary; id++) {
        is_same = !tokens_differ(clf__tokenizer_source_token(a->tokenizer, id),
                                 clf__tokenizer_source_token(b->tokenizer, id));
    }
    for (int32_t id = 0; is_same && id < left->target_vocabulary; id++) {
        is_same = !tokens_differ(clf__tokenizer_target_token(a->tokenizer, id),
                                 clf__tokenizer_target_token(b->tokenizer, id));
    }
    return is_same;
}

static clf_status check_chain(const struct clf_model *model)
{
    return clf__session_can_chain(model->transformer)
               ? CLF_OK
               : clf__fail(CLF_BAD_ARGUMENT,
                           "%s: speculative decoding requires self-attention in the decoder; "
                           "translate without a draft model",
                           model->folder);
}

clf_status clf__draft_check(const struct clf_model *draft, const struct clf_model *model)
{
    if (draft->transformer->device != model->transformer->device) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "%s: the draft model is on another device than %s; load both on one", draft->folder,
                         model->folder);
    }
    if (model->info.feature_size > 0 || draft->info.feature_size > 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s: a draft model requires models that read text",
                         draft->info.feature_size > 0 ? draft->folder : model->folder);
    }
    CLF__TRY(check_chain(model));
    CLF__TRY(check_chain(draft));
    return has_same_vocabulary(draft, model)
               ? CLF_OK
               : clf__fail(CLF_BAD_ARGUMENT,
                           "%s: the draft model has another vocabulary than %s; use a model that was "
                           "trained with the same vocabulary",
                           draft->folder, model->folder);
}

clf_status clf__draft_create(struct clf__draft **out, struct clf_model *model,
                             const struct clf__session_limits *limits)
{
    const struct clf_model_info *info = &model->info;
    struct clf__draft *draft;
    *out = NULL;
    CLF__TRY(clf__allocate(&draft, 1, sizeof *draft));
    draft->source_length = clf__min_int(limits->source_length, info->max_source_length);
    draft->positions = clf__min_int(limits->positions, info->max_target_length);
    draft->wanted = FIRST_PROPOSALS;
    const struct clf__session_limits own = {
        .sources = 1,
        .source_tokens = draft->source_length,
        .source_length = draft->source_length,
        .cache_rows = ROWS,
        .chain = ROWS,
        .positions = draft->positions,
        .candidates = 1,
    };
    clf_status status = clf__allocate(&draft->fed, (size_t)draft->positions, sizeof *draft->fed);
    if (status == CLF_OK) {
        status = clf__session_create(&draft->session, model->transformer, &own);
    }
    if (status != CLF_OK) {
        clf__draft_free(draft);
        return status;
    }
    *out = draft;
    return CLF_OK;
}

void clf__draft_free(struct clf__draft *draft)
{
    if (draft != NULL) {
        clf__session_free(draft->session);
        clf__free(draft->fed);
        clf__free(draft);
    }
}

clf_status clf__draft_begin(struct clf__draft *draft, const struct clf__source *source)
{
    draft->fed_count = draft->proposed = 0;
    draft->has_source = source->length <= draft->source_length;
    const int first[] = {0, source->length};
    const struct clf__sequences sources = {.count = 1, .first = first, .ids = source->ids.data};
    return draft->has_source ? clf__session_start(draft->session, &sources) : CLF_OK;
}

/* Runs a step over `count` tokens, which it adds to those that are cached. *next receives the best token
 * after the last one, -1 if there is none. */
static clf_status feed(int32_t *next, struct clf__draft *draft, const int32_t *tokens, int count)
{
    static const int32_t zeros[ROWS + 1] = {0};
    int32_t positions[ROWS], ids[ROWS];
    float values[ROWS], statistics[4 * ROWS];
    memcpy(draft->fed + draft->fed_count, tokens, (size_t)count * sizeof *tokens);
    for (int i = 0; i < count; i++) {
        positions[i] = draft->fed_count + i;
    }
    struct clf__step step = {.rows = count,
                             .tokens = draft->fed + draft->fed_count,
                             .positions = positions,
                             .cache_rows = zeros,
                             .parents = zeros,
                             .slots = zeros,
                             .banned = zeros,
                             .banned_offsets = zeros,
                             .candidates = 1,
                             .is_chain = count > 1,
                             .values = values,
                             .ids = ids,
                             .statistics = statistics};
    CLF__TRY(clf__session_step(draft->session, &step));
    draft->fed_count += count;
    *next = ids[count - 1];
    return CLF_OK;
}

/* Feeds the tokens of a line that are not cached, at least the last one. *next: as in feed(). */
static clf_status catch_up(int32_t *next, struct clf__draft *draft, const int32_t *ids, int count,
                           int32_t start_id)
{
    int same = draft->fed_count > 0 && draft->fed[0] == start_id;
    while (same > 0 && same < count && same < draft->fed_count && draft->fed[same] == ids[same - 1]) {
        same++;
    }
    same = clf__min_int(same, count); /* the last of the count + 1 tokens has position `count` */
    draft->fed_count = same;
    if (same == 0) {
        CLF__TRY(feed(next, draft, &start_id, 1));
    }
    while (draft->fed_count <= count) {
        int at = draft->fed_count;
        CLF__TRY(feed(next, draft, ids + at - 1, clf__min_int(ROWS, count + 1 - at)));
    }
    return CLF_OK;
}

/* Adapts the number of proposals to the acceptance of the last ones. */
static void adapt(struct clf__draft *draft, int length)
{
    if (draft->proposed > 0) {
        int is_all = length - draft->length > draft->proposed;
        draft->wanted = is_all ? clf__min_int(draft->wanted + 2, CLF__MOST_PROPOSALS)
                               : clf__max_int(draft->wanted - 1, 1);
    }
    draft->proposed = 0;
    draft->length = length;
}

clf_status clf__draft_propose(struct clf__draft *draft, struct clf__search *search, int32_t start_id)
{
    int tag, count, proposed = 0;
    int32_t proposals[CLF__MOST_PROPOSALS], next = -1;
    const int32_t *ids = clf__search_look(search, 0, &tag, &count);
    if (ids == NULL || !draft->has_source) {
        return CLF_OK;
    }
    adapt(draft, count);
    /* The last proposal is not fed: `count` + 1 tokens and all other proposals need a position. */
    int wanted =
        clf__min_int(clf__search_proposals(search, 0), clf__min_int(draft->wanted, draft->positions - count));
    if (wanted <= 0) {
        return CLF_OK;
    }
    CLF__TRY(catch_up(&next, draft, ids, count, start_id));
    while (next >= 0 && proposed < wanted) {
        proposals[proposed++] = next;
        if (proposed < wanted) {
            CLF__TRY(feed(&next, draft, &proposals[proposed - 1], 1));
        }
    }
    draft->proposed = clf__search_propose(search, 0, proposals, proposed);
    return CLF_OK;
}
