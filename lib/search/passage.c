#include "search/passage.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/larger.h"
#include "base/memory.h"

/* A hypothesis: the ids that were generated, and the sum of their log-probabilities. */
struct path {
    int32_t *ids; /* (positions + 1) */
    int count;
    double sum;
    int parent; /* the row that it goes on from */
    int sample; /* its number; 0 of beams */
};

/* How a row may go on. */
struct candidate {
    int row;
    int32_t id;
    double sum;
};

struct clf__passage {
    struct clf__passage_limits limits;
    const struct clf__passage_rules *rules;
    const int32_t *prompt;
    int prompt_count, slot;
    int fed;                                /* tokens that the model has had of each row */
    int at;                                 /* the position of the step's own token */
    int32_t given_offsets[2];               /* of the step, before its one row's own */
    struct path *paths;                     /* those that follow: */
    struct path *running, *next, *finished; /* (rows), (rows), (limits.finished) */
    int running_count, finished_count, wanted;
    int is_over;
    double no_speech;
    int32_t *path_ids;            /* of all paths */
    struct candidate *candidates; /* (rows, k) */
    float *weights;               /* (V) of a row to draw from */
    int32_t *best;                /* (k) of a row */
    double *best_sums;            /* (k) likewise */
    struct clf__step step;
    /* What the step points to: (rows) each, ranges (rows, M, 2). */
    int32_t *tokens, *positions, *cache_rows, *parents, *slots, *banned, *banned_offsets, *ranges;
};

int clf__passage_rows(const struct clf__passage_limits *limits)
{
    return clf__larger(limits->beams, limits->samples);
}

int clf__passage_candidates(const struct clf__passage_limits *limits)
{
    return limits->beams > 1 ? limits->beams + 1 : 1;
}

static clf_status allocate_asked(struct clf__passage *passage)
{
    size_t rows = (size_t)clf__passage_rows(&passage->limits), banned = (size_t)passage->limits.banned;
    CLF__TRY(clf__allocate(&passage->tokens, rows, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&passage->positions, rows, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&passage->cache_rows, rows, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&passage->parents, rows, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&passage->slots, rows, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&passage->banned, rows * banned, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&passage->banned_offsets, rows + 1, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&passage->ranges, rows * CLF__PASSAGE_RANGES * 2, sizeof(int32_t)));
    struct clf__step *step = &passage->step;
    step->tokens = passage->tokens;
    step->positions = passage->positions;
    step->cache_rows = passage->cache_rows;
    step->parents = passage->parents;
    step->slots = passage->slots;
    step->banned = passage->banned;
    step->banned_offsets = passage->banned_offsets;
    step->ranges = passage->ranges;
    step->ranges_each = CLF__PASSAGE_RANGES;
    step->ranges_before = 1;
    return CLF_OK;
}

static clf_status allocate_given(struct clf__passage *passage)
{
    struct clf__step *step = &passage->step;
    step->candidates = clf__passage_candidates(&passage->limits);
    size_t rows = (size_t)clf__passage_rows(&passage->limits), k = (size_t)step->candidates;
    size_t in_ranges = rows * CLF__PASSAGE_RANGES, vocabulary = (size_t)passage->limits.vocabulary;
    if (passage->limits.samples > 0) {
        CLF__TRY(clf__allocate(&step->logits, rows * vocabulary, sizeof *step->logits));
        CLF__TRY(clf__allocate(&passage->weights, vocabulary, sizeof *passage->weights));
    }
    CLF__TRY(clf__allocate(&step->values, rows * k, sizeof(float)));
    CLF__TRY(clf__allocate(&step->ids, rows * k, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&step->statistics, rows * 4, sizeof(float)));
    CLF__TRY(clf__allocate(&step->range_values, in_ranges * k, sizeof(float)));
    CLF__TRY(clf__allocate(&step->range_ids, in_ranges * k, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&step->range_statistics, in_ranges * 2, sizeof(float)));
    CLF__TRY(clf__allocate(&passage->candidates, rows * k, sizeof *passage->candidates));
    CLF__TRY(clf__allocate(&passage->best, k, sizeof *passage->best));
    return clf__allocate(&passage->best_sums, k, sizeof *passage->best_sums);
}

