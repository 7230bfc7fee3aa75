/* Prepares the steps of a search. */
#include <assert.h>
#include <string.h>

#include "search/internal.h"
#include "search/search.h"

void clf__search_source_start(struct clf__search_source *source)
{
    const struct clf__search_options *options = source->options;
    struct clf__beam *beam = &source->running[0];
    source->running_count = 1;
    source->finished_count = 0;
    source->ended_count = source->best_has_ended = 0;
    source->has_parted = source->proposed = 0;
    *beam = (struct clf__beam){.ids = beam->ids,
                               .sums = beam->sums,
                               .coverage = beam->coverage,
                               .places = clf__coverage_places(options)};
    if (beam->sums != NULL) {
        beam->sums[0] = 0.0f;
    }
    memset(beam->coverage, 0, (size_t)beam->places * sizeof *beam->coverage);
    beam->ids[0] = options->start_id;
    beam->phrases.begun = 1;
    clf__groups_begin(source);
}

/* A step under construction. */
struct draft {
    struct clf__step *step;
    const struct clf__step_tables *tables;
};

static struct draft begin_step(struct clf__step *step, const struct clf__step_tables *tables)
{
    step->rows = step->candidates = step->both_statistics = step->wants_logits = step->wants_attention = 0;
    step->choice_count = step->picks_each = step->is_chain = 0;
    tables->banned_offsets[0] = 0;
    return (struct draft){step, tables};
}

/* Lists the ids that begin or continue phrases in a row, except banned ones.
 *
 * @param constraints NULL: none. */
static void list_picks(const struct clf__search *search, const struct draft *draft,
                       const struct clf__constraints *constraints, int row, const struct clf__beam *beam,
                       const struct clf__id_list *banned)
{
    int limit = search->limits.picks, kept = 0;
    int32_t *picks = draft->tables->picks + (size_t)row * (size_t)limit;
    int count = constraints == NULL
                    ? 0
                    : clf__phrases_next(picks, &beam->phrases, constraints, beam->ids, beam->length);
    for (int i = 0; i < count; i++) {
        if (clf__id_list_find(banned, picks[i]) < 0) {
            picks[kept++] = picks[i];
        }
    }
    draft->step->picks_each = kept > draft->step->picks_each ? kept : draft->step->picks_each;
    for (int i = kept; i < limit; i++) {
        picks[i] = -1;
    }
}

/* Makes the lists of picks as long as the longest one. */
static void end_picks(const struct clf__search *search, const struct draft *draft)
{
    size_t each = (size_t)draft->step->picks_each, limit = (size_t)search->limits.picks;
    int32_t *picks = draft->tables->picks;
    for (size_t row = 1; row < (size_t)draft->step->rows && each > 0; row++) {
        memmove(picks + row * each, picks + row * limit, each * sizeof *picks);
    }
}

/* Lists the banned and changed ids of a row, and those whose logits are wanted. */
static void list_ids(struct clf__search *search, const struct draft *draft,
                     const struct clf__search_source *source, int row, const struct clf__beam *beam,
                     int is_forced)
{
    int32_t offset = draft->tables->banned_offsets[row];
    struct clf__id_list banned = {.ids = draft->tables->banned + offset};
    struct clf__id_list changed = {.ids = search->changed + (size_t)row * (size_t)search->limits.changed};
    if (!is_forced || source->options->keeps_logits) {
        clf__bans_write(&banned, source, beam);
        clf__penalties_list(&changed, search->listed, &banned, source, beam);
    }
    list_picks(search, draft, is_forced ? NULL : source->options->constraints, row, beam, &banned);
    for (int i = 0; i < changed.count; i++) {
        clf__id_list_insert(&banned, changed.ids[i]);
    }
    search->changed_counts[row] = changed.count;
    draft->tables->banned_offsets[row + 1] = offset + banned.count;
}

/* The hypotheses of a source in a step. */
struct hypotheses {
    const struct clf__beam *beams;
    int count;
    int token_row; /* as in struct clf__step */
};

/* Adds one row for each hypothesis of a slot. */
static void add_rows(struct clf__search *search, const struct draft *draft, int slot,
                     const struct hypotheses *hypotheses, int is_forced)
{
    const struct clf__search_source *source = &search->sources[slot];
    const struct clf__step_tables *tables = draft->tables;
    int beams = search->limits.beams;
    for (int i = 0; i < hypotheses->count; i++) {
        const struct clf__beam *beam = &hypotheses->beams[i];
        int row = draft->step->rows++;
        tables->tokens[row] = beam->ids[beam->length];
        tables->positions[row] = beam->length;
        tables->cache_rows[row] = slot * beams + i;
        tables->parents[row] = slot * beams + beam->parent;
        tables->slots[row] = slot;
        tables->token_rows[row] = hypotheses->token_row;
        tables->keeps_logits[row] =
            (uint8_t)(clf__wants_logits(source->options) || source->options->constraints != NULL);
        if (search->limits.ahead) {
            tables->scores[row] = beam->score;
        }
        list_ids(search, draft, source, row, beam, is_forced);
    }
}

