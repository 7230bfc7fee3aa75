#include "search/search.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "search/internal.h"

/* --- One block holds all memory of a search, so steps do not allocate. --- */

enum { UNIT = 16 }; /* bytes; alignment of everything in a block */

struct block {
    char *start;  /* NULL while the block is measured */
    size_t units; /* units used so far; SIZE_MAX after an overflow */
};

/* Allocates `count` objects in the block; returns NULL while the block is measured. */
static void *take(struct block *block, size_t count, size_t size)
{
    void *taken = block->start != NULL ? block->start + block->units * UNIT : NULL;
    size_t bytes;
    if (block->units == SIZE_MAX || __builtin_mul_overflow(count, size, &bytes)) {
        block->units = SIZE_MAX;
    } else if (bytes > 0) {
        block->units += (bytes - 1) / UNIT + 1;
    }
    return taken;
}

/* Lays out the arrays of a step of at most `rows` rows, except logits and attention. */
static void lay_out_step(struct clf__step *step, struct clf__step_tables *tables, struct block *block,
                         const struct clf__search_limits *limits, size_t rows)
{
    size_t candidates = (size_t)clf__candidates_of_row(limits->beams, limits->ends, limits->vocabulary);
    step->tokens = tables->tokens = take(block, rows, sizeof(int32_t));
    step->positions = tables->positions = take(block, rows, sizeof(int32_t));
    step->cache_rows = tables->cache_rows = take(block, rows, sizeof(int32_t));
    step->parents = tables->parents = take(block, rows, sizeof(int32_t));
    step->slots = tables->slots = take(block, rows, sizeof(int32_t));
    step->token_rows = tables->token_rows = take(block, rows, sizeof(int32_t));
    step->keeps_logits = tables->keeps_logits = take(block, rows, sizeof(uint8_t));
    step->banned = tables->banned = take(block, rows * (size_t)limits->banned, sizeof(int32_t));
    step->picks = tables->picks = take(block, rows * (size_t)limits->picks, sizeof(int32_t));
    step->pick_values = take(block, rows * (size_t)limits->picks, sizeof(float));
    step->banned_offsets = tables->banned_offsets = take(block, rows + 1, sizeof(int32_t));
    tables->scores = take(block, limits->ahead ? rows : 0, sizeof(float));
    step->choices = tables->choices =
        take(block, limits->ahead ? (size_t)limits->slots : 0, sizeof *tables->choices);
    step->values = take(block, rows * candidates, sizeof(float));
    step->ids = take(block, rows * candidates, sizeof(int32_t));
    step->statistics = take(block, rows * 4, sizeof(float));
}

/* Both steps share the logits and the attention, which a step ahead does not request. */
static void lay_out_steps(struct clf__search *search, struct block *block)
{
    const struct clf__search_limits *limits = &search->limits;
    size_t rows = (size_t)limits->slots * (size_t)limits->beams + (size_t)limits->proposals;
    lay_out_step(&search->step, &search->tables, block, limits, rows);
    lay_out_step(&search->ahead, &search->ahead_tables, block, limits, limits->ahead ? rows : 0);
    size_t logits = limits->logits ? (size_t)limits->vocabulary : 0, changed = (size_t)limits->changed;
    search->step.logits = search->ahead.logits = take(block, rows, logits * sizeof(float));
    search->step.attention = search->ahead.attention =
        take(block, rows, (size_t)limits->places * sizeof(float));
    search->changed = take(block, rows, changed * sizeof(int32_t));
    search->changed_counts = take(block, rows, sizeof(int));
    search->listed = take(block, changed, sizeof(int32_t));
    search->scores = take(block, changed, sizeof(float));
    search->choices = take(block, logits, sizeof *search->choices);
    search->largest = take(block, logits, sizeof *search->largest);
    size_t kept = limits->kept ? (size_t)limits->vocabulary : 0;
    search->kept = take(block, (size_t)limits->slots, kept * sizeof *search->kept);
}

/* Lays out three lists of `beams` hypotheses per slot, the ids and coverage of each hypothesis, and the bans.
 */