static clf_status allocate_paths(struct clf__passage *passage)
{
    size_t rows = (size_t)clf__passage_rows(&passage->limits), length = (size_t)passage->limits.positions + 1;
    size_t count = 2 * rows + (size_t)passage->limits.finished;
    CLF__TRY(clf__allocate(&passage->paths, count, sizeof *passage->paths));
    passage->running = passage->paths;
    passage->next = passage->running + rows;
    passage->finished = passage->next + rows;
    CLF__TRY(clf__allocate(&passage->path_ids, count * length, sizeof *passage->path_ids));
    for (size_t i = 0; i < count; i++) {
        passage->paths[i].ids = passage->path_ids + i * length;
    }
    return CLF_OK;
}

clf_status clf__passage_create(struct clf__passage **out, const struct clf__passage_limits *limits)
{
    struct clf__passage *passage;
    *out = NULL;
    CLF__TRY(clf__allocate(&passage, 1, sizeof *passage));
    passage->limits = *limits;
    clf_status status = allocate_asked(passage);
    status = status == CLF_OK ? allocate_given(passage) : status;
    status = status == CLF_OK ? allocate_paths(passage) : status;
    if (status != CLF_OK) {
        clf__passage_free(passage);
        return status;
    }
    *out = passage;
    return CLF_OK;
}

void clf__passage_free(struct clf__passage *passage)
{
    if (passage == NULL) {
        return;
    }
    struct clf__step *step = &passage->step;
    void *const parts[] = {
        passage->tokens,    passage->positions,  passage->cache_rows,     passage->parents,
        passage->slots,     passage->banned,     passage->banned_offsets, passage->ranges,
        step->values,       step->ids,           step->statistics,        step->range_values,
        step->range_ids,    passage->candidates, step->range_statistics,  passage->best,
        passage->best_sums, passage->path_ids,   passage->paths,          passage->weights,
        step->logits,
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        clf__free(parts[i]);
    }
    clf__free(passage);
}

void clf__passage_begin(struct clf__passage *passage, const struct clf__passage_rules *rules,
                        const int32_t *prompt, int count, int slot)
{
    assert(count >= 1 && count <= passage->limits.positions);
    assert(rules->suppressed_first_count <= passage->limits.banned);
    int wanted = (int)lrint(passage->limits.beams * rules->patience); /* half to even, as in Python */
    wanted = rules->temperature > 0 ? passage->limits.samples : wanted;
    assert(rules->temperature <= 0 || (wanted > 0 && rules->vocabulary <= passage->limits.vocabulary));
    passage->rules = rules;
    passage->prompt = prompt;
    passage->prompt_count = count;
    passage->slot = slot;
    passage->fed = passage->at = 0;
    passage->running_count = 1;
    passage->running[0].count = 0;
    passage->running[0].sum = 0;
    passage->running[0].parent = 0;
    passage->running[0].sample = 0;
    passage->finished_count = 0;
    passage->wanted = wanted < 1 ? 1 : wanted;
    passage->is_over = rules->most_tokens < 1;
    passage->no_speech = 0;
    assert(passage->wanted <= passage->limits.finished);
}

/* The prompt's last token and all behind it have candidates. */
static int gives_candidates(const struct clf__passage *passage)
{
    return passage->at >= passage->prompt_count - 1;
}

/* The next token of which anything is wanted: of the prompt the start of the transcript, which tells whether
 * anybody speaks, and the last one. Those before it are given. */
static void choose_token(struct clf__passage *passage)
{
    struct clf__step *step = &passage->step;
    passage->at = passage->fed;
    while (passage->at < passage->prompt_count - 1 &&
           passage->prompt[passage->at] != passage->rules->start_id) {
        passage->at++;
    }
    passage->given_offsets[1] = passage->at - passage->fed;
    step->given = passage->prompt + passage->fed;
    step->given_offsets = passage->at > passage->fed ? passage->given_offsets : NULL;
}

static void ban(struct clf__passage *passage, int row)
{
    const struct clf__passage_rules *rules = passage->rules;
    const struct path *path = &passage->running[row];
    int is_first = path->count == 0;
    const int32_t *ids = is_first ? rules->suppressed_first : rules->suppressed;
    int count = is_first ? rules->suppressed_first_count : rules->suppressed_count;
    int32_t at = passage->banned_offsets[row];
    count = gives_candidates(passage) ? count : 0;
    if (count > 0) {
        memcpy(passage->banned + at, ids, (size_t)count * sizeof *ids);
    }
    passage->banned_offsets[row + 1] = at + count;
}

