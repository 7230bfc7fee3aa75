#include "engine/settings.h"

#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/options.h"
#include "engine/lists.h"
#include "model/config/architectures/architecture.h"
#include "model/config/sides.h"
#include "model/config/task.h"
#include "model/formats/format.h"
#include "model/transformer.h"
#include "search/options.h"

/* Reads the task's source prefix, and its configuration for options that are not set. */
static clf_status choose_task(struct clf__settings *settings)
{
    const struct clf_translate_options *options = &settings->options;
    if (options->task == NULL) {
        return CLF_OK;
    }
    CLF__TRY(clf__config_load_task(&settings->task_config, &settings->source_prefix, settings->model->folder,
                                   options->task));
    const char *problem = options->subwords ? "the input is tokens; turn one of them off"
                          : settings->model->info.feature_size > 0
                              ? "this model reads audio frames; remove the task"
                              : NULL;
    return problem != NULL && settings->source_prefix[0] != '\0'
               ? clf__fail(CLF_BAD_ARGUMENT, "task \"%.80s\": adds a text prefix to each line, but %s",
                           options->task, problem)
               : CLF_OK;
}
_Static_assert((int)CLF_LENGTH_INCLUDING_START == (int)CLF__LENGTH_INCLUDING_START,
               "the public and the internal length rules are the same list");
_Static_assert((int)CLF_STOP_CTRANSLATE2 == (int)CLF__STOP_CTRANSLATE2,
               "the public and the internal stopping rules are the same list");

/* Returns the rows of the longest source in cross-attention. */
static int count_memory(const struct clf_model *model)
{
    const struct clf__front_end *front_end = &model->transformer->encoder.embedder.front_end;
    return front_end->kind->rows(model->info.max_source_length);
}

/* Combines the model's search options with the caller's. */
static clf_status choose_search(struct clf__settings *settings)
{
    const struct clf_translate_options *options = &settings->options;
    const struct clf__search_options *own = options->task != NULL
                                                ? &settings->task_config.generation
                                                : &settings->model->transformer->config.generation;
    struct clf__search_options *search = &settings->search;
    *search = *own;
    search->beams = options->beam;
    search->n_best = options->n_best;
    search->min_length = options->min_length;
    search->max_length = options->max_length;
    search->length_rule = (enum clf__length_rule)options->length_rule;
    search->length_penalty = options->length_penalty;
    search->early_stopping = (enum clf__early_stopping)options->early_stopping;
    search->patience = options->patience;
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
    search->keeps_logits = options->wants_logits != 0;
    search->memory_limit = count_memory(settings->model);
    search->max_length_factor = options->max_length_factor;
    search->decay_start = options->length_decay_start;
    search->decay_factor = (float)options->length_decay_factor;
    search->source_limit = settings->model->info.max_source_length;
    search->start_id = settings->framing.decoder_start >= 0 ? settings->decoder_start_id : own->start_id;
    search->prefix = &options->forced_first;
    search->prefix_count = options->forced_first == -1 ? 0 : 1;
    search->forced_last = options->forced_last;
    CLF__TRY(clf__lists_join(settings, own));
    return clf__search_check(search); /* this check keeps the bans of all beams of a line within an int */
}

/* Sets the languages from the options or the folder. Without a target language, the output language is
 * undefined. */
static clf_status choose_languages(struct clf__settings *settings)
{
    struct clf_translate_options *options = &settings->options;
    const struct clf__config *config = &settings->model->transformer->config;
    const struct clf__tokenizer *tokenizer = settings->model->tokenizer;
    const char *target = options->target_language;
    if (options->exact_tokens && options->source_language != NULL) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "exact tokens cannot be combined with a source language; write its token in the line");
    }
    if (target == NULL && !options->exact_tokens && clf__tokenizer_needs_target(tokenizer) &&
        !clf__tokenizer_is_language(tokenizer, options->forced_first) &&
        !clf__tokenizer_is_language(tokenizer, config->decoder_start_id)) {
        target = clf__tokenizer_target_language(tokenizer);
        if (target == NULL) {
            clf__log(CLF_LOG_WARNING,
                     "%s: has %d languages, but no target language is set; set one (--target-language)",
                     settings->model->folder, clf__tokenizer_languages(tokenizer));
        }
    }
    CLF__TRY(clf__tokenizer_frame(&settings->framing, tokenizer, options->source_language, target));
    int32_t first = settings->framing.forced_first, start = settings->framing.decoder_start;
    if (first >= 0 && options->forced_first != config->forced_first && options->forced_first != first) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "target language \"%.40s\": its token comes first, but another first token (%d) is "
                         "forced; choose one",
                         target, (int)options->forced_first);
    }
    options->forced_first = first >= 0 ? first : options->forced_first;
    if (options->exact_tokens) {
        clf__framing_clear(&settings->framing);
    }
    int own_start =
        options->task != NULL ? settings->task_config.generation.start_id : config->decoder_start_id;
    settings->decoder_start_id = start >= 0 ? start : own_start;
    settings->takes_start = config->start_is_given && start < 0;
    return CLF_OK;
}

