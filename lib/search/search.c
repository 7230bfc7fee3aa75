#include "search/search.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "search/internal.h"

/* --- One block holds all that a search needs, so that no step allocates. --- */

enum { UNIT = 16 }; /* bytes; everything in a block begins at a multiple */

struct block {
    char *start;  /* NULL while the block is measured */
    size_t units; /* taken so far; SIZE_MAX once that is more than any memory */
};

/* The next `count` objects of the block; NULL while it is measured. */
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

static void lay_out_step(struct clf__search *search, struct block *block, size_t rows)
{
    struct clf__step *step = &search->step;
    size_t candidates = (size_t)step->candidates;
    step->tokens = search->tokens = take(block, rows, sizeof(int32_t));
    step->positions = search->positions = take(block, rows, sizeof(int32_t));
    step->slots = search->slots = take(block, rows, sizeof(int32_t));
    step->parents = search->parents = take(block, rows, sizeof(int32_t));
    step->places = search->places = take(block, rows, sizeof(int32_t));
    step->banned = search->banned = take(block, rows * (size_t)search->most_banned, sizeof(int32_t));
    step->banned_offsets = search->banned_offsets = take(block, rows + 1, sizeof(int32_t));
    step->values = take(block, rows * candidates, sizeof(float));
    step->ids = take(block, rows * candidates, sizeof(int32_t));
    step->statistics = take(block, rows * 4, sizeof(float));
}

/* Three lists of `beams` hypotheses for each place, and room for the ids of each hypothesis. */
static void lay_out_places(struct clf__search *search, struct block *block)
{
    size_t beams = (size_t)search->options->beams;
    size_t places = (size_t)search->place_count;
    size_t ids_each = (size_t)search->options->max_length + 1;
    search->free_places = take(block, places, sizeof *search->free_places);
    search->sources = take(block, places, sizeof *search->sources);
    struct clf__beam *beam = take(block, places * 3 * beams, sizeof *beam);
    int32_t *ids = take(block, places * 3 * beams, ids_each * sizeof *ids);
    if (block->start == NULL) {
        return;
    }
    for (size_t i = 0; i < places * 3 * beams; i++) {
        beam[i].ids = ids + i * ids_each;
    }
    for (size_t i = 0; i < places; i++, beam += 3 * beams) {
        search->sources[i] = (struct clf__search_source){
            .running = beam, .next = beam + beams, .finished = beam + 2 * beams, .number = -1};
    }
}

static void lay_out(struct clf__search *search, struct block *block)
{
    const struct clf__search_options *options = search->options;
    search->candidates = take(block, 2 * (size_t)options->beams, sizeof *search->candidates);
    search->outcome = take(block, (size_t)options->n_best, sizeof *search->outcome);
    search->always_banned = take(block, clf__bans_limit(options), sizeof(int32_t));
    lay_out_step(search, block, (size_t)search->place_count * (size_t)options->beams);
    lay_out_places(search, block);
}

/* --- Sources come and go. --- */

static void begin(struct clf__search *search, int place)
{
    struct clf__search_source *source = &search->sources[place];
    source->number = search->next_source++;
    source->running_count = 1;
    source->finished_count = 0;
    source->done = 0;
    struct clf__beam *beam = &source->running[0];
    *beam = (struct clf__beam){.ids = beam->ids};
    beam->ids[0] = search->options->start_id;
}

/* Offers the free places to the sources that wait. */
static clf_status fill_places(struct clf__search *search)
{
    int waiting = search->source_count - search->next_source, count = 0, admitted = 0;
    for (int place = 0; place < search->place_count && count < waiting; place++) {
        if (search->sources[place].number < 0) {
            search->free_places[count++] = place;
        }
    }
    if (count == 0) {
        return CLF_OK;
    }
    const struct clf__search_model *model = search->model;
    CLF__TRY(model->admit(model->context, search->next_source, search->free_places, count, &admitted));
    assert(admitted >= 0 && admitted <= count);
    for (int i = 0; i < admitted; i++) {
        begin(search, search->free_places[i]);
    }
    return CLF_OK;
}

/* Hands over the source's hypotheses, what was finished or, where nothing was, what was running; its place is
 * free. */
