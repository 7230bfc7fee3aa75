#include <clformer/translator.h>

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "audio/frames.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/options.h"
#include "model/config/architectures/architecture.h"
#include "model/config/config.h"
#include "model/config/sides.h"
#include "model/config/task.h"
#include "model/formats/format.h"
#include "search/options.h"
#include "translate/internal.h"

/* Reads the task's source prefix, and its configuration for options that are not set. */
static clf_status choose_task(struct clf_translator *translator)
{
    const struct clf_translate_options *options = &translator->options;
    if (options->task == NULL) {
        return CLF_OK;
    }
    CLF__TRY(clf__config_load_task(&translator->task_config, &translator->source_prefix,
                                   translator->model->folder, options->task));
    const char *problem = options->subwords ? "the input is tokens; turn one of them off"
                          : translator->model->info.feature_size > 0
                              ? "this model reads audio frames; remove the task"
                              : NULL;
    return problem != NULL && translator->source_prefix[0] != '\0'
               ? clf__fail(CLF_BAD_ARGUMENT, "task \"%.80s\": adds a text prefix to each line, but %s",
                           options->task, problem)
               : CLF_OK;
}
_Static_assert((int)CLF_LENGTH_INCLUDING_START == (int)CLF__LENGTH_INCLUDING_START,
               "the public and the internal length rules are the same list");
_Static_assert((int)CLF_STOP_SHRINK == (int)CLF__STOP_SHRINK,
               "the public and the internal stopping rules are the same list");

/* Returns the rows of the longest source in cross-attention. */
static int count_memory(const struct clf_model *model)
{
    const struct clf__front_end *front_end = &model->transformer->encoder.embedder.front_end;
    return front_end->kind->rows(model->info.max_source_length);
}

static clf_status add_ids(struct clf__ids *ids, const int32_t *added, int count)
{
    for (int i = 0; i < count; i++) {
        CLF__TRY(clf__ids_append(ids, added[i]));
    }
    return CLF_OK;
}

/* Joins the suppressed ids: the model's own, the caller's, and those without a token. */
static clf_status join_suppressed(struct clf_translator *translator, const struct clf__search_options *own)
{
    const struct clf_translate_options *options = &translator->options;
    struct clf__ids ids = {.count = 0};
    size_t own_count = (size_t)own->suppressed_count, more = (size_t)options->suppressed_count;
    translator->search.suppressed = NULL;
    if (own_count + more > INT_MAX) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "suppressed ids: %zu in addition to the model's own %zu are too many; pass fewer",
                         more, own_count);
    }
    clf_status status = clf__tokenizer_spare(translator->model->tokenizer, &ids);
    if (status == CLF_OK) {
        status = add_ids(&ids, own->suppressed, own->suppressed_count);
    }
    if (status == CLF_OK) {
        status = add_ids(&ids, options->suppressed, options->suppressed_count);
    }
    if (status != CLF_OK) {
        clf__ids_free(&ids);
        return status;
    }
    translator->search.suppressed = ids.data;
    translator->search.suppressed_count = ids.count;
    return CLF_OK;
}

