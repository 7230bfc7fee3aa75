#include "engine/capacity.h"

#include "base/minmax.h"
#include "engine/settings.h"
#include "search/options.h"

/* Returns the cross-attention for the coverage penalty: the folder's choice or, as in CTranslate2, the first
 * head of the last layer. */
static struct clf__attention_heads coverage_heads(const struct clf__settings *settings)
{
    const struct clf__config *config = &settings->model->transformer->config;
    if (settings->search.coverage_penalty == 0.0) {
        return (struct clf__attention_heads){0, 0};
    }
    if (config->alignment_layer == 0) {
        return (struct clf__attention_heads){config->decoder_layers, 1};
    }
    int heads = config->alignment_heads;
    return (struct clf__attention_heads){config->alignment_layer, heads > 0 ? heads : config->decoder_heads};
}

struct clf__capacity clf__capacity_of(const struct clf__settings *settings)
{
    struct clf__capacity capacity = {
        .search = clf__search_limits_for(&settings->search, 0),
        .candidates = clf__candidates_wanted(&settings->search),
        .coverage = coverage_heads(settings),
    };
    capacity.search.proposals = settings->options.draft != NULL ? CLF__MOST_PROPOSALS : 0;
    if (settings->shortlist != NULL) {
        clf__shortlist_most(settings->shortlist, &capacity.shortlist_base, &capacity.shortlist_each);
    }
    return capacity;
}

static int has_shortlists(const struct clf__capacity *capacity)
{
    return capacity->shortlist_base + capacity->shortlist_each > 0;
}

struct clf__capacity clf__capacity_join(const struct clf__capacity *a, const struct clf__capacity *b)
{
    struct clf__capacity joined = *b;
    const struct clf__search_limits *limits = &a->search;
    struct clf__search_limits *search = &joined.search;
    if (has_shortlists(a) != has_shortlists(b)) {
        return joined;
    }
    search->beams = clf__max_int(search->beams, limits->beams);
    search->ends = clf__max_int(search->ends, limits->ends);
    search->max_length = clf__max_int(search->max_length, limits->max_length);
    search->banned = clf__max_int(search->banned, limits->banned);
    search->changed = clf__max_int(search->changed, limits->changed);
    search->logits = clf__max_int(search->logits, limits->logits);
    search->picks = clf__max_int(search->picks, limits->picks);
    search->kept = clf__max_int(search->kept, limits->kept);
    search->places = clf__max_int(search->places, limits->places);
    search->proposals = clf__max_int(search->proposals, limits->proposals);
    joined.candidates = clf__max_int(joined.candidates, a->candidates);
    joined.shortlist_base = clf__max_int(joined.shortlist_base, a->shortlist_base);
    joined.shortlist_each = clf__max_int(joined.shortlist_each, a->shortlist_each);
    joined.coverage = a->coverage.layer > 0 ? a->coverage : b->coverage;
    return joined;
}

int clf__capacity_covers(const struct clf__capacity *capacity, const struct clf__capacity *needed)
{
    const struct clf__search_limits *has = &capacity->search, *needs = &needed->search;
    return has->beams >= needs->beams && has->ends >= needs->ends && has->max_length >= needs->max_length &&
           has->banned >= needs->banned && has->changed >= needs->changed && has->logits >= needs->logits &&
           has->picks >= needs->picks && has->kept >= needs->kept && has->places >= needs->places &&
           capacity->candidates >= needed->candidates && capacity->shortlist_base >= needed->shortlist_base &&
           capacity->shortlist_each >= needed->shortlist_each &&
           has_shortlists(capacity) == has_shortlists(needed) &&
           (needed->coverage.layer == 0 || capacity->coverage.layer > 0);
}

struct clf__session_limits clf__capacity_limits(const struct clf__capacity *capacity, int lines,
                                                int batch_tokens, int source_length)
{
    int proposals = capacity->search.proposals, rows = lines * capacity->search.beams + proposals;
    return (struct clf__session_limits){
        .sources = lines,
        .source_tokens = clf__max_int(batch_tokens, source_length),
        .source_length = source_length,
        .cache_rows = rows,
        .chain = proposals > 0 ? 1 + proposals : 0,
        .positions = capacity->search.max_length,
        .candidates = capacity->candidates,
        .banned = rows * capacity->search.banned,
        .logits = capacity->search.logits,
        .picks = capacity->search.picks,
        .shortlist_base = capacity->shortlist_base,
        .shortlist_each = capacity->shortlist_each,
        .attention_layer = capacity->coverage.layer,
        .attention_heads = capacity->coverage.heads,
    };
}