static clf_status finish(struct clf__search *search, int place)
{
    struct clf__search_source *source = &search->sources[place];
    int any = source->finished_count > 0;
    int count = any ? source->finished_count : source->running_count;
    const struct clf__beam *beams = any ? source->finished : source->running;
    for (int i = 0; i < search->options->n_best; i++) {
        struct clf__hypothesis *hypothesis = &search->outcome[i];
        *hypothesis = (struct clf__hypothesis){
            .ids = beams[0].ids + 1, .score = -INFINITY, .log_probability = (double)-INFINITY};
        if (i < count && beams[i].length > 0) { /* one that could not even begin is no hypothesis */
            hypothesis->ids = beams[i].ids + 1;
            hypothesis->length = beams[i].length;
            hypothesis->score = beams[i].score;
            hypothesis->log_probability = beams[i].log_probability;
        }
    }
    int number = source->number;
    source->number = -1;
    return search->model->finish(search->model->context, number, place, search->outcome);
}

/* --- The steps. --- */

/* The only id allowed as the token after `generated` others, or -1. */
static int forced_id(const struct clf__search_options *options, int generated)
{
    if (generated == options->max_length - 1 && options->forced_last >= 0) {
        return options->forced_last;
    }
    return generated == 0 ? options->forced_first : -1;
}

/* Adds a row for each running beam of a place. */
static void add_rows(struct clf__search *search, int place)
{
    const struct clf__search_source *source = &search->sources[place];
    int beams = search->options->beams;
    for (int i = 0; i < source->running_count; i++) {
        const struct clf__beam *beam = &source->running[i];
        int row = search->step.rows++;
        search->tokens[row] = beam->ids[beam->length];
        search->positions[row] = beam->length;
        search->slots[row] = place * beams + i;
        search->parents[row] = place * beams + beam->parent;
        search->places[row] = place;
        int32_t offset = search->banned_offsets[row];
        int banned = source->forced >= 0 ? 0 : clf__bans_write(search->banned + offset, search, beam);
        search->banned_offsets[row + 1] = offset + banned;
    }
}

static void assemble_step(struct clf__search *search)
{
    const struct clf__search_options *options = search->options;
    search->step.rows = 0;
    search->banned_offsets[0] = 0;
    for (int place = 0; place < search->place_count; place++) {
        struct clf__search_source *source = &search->sources[place];
        if (source->number < 0) {
            continue;
        }
        int generated = source->running[0].length;
        source->forced = forced_id(options, generated);
        source->first_row = search->step.rows;
        /* A forced token needs no answer from the model; but what follows it needs the model's cache. */
        int last = generated == options->max_length - 1 || source->forced == options->end_id;
        if (source->forced < 0 || !last) {
            add_rows(search, place);
        }
    }
}

/* Takes every source one token further; *ended says how many are done with it. */
static clf_status advance(struct clf__search *search, int *ended)
{
    *ended = 0;
    for (int place = 0; place < search->place_count; place++) {
        struct clf__search_source *source = &search->sources[place];
        if (source->number < 0) {
            continue;
        }
        if (search->options->beams == 1) {
            clf__greedy_advance(search, source);
        } else {
            clf__beam_advance(search, source);
        }
        if (source->done) {
            CLF__TRY(finish(search, place));
            ++*ended;
        }
    }
    return CLF_OK;
}

static clf_status run_steps(struct clf__search *search)
{
    int done = 0, ended = 1; /* every place is as good as just freed */
    while (done < search->source_count) {
        if (ended > 0) {
            CLF__TRY(fill_places(search));
        }
        assert(search->next_source > done); /* else no source is under search: the model admitted none */
        assemble_step(search);
        if (search->step.rows > 0) {
            CLF__TRY(search->model->step(search->model->context, &search->step));
        }
        CLF__TRY(advance(search, &ended));
        done += ended;
    }
    return CLF_OK;
}

clf_status clf__search_run(const struct clf__search_options *options, int sources, int places,
                           const struct clf__search_model *model)
{
    CLF__TRY(clf__search_check(options, places));
    if (sources < 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "a search over %d sources", sources);
    }
    places = places < sources ? places : sources;
    struct clf__search search = {.options = options,
                                 .model = model,
                                 .source_count = sources,
                                 .place_count = places,
                                 .most_banned = (int)clf__bans_limit(options)};
    int wanted = options->beams == 1 ? 1 : 2 * options->beams;
    search.step.candidates = wanted < options->vocabulary ? wanted : options->vocabulary;
    /* Greedy has no use for them: the best id is the same, and its score counts what is left. */
    search.step.both_statistics = options->beams > 1 && !options->renormalize;

    struct block block = {0};
    lay_out(&search, &block);
    clf_status status = clf__allocate(&block.start, block.units, UNIT);
    if (status != CLF_OK) {
        return clf__fail_in(status, "searching %d sources at a time with %d beams of up to %d tokens", places,
                            options->beams, options->max_length);
    }
    block.units = 0;
    lay_out(&search, &block);
    search.always_banned_count = clf__bans_prepare(search.always_banned, options);
    status = run_steps(&search);
    clf__free(block.start);
    return status;
}
