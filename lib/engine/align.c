/* Aligns each generated token with the source token that has the most cross-attention. */
#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "engine/lane.h"

/* Returns the length of a session for sequences of `needed` tokens. */
static int choose_length(int length, int needed, int limit)
{
    enum { FIRST = 64 };
    length = clf__max_int(length, clf__min_int(FIRST, limit));
    return clf__max_int(clf__grow_length(length, needed, limit), needed);
}

/* Creates a session for the two lengths. */
static clf_status make_session(struct clf__lane *lane, int sources, int targets)
{
    struct clf__session_limits *limits = &lane->align_limits;
    if (lane->align_session != NULL && sources <= limits->source_length && targets <= limits->target_length) {
        return CLF_OK;
    }
    const struct clf_model_info *info = &lane->model->info;
    int longest = choose_length(limits->source_length, sources, info->max_source_length);
    int longest_target = choose_length(limits->target_length, targets, info->max_target_length);
    *limits = (struct clf__session_limits){
        .sources = 1,
        .source_tokens = longest,
        .source_length = longest,
        .target_tokens = longest_target,
        .target_length = longest_target,
        .maps = 1,
    };
    clf__session_free(lane->align_session);
    lane->align_session = NULL;
    return clf__session_create(&lane->align_session, lane->model->transformer, limits);
}

/* Allocates memory for the attention maps of one pair. */
static clf_status allocate_maps(struct clf__session_maps *maps, const struct clf__config *config,
                                size_t sources, size_t targets)
{
    size_t encoder = (size_t)config->encoder_layers * (size_t)config->encoder_heads;
    size_t decoder = (size_t)config->decoder_layers * (size_t)config->decoder_heads;
    CLF__TRY(clf__allocate(&maps->encoder, encoder * sources * sources, sizeof(float)));
    CLF__TRY(clf__allocate(&maps->decoder, decoder * targets * targets, sizeof(float)));
    return clf__allocate(&maps->cross, decoder * targets * sources, sizeof(float));
}

static void free_maps(struct clf__session_maps *maps)
{
    clf__free(maps->encoder);
    clf__free(maps->decoder);
    clf__free(maps->cross);
}

/* Finds the source's own tokens: [first, last). */
static void find_text(int *first, int *last, const struct clf__settings *settings,
                      const struct clf__source *source)
{
    const struct clf__framing *framing = &settings->framing;
    *first = 0;
    *last = source->length;
    for (int i = 0; source->frames == NULL && i < CLF__MOST_FRAMING; i++) {
        *first += framing->before[i] >= 0;
        *last -= framing->behind[i] >= 0;
    }
}

/* Returns the source token with the most attention of one target, summed over `heads` maps (targets,
 * sources); on ties the first. */
static int look(const float *maps, int heads, int target, int targets, int sources, int first, int last)
{
    int best = -1;
    double most = -1.0;
    for (int i = first; i < last; i++) {
        double sum = 0.0;
        for (int head = 0; head < heads; head++) {
            sum +=
                (double)maps[((size_t)head * (size_t)targets + (size_t)target) * (size_t)sources + (size_t)i];
        }
        if (sum > most) {
            most = sum;
            best = i;
        }
    }
    return best;
}

static clf_status attend(const struct clf__session_maps *maps, struct clf__lane *lane,
                         const struct clf__settings *settings, const struct clf__source *source,
                         const struct clf_hypothesis *hypothesis)
{
    struct clf__sequences sources = {1, (int[]){0, source->length}, source->ids.data, source->frames};
    int32_t *inputs;
    CLF__TRY(clf__allocate(&inputs, (size_t)hypothesis->count, sizeof *inputs));
    inputs[0] = settings->decoder_start_id;
    memcpy(inputs + 1, hypothesis->ids, (size_t)(hypothesis->count - 1) * sizeof *inputs);
    struct clf__sequences targets = {1, (int[]){0, hypothesis->count}, inputs, NULL};
    clf_status status = clf__session_attend_source(lane->align_session, &sources, maps);
    if (status == CLF_OK) {
        status = clf__session_attend_target(lane->align_session, &targets, maps);
    }
    clf__free(inputs);
    return status;
}

static clf_status find_links(int **links, struct clf__session_maps *maps, struct clf__lane *lane,
                             const struct clf__settings *settings, const struct clf__source *source,
                             const struct clf_hypothesis *hypothesis, struct clf__attention_heads selection)
{
    const struct clf__config *config = &lane->model->transformer->config;
    int first, last, all = config->decoder_heads, targets = hypothesis->count, sources = source->length;
    int heads = selection.heads > 0 ? selection.heads : all;
    CLF__TRY(make_session(lane, sources, targets));
    CLF__TRY(allocate_maps(maps, config, (size_t)sources, (size_t)targets));
    CLF__TRY(attend(maps, lane, settings, source, hypothesis));
    CLF__TRY(clf__allocate(links, (size_t)targets, sizeof **links));
    size_t before = (size_t)(selection.layer - 1) * (size_t)all;
    const float *cross = maps->cross + before * (size_t)targets * (size_t)sources;
    find_text(&first, &last, settings, source);
    for (int i = 0; i < targets; i++) {
        int found = look(cross, heads, i, targets, sources, first, last);
        (*links)[i] = found >= 0 ? found - first : -1;
    }
    return CLF_OK;
}

clf_status clf__links_find(int **links, struct clf__lane *lane, const struct clf__settings *settings,
                           const struct clf__source *source, const struct clf_hypothesis *hypothesis,
                           struct clf__attention_heads selection)
{
    struct clf__session_maps maps = {NULL, NULL, NULL};
    *links = NULL;
    clf_status status = find_links(links, &maps, lane, settings, source, hypothesis, selection);
    free_maps(&maps);
    return status;
}

clf_status clf__align(struct clf_hypothesis *hypothesis, struct clf__lane *lane,
                      const struct clf__settings *settings, const struct clf__source *source)
{
    const struct clf_translate_options *options = &settings->options;
    const struct clf__tokenizer *tokenizer = lane->model->tokenizer;
    struct clf__attention_heads selection = {options->alignment_layer, 0};
    CLF__TRY(clf__links_find(&hypothesis->alignment, lane, settings, source, hypothesis, selection));
    for (int i = 0; i < hypothesis->count; i++) {
        int32_t id = hypothesis->ids[i];
        int is_replaced = options->replace_unknown && id == clf__tokenizer_unknown(tokenizer);
        if (!is_replaced && !clf__tokenizer_is_text(tokenizer, id, options->subwords)) {
            hypothesis->alignment[i] = -1;
        }
    }
    return CLF_OK;
}