clf_status clf__settings_check_start(const struct clf__settings *settings)
{
    const char *how = clf__tokenizer_languages(settings->model->tokenizer) > 0
                          ? "set the target language (--target-language)"
                          : "pass it as the first token of a target prefix (--target-prefix), without "
                            "alignments, alternatives or replacement of unknown tokens";
    return !settings->takes_start
               ? CLF_OK
               : clf__fail(CLF_BAD_ARGUMENT, "%s: does not define the decoder's start token; %s",
                           settings->model->folder, how);
}

static clf_status choose_sentences(struct clf__settings *settings)
{
    const struct clf_translate_options *options = &settings->options;
    settings->warns_of_sentences =
        !options->split_sentences && !options->subwords &&
        !clf__architecture_of(settings->model->transformer->config.architecture)->reads_texts;
    if (!options->split_sentences) {
        return CLF_OK;
    }
    const char *problem = options->subwords                        ? "the input is tokens"
                          : settings->model->info.feature_size > 0 ? "this model reads audio frames"
                          : options->n_best > 1                    ? "n_best is above 1"
                                                                   : NULL;
    if (problem != NULL) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "sentence splitting requires one text translation per line, but %s; turn sentence splitting off",
            problem);
    }
    return CLF_OK;
}

/* Opens the shortlist in the options, or the folder's. A model in training and a package have none. */
static clf_status open_shortlist(struct clf__shortlist **out, const struct clf__settings *settings)
{
    const struct clf_model *model = settings->model;
    const char *said = settings->options.shortlist;
    struct clf__shortlist_cut cut = CLF__SHORTLIST_CUT;
    if (said == NULL) {
        return model->has_shortlist ? clf__format_open_shortlist(out, model->folder, model->tokenizer)
                                    : CLF_OK;
    }
    const struct clf__shortlist_words words = clf__shortlist_words_of(model->tokenizer);
    return strcmp(said, "none") == 0 ? CLF_OK : clf__shortlist_open(out, said, &words, &cut);
}

/* Lists the caller's suppressed ids and all end tokens. */
static clf_status list_suppressed(int32_t **out, int *count, const struct clf__settings *settings)
{
    const struct clf_translate_options *options = &settings->options;
    const struct clf__search_options *search = &settings->search;
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

/* Creates the settings of the step that finds alternatives. */
static clf_status make_starts(struct clf__settings *settings)
{
    struct clf_translate_options options = settings->options;
    int32_t *suppressed = NULL;
    CLF__TRY(list_suppressed(&suppressed, &options.suppressed_count, settings));
    options.suppressed = suppressed;
    options.alternatives = 0;
    options.beam = options.n_best = settings->options.alternatives;
    options.early_stopping = CLF_STOP_FALSE;
    options.length_rule = CLF_LENGTH_NONE;
    options.coverage_penalty = 0.0;
    options.beam_groups = 1;
    options.forced_last = -1;
    clf_status status = clf__settings_create(&settings->starts, settings->model, &options);
    clf__free(suppressed);
    if (status == CLF_OK) {
        settings->starts->search.steps = 1;
        settings->starts->capacity = clf__capacity_of(settings->starts);
        settings->starts->warns_of_sentences = 0; /* the main settings log the warning */
    }
    return status;
}

static clf_status resolve(struct clf__settings *settings)
{
    CLF__TRY(clf__settings_check(settings));
    CLF__TRY(choose_task(settings));
    CLF__TRY(choose_languages(settings));
    CLF__TRY(choose_sentences(settings));
    CLF__TRY(choose_search(settings));
    CLF__TRY(open_shortlist(&settings->shortlist, settings));
    if (settings->glossary != NULL) {
        CLF__TRY(
            clf__allocate(&settings->places, (size_t)settings->search.vocabulary, sizeof *settings->places));
    }
    settings->capacity = clf__capacity_of(settings);
    return settings->options.alternatives > 0 ? make_starts(settings) : CLF_OK;
}

clf_status clf__settings_create(struct clf__settings **out, struct clf_model *model,
                                const struct clf_translate_options *options)
{
    struct clf__settings *settings;
    *out = NULL;
    CLF__TRY(clf__allocate(&settings, 1, sizeof *settings));
    settings->model = model;
    clf_translate_options_init(&settings->options, model);
    struct clf_translate_options *own = &settings->options;
    clf_status status = clf__options_take(own, sizeof *own, options, "clf_translate_options");
    if (status == CLF_OK && own->glossary != NULL) {
        settings->glossary = own->glossary;
        clf__glossary_keep(settings->glossary);
    }
    if (status == CLF_OK) {
        status = resolve(settings);
    }
    if (status != CLF_OK) {
        clf__settings_free(settings);
        return status;
    }
    /* The search has copies of the caller's lists, and the languages are resolved. */
    own->source_language = own->target_language = own->shortlist = own->task = NULL;
    own->suppressed = own->banned_ids = own->banned_offsets = own->end_ids = NULL;
    own->suppressed_count = own->banned_count = own->end_count = 0;
    *out = settings;
    return CLF_OK;
}

void clf__settings_free(struct clf__settings *settings)
{
    if (settings == NULL) {
        return;
    }
    clf__settings_free(settings->starts);
    clf__lists_free(settings);
    clf__free(settings->source_prefix);
    clf_glossary_free(settings->glossary);
    clf__free(settings->places);
    clf__config_free(&settings->task_config);
    clf__shortlist_free(settings->shortlist);
    clf__free(settings);
}