/* Adds a row for each proposed token, with the bans that follow it. */
static void add_proposals(struct clf__search *search, const struct draft *draft, int slot)
{
    const struct clf__search_source *source = &search->sources[slot];
    struct clf__beam beam = source->running[0];
    const struct hypotheses only = {&beam, 1, -1};
    beam.parent = 0;
    for (int i = 0; i < source->proposed; i++) {
        beam.length++;
        add_rows(search, draft, slot, &only, 0);
    }
    draft->step->is_chain = source->proposed > 0;
}

int clf__search_proposals(const struct clf__search *search, int slot)
{
    const struct clf__search_source *source = &search->sources[slot];
    int length = source->running[0].length, count = 0;
    if (!clf__is_running(source) || clf__forced_id(source, length) >= 0) {
        return 0;
    }
    while (count < search->limits.proposals && length + count + 1 < source->max_length &&
           clf__forced_id(source, length + count + 1) < 0) {
        count++;
    }
    return count;
}

int clf__search_propose(struct clf__search *search, int slot, const int32_t *ids, int count)
{
    struct clf__search_source *source = &search->sources[slot];
    struct clf__beam *beam = &source->running[0];
    int kept = 0;
    assert(search->limits.slots == 1 && search->limits.beams == 1 &&
           count <= clf__search_proposals(search, slot));
    while (kept < count && clf__is_id(source->options, ids[kept]) &&
           !clf__is_end(source->options, ids[kept])) {
        beam->ids[beam->length + 1 + kept] = ids[kept];
        kept++;
    }
    source->proposed = kept;
    return kept;
}

/* Adds a source to a step. */
static struct clf__step_place add_source(struct clf__search *search, const struct draft *draft, int slot,
                                         const struct hypotheses *hypotheses)
{
    const struct clf__search_source *source = &search->sources[slot];
    const struct clf__search_options *options = source->options;
    struct clf__step *step = draft->step;
    int generated = hypotheses->beams->length, wanted = clf__candidates_wanted(options);
    int forced = clf__forced_id(source, generated), first_row = step->rows;
    step->candidates = wanted > step->candidates ? wanted : step->candidates;
    step->both_statistics |= clf__reads_all_statistics(options);
    step->wants_logits |= clf__wants_logits(options);
    step->wants_attention |= clf__wants_attention(options);
    /* A forced token needs no output of the model, but later tokens need its cache, and coverage needs its
     * attention. Logits are kept for forced tokens, too. */
    int last = generated == source->max_length - 1 || (forced >= 0 && clf__is_end(options, forced));
    if (forced < 0 || !last || clf__wants_attention(options) || options->keeps_logits) {
        add_rows(search, draft, slot, hypotheses, forced >= 0);
    }
    return (struct clf__step_place){
        .is_in_step = 1, .forced = forced, .first_row = first_row, .row_count = step->rows - first_row};
}

static struct hypotheses running(const struct clf__search_source *source)
{
    return (struct hypotheses){source->running, source->running_count, -1};
}

static void set_place(struct clf__search_source *source, struct clf__step_place place)
{
    source->is_in_step = place.is_in_step;
    source->forced = place.forced;
    source->first_row = place.first_row;
    source->row_count = place.row_count;
    source->is_chosen = place.is_chosen;
}

static int is_step_of_any(const struct clf__search *search)
{
    int is_any = 0;
    for (int slot = 0; slot < search->limits.slots; slot++) {
        is_any |= clf__is_running(&search->sources[slot]) && search->sources[slot].is_in_step;
    }
    return is_any;
}

/* Sources with beams whose step ahead may have run start again, because its rows have overwritten the
 * parents' cache tables. */
void clf__search_withdraw(struct clf__search *search)
{
    for (int slot = 0; slot < search->limits.slots && search->has_ahead; slot++) {
        struct clf__search_source *source = &search->sources[slot];
        if (clf__is_running(source) && source->ahead.is_chosen) {
            clf__search_source_start(source);
        }
    }
    search->has_ahead = search->step.is_ahead = 0;
}

struct clf__step *clf__search_prepare(struct clf__search *search)
{
    if (search->step.is_ahead && is_step_of_any(search)) {
        return &search->step;
    }
    struct draft draft = begin_step(&search->step, &search->tables);
    clf__search_withdraw(search);
    for (int slot = 0; slot < search->limits.slots; slot++) {
        struct clf__search_source *source = &search->sources[slot];
        if (clf__is_running(source)) {
            const struct hypotheses hypotheses = running(source);
            set_place(source, add_source(search, &draft, slot, &hypotheses));
            add_proposals(search, &draft, slot);
        }
    }
    end_picks(search, &draft);
    return &search->step;
}