static void lay_out_slots(struct clf__search *search, struct block *block)
{
    size_t beams = (size_t)search->limits.beams, banned = (size_t)search->limits.banned;
    size_t slots = (size_t)search->limits.slots, places = (size_t)search->limits.places;
    size_t ids_each = (size_t)search->limits.max_length + 1;
    search->sources = take(block, slots, sizeof *search->sources);
    struct clf__beam *beam = take(block, slots * 3 * beams, sizeof *beam);
    int32_t *ids = take(block, slots * 3 * beams, ids_each * sizeof *ids);
    float *coverage = take(block, slots * 3 * beams, places * sizeof *coverage);
    size_t sums_each = search->limits.picks > 0 ? ids_each : 0;
    float *sums = take(block, slots * 3 * beams, sums_each * sizeof *sums);
    int32_t *always_banned = take(block, slots * banned, sizeof *always_banned);
    struct clf__group *groups = take(block, slots * beams, sizeof *groups);
    int32_t *taken = take(block, slots * beams, sizeof *taken);
    if (block->start == NULL) {
        return;
    }
    for (size_t i = 0; i < slots * 3 * beams; i++) {
        beam[i].ids = ids + i * ids_each;
        beam[i].coverage = coverage + i * places;
        beam[i].sums = sums_each > 0 ? sums + i * sums_each : NULL;
    }
    for (size_t i = 0; i < slots; i++, beam += 3 * beams) {
        search->sources[i] = (struct clf__search_source){.running = beam,
                                                         .next = beam + beams,
                                                         .finished = beam + 2 * beams,
                                                         .always_banned = always_banned + i * banned,
                                                         .groups = groups + i * beams,
                                                         .taken = taken + i * beams};
    }
}

/* The search itself is at the start of the block. */
static void lay_out(struct clf__search *search, struct block *block)
{
    size_t beams = (size_t)search->limits.beams;
    take(block, 1, sizeof *search);
    size_t kept = (size_t)clf__candidates_kept(search->limits.beams, search->limits.ends);
    if (search->limits.picks > 0) {
        size_t each = (size_t)search->limits.picks +
                      (size_t)clf__candidates_of_row(search->limits.beams, search->limits.ends,
                                                     search->limits.vocabulary);
        kept = kept > beams * each ? kept : beams * each;
    }
    search->candidates = take(block, kept, sizeof *search->candidates);
    search->outcome = take(block, beams, sizeof *search->outcome);
    lay_out_steps(search, block);
    lay_out_slots(search, block);
}

clf_status clf__search_create(struct clf__search **out, const struct clf__search_limits *limits)
{
    *out = NULL;
    CLF__TRY(clf__search_check_rows(limits));
    struct clf__search search = {.limits = *limits};
    struct block block = {0};
    lay_out(&search, &block);
    clf_status status = clf__allocate(&block.start, block.units, UNIT);
    if (status != CLF_OK) {
        return clf__fail_in(status, "searching %d sources at a time with %d beams of up to %d tokens",
                            limits->slots, limits->beams, limits->max_length);
    }
    block.units = 0;
    lay_out(&search, &block);
    *out = memcpy(block.start, &search, sizeof search);
    return CLF_OK;
}

void clf__search_free(struct clf__search *search)
{
    clf__free(search);
}

/* --- Adding and removing sources. --- */

int clf__search_is_free(const struct clf__search *search, int slot)
{
    return search->sources[slot].options == NULL;
}

clf_status clf__search_add(struct clf__search *search, int slot, const struct clf__search_options *options,
                           int tag)
{
    assert(slot >= 0 && slot < search->limits.slots && clf__search_is_free(search, slot));
    CLF__TRY(clf__search_check(options));
    CLF__TRY(clf__search_check_room(&search->limits, options));
    struct clf__search_source *source = &search->sources[slot];
    source->options = options;
    source->tag = tag;
    source->done = 0;
    source->is_not_finite = 0;
    source->is_in_step = source->ahead.is_in_step = 0;
    source->can_be_ahead = clf__can_be_ahead(options);
    source->source_ids = NULL;
    source->source_count = 0;
    source->random_key = clf__random_key(options->sampling.seed, 0);
    source->max_length = options->max_length;
    if (options->steps > 0 && options->steps < options->max_length - options->prefix_count) {
        source->max_length = options->prefix_count + options->steps;
    }
    source->always_banned_count = clf__bans_prepare(source->always_banned, options);
    clf__search_source_start(source);
    return CLF_OK;
}

