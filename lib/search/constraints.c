/* Finds the phrases of constraints in a hypothesis. */
#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "search/internal.h"
#include "search/search.h"

int clf__constraints_tokens(const struct clf__constraints *constraints)
{
    int longest[CLF__PHRASES_LIMIT] = {0}, sum = 0;
    for (int i = 0; i < constraints->form_count; i++) {
        const struct clf__phrase_form *form = &constraints->forms[i];
        longest[form->phrase] = clf__max_int(longest[form->phrase], form->length);
    }
    for (int i = 0; i < constraints->phrase_count; i++) {
        sum += longest[i];
    }
    return sum;
}

static clf_status check_form(const struct clf__search_options *options, const struct clf__phrase_form *form)
{
    int is_right = form->phrase >= 0 && form->phrase < options->constraints->phrase_count &&
                   form->length > 0 && form->ids != NULL;
    for (int i = 0; is_right && i < form->length; i++) {
        is_right = clf__is_id(options, form->ids[i]) && !clf__is_end(options, form->ids[i]);
    }
    return is_right ? CLF_OK
                    : clf__fail(CLF_BAD_ARGUMENT,
                                "phrase %d: is empty, or has an end id or an id outside the vocabulary of %d",
                                form->phrase + 1, options->vocabulary);
}

/* Checks that every phrase has a form, and that they are within the limits. */
static clf_status check_sizes(const struct clf__search_options *options)
{
    const struct clf__constraints *constraints = options->constraints;
    int phrases = constraints->phrase_count, forms[CLF__PHRASES_LIMIT] = {0}, is_right = 1;
    if (phrases < 1 || phrases > CLF__PHRASES_LIMIT || constraints->forms == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "phrases: %d are out of range; use 1 to %d", phrases,
                         (int)CLF__PHRASES_LIMIT);
    }
    for (int i = 0; i < constraints->form_count; i++) {
        CLF__TRY(check_form(options, &constraints->forms[i]));
        forms[constraints->forms[i].phrase]++;
    }
    for (int i = 0; i < phrases; i++) {
        is_right &= forms[i] > 0 && forms[i] <= CLF__FORMS_EACH;
    }
    if (!is_right || clf__constraints_tokens(constraints) > CLF__PHRASE_TOKENS_LIMIT) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "phrases: one has no form or more than %d, or they have more than %d ids together",
                         (int)CLF__FORMS_EACH, (int)CLF__PHRASE_TOKENS_LIMIT);
    }
    return CLF_OK;
}

clf_status clf__constraints_check(const struct clf__search_options *options)
{
    if (options->constraints == NULL) {
        return CLF_OK;
    }
    const char *problem = options->beams == 1                        ? "greedy search"
                          : options->sampling.is_on                  ? "sampling"
                          : clf__is_diverse(options)                 ? "beam groups"
                          : options->early_stopping == CLF__STOP_ALL ? "early stopping \"all\""
                                                                     : NULL;
    if (problem != NULL) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "required phrases cannot be combined with %s; turn one of them off", problem);
    }
    int kept = options->constraints->hypotheses;
    if (kept < options->n_best || kept > options->beams) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "hypotheses with all phrases: %d is out of range; use n-best, %d, to the beam size, %d", kept,
            options->n_best, options->beams);
    }
    return check_sizes(options);
}

/* Returns whether a form may follow an id, which is -1 for a decoder that starts without one. */
static int may_follow(const struct clf__constraints *constraints, const struct clf__phrase_form *form,
                      int32_t before)
{
    int place = constraints->place_of == NULL ? CLF__AFTER_ALL
                : before < 0                  ? CLF__AFTER_NO_TEXT
                                              : constraints->place_of(constraints->user, before);
    return (form->places & place) != 0;
}

/* Returns whether the ids from `at` to end - 1 are those of a form or of its beginning. */
static int agrees(const struct clf__constraints *constraints, const struct clf__phrase_form *form,
                  const int32_t *ids, int at, int end)
{
    int common = clf__min_int(form->length, end - at);
    return memcmp(ids + at, form->ids, (size_t)common * sizeof *ids) == 0 &&
           may_follow(constraints, form, ids[at - 1]);
}

/* Returns whether the id after a form continues its last word. */
static int is_continued(const struct clf__constraints *constraints, const int32_t *after)
{
    return constraints->place_of != NULL &&
           constraints->place_of(constraints->user, after[-1]) == CLF__AFTER_WORD &&
           constraints->continues_word(constraints->user, after[-1], *after);
}

/* The occurrences that begin at an id. */
struct occurrence {
    int form;    /* longest form, or -1 */
    int is_open; /* the ids after it decide whether it is one, or whether a longer one is */
};

static struct occurrence find(const struct clf__phrase_state *state,
                              const struct clf__constraints *constraints, const int32_t *ids, int end)
{
    struct occurrence found = {.form = -1};
    int longest = 0;
    for (int i = 0; i < constraints->form_count; i++) {
        const struct clf__phrase_form *form = &constraints->forms[i];
        int after = state->begun + form->length;
        if ((state->met >> form->phrase & 1) != 0 || !agrees(constraints, form, ids, state->begun, end)) {
            continue;
        }
        found.is_open |= after >= end;
        if (form->length > longest &&
            (after == end || (after < end && !is_continued(constraints, ids + after)))) {
            longest = form->length;
            found.form = i;
        }
    }
    return found;
}

