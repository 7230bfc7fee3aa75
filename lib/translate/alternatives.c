/* Alternatives at a position: the most probable tokens after a target prefix, each with the best translation
 * that continues it. A single search step finds these tokens; each then becomes the prefix of one line. */
#include "base/memory.h"
#include "translate/internal.h"

/* The alternatives of all lines and their continuations. */
struct branches {
    struct clf_line *lines; /* (count) */
    struct clf__ids *begun; /* (count) target prefixes, owned by the translations of the first step */
    int count;
    struct clf_translation *found; /* (count) */
};

static int goes_on(const struct clf_translator *translator, const struct clf_hypothesis *start)
{
    return start->count < translator->settings->search.max_length;
}

static clf_status list_branches(struct branches *branches, const struct clf_translator *translator,
                                const struct clf__request *request, const struct clf_translation *starts)
{
    size_t most = (size_t)request->count * (size_t)translator->settings->options.alternatives;
    CLF__TRY(clf__allocate(&branches->lines, most, sizeof *branches->lines));
    CLF__TRY(clf__allocate(&branches->begun, most, sizeof *branches->begun));
    for (int line = 0; line < request->count; line++) {
        for (int i = 0; i < starts[line].count; i++) {
            const struct clf_hypothesis *start = &starts[line].hypotheses[i];
            if (goes_on(translator, start)) {
                branches->lines[branches->count] = request->lines[line];
                branches->begun[branches->count++] =
                    (struct clf__ids){.data = start->ids, .count = start->count};
            }
        }
    }
    return CLF_OK;
}

static void exchange(struct clf_hypothesis *a, struct clf_hypothesis *b)
{
    struct clf_hypothesis held = *a;
    *a = *b;
    *b = held;
}

/* Replaces the alternatives of one line with their continuations, starting at branch *next. An alternative
 * without a continuation is dropped; if all are dropped, the line gets their error. */
static clf_status join_line(struct clf_translation *line, const struct clf_translator *translator,
                            const struct branches *branches, int *next)
{
    int kept = 0, all = line->count;
    const struct clf_translation *failed = NULL;
    for (int i = 0; i < all; i++) {
        struct clf_hypothesis *start = &line->hypotheses[i];
        double log_probability = start->log_probability;
        start->score = (float)log_probability;
        if (goes_on(translator, start)) {
            const struct clf_translation *branch = &branches->found[(*next)++];
            if (branch->count == 0) {
                failed = branch;
                continue;
            }
            exchange(start, &branch->hypotheses[0]);
            start->score = (float)(log_probability + (double)start->score);
            start->log_probability += log_probability;
        }
        exchange(start, &line->hypotheses[kept++]); /* hypotheses at `kept` and later are freed below */
    }
    if (kept == 0 && failed != NULL) {
        line->status = failed->status;
        CLF__TRY(clf__copy_string(&line->problem, failed->problem));
    }
    for (int i = kept; i < all; i++) {
        clf__hypothesis_free(&line->hypotheses[i]);
    }
    line->count = kept;
    return CLF_OK;
}

/* Subtracts the lines and tokens of the first step from the totals, so that each line counts once. */
static void discount(struct clf_engine *engine, const struct clf_translation *starts, int count, int branches)
{
    struct clf_stage_times times = {.lines = -branches};
    for (int i = 0; i < count; i++) {
        times.source_tokens -= starts[i].source_count;
        times.target_tokens -= starts[i].count > 0 ? starts[i].hypotheses[0].count : 0;
    }
    clf__engine_add_times(engine, &times);
}

static clf_status go_on(struct branches *branches, struct clf_translator *translator,
                        const struct clf__request *request, struct clf_translation *starts)
{
    int next = 0;
    CLF__TRY(list_branches(branches, translator, request, starts));
    discount(translator->engine, starts, request->count, branches->count);
    const struct clf__request branched = {
        .lines = branches->lines, .begun = branches->begun, .count = branches->count};
    CLF__TRY(clf__translate(&branches->found, translator, translator->settings, &branched));
    for (int line = 0; line < request->count; line++) {
        CLF__TRY(join_line(&starts[line], translator, branches, &next));
    }
    return CLF_OK;
}

clf_status clf__translate_alternatives(struct clf_translation **out, struct clf_translator *translator,
                                       const struct clf__request *request)
{
    struct branches branches = {.count = 0};
    struct clf_translation *starts;
    CLF__TRY(clf__settings_check_start(translator->settings));
    CLF__TRY(clf__translate(&starts, translator, translator->settings->starts, request));
    clf_status status = go_on(&branches, translator, request, starts);
    clf_translations_free(branches.found, branches.count);
    clf__free(branches.lines);
    clf__free(branches.begun);
    if (status != CLF_OK) {
        clf_translations_free(starts, request->count);
        return status;
    }
    *out = starts;
    return CLF_OK;
}
