/* Attention maps of one pair of lines. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "translate/internal.h"

/* Warns about truncation, which the maps cannot report. */
static void warn_of_cut(const char *side, const char *unit, int cut_from, int limit)
{
    if (cut_from > 0) {
        clf__log(CLF_LOG_WARNING, "the %s of %d %s was truncated to the model's limit of %d", side, cut_from,
                 unit, limit);
    }
}

static void count_time(struct clf_translator *translator, double start)
{
    const struct clf_stage_times times = {.tokenize = clf__seconds() - start};
    clf__engine_add_times(translator->engine, &times);
}

/* Reads the target ids with the end token: the given target or the model's own translation. */
static clf_status find_target(struct clf__ids *ids, struct clf_translator *translator,
                              const struct clf_line *source, const struct clf_line *target)
{
    if (target != NULL) {
        double start = clf__seconds();
        int cut;
        CLF__TRY(clf__target_read(ids, &cut, translator->settings, target));
        warn_of_cut("target", "tokens", cut, translator->settings->model->info.max_target_length);
        count_time(translator, start);
        return CLF_OK;
    }
    struct clf_translation *translation;
    const struct clf__request request = {.lines = source, .count = 1};
    CLF__TRY(clf__translate(&translation, translator, translator->settings, &request));
    clf_status status =
        translation->status == CLF_OK ? CLF_OK : clf__fail(translation->status, "%s", translation->problem);
    for (int i = 0; translation->count > 0 && i < translation->hypotheses[0].count && status == CLF_OK; i++) {
        status = clf__ids_append(ids, translation->hypotheses[0].ids[i]);
    }
    clf_translations_free(translation, 1);
    if (status == CLF_OK && ids->count == 0) {
        status = clf__fail(CLF_TEXT, "the model produced no translation to align");
    }
    return status;
}

static clf_status name_tokens(struct clf_attention_maps *maps, const struct clf_model *model,
                              const struct clf__source *source, const int32_t *inputs)
{
    CLF__TRY(clf__allocate(&maps->source_tokens, (size_t)maps->source_count, sizeof *maps->source_tokens));
    CLF__TRY(clf__allocate(&maps->target_tokens, (size_t)maps->target_count, sizeof *maps->target_tokens));
    for (int i = 0; i < maps->source_count; i++) {
        if (source->frames != NULL) {
            CLF__TRY(clf__format(&maps->source_tokens[i], "#%d", i + 1));
        } else {
            const char *token = clf__tokenizer_source_token(model->tokenizer, source->ids.data[i]);
            CLF__TRY(clf__copy_string(&maps->source_tokens[i], token != NULL ? token : "?"));
        }
    }
    for (int i = 0; i < maps->target_count; i++) {
        const char *token = clf__tokenizer_target_token(model->tokenizer, inputs[i]);
        CLF__TRY(clf__copy_string(&maps->target_tokens[i], token != NULL ? token : "?"));
    }
    return CLF_OK;
}

static clf_status allocate_maps(struct clf_attention_maps *maps, const struct clf__config *config)
{
    size_t sources = (size_t)maps->source_count, targets = (size_t)maps->target_count;
    size_t encoder = (size_t)config->encoder_layers * (size_t)config->encoder_heads;
    size_t decoder = (size_t)config->decoder_layers * (size_t)config->decoder_heads;
    maps->encoder_layers = config->encoder_layers;
    maps->decoder_layers = config->decoder_layers;
    maps->encoder_heads = config->encoder_heads;
    maps->decoder_heads = config->decoder_heads;
    CLF__TRY(clf__allocate(&maps->encoder, encoder * sources * sources, sizeof(float)));
    CLF__TRY(clf__allocate(&maps->decoder, decoder * targets * targets, sizeof(float)));
    return clf__allocate(&maps->cross, decoder * targets * sources, sizeof(float));
}

static int are_finite(const float *values, int layers, int heads, int rows, int columns)
{
    size_t count = (size_t)layers * (size_t)heads * (size_t)rows * (size_t)columns;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            return 0;
        }
    }
    return 1;
}

static clf_status check_maps(const struct clf_attention_maps *maps, const struct clf_model *model)
{
    int sources = maps->source_count, targets = maps->target_count;
    return are_finite(maps->encoder, maps->encoder_layers, maps->encoder_heads, sources, sources) &&
                   are_finite(maps->decoder, maps->decoder_layers, maps->decoder_heads, targets, targets) &&
                   are_finite(maps->cross, maps->decoder_layers, maps->decoder_heads, targets, sources)
               ? CLF_OK
               : clf__model_fail_not_finite(model);
}

/* The maps of one pair while a device computes them. */
struct pair {
    struct clf_attention_maps *maps;
    const struct clf__source *source;
    const int32_t *inputs;
};