/* Returns the number of ids of a phrase's longest form. */
static int count_tokens(const struct clf__constraints *constraints, int phrase)
{
    int longest = 0;
    for (int i = 0; i < constraints->form_count; i++) {
        const struct clf__phrase_form *form = &constraints->forms[i];
        longest = form->phrase == phrase ? clf__max_int(longest, form->length) : longest;
    }
    return longest;
}

/* Finds phrases in the ids before `end`, up to one that may still become an occurrence unless `is_whole` is
 * set; sets *open to the occurrence there. */
static void follow(struct clf__phrase_state *state, struct occurrence *open,
                   const struct clf__constraints *constraints, const int32_t *ids, int end, int is_whole)
{
    *open = (struct occurrence){.form = -1};
    while (state->begun < end) {
        struct occurrence found = find(state, constraints, ids, end);
        if (found.is_open && !is_whole) {
            *open = found;
            return;
        }
        if (found.form >= 0) {
            state->met |= (uint64_t)1 << constraints->forms[found.form].phrase;
        }
        state->begun += found.form >= 0 ? constraints->forms[found.form].length : 1;
    }
}

void clf__phrases_follow(struct clf__phrase_state *state, const struct clf__constraints *constraints,
                         const int32_t *ids, int length)
{
    struct occurrence open;
    follow(state, &open, constraints, ids, length + 1, 0);
    state->tokens = length + 1 - state->begun;
    if (open.form >= 0) {
        int whole = count_tokens(constraints, constraints->forms[open.form].phrase);
        state->tokens = clf__max_int(state->tokens, whole);
    }
    for (int i = 0; i < constraints->phrase_count; i++) {
        state->tokens += (state->met >> i & 1) != 0 ? count_tokens(constraints, i) : 0;
    }
}

uint64_t clf__phrases_met(const struct clf__phrase_state *state, const struct clf__constraints *constraints,
                          const int32_t *ids, int length)
{
    struct clf__phrase_state whole = *state;
    struct occurrence open;
    follow(&whole, &open, constraints, ids, length + 1, 1);
    return whole.met;
}

float clf__phrases_score(int *placed, const struct clf__constraints *constraints,
                         const struct clf__beam *beam, int length)
{
    struct clf__phrase_state state = {.begun = 1};
    float score = 0.0f;
    *placed = 0;
    while (state.begun <= length) {
        struct occurrence found = find(&state, constraints, beam->ids, length + 1);
        int next = state.begun + 1;
        if (found.form >= 0) {
            next = state.begun + constraints->forms[found.form].length;
            state.met |= (uint64_t)1 << constraints->forms[found.form].phrase;
            score += beam->sums[next - 1] - beam->sums[state.begun - 1];
            *placed += next - state.begun;
        }
        state.begun = next;
    }
    return score;
}

/* Appends an id to a list without duplicates; returns the new count. */
static int add_id(int32_t *ids, int count, int32_t id)
{
    for (int i = 0; i < count; i++) {
        if (ids[i] == id) {
            return count;
        }
    }
    ids[count] = id;
    return count + 1;
}

int clf__phrases_next(int32_t *next, const struct clf__phrase_state *state,
                      const struct clf__constraints *constraints, const int32_t *ids, int length)
{
    int end = length + 1, begun = end - state->begun, count = 0;
    struct occurrence open = begun > 0 ? find(state, constraints, ids, end) : (struct occurrence){.form = -1};
    int whole = open.form >= 0 ? constraints->forms[open.form].phrase : -1;
    for (int i = 0; i < constraints->form_count; i++) {
        const struct clf__phrase_form *form = &constraints->forms[i];
        int is_unmet = (state->met >> form->phrase & 1) == 0;
        int goes_on = is_unmet && begun > 0 && form->length > begun &&
                      agrees(constraints, form, ids, state->begun, end);
        int begins = is_unmet && (begun == 0 || (whole >= 0 && form->phrase != whole)) &&
                     may_follow(constraints, form, ids[length]);
        if (goes_on) {
            count = add_id(next, count, form->ids[begun]);
        }
        if (begins) {
            count = add_id(next, count, form->ids[0]);
        }
    }
    return count;
}

clf_status clf__constraints_missing(uint64_t *out, const struct clf__constraints *constraints,
                                    int32_t start_id, const int32_t *ids, int length)
{
    int32_t *all;
    const struct clf__phrase_state begin = {.begun = 1};
    CLF__TRY(clf__allocate(&all, (size_t)length + 1, sizeof *all));
    all[0] = start_id;
    memcpy(all + 1, ids, (size_t)length * sizeof *ids);
    *out = ~clf__phrases_met(&begin, constraints, all, length) &
           (~(uint64_t)0 >> (64 - constraints->phrase_count));
    clf__free(all);
    return CLF_OK;
}