struct clf__step *clf__passage_prepare(struct clf__passage *passage)
{
    struct clf__step *step = &passage->step;
    int first_row = passage->slot * clf__passage_rows(&passage->limits);
    if (passage->is_over) {
        return NULL;
    }
    choose_token(passage);
    step->rows = passage->running_count;
    step->both_statistics = 0;
    step->wants_logits = passage->rules->temperature > 0 && gives_candidates(passage);
    passage->banned_offsets[0] = 0;
    for (int r = 0; r < step->rows; r++) {
        const struct path *path = &passage->running[r];
        passage->tokens[r] = path->count > 0 ? path->ids[path->count - 1] : passage->prompt[passage->at];
        passage->positions[r] = passage->at;
        passage->cache_rows[r] = first_row + r;
        passage->parents[r] = first_row + path->parent;
        passage->slots[r] = passage->slot;
        ban(passage, r);
        clf__timestamps_ranges(passage->ranges + (size_t)r * CLF__PASSAGE_RANGES * 2, passage->rules,
                               path->ids, path->count);
    }
    if (passage->at < passage->prompt_count) {
        step->both_statistics = passage->prompt[passage->at] == passage->rules->start_id;
    }
    return step;
}

static void hear(struct clf__passage *passage)
{
    const struct clf__step *step = &passage->step;
    if (step->both_statistics && step->range_ids[0] >= 0) {
        passage->no_speech =
            exp((double)step->range_values[0] - (double)step->statistics[0] - (double)step->statistics[1]);
    }
}

/* All ways to go on, the best first; of equal ones that of the better row, then that of the higher place in
 * it. */
static int collect(struct clf__passage *passage)
{
    const struct clf__step *step = &passage->step;
    int k = step->candidates, count = 0;
    for (int r = 0; r < step->rows; r++) {
        size_t at = (size_t)r * CLF__PASSAGE_RANGES;
        int found = clf__timestamps_candidates(
            passage->best, passage->best_sums, passage->rules, step->range_values + at * (size_t)k,
            step->range_ids + at * (size_t)k, step->range_statistics + at * 2, k);
        for (int c = 0; c < found; c++) {
            struct candidate one = {r, passage->best[c], passage->running[r].sum + passage->best_sums[c]};
            int place = count++;
            for (; place > 0 && passage->candidates[place - 1].sum < one.sum; place--) {
                passage->candidates[place] = passage->candidates[place - 1];
            }
            passage->candidates[place] = one;
        }
    }
    return count;
}

static void extend(struct path *path, const struct path *from, const struct candidate *by)
{
    path->count = from->count + 1;
    path->sum = by->sum;
    path->parent = by->row;
    path->sample = from->sample;
    memcpy(path->ids, from->ids, (size_t)from->count * sizeof *path->ids);
    path->ids[from->count] = by->id;
}

/* `count` hypotheses run on. */
static void turn(struct clf__passage *passage, int count)
{
    struct path *spent = passage->running;
    passage->running = passage->next;
    passage->next = spent;
    passage->running_count = count;
}

/* Those that end are set aside, and of the others as many run on as there are beams. */
static void choose(struct clf__passage *passage, int count)
{
    int kept = 0;
    for (int c = 0; c < count && kept < passage->limits.beams; c++) {
        const struct candidate *one = &passage->candidates[c];
        const struct path *from = &passage->running[one->row];
        if (one->id != passage->rules->end_id) {
            extend(&passage->next[kept++], from, one);
        } else if (passage->finished_count < passage->wanted) {
            extend(&passage->finished[passage->finished_count++], from, one);
            if (passage->limits.beams == 1) {
                break; /* greedy: it has ended */
            }
        }
    }
    turn(passage, kept);
}

/* Weighs what a row may go on with. */
static double weigh(const struct clf__passage *passage, int row, const struct clf__allowed *allowed)
{
    const struct clf__step *step = &passage->step;
    const struct clf__passage_rules *rules = passage->rules;
    size_t at = (size_t)row * CLF__PASSAGE_RANGES;
    double largest = -INFINITY;
    for (int r = allowed->first; r < CLF__PASSAGE_RANGES; r++) {
        largest = fmax(largest, (double)step->range_values[(at + (size_t)r) * (size_t)step->candidates]);
    }
    return clf__draws_weigh(passage->weights, step->logits + (size_t)row * (size_t)rules->vocabulary,
                            step->ranges + at * 2, allowed->first, step->banned + step->banned_offsets[row],
                            step->banned_offsets[row + 1] - step->banned_offsets[row], largest,
                            rules->temperature);
}

