#include <limits.h>
#include <string.h>

#include "audio/npy.h"
#include "base/memory.h"
#include "base/random.h"
#include "train/dataset_internal.h"

static int longer_side(const struct clf__pair *pair)
{
    return pair->source > pair->target ? pair->source : pair->target;
}

void clf__dataset_forget_plan(struct clf__dataset *dataset)
{
    void *const owned[] = {dataset->order,       dataset->batches,    dataset->source_first,
                           dataset->input_first, dataset->source_ids, dataset->input_ids,
                           dataset->labels,      dataset->frames};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        clf__free(owned[i]);
    }
    dataset->order = NULL;
    dataset->batches = NULL;
    dataset->source_first = dataset->input_first = NULL;
    dataset->source_ids = dataset->input_ids = dataset->labels = NULL;
    dataset->frames = NULL;
    dataset->batch_count = 0;
}

static int length_of(const struct clf__dataset *dataset, int pair, int target)
{
    return target ? dataset->pairs[pair].target : dataset->pairs[pair].source;
}

/* Sorts by the length of one side, stably. */
static clf_status sort_by_length(struct clf__dataset *dataset, int target)
{
    int longest = 0, *starts = NULL, *sorted = NULL;
    for (int i = 0; i < dataset->count; i++) {
        int length = length_of(dataset, i, target);
        longest = length > longest ? length : longest;
    }
    CLF__TRY(clf__allocate(&starts, (size_t)longest + 2, sizeof *starts));
    clf_status status = clf__allocate(&sorted, (size_t)dataset->count, sizeof *sorted);
    if (status != CLF_OK) {
        clf__free(starts);
        return status;
    }
    for (int i = 0; i < dataset->count; i++) {
        starts[length_of(dataset, i, target) + 1]++;
    }
    for (int length = 1; length <= longest; length++) {
        starts[length] += starts[length - 1];
    }
    for (int i = 0; i < dataset->count; i++) {
        sorted[starts[length_of(dataset, dataset->order[i], target)]++] = dataset->order[i];
    }
    clf__free(starts);
    clf__free(dataset->order);
    dataset->order = sorted;
    return CLF_OK;
}

/* Totals over the pairs of a batch. */
struct size {
    int64_t source, target;
    int pairs, longest;
};

static void add_pair(struct size *size, const struct clf__pair *pair)
{
    int length = longer_side(pair);
    size->source += pair->source;
    size->target += pair->target;
    size->longest = length > size->longest ? length : size->longest;
    size->pairs++;
}

static int is_too_large(const struct size *size, const struct clf__batching *batching)
{
    int64_t longer = size->source > size->target ? size->source : size->target;
    int64_t tokens = batching->count_padding ? (int64_t)size->pairs * size->longest : longer;
    return tokens > batching->tokens || (batching->max_pairs > 0 && size->pairs > batching->max_pairs);
}

/* Cuts the order into batches and stores the largest totals of any batch in *most. */
static void cut(struct clf__dataset *dataset, const struct clf__batching *batching, struct size *most)
{
    struct size size = {0};
    for (int i = 0; i < dataset->count; i++) {
        const struct clf__pair *pair = &dataset->pairs[dataset->order[i]];
        struct size larger = size;
        add_pair(&larger, pair);
        if (i == 0 || is_too_large(&larger, batching)) {
            dataset->batches[dataset->batch_count++] = (struct clf__planned_batch){i, 0};
            larger = (struct size){0};
            add_pair(&larger, pair);
        }
        size = larger;
        dataset->batches[dataset->batch_count - 1].count++;
        most->source = size.source > most->source ? size.source : most->source;
        most->target = size.target > most->target ? size.target : most->target;
        most->pairs = size.pairs > most->pairs ? size.pairs : most->pairs;
    }
}

static clf_status make_room(struct clf__dataset *dataset, const struct size *most)
{
    size_t pairs = (size_t)most->pairs, source = (size_t)most->source, target = (size_t)most->target;
    CLF__TRY(clf__allocate(&dataset->source_first, pairs + 1, sizeof *dataset->source_first));
    CLF__TRY(clf__allocate(&dataset->input_first, pairs + 1, sizeof *dataset->input_first));
    CLF__TRY(clf__allocate(&dataset->input_ids, target, sizeof *dataset->input_ids));
    CLF__TRY(clf__allocate(&dataset->labels, target, sizeof *dataset->labels));
    if (dataset->feature_size > 0) {
        return clf__allocate(&dataset->frames, source * (size_t)dataset->feature_size,
                             sizeof *dataset->frames);
    }
    return clf__allocate(&dataset->source_ids, source, sizeof *dataset->source_ids);
}