void clf__search_set_source(struct clf__search *search, int slot, const int32_t *ids, int count)
{
    struct clf__search_source *source = &search->sources[slot];
    double most = ceil(source->options->max_length_factor * count);
    int least = clf__prompt_length(source->options) + 1; /* the prompt is not truncated */
    source->source_ids = ids;
    source->source_count = count;
    most = most >= 1.0 && most < least ? least : most;
    if (most >= 1.0 && most < source->max_length) {
        source->max_length = (int)most;
    }
}

void clf__search_set_identity(struct clf__search *search, int slot, uint64_t identity)
{
    struct clf__search_source *source = &search->sources[slot];
    source->random_key = clf__random_key(source->options->sampling.seed, identity);
}

void clf__search_remove(struct clf__search *search, int slot)
{
    search->sources[slot].options = NULL;
}

/* Lists the finished hypotheses or, if there are none, the running ones. */
static int list_outcome(struct clf__hypothesis *outcome, const struct clf__search_source *source)
{
    int any = source->finished_count > 0, count = 0;
    if (source->is_not_finite) {
        return 0;
    }
    int found = any ? source->finished_count : source->running_count;
    const struct clf__beam *beams = any ? source->finished : source->running;
    int prompt = clf__prompt_length(source->options);
    /* An empty running beam is not a hypothesis. */
    for (; count < source->options->n_best && count < found && beams[count].length > prompt; count++) {
        outcome[count] = (struct clf__hypothesis){.ids = beams[count].ids + 1,
                                                  .length = beams[count].length,
                                                  .score = beams[count].score,
                                                  .log_probability = beams[count].log_probability};
    }
    return count;
}

const int32_t *clf__search_look(const struct clf__search *search, int slot, int *tag, int *count)
{
    const struct clf__search_source *source = &search->sources[slot];
    if (source->options == NULL || source->done) {
        return NULL;
    }
    *tag = source->tag;
    *count = source->running[0].length;
    return source->running[0].ids + 1;
}

int clf__search_see(struct clf__hypothesis *out, int *is_done, const struct clf__search *search, int slot)
{
    const struct clf__search_source *source = &search->sources[slot];
    if (source->options == NULL || source->is_not_finite) {
        return 0;
    }
    const struct clf__beam *beam =
        source->done && source->finished_count > 0 ? source->finished : source->running;
    *is_done = source->done;
    *out = (struct clf__hypothesis){.ids = beam->ids + 1,
                                    .length = beam->length,
                                    .score = beam->score,
                                    .log_probability = beam->log_probability};
    return 1;
}

const float *clf__search_logits(const struct clf__search *search, int slot)
{
    const struct clf__search_source *source = &search->sources[slot];
    return source->options != NULL && source->options->keeps_logits
               ? search->kept + (size_t)slot * (size_t)search->limits.vocabulary
               : NULL;
}

void clf__search_stop(struct clf__search *search, int slot)
{
    struct clf__search_source *source = &search->sources[slot];
    if (clf__is_running(source)) {
        source->done = 1;
    }
}

float clf__search_score(const struct clf__search_options *options, int length, double log_probability)
{
    int divides = options->divides_greedy && !options->sampling.is_on && length > clf__prompt_length(options);
    return (float)log_probability / (divides ? clf__length_divisor(options, length) : 1.0f);
}

