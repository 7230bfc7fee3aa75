/* Alternatives at a position: the most probable tokens after a target prefix, each with the best translation
 * that continues it. A single search step, in the first job, finds these tokens; each then
 * becomes the prefix of one line of the second job. */
#include "base/memory.h"
#include "translate/internal.h"

/* The alternatives of all lines and their continuations. */
struct branches {
    struct clf_translation *starts; /* (lines of the call) first tokens; NULL: not found yet */
    struct clf_line *lines;         /* (count) */
    struct clf__ids *begun;         /* (count) target prefixes, owned by the translations of the first step */
    int count;
    struct clf_translation *found; /* (count) */
};

static int goes_on(const struct clf_translator *translator, const struct clf_hypothesis *start)
{
    return start->count < translator->settings->search.max_length;
}

static clf_status list_branches(struct branches *branches, const struct clf__call *call)
{
    const struct clf_translator *translator = call->translator;
    const struct clf_translation *starts = branches->starts;
    size_t most = (size_t)call->count * (size_t)translator->settings->options.alternatives;
    CLF__TRY(clf__allocate(&branches->lines, most, sizeof *branches->lines));
    CLF__TRY(clf__allocate(&branches->begun, most, sizeof *branches->begun));
    for (int line = 0; line < call->count; line++) {
        for (int i = 0; i < starts[line].count; i++) {
            const struct clf_hypothesis *start = &starts[line].hypotheses[i];
            if (goes_on(translator, start)) {
                branches->lines[branches->count] = call->lines[line];
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

static clf_status begin(struct clf__call *call)
{
    struct clf__settings *starts = call->translator->settings->starts;
    const struct clf__request request = {
        .lines = call->lines, .prefixes = call->others, .count = call->count, .call = call};
    CLF__TRY(clf__settings_check_start(call->translator->settings));
    CLF__TRY(clf__allocate(&call->state, 1, sizeof(struct branches)));
    CLF__TRY(clf__work_begin(&call->work, call->translator, starts, &request));
    call->job = &call->work.job;
    return CLF_OK;
}

static clf_status go_on(struct branches *branches, struct clf__call *call)
{
    struct clf_translator *translator = call->translator;
    CLF__TRY(list_branches(branches, call));
    discount(translator->engine, branches->starts, call->count, branches->count);
    const struct clf__request branched = {
        .lines = branches->lines, .begun = branches->begun, .count = branches->count};
    CLF__TRY(clf__work_begin(&call->work, translator, translator->settings, &branched));
    call->job = &call->work.job;
    return CLF_OK;
}

static clf_status join(struct branches *branches, struct clf__call *call)
{
    int next = 0;
    branches->found = clf__work_take(&call->work);
    call->job = NULL;
    for (int line = 0; line < call->count; line++) {
        CLF__TRY(join_line(&branches->starts[line], call->translator, branches, &next));
    }
    call->translations = branches->starts;
    branches->starts = NULL;
    return clf__emit_lines(call, call->translations, 0, call->count);
}

static clf_status advance(struct clf__call *call)
{
    struct branches *branches = call->state;
    if (branches->starts != NULL) {
        return join(branches, call);
    }
    branches->starts = clf__work_take(&call->work);
    return go_on(branches, call);
}

static void free_branches(struct clf__call *call)
{
    struct branches *branches = call->state;
    if (branches == NULL) {
        return;
    }
    clf_translations_free(branches->starts, call->count);
    clf_translations_free(branches->found, branches->count);
    clf__free(branches->lines);
    clf__free(branches->begun);
    clf__free(branches);
}

const struct clf__call_kind clf__call_alternatives = {begin, advance, free_branches};