/* Combines the model's search options with the caller's. */
static clf_status choose_search(struct clf_translator *translator)
{
    const struct clf_translate_options *options = &translator->options;
    const struct clf__search_options *own = options->task != NULL
                                                ? &translator->task_config.generation
                                                : &translator->model->transformer->config.generation;
    struct clf__search_options *search = &translator->search;
    *search = *own;
    search->beams = options->beam;
    search->n_best = options->n_best;
    search->min_length = options->min_length;
    search->max_length = options->max_length;
    search->length_rule = (enum clf__length_rule)options->length_rule;
    search->length_penalty = options->length_penalty;
    search->early_stopping = (enum clf__early_stopping)options->early_stopping;
    search->renormalize = options->renormalize;
    search->no_repeat_ngram = options->no_repeat_ngram_size;
    search->source_no_repeat_ngram = options->encoder_no_repeat_ngram_size;
    search->repetition_penalty = (float)options->repetition_penalty;
    search->source_repetition_penalty = (float)options->encoder_repetition_penalty;
    search->sampling = (struct clf__sampling){
        .is_on = options->sample != 0,
        .temperature = (float)options->temperature,
        .top_k = options->top_k,
        .top_p = (float)options->top_p,
        .min_p = (float)options->min_p,
        .typical_p = (float)options->typical_p,
        .epsilon_cutoff = (float)options->epsilon_cutoff,
        .eta_cutoff = (float)options->eta_cutoff,
        .seed = options->seed,
    };
    search->groups = options->beam_groups;
    search->diversity_penalty = (float)options->diversity_penalty;
    search->coverage_penalty = options->coverage_penalty;
    search->memory_limit = count_memory(translator->model);
    search->max_length_factor = options->max_length_factor;
    search->decay_start = options->length_decay_start;
    search->decay_factor = (float)options->length_decay_factor;
    search->source_limit = translator->model->info.max_source_length;
    search->start_id = translator->framing.decoder_start >= 0 ? translator->decoder_start_id : own->start_id;
    search->prefix = &options->forced_first;
    search->prefix_count = options->forced_first == -1 ? 0 : 1;
    search->forced_last = options->forced_last;
    CLF__TRY(join_suppressed(translator, own));
    CLF__TRY(clf__search_check(search)); /* this check keeps the bans of all beams of a line within an int */
    translator->max_banned = (int)clf__bans_limit(search);
    return CLF_OK;
}

/* Sets the languages from the options or the folder. Without a target language, the output language is
 * undefined. */
static clf_status choose_languages(struct clf_translator *translator)
{
    struct clf_translate_options *options = &translator->options;
    const struct clf__config *config = &translator->model->transformer->config;
    const struct clf__tokenizer *tokenizer = translator->model->tokenizer;
    const char *target = options->target_language;
    if (target == NULL && clf__tokenizer_needs_target(tokenizer) &&
        !clf__tokenizer_is_language(tokenizer, options->forced_first) &&
        !clf__tokenizer_is_language(tokenizer, config->decoder_start_id)) {
        target = clf__tokenizer_target_language(tokenizer);
        if (target == NULL) {
            clf__log(CLF_LOG_WARNING,
                     "%s: has %d languages, but no target language is set; set one (--target-language)",
                     translator->model->folder, clf__tokenizer_languages(tokenizer));
        }
    }
    CLF__TRY(clf__tokenizer_frame(&translator->framing, tokenizer, options->source_language, target));
    int32_t first = translator->framing.forced_first, start = translator->framing.decoder_start;
    if (first >= 0 && options->forced_first != config->forced_first && options->forced_first != first) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "target language \"%.40s\": its token comes first, but another first token (%d) is "
                         "forced; choose one",
                         target, (int)options->forced_first);
    }
    options->forced_first = first >= 0 ? first : options->forced_first;
    int own_start =
        options->task != NULL ? translator->task_config.generation.start_id : config->decoder_start_id;
    translator->decoder_start_id = start >= 0 ? start : own_start;
    translator->takes_start = config->start_is_given && start < 0;
    return CLF_OK;
}

clf_status clf__translator_check_start(const struct clf_translator *translator)
{
    const char *how = clf__tokenizer_languages(translator->model->tokenizer) > 0
                          ? "set the target language (--target-language)"
                          : "translate with a target prefix (--target-prefix), whose first token is that, "
                            "without alignments, alternatives and replaced unknown tokens";
    return !translator->takes_start
               ? CLF_OK
               : clf__fail(CLF_BAD_ARGUMENT, "%s: does not define the decoder's start token; %s",
                           translator->model->folder, how);
}

