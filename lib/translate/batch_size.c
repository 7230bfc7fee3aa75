/* Chooses the number of source tokens and lines per batch. */
#include "base/minmax.h"
#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"
#include "search/options.h"
#include "translate/internal.h"

enum {
    LEAST_TOKENS = 2048,     /* default for CPUs and the smallest GPUs */
    MOST_TOKENS = 1 << 17,   /* the largest default */
    TOKENS_A_UNIT = 512,     /* default for GPUs: 4 lines per compute unit */
    USUAL_LINE_TOKENS = 128, /* longer lines reduce the number of lines */
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

/* Returns the cross-attention for the coverage penalty: the folder's choice or, as in CTranslate2, the first
 * head of the last layer. Layer 0: no coverage penalty. */
static struct clf__attention_heads coverage_heads(const struct clf_translator *translator)
{
    const struct clf__config *config = &translator->model->transformer->config;
    if (translator->settings->search.coverage_penalty == 0.0) {
        return (struct clf__attention_heads){0, 0};
    }
    if (config->alignment_layer == 0) {
        return (struct clf__attention_heads){config->decoder_layers, 1};
    }
    int heads = config->alignment_heads;
    return (struct clf__attention_heads){config->alignment_layer, heads > 0 ? heads : config->decoder_heads};
}

struct clf__session_limits clf__translator_limits(const struct clf_translator *translator, int lines)
{
    const struct clf__search_options *search = &translator->settings->search;
    int longest = translator->source_length, budget = translator->batch_tokens;
    int rows = clf__search_rows(search);
    struct clf__attention_heads selection = coverage_heads(translator);
    return (struct clf__session_limits){
        .sources = lines,
        .source_tokens = budget > longest ? budget : longest,
        .source_length = longest,
        .cache_rows = lines * rows,
        .positions = search->max_length,
        .candidates = clf__candidates_wanted(search),
        .banned = lines * rows * translator->settings->max_banned,
        .logits = clf__search_limits_for(search, lines).logits,
        .shortlist_base = translator->settings->candidates_base,
        .shortlist_each = translator->settings->candidates_each,
        .attention_layer = selection.layer,
        .attention_heads = selection.heads,
    };
}

/* Sets *out if a session for `lines` lines takes at most 1 / share of the free device memory and needs no
 * buffer above the device's limit. */
static clf_status fits(int *out, const struct clf_translator *translator, int lines, int share)
{
    struct clf__transformer *transformer = translator->model->transformer;
    struct clf__session_limits limits = clf__translator_limits(translator, lines);
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
static int usual_lines(const struct clf_translator *translator)
{
    const struct clf_model_info *info = &translator->model->info;
    int length = info->feature_size > 0 ? info->max_source_length : USUAL_LINE_TOKENS;
    return clf__max_int(translator->batch_tokens / length, 1);
}

/* Starts from the tuned number or the compute units, and halves the budget until the session of a full batch
 * fits. */
static clf_status choose_tokens(struct clf_translator *translator)
{
    struct clf_device *device = translator->model->transformer->device;
    const struct clf__caps *caps = clf__device_caps(device);
    int *tokens = &translator->batch_tokens, has_room = 0;
    int tuned = caps->variant == CLF_VARIANT_GPU ? caps->tuning.values[CLF__TUNABLE_BATCH_TOKENS] : 0;
    *tokens = tuned > 0 ? tuned : clf__batch_tokens_wanted(caps->variant, caps->compute_units);
    while (*tokens > LEAST_TOKENS && !has_room) {
        CLF__TRY(fits(&has_room, translator, usual_lines(translator), AUTO_SHARE));
        *tokens = has_room ? *tokens : *tokens / 2;
    }
    return CLF_OK;
}

/* Chooses the largest number of lines from 1 to `most` that fits the device. Loading fails later if a single
 * line does not fit. */
static clf_status choose_lines(struct clf_translator *translator, int most)
{
    int fit, low = 1, high = most > 1 ? most : 1;
    CLF__TRY(fits(&fit, translator, high, MOST_SHARE));
    translator->max_lines = fit ? high : low;
    while (!fit && high - low > 1) { /* low fits, or is 1; high does not */
        int middle = low + (high - low) / 2, middle_fits;
        CLF__TRY(fits(&middle_fits, translator, middle, MOST_SHARE));
        low = middle_fits ? middle : low;
        high = middle_fits ? high : middle;
        translator->max_lines = low;
    }
    return CLF_OK;
}

/* Sizes the sessions for usual lines. */
static void choose_lengths(struct clf_translator *translator)
{
    enum { USUAL = 4096 };
    const struct clf_model_info *info = &translator->model->info;
    int is_text = info->feature_size == 0;
    translator->source_length =
        is_text ? clf__min_int(info->max_source_length, USUAL) : info->max_source_length;
    translator->target_length = clf__min_int(info->max_target_length, USUAL);
}

static clf_status ensure_lengths(struct clf_translator *translator, int source, int target)
{
    const struct clf_model_info *info = &translator->model->info;
    if (source <= translator->source_length && target <= translator->target_length) {
        return CLF_OK;
    }
    clf__session_free(translator->session);
    clf__session_free(translator->force_session);
    translator->session = translator->force_session = NULL;
    translator->source_length = clf__grow_length(translator->source_length, source, info->max_source_length);
    translator->target_length = clf__grow_length(translator->target_length, target, info->max_target_length);
    return choose_lines(translator, translator->max_lines);
}

clf_status clf__translator_ensure_lengths(struct clf_translator *first, int source, int target)
{
    for (struct clf_translator *each = first; each != NULL; each = each->next) {
        if (!each->model->is_lost) {
            CLF__TRY(ensure_lengths(each, source, target));
        }
    }
    return CLF_OK;
}

clf_status clf__translator_choose_batch(struct clf_translator *translator)
{
    int is_auto = translator->batch_tokens == 0;
    choose_lengths(translator);
    CLF__TRY(is_auto ? choose_tokens(translator) : CLF_OK);
    int64_t beams = clf__search_rows(&translator->settings->search),
            banned = translator->settings->max_banned,
            candidates = 2 * (int64_t)clf__candidates_wanted(&translator->settings->search) + 4;
    int64_t most = translator->batch_tokens / SHORT_LINE_TOKENS;
    if (is_auto) {
        most = clf__min_int64(most, clf__batch_lines_wanted(translator->batch_tokens));
    }
    most = clf__min_int64(most, MAX_STEP_VALUES / (beams * clf__max_int64(banned, candidates)));
    if (clf__search_limits_for(&translator->settings->search, 1).logits) {
        most = clf__min_int64(most, MAX_STEP_LOGITS / (beams * translator->settings->search.vocabulary));
    }
    return choose_lines(translator, (int)most);
}