/* Returns 1 if a source certainly ends with the prepared step. */
static int ends_with_step(const struct clf__search_source *source)
{
    return source->running[0].length + 1 == source->max_length ||
           (source->forced >= 0 && clf__is_end(source->options, source->forced));
}

/* Describes how the rows of a source are chosen. */
static void add_choice(const struct clf__search *search, const struct draft *draft, int slot,
                       const struct clf__step_place *place)
{
    const struct clf__search_source *source = &search->sources[slot];
    const struct clf__search_options *options = source->options;
    struct clf__beam_choice *choice = &draft->tables->choices[draft->step->choice_count++];
    *choice = (struct clf__beam_choice){
        .from_row = source->first_row,
        .from_rows = source->row_count,
        .ranks = clf__candidates_wanted(options),
        .row = place->first_row,
        .beams = place->row_count,
        .cache_row = slot * search->limits.beams,
        .statistic = clf__counts_banned(options) ? 0 : 2,
        .knows_scores = !source->is_chosen,
        .ends = {options->end_id, -1, -1, -1},
    };
    for (int i = 0; i < options->other_end_count; i++) {
        choice->ends[1 + i] = options->other_end_ids[i];
    }
}

/* Adds a source of the prepared step to the step ahead. The last tokens of its beams are not known yet,
 * unless the token is forced; their places in the lists of ids are beyond the beams' lengths until the
 * prepared step has ended. */
static struct clf__step_place add_ahead(struct clf__search *search, const struct draft *draft, int slot)
{
    const struct clf__search_source *source = &search->sources[slot];
    int beams = source->options->beams, length = source->running[0].length + 1;
    if (beams == 1) {
        struct clf__beam beam = source->running[0];
        beam.ids[beam.length = length] = source->forced;
        const struct hypotheses only = {&beam, 1, source->forced < 0 ? source->first_row : -1};
        return add_source(search, draft, slot, &only);
    }
    for (int i = 0; i < beams; i++) {
        struct clf__beam *beam = &source->next[i]; /* unused between steps */
        beam->ids[beam->length = length] = -1;
        beam->parent = i;
    }
    const struct hypotheses hypotheses = {source->next, beams, -1};
    struct clf__step_place place = add_source(search, draft, slot, &hypotheses);
    place.is_chosen = place.row_count > 0;
    if (place.is_chosen) {
        add_choice(search, draft, slot, &place);
    }
    return place;
}

/* Returns 1 if a running source is not in the prepared step, ends with it, or can continue in a step ahead.
 */
static int can_continue_ahead(const struct clf__search_source *source)
{
    int is_forced_beam = source->options->beams > 1 && source->is_in_step && source->forced >= 0;
    return source->can_be_ahead && (!is_forced_beam || ends_with_step(source));
}

struct clf__step *clf__search_prepare_ahead(struct clf__search *search)
{
    if (!search->limits.ahead || search->has_ahead || search->step.rows == 0) {
        return NULL;
    }
    for (int slot = 0; slot < search->limits.slots; slot++) {
        if (clf__is_running(&search->sources[slot]) && !can_continue_ahead(&search->sources[slot])) {
            return NULL;
        }
    }
    struct draft draft = begin_step(&search->ahead, &search->ahead_tables);
    for (int slot = 0; slot < search->limits.slots; slot++) {
        struct clf__search_source *source = &search->sources[slot];
        source->ahead = (struct clf__step_place){.is_in_step = 0};
        if (clf__is_running(source) && !source->is_in_step) {
            const struct hypotheses hypotheses = running(source);
            source->ahead = add_source(search, &draft, slot, &hypotheses);
        } else if (clf__is_running(source) && !ends_with_step(source)) {
            source->ahead = add_ahead(search, &draft, slot);
        }
    }
    search->ahead.previous_scores = search->tables.scores;
    search->ahead.previous_rows = search->step.rows;
    search->has_ahead = search->ahead.is_ahead = search->ahead.rows > 0;
    return search->has_ahead ? &search->ahead : NULL;
}

void clf__search_turn_ahead(struct clf__search *search)
{
    struct clf__step step = search->step;
    struct clf__step_tables tables = search->tables;
    search->step = search->ahead;
    search->tables = search->ahead_tables;
    search->ahead = step;
    search->ahead_tables = tables;
    search->has_ahead = 0;
    for (int slot = 0; slot < search->limits.slots; slot++) {
        set_place(&search->sources[slot], search->sources[slot].ahead);
    }
}