static clf_status encode_and_decode(const struct pair *pair, struct clf__lane *lane,
                                    struct clf__session *session)
{
    const struct clf_attention_maps *maps = pair->maps;
    const struct clf__source *source = pair->source;
    struct clf__sequences sources = {1, (int[]){0, maps->source_count}, source->ids.data, source->frames};
    struct clf__sequences targets = {1, (int[]){0, maps->target_count}, pair->inputs, NULL};
    struct clf__session_maps values = {maps->encoder, maps->decoder, maps->cross};
    double start = clf__seconds();
    CLF__TRY(clf__session_attend_source(session, &sources, &values));
    double middle = clf__seconds();
    CLF__TRY(clf__session_attend_target(session, &targets, &values));
    lane->times.encode += middle - start;
    lane->times.decode += clf__seconds() - middle;
    return CLF_OK;
}

static clf_status compute_maps(void *context, struct clf__lane *lane, struct clf__unit *unit)
{
    const struct pair *pair = context;
    const struct clf_attention_maps *maps = pair->maps;
    (void)unit;
    struct clf__session_limits limits = {
        .sources = 1,
        .source_tokens = maps->source_count,
        .source_length = maps->source_count,
        .target_tokens = maps->target_count,
        .target_length = maps->target_count,
        .maps = 1,
    };
    struct clf__session *session;
    CLF__TRY(clf__session_create(&session, lane->model->transformer, &limits));
    clf_status status = encode_and_decode(pair, lane, session);
    clf__session_free(session);
    return status == CLF_OK ? check_maps(maps, lane->model) : status;
}

static clf_status make_maps(struct clf_attention_maps *maps, struct clf_translator *translator,
                            const struct clf__source *source, struct clf__ids *target)
{
    const struct clf_model *model = translator->settings->model;
    struct pair pair = {maps, source, target->data};
    maps->source_count = source->length;
    maps->target_count = target->count;
    /* Inputs are the labels shifted by one: start token first, without the last label. */
    memmove(target->data + 1, target->data, (size_t)(target->count - 1) * sizeof *target->data);
    target->data[0] = translator->settings->decoder_start_id;
    CLF__TRY(name_tokens(maps, model, source, target->data));
    CLF__TRY(allocate_maps(maps, &model->transformer->config));
    return clf__translator_run_task(translator, NULL, compute_maps, &pair);
}

static clf_status read_source(struct clf__source *out, struct clf_translator *translator,
                              const struct clf_line *line)
{
    CLF__TRY(clf__translator_read(out, translator, line));
    warn_of_cut("source", out->frames != NULL ? "frames" : "tokens", out->cut_from,
                translator->settings->model->info.max_source_length);
    return out->length > 0 ? CLF_OK
                           : clf__fail(CLF_TEXT, "the source is empty; attention maps require a source");
}

static clf_status attend(struct clf_attention_maps **out, struct clf_translator *translator,
                         const struct clf_line *source, const struct clf_line *target)
{
    struct clf__source read = {.length = 0};
    struct clf__ids ids = {.data = NULL};
    struct clf_attention_maps *maps = NULL;
    double start = clf__seconds();
    clf_status status = read_source(&read, translator, source);
    count_time(translator, start);
    if (status == CLF_OK) {
        status = find_target(&ids, translator, source, target);
    }
    if (status == CLF_OK) {
        status = clf__allocate(&maps, 1, sizeof *maps);
    }
    if (status == CLF_OK) {
        maps->size = sizeof *maps;
        status = make_maps(maps, translator, &read, &ids);
    }
    clf__source_free(&read);
    clf__ids_free(&ids);
    if (status != CLF_OK) {
        clf_attention_maps_free(maps);
        return status;
    }
    *out = maps;
    return CLF_OK;
}

clf_status clf_attend(struct clf_attention_maps **out, struct clf_translator *translator,
                      const struct clf_line *source, const struct clf_line *target)
{
    *out = NULL;
    if (source == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "source: is NULL; pass a source");
    }
    CLF__TRY(clf__translator_begin(translator));
    clf_status status = clf__settings_check_start(translator->settings);
    if (status == CLF_OK) {
        status = attend(out, translator, source, target);
    }
    clf__translator_end(translator);
    return status;
}

static void free_tokens(char **tokens, int count)
{
    for (int i = 0; tokens != NULL && i < count; i++) {
        clf__free(tokens[i]);
    }
    clf__free(tokens);
}

void clf_attention_maps_free(struct clf_attention_maps *maps)
{
    if (maps == NULL) {
        return;
    }
    free_tokens(maps->source_tokens, maps->source_count);
    free_tokens(maps->target_tokens, maps->target_count);
    clf__free(maps->encoder);
    clf__free(maps->decoder);
    clf__free(maps->cross);
    clf__free(maps);
}
