#include "search/search.h"

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
    step->sources = search->row_sources = take(block, rows, sizeof(int32_t));
    step->banned = search->banned = take(block, rows * (size_t)search->most_banned, sizeof(int32_t));
    step->banned_offsets = search->banned_offsets = take(block, rows + 1, sizeof(int32_t));
    step->values = take(block, rows * candidates, sizeof(float));
    step->ids = take(block, rows * candidates, sizeof(int32_t));
    step->statistics = take(block, rows * 4, sizeof(float));
}

/* Three lists of `beams` hypotheses for each source, and room for the ids of each hypothesis. */
static void lay_out_sources(struct clf__search *search, struct block *block)
{
    size_t beams = (size_t)search->options->beams;
    size_t sources = (size_t)search->source_count;
    size_t ids_each = (size_t)search->options->max_length + 1;
    search->sources = take(block, sources, sizeof *search->sources);
    struct clf__beam *beam = take(block, sources * 3 * beams, sizeof *beam);
    int32_t *ids = take(block, sources * 3 * beams, ids_each * sizeof *ids);
    if (block->start == NULL) {
        return;
    }
    for (size_t i = 0; i < sources * 3 * beams; i++) {
        beam[i].ids = ids + i * ids_each;
    }
    for (size_t i = 0; i < sources; i++, beam += 3 * beams) {
        search->sources[i] = (struct clf__source){
            .running = beam, .next = beam + beams, .finished = beam + 2 * beams, .running_count = 1};
        beam[0].ids[0] = search->options->start_id;
    }
}

static void lay_out(struct clf__search *search, struct block *block)
{
    const struct clf__search_options *options = search->options;
    search->candidates = take(block, 2 * (size_t)options->beams, sizeof *search->candidates);
    search->always_banned = take(block, clf__bans_limit(options), sizeof(int32_t));
    lay_out_step(search, block, (size_t)search->source_count * (size_t)options->beams);
    lay_out_sources(search, block);
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

/* One row for each running beam of each source that is not done. */
static void assemble_step(struct clf__search *search)
{
    int beams = search->options->beams;
    int row = 0;
    search->banned_offsets[0] = 0;
    for (int i = 0; i < search->source_count; i++) {
        struct clf__source *source = &search->sources[i];
        if (source->done) {
            continue;
        }
        source->first_row = row;
        for (int place = 0; place < source->running_count; place++, row++) {
            const struct clf__beam *beam = &source->running[place];
            search->tokens[row] = beam->ids[beam->length];
            search->positions[row] = beam->length;
            search->slots[row] = i * beams + place;
            search->parents[row] = i * beams + beam->parent;
            search->row_sources[row] = i;
            int32_t offset = search->banned_offsets[row];
            int banned = search->forced >= 0 ? 0 : clf__bans_write(search->banned + offset, search, beam);
            search->banned_offsets[row + 1] = offset + banned;
        }
    }
    search->step.rows = row;
}

/* Advances every source that is not done; returns how many are left. */
static int advance(struct clf__search *search)
{
    int left = 0;
    for (int i = 0; i < search->source_count; i++) {
        struct clf__source *source = &search->sources[i];
        if (source->done) {
            continue;
        }
        if (search->options->beams == 1) {
            clf__greedy_advance(search, source);
        } else {
            clf__beam_advance(search, source);
        }
        left += !source->done;
    }
    return left;
}

static clf_status run_steps(struct clf__search *search, clf__step_function *step, void *context)
{
    const struct clf__search_options *options = search->options;
    int left = search->source_count;
    for (int generated = 0; left > 0; generated++) {
        search->forced = forced_id(options, generated);
        /* A forced token needs no answer from the model; but what follows it needs the model's cache. */
        int last = generated == options->max_length - 1 || search->forced == options->end_id;
        if (search->forced < 0 || !last) {
            assemble_step(search);
            CLF__TRY(step(context, &search->step));
        }
        left = advance(search);
    }
    return CLF_OK;
}

/* --- The result: one block, the hypotheses and after them their ids. --- */

/* The source's hypotheses, best first: what was finished, or what was running where nothing was. */
static int outcome(const struct clf__source *source, int n_best, const struct clf__beam **hypotheses)
{
    int finished = source->finished_count > 0;
    int count = finished ? source->finished_count : source->running_count;
    *hypotheses = finished ? source->finished : source->running;
    return count < n_best ? count : n_best;
}

static clf_status collect(struct clf__search_result *result, const struct clf__search *search)
{
    int n_best = search->options->n_best;
    const struct clf__beam *beams;
    struct block block = {0};
    take(&block, (size_t)search->source_count * (size_t)n_best, sizeof *result->hypotheses);
    size_t ids_start = block.units * UNIT;
    size_t id_count = 0;
    for (int i = 0; i < search->source_count; i++) {
        int count = outcome(&search->sources[i], n_best, &beams);
        for (int j = 0; j < count; j++) {
            id_count += (size_t)beams[j].length;
        }
    }
    take(&block, id_count, sizeof(int32_t));
    char *start;
    CLF__TRY(clf__allocate(&start, block.units, UNIT));
    struct clf__hypothesis *hypothesis = (struct clf__hypothesis *)(void *)start;
    int32_t *ids = (int32_t *)(void *)(start + ids_start);
    *result = (struct clf__search_result){
        .hypotheses = hypothesis, .sources = search->source_count, .n_best = n_best};
    for (int i = 0; i < search->source_count; i++) {
        int count = outcome(&search->sources[i], n_best, &beams);
        for (int j = 0; j < n_best; j++, hypothesis++) {
            *hypothesis = (struct clf__hypothesis){
                .ids = ids, .score = -INFINITY, .log_probability = (double)-INFINITY};
            if (j < count && beams[j].length > 0) { /* one that could not even begin is no hypothesis */
                hypothesis->length = beams[j].length;
                hypothesis->score = beams[j].score;
                hypothesis->log_probability = beams[j].log_probability;
                memcpy(ids, beams[j].ids + 1, (size_t)beams[j].length * sizeof *ids);
                ids += beams[j].length;
            }
        }
    }
    return CLF_OK;
}

clf_status clf__search_run(struct clf__search_result *result, const struct clf__search_options *options,
                           int sources, clf__step_function *step, void *context)
{
    *result = (struct clf__search_result){0};
    CLF__TRY(clf__search_check(options, sources));
    struct clf__search search = {
        .options = options, .source_count = sources, .most_banned = (int)clf__bans_limit(options)};
    int wanted = options->beams == 1 ? 1 : 2 * options->beams;
    search.step.candidates = wanted < options->vocabulary ? wanted : options->vocabulary;
    /* Greedy has no use for them: the best id is the same, and its score counts what is left. */
    search.step.both_statistics = options->beams > 1 && !options->renormalize;

    struct block block = {0};
    lay_out(&search, &block);
    clf_status status = clf__allocate(&block.start, block.units, UNIT);
    if (status != CLF_OK) {
        return clf__fail_in(status, "searching %d sources with %d beams of up to %d tokens", sources,
                            options->beams, options->max_length);
    }
    block.units = 0;
    lay_out(&search, &block);
    search.always_banned_count = clf__bans_prepare(search.always_banned, options);
    status = run_steps(&search, step, context);
    if (status == CLF_OK) {
        status = collect(result, &search);
    }
    clf__free(block.start);
    return status;
}

void clf__search_result_free(struct clf__search_result *result)
{
    if (result != NULL) {
        clf__free(result->hypotheses);
        *result = (struct clf__search_result){0};
    }
}