static clf_status choose_sentences(struct clf_translator *translator)
{
    const struct clf_translate_options *options = &translator->options;
    translator->warns_of_sentences =
        !options->split_sentences && !options->subwords &&
        !clf__architecture_of(translator->model->transformer->config.architecture)->reads_texts;
    if (!options->split_sentences) {
        return CLF_OK;
    }
    const char *problem = options->subwords                          ? "the input is tokens"
                          : translator->model->info.feature_size > 0 ? "this model reads audio frames"
                          : options->n_best > 1                      ? "n_best is above 1"
                                                                     : NULL;
    if (problem != NULL) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "sentence splitting requires one text translation per line, but %s; turn sentence splitting off",
            problem);
    }
    return CLF_OK;
}

clf_status clf__translator_begin(struct clf_translator *translator)
{
    if (translator == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "translator: is NULL; create one with clf_translator_create()");
    }
    if (atomic_exchange(&translator->is_working, 1)) {
        return clf__fail(CLF_BAD_ARGUMENT, "the translator is in use by another thread, or was called from "
                                           "its own callback; create a translator for each thread");
    }
    return CLF_OK;
}

void clf__translator_end(struct clf_translator *translator)
{
    if (translator->next != NULL) {
        clf__translator_sum_times(translator);
    }
    atomic_store(&translator->is_working, 0);
}

clf_status clf__translator_check_lines(const struct clf_line *lines, int count)
{
    if (count < 0 || (count > 0 && lines == NULL)) {
        return clf__fail(CLF_BAD_ARGUMENT, "count: is %d, %s", count,
                         count < 0 ? "but cannot be negative" : "but the list of lines is NULL");
    }
    return CLF_OK;
}

/* Opens the shortlist in the options, or the folder's. A model in training and a package have none. */
static clf_status open_shortlist(struct clf__shortlist **out, const struct clf_translator *translator)
{
    const struct clf_model *model = translator->model;
    const char *said = translator->options.shortlist;
    struct clf__shortlist_cut cut = CLF__SHORTLIST_CUT;
    if (said == NULL) {
        return model->is_borrowed || model->is_package
                   ? CLF_OK
                   : clf__format_open_shortlist(out, model->folder, model->tokenizer);
    }
    const struct clf__shortlist_words words = clf__shortlist_words_of(model->tokenizer);
    return strcmp(said, "none") == 0 ? CLF_OK : clf__shortlist_open(out, said, &words, &cut);
}

static clf_status choose_shortlist(struct clf_translator *translator)
{
    CLF__TRY(open_shortlist(&translator->shortlist, translator));
    if (translator->shortlist != NULL) {
        clf__shortlist_most(translator->shortlist, &translator->candidates_base,
                            &translator->candidates_each);
    }
    return CLF_OK;
}

/* Lists the caller's suppressed ids and all end tokens. */
static clf_status list_suppressed(int32_t **out, int *count, const struct clf_translator *translator)
{
    const struct clf_translate_options *options = &translator->options;
    const struct clf__search_options *search = &translator->search;
    size_t given = (size_t)options->suppressed_count, others = (size_t)search->other_end_count;
    CLF__TRY(clf__allocate(out, given + others + 1, sizeof **out));
    if (given > 0) {
        memcpy(*out, options->suppressed, given * sizeof **out);
    }
    if (others > 0) {
        memcpy(*out + given, search->other_end_ids, others * sizeof **out);
    }
    (*out)[given + others] = search->end_id;
    *count = (int)(given + others) + 1;
    return CLF_OK;
}

static clf_status take_frames(struct clf_translator *translator)
{
    const struct clf_model *model = translator->model;
    const struct clf__config *config = &model->transformer->config;
    return config->feature_size > 0
               ? clf__frame_maker_create(&translator->frame_maker, model->transformer->device,
                                         clf__frame_layout_of(config))
               : CLF_OK;
}