/* Every sample goes on by itself, where the model offers something; behind the prompt they part. Returns how
 * many run on, of which there were `kept`. */
static int draw_row(struct clf__passage *passage, int row, int kept)
{
    const struct clf__step *step = &passage->step;
    const struct clf__passage_rules *rules = passage->rules;
    const struct path *from = &passage->running[row];
    size_t at = (size_t)row * CLF__PASSAGE_RANGES, k = (size_t)step->candidates;
    struct clf__allowed allowed =
        clf__timestamps_allowed(rules, step->range_values + at * k, step->range_ids + at * k,
                                step->range_statistics + at * 2, step->candidates);
    double sum = weigh(passage, row, &allowed);
    int first = from->count > 0 ? from->sample : 0;
    int end = from->count > 0 ? first + 1 : passage->limits.samples;
    for (int sample = first; sample < end; sample++) {
        double place = clf__draws_unit(rules->random_key, from->count, sample) * sum;
        int32_t id = clf__draws_take(passage->weights, step->ranges + at * 2, allowed.first, place);
        if (id >= 0) {
            double logit = (double)step->logits[(size_t)row * (size_t)rules->vocabulary + (size_t)id];
            struct candidate one = {row, id, from->sum + logit - allowed.normaliser};
            struct path *path =
                id == rules->end_id ? &passage->finished[passage->finished_count++] : &passage->next[kept++];
            extend(path, from, &one);
            path->sample = sample;
        }
    }
    return kept;
}

static void draw(struct clf__passage *passage)
{
    int kept = 0;
    for (int r = 0; r < passage->step.rows; r++) {
        kept = draw_row(passage, r, kept);
    }
    turn(passage, kept);
}

void clf__passage_advance(struct clf__passage *passage)
{
    hear(passage);
    passage->fed = passage->at + 1;
    if (!gives_candidates(passage)) {
        return;
    }
    if (passage->rules->temperature > 0) {
        draw(passage);
    } else {
        choose(passage, collect(passage));
    }
    int length = passage->running_count > 0 ? passage->running[0].count : 0;
    passage->is_over = passage->running_count == 0 || passage->finished_count >= passage->wanted ||
                       length >= passage->rules->most_tokens || passage->fed >= passage->limits.positions;
}

static int text_length(const struct clf__passage *passage, const struct path *path)
{
    return path->count - (path->count > 0 && path->ids[path->count - 1] == passage->rules->end_id);
}

static double score(const struct clf__passage *passage, const struct path *path)
{
    double penalty = passage->rules->length_penalty;
    int length = text_length(passage, path);
    length = length > 0 ? length : 1;
    return path->sum / (penalty < 0 ? length : pow((5.0 + length) / 6.0, penalty));
}

/* Of equal ones the first sample. */
static const struct path *better(const struct clf__passage *passage, const struct path *best,
                                 const struct path *path)
{
    double gain = best != NULL ? score(passage, path) - score(passage, best) : 1;
    return gain > 0 || (gain == 0 && path->sample < best->sample) ? path : best;
}

struct clf__passage_result clf__passage_result(const struct clf__passage *passage)
{
    const struct path *best = NULL;
    int is_drawn = passage->rules->temperature > 0;
    int missing = (is_drawn ? passage->limits.samples : passage->limits.beams) - passage->finished_count;
    for (int i = 0; i < passage->finished_count; i++) {
        best = better(passage, best, &passage->finished[i]);
    }
    /* Where too few have ended, those that have not make up for them. */
    for (int i = 0; i < missing && i < passage->running_count; i++) {
        best = better(passage, best, &passage->running[i]);
    }
    if (best == NULL) {
        return (struct clf__passage_result){.no_speech = passage->no_speech};
    }
    return (struct clf__passage_result){.ids = best->ids,
                                        .count = text_length(passage, best),
                                        .log_probability = best->sum,
                                        .no_speech = passage->no_speech};
}