static clf_status shuffle_batches(struct clf__dataset *dataset, uint64_t seed, int epoch)
{
    int *turns = NULL;
    struct clf__planned_batch *shuffled = NULL;
    CLF__TRY(clf__allocate(&turns, (size_t)dataset->batch_count, sizeof *turns));
    clf_status status = clf__allocate(&shuffled, (size_t)dataset->batch_count, sizeof *shuffled);
    if (status == CLF_OK) {
        for (int i = 0; i < dataset->batch_count; i++) {
            turns[i] = i;
        }
        clf__shuffle(turns, dataset->batch_count, seed, CLF__RANDOM_BATCHES, (uint32_t)epoch);
        for (int i = 0; i < dataset->batch_count; i++) {
            shuffled[i] = dataset->batches[turns[i]];
        }
        clf__free(dataset->batches);
        dataset->batches = shuffled;
    }
    clf__free(turns);
    return status;
}

static clf_status plan(struct clf__dataset *dataset, const struct clf__batching *batching, uint64_t seed,
                       int epoch)
{
    CLF__TRY(clf__allocate(&dataset->order, (size_t)dataset->count, sizeof *dataset->order));
    CLF__TRY(clf__allocate(&dataset->batches, (size_t)dataset->count, sizeof *dataset->batches));
    for (int i = 0; i < dataset->count; i++) {
        dataset->order[i] = i;
    }
    if (epoch >= 0) {
        clf__shuffle(dataset->order, dataset->count, seed, CLF__RANDOM_PAIRS, (uint32_t)epoch);
    }
    CLF__TRY(sort_by_length(dataset, 1));
    CLF__TRY(sort_by_length(dataset, 0));
    struct size most = {0};
    cut(dataset, batching, &most);
    if (most.source > INT_MAX || most.target > INT_MAX) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "a batch of %lld tokens exceeds the limit; use a smaller batch-tokens",
                         (long long)(most.source > most.target ? most.source : most.target));
    }
    CLF__TRY(make_room(dataset, &most));
    return epoch >= 0 ? shuffle_batches(dataset, seed, epoch) : CLF_OK;
}

clf_status clf__dataset_plan(struct clf__dataset *dataset, const struct clf__batching *batching,
                             uint64_t seed, int epoch)
{
    clf__dataset_forget_plan(dataset);
    clf_status status = plan(dataset, batching, seed, epoch);
    if (status != CLF_OK) {
        clf__dataset_forget_plan(dataset);
    }
    return status;
}

int clf__dataset_batches(const struct clf__dataset *dataset)
{
    return dataset->batch_count;
}

/* Fails if a file has changed since it was measured. */
static clf_status check_frames(const char *path, int64_t rows, int expected)
{
    return rows == expected
               ? CLF_OK
               : clf__fail(CLF_FILE,
                           "%s: has %lld frames, but had %d when training started; restore the file", path,
                           (long long)rows, expected);
}

static clf_status read_frames(float *target, const char *path, int rows, int width)
{
    float *values = NULL;
    int there = 0;
    CLF__TRY(clf__npy_read(&values, &there, path, width));
    clf_status status = check_frames(path, there, rows);
    if (status == CLF_OK) {
        memcpy(target, values, (size_t)rows * (size_t)width * sizeof *values);
    }
    clf__free(values);
    return status;
}

/* Queues a recording; `target` is complete after the frame maker has finished the batch. */
static clf_status make_frames(float *target, const struct clf__dataset *dataset, const char *path, int rows)
{
    struct clf__recording recording;
    CLF__TRY(clf__recording_read(&recording, &dataset->layout, path, rows));
    clf_status status = check_frames(path, recording.rows, rows);
    if (status == CLF_OK) {
        status = clf__frame_maker_add(dataset->maker, target, rows, recording.samples, recording.count);
    }
    clf__recording_free(&recording);
    return status;
}