int clf__search_take(struct clf__search *search, struct clf__search_result *out)
{
    for (int slot = 0; slot < search->limits.slots; slot++) {
        struct clf__search_source *source = &search->sources[slot];
        if (source->options != NULL && source->done) {
            int count = list_outcome(search->outcome, source);
            *out = (struct clf__search_result){.tag = source->tag,
                                               .slot = slot,
                                               .hypotheses = search->outcome,
                                               .count = count,
                                               .is_not_finite = source->is_not_finite};
            source->options = NULL;
            return 1;
        }
    }
    return 0;
}

/* --- The steps. --- */

/* Applies the penalties to the model's outputs. */
static void apply_penalties(const struct clf__search *search, const struct clf__search_source *source)
{
    for (int i = 0; source->forced < 0 && i < source->running_count; i++) {
        clf__penalties_apply(search, source, source->first_row + i, &source->running[i]);
    }
}

/* Returns 0 if a relevant logit is NaN or +inf, which makes the log sum NaN. */
static int is_finite(const struct clf__search *search, const struct clf__search_source *source)
{
    int counts_banned = clf__counts_banned(source->options);
    for (int i = 0; source->forced < 0 && i < source->running_count; i++) {
        int row = source->first_row + i;
        const float *statistics = search->step.statistics + 4 * (size_t)row;
        if (isnan(statistics[3]) || (counts_banned && isnan(statistics[1])) ||
            !clf__penalties_are_finite(search, row)) {
            return 0;
        }
    }
    return 1;
}

/* Copies the logits of a source's only row, before sampling changes them. */
static void keep_logits(const struct clf__search *search, const struct clf__search_source *source)
{
    const struct clf__step *step = &search->step;
    size_t vocabulary = (size_t)search->limits.vocabulary, row = (size_t)source->first_row;
    float *kept = search->kept + (size_t)(source - search->sources) * vocabulary;
    const int32_t *changed = search->changed + row * (size_t)search->limits.changed;
    memcpy(kept, step->logits + row * vocabulary, vocabulary * sizeof *kept);
    for (int32_t i = step->banned_offsets[row]; i < step->banned_offsets[row + 1]; i++) {
        kept[step->banned[i]] = -FLT_MAX;
    }
    int count = clf__penalties_score(search, source, source->first_row, source->running);
    for (int i = 0; i < count; i++) {
        kept[changed[i]] = search->scores[i];
    }
}

static void advance(const struct clf__search *search, struct clf__search_source *source)
{
    const struct clf__search_options *options = source->options;
    if (!is_finite(search, source)) {
        source->done = source->is_not_finite = 1;
        return;
    }
    if (options->keeps_logits) {
        keep_logits(search, source);
    }
    if (!options->sampling.is_on && clf__penalties_limit(options) > 0) {
        apply_penalties(search, source);
    }
    clf__coverage_add(search, source);
    if (options->constraints != NULL) {
        clf__constrained_advance(search, source);
    } else if (clf__is_diverse(options)) {
        clf__groups_advance(search, source);
    } else if (options->beams > 1) {
        clf__beam_advance(search, source);
    } else if (options->sampling.is_on) {
        clf__sample_advance(search, source);
    } else {
        clf__greedy_advance(search, source);
    }
}

/* Advances a source by the tokens that it selects in the rows of a chain, as long as they are those that were
 * proposed. */
static void advance_chain(const struct clf__search *search, struct clf__search_source *source)
{
    const struct clf__beam *beam = &source->running[0];
    for (int left = source->proposed; left >= 0; left--) {
        int32_t proposal = left > 0 ? beam->ids[beam->length + 1] : -1;
        int length = beam->length;
        advance(search, source);
        if (source->done || beam->length == length || beam->ids[beam->length] != proposal) {
            break;
        }
        source->first_row++;
    }
    source->proposed = 0;
}

void clf__search_advance(struct clf__search *search)
{
    for (int slot = 0; slot < search->limits.slots; slot++) {
        struct clf__search_source *source = &search->sources[slot];
        if (clf__is_running(source) && source->is_in_step) {
            advance_chain(search, source);
        }
    }
    search->step.is_ahead = 0;
    if (search->has_ahead) {
        clf__search_turn_ahead(search);
    }
}