/* Creates the translator for the step that finds alternatives. */
static clf_status make_starts(struct clf_translator *translator)
{
    struct clf_translate_options options = translator->options;
    int32_t *suppressed = NULL;
    CLF__TRY(list_suppressed(&suppressed, &options.suppressed_count, translator));
    options.suppressed = suppressed;
    options.alternatives = 0;
    options.beam = options.n_best = translator->options.alternatives;
    options.early_stopping = CLF_STOP_FALSE;
    options.length_rule = CLF_LENGTH_NONE;
    options.coverage_penalty = 0.0;
    options.beam_groups = 1;
    options.forced_last = -1;
    clf_status status = clf_translator_create(&translator->starts, translator->model, &options);
    clf__free(suppressed);
    if (status == CLF_OK) {
        translator->starts->search.steps = 1;
        translator->starts->warns_of_sentences = 0; /* the main translator logs the warning */
    }
    return status;
}

clf_status clf_translator_create(struct clf_translator **out, struct clf_model *model,
                                 const struct clf_translate_options *options)
{
    *out = NULL;
    if (model == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "model: is NULL; load one with clf_model_load()");
    }
    struct clf_translator *translator;
    CLF__TRY(clf__allocate(&translator, 1, sizeof *translator));
    translator->model = model;
    translator->times.size = translator->all_times.size = sizeof translator->times;
    clf_translate_options_init(&translator->options, model);
    clf_status status =
        clf__options_take(&translator->options, sizeof translator->options, options, "clf_translate_options");
    if (status == CLF_OK) {
        status = clf__translator_check_options(translator);
    }
    if (status == CLF_OK) {
        status = choose_task(translator);
    }
    if (status == CLF_OK) {
        status = choose_languages(translator);
    }
    if (status == CLF_OK) {
        status = choose_sentences(translator);
    }
    if (status == CLF_OK) {
        status = choose_search(translator);
    }
    if (status == CLF_OK) {
        status = choose_shortlist(translator);
    }
    if (status == CLF_OK) {
        status = clf__translator_choose_batch(translator);
    }
    if (status == CLF_OK) {
        status = take_frames(translator);
    }
    if (status == CLF_OK && translator->options.alternatives > 0) {
        status = make_starts(translator);
    }
    if (status != CLF_OK) {
        clf_translator_free(translator);
        return status;
    }
    /* The search has a copy of the caller's list, and the languages are resolved. */
    translator->options.source_language = translator->options.target_language = NULL;
    translator->options.suppressed = NULL;
    translator->options.suppressed_count = 0;
    translator->options.shortlist = NULL;
    translator->options.task = NULL;
    *out = translator;
    return CLF_OK;
}

/* Frees one translator of a pool. */
static void free_one(struct clf_translator *translator)
{
    if (translator == NULL) {
        return;
    }
    free_one(translator->starts);
    clf__session_free(translator->session);
    clf__session_free(translator->force_session);
    clf__session_free(translator->align_session);
    clf__free((void *)translator->search.suppressed);
    clf__frame_maker_free(translator->frame_maker);
    clf__free(translator->source_prefix);
    clf__config_free(&translator->task_config);
    clf__shortlist_free(translator->shortlist);
    clf__free(translator);
}

void clf_translator_free(struct clf_translator *translator)
{
    if (translator != NULL && atomic_load(&translator->is_working)) {
        clf__log(CLF_LOG_WARNING,
                 "a translator that is in use is not freed; do not free it in its own callbacks");
        return;
    }
    while (translator != NULL) {
        struct clf_translator *next = translator->next;
        free_one(translator);
        translator = next;
    }
}

const struct clf_stage_times *clf_translator_times(const struct clf_translator *translator)
{
    return translator->next != NULL ? &translator->all_times : &translator->times;
}

const struct clf_translator_device *clf_translator_device_at(struct clf_translator *translator, int index)
{
    struct clf_translator *each = translator;
    for (int i = 0; i < index && each != NULL; i++) {
        each = each->next;
    }
    if (each == NULL || index < 0) {
        return NULL;
    }
    each->described = (struct clf_translator_device){
        .size = sizeof each->described,
        .device = clf_device_describe(each->model->transformer->device),
        .batch_tokens = each->options.batch_tokens,
        .batch_lines = each->max_lines,
        .is_lost = each->model->is_lost,
        .times = &each->times,
    };
    return &each->described;
}