static clf_status copy_frames(struct clf__dataset *dataset, int pair, int first)
{
    const struct clf__frame_source *source = &dataset->frame_sources[pair];
    int rows = dataset->pairs[pair].source, width = dataset->feature_size;
    float *target = dataset->frames + (size_t)first * (size_t)width;
    if (source->kept != NULL) {
        memcpy(target, source->kept, (size_t)rows * (size_t)width * sizeof *target);
        return CLF_OK;
    }
    return source->is_recording ? make_frames(target, dataset, source->path, rows)
                                : read_frames(target, source->path, rows, width);
}

static clf_status copy_pair(struct clf__dataset *dataset, int index, int place)
{
    const struct clf__pair *pair = &dataset->pairs[index];
    const int32_t *source = dataset->ids + pair->first, *target = source;
    int source_first = dataset->source_first[place], input_first = dataset->input_first[place];
    dataset->source_first[place + 1] = source_first + pair->source;
    dataset->input_first[place + 1] = input_first + pair->target;
    if (dataset->feature_size > 0) {
        CLF__TRY(copy_frames(dataset, index, source_first));
    } else {
        memcpy(dataset->source_ids + source_first, source, (size_t)pair->source * sizeof *source);
        target += pair->source;
    }
    size_t before_last = (size_t)pair->target - 1;
    memcpy(dataset->labels + input_first, target, (before_last + 1) * sizeof *target);
    dataset->input_ids[input_first] = dataset->decoder_start_id;
    memcpy(dataset->input_ids + input_first + 1, target, before_last * sizeof *target);
    return CLF_OK;
}

clf_status clf__dataset_batch(struct clf__dataset *dataset, int index, struct clf__training_batch *out)
{
    const struct clf__planned_batch *batch = &dataset->batches[index];
    for (int i = 0; i < batch->count; i++) {
        CLF__TRY(copy_pair(dataset, dataset->order[batch->first + i], i));
    }
    CLF__TRY(dataset->maker != NULL ? clf__frame_maker_finish(dataset->maker) : CLF_OK);
    *out = (struct clf__training_batch){
        .sources = {batch->count, dataset->source_first, dataset->source_ids, dataset->frames},
        .inputs = {batch->count, dataset->input_first, dataset->input_ids, NULL},
        .labels = dataset->labels,
    };
    return CLF_OK;
}

/* Returns the maximum tokens of one side in a batch. A pair longer than the budget forms a batch alone. */
static int most_tokens(int64_t all, int longest, int budget)
{
    int most = longest > budget ? longest : budget;
    return all < most ? (int)all : most;
}

void clf__dataset_limits(struct clf__training_limits *out, const struct clf__dataset *dataset,
                         const struct clf__batching *batching)
{
    int shortest = INT_MAX;
    struct size all = {0};
    *out = (struct clf__training_limits){0};
    for (int i = 0; i < dataset->count; i++) {
        const struct clf__pair *pair = &dataset->pairs[i];
        int length = longer_side(pair);
        add_pair(&all, pair);
        shortest = length < shortest ? length : shortest;
        out->source_length = pair->source > out->source_length ? pair->source : out->source_length;
        out->target_length = pair->target > out->target_length ? pair->target : out->target_length;
    }
    out->source_tokens = most_tokens(all.source, out->source_length, batching->tokens);
    out->target_tokens = most_tokens(all.target, out->target_length, batching->tokens);
    /* Without padding, each side has a separate budget: half of the pairs may be long on one side and half on
     * the other. */
    int64_t budget = batching->count_padding ? batching->tokens : 2 * (int64_t)batching->tokens;
    int64_t sequences = budget / shortest;
    if (batching->max_pairs > 0 && sequences > batching->max_pairs) {
        sequences = batching->max_pairs;
    }
    sequences = sequences > dataset->count ? dataset->count : sequences;
    out->sequences = sequences < 1 ? 1 : (int)sequences;
}

void clf__dataset_batch_tokens(const struct clf__dataset *dataset, int index, int64_t *source_tokens,
                               int64_t *labels)
{
    const struct clf__planned_batch *batch = &dataset->batches[index];
    *source_tokens = *labels = 0;
    for (int i = 0; i < batch->count; i++) {
        const struct clf__pair *pair = &dataset->pairs[dataset->order[batch->first + i]];
        *source_tokens += pair->source;
        *labels += pair->target;
    }
}
