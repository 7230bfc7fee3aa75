/* Chooses the number of source tokens and lines per batch. */
#include "base/minmax.h"
#include "engine/lane.h"
#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"

enum {
    LEAST_TOKENS = 2048,     /* default for CPUs and the smallest GPUs */
    MOST_TOKENS = 1 << 17,   /* the largest default */
    TOKENS_A_UNIT = 512,     /* default for GPUs: 4 lines per compute unit */
    USUAL_LINE_TOKENS = 128, /* longer lines reduce the number of lines */
    USUAL_BEAMS = 4,
    SHORT_LINE_TOKENS = 8, /* a batch holds at most budget / 8 lines: shorter lines use part of the budget */
    MAX_STEP_VALUES = 1 << 28, /* maximum banned ids, or candidates, in all rows of a step; int indices */
    MAX_STEP_LOGITS = 1 << 24, /* logits that a step copies to the host if an option needs them: 64 MiB */
    AUTO_SHARE = 4, /* the default uses up to 1/4 of the free memory: other processes may use the GPU */
    MOST_SHARE = 2,
};

int clf__batch_tokens_wanted(clf_variant variant, unsigned compute_units)
{
    int tokens = LEAST_TOKENS;
    double wanted = (double)TOKENS_A_UNIT * compute_units;
    while (variant == CLF_VARIANT_GPU && tokens < MOST_TOKENS && wanted > 1.5 * tokens) {
        tokens *= 2;
    }
    return tokens;
}

int clf__batch_lines_wanted(int batch_tokens)
{
    return clf__max_int(batch_tokens / USUAL_LINE_TOKENS, LEAST_TOKENS / SHORT_LINE_TOKENS);
}

static struct clf__session_limits limits_of(const struct clf__lane *lane, int lines)
{
    return clf__capacity_limits(&lane->capacity, lines, lane->batch_tokens, lane->source_length);
}

/* Sets *out if a session for `lines` lines takes at most 1 / share of the free device memory and needs no
 * buffer above the device's limit. */
static clf_status fits(int *out, const struct clf__lane *lane, int lines, int share)
{
    struct clf__transformer *transformer = lane->model->transformer;
    struct clf__session_limits limits = limits_of(lane, lines);
    struct clf__session_size size;
    clf_status status = clf__session_measure(&size, transformer, &limits);
    if (status == CLF_DEVICE_MEMORY) { /* the session has a tensor that kernels cannot index */
        *out = 0;
        return CLF_OK;
    }
    CLF__TRY(status);
    *out = size.bytes <= clf__device_free_bytes(transformer->device) / (unsigned)share &&
           size.largest_buffer <= clf__device_caps(transformer->device)->max_buffer_bytes;
    return CLF_OK;
}

/* Returns the number of lines of usual length in a batch. A recording usually fills the whole window. */
static int usual_lines(const struct clf__lane *lane)
{
    const struct clf_model_info *info = &lane->model->info;
    int length = info->feature_size > 0 ? info->max_source_length : USUAL_LINE_TOKENS;
    return clf__max_int(lane->batch_tokens / length, 1);
}

/* Starts from the tuned number or the compute units, and halves the budget until the session of a full batch
 * fits. */
static clf_status choose_tokens(struct clf__lane *lane)
{
    struct clf_device *device = lane->model->transformer->device;
    const struct clf__caps *caps = clf__device_caps(device);
    int *tokens = &lane->batch_tokens, has_room = 0;
    int tuned = caps->variant == CLF_VARIANT_GPU ? caps->tuning.values[CLF__TUNABLE_BATCH_TOKENS] : 0;
    *tokens = tuned > 0 ? tuned : clf__batch_tokens_wanted(caps->variant, caps->compute_units);
    while (*tokens > LEAST_TOKENS && !has_room) {
        CLF__TRY(fits(&has_room, lane, usual_lines(lane), AUTO_SHARE));
        *tokens = has_room ? *tokens : *tokens / 2;
    }
    return CLF_OK;
}

/* Chooses the largest number of lines from 1 to `most` that fits the device. Loading fails later if a single
 * line does not fit. */
static clf_status choose_lines(struct clf__lane *lane, int most)
{
    int fit, low = 1, high = most > 1 ? most : 1;
    CLF__TRY(fits(&fit, lane, high, MOST_SHARE));
    lane->max_lines = fit ? high : low;
    while (!fit && high - low > 1) { /* low fits, or is 1; high does not */
        int middle = low + (high - low) / 2, middle_fits;
        CLF__TRY(fits(&middle_fits, lane, middle, MOST_SHARE));
        low = middle_fits ? middle : low;
        high = middle_fits ? high : middle;
        lane->max_lines = low;
    }
    return CLF_OK;
}

/* Sizes the sessions for usual lines. */
static void choose_lengths(struct clf__lane *lane)
{
    enum { USUAL = 4096 };
    const struct clf_model_info *info = &lane->model->info;
    int is_text = info->feature_size == 0;
    lane->source_length = is_text ? clf__min_int(info->max_source_length, USUAL) : info->max_source_length;
    lane->target_length = clf__min_int(info->max_target_length, USUAL);
}

static clf_status choose_batch(struct clf__lane *lane, int wanted_tokens)
{
    const struct clf__search_limits *search = &lane->capacity.search;
    int is_auto = wanted_tokens == 0;
    lane->batch_tokens = wanted_tokens;
    CLF__TRY(is_auto ? choose_tokens(lane) : CLF_OK);
    int64_t beams = search->beams;
    int64_t candidates = 2 * (int64_t)lane->capacity.candidates + 4 * (int64_t)search->picks + 4;
    int64_t most = lane->batch_tokens / SHORT_LINE_TOKENS;
    if (is_auto) {
        most = clf__min_int64(most, clf__batch_lines_wanted(lane->batch_tokens));
    }
    if (search->picks > 0) { /* lines with many beams are few */
        most = clf__max_int64(most * USUAL_BEAMS / clf__max_int64(beams, USUAL_BEAMS), 1);
    }
    most = clf__min_int64(most, MAX_STEP_VALUES / (beams * clf__max_int64(search->banned, candidates)));
    if (search->logits) {
        most = clf__min_int64(most, MAX_STEP_LOGITS / (beams * search->vocabulary));
    }
    return choose_lines(lane, search->proposals > 0 ? 1 : (int)most);
}

clf_status clf__lane_fit(struct clf__lane *lane, const struct clf__capacity *capacity, int wanted_tokens)
{
    if (lane->max_lines == 0) {
        choose_lengths(lane);
        lane->capacity = *capacity;
    } else {
        lane->capacity = clf__capacity_join(&lane->capacity, capacity);
    }
    clf__lane_release(lane);
    return choose_batch(lane, wanted_tokens);
}

clf_status clf__lane_grow(struct clf__lane *lane, int source)
{
    const struct clf_model_info *info = &lane->model->info;
    if (source <= lane->source_length) {
        return CLF_OK;
    }
    clf__lane_release(lane);
    lane->source_length = clf__grow_length(lane->source_length, source, info->max_source_length);
    return choose_lines(lane, lane->max_lines);
}
