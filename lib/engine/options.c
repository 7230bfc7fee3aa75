/* Translation options: defaults of the model or a task, and checks of the caller's choices. */
#include <clformer/translator.h>

#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "base/options.h"
#include "engine/settings.h"
#include "model/config/config.h"
#include "model/config/task.h"
#include "model/transformer.h"

enum {
    MAX_BATCH_TOKENS = 1 << 20, /* keeps batch sizes within an int */
};

static void fill_options(struct clf_translate_options *options, size_t size, const struct clf__config *config,
                         const char *task)
{
    const struct clf__search_options *search = &config->generation;
    const struct clf_translate_options defaults = {
        .size = sizeof defaults,
        .beam = search->beams,
        .n_best = search->n_best,
        .min_length = search->min_length,
        .max_length = search->max_length,
        .length_rule = (clf_length_rule)search->length_rule,
        .length_penalty = search->length_penalty,
        .early_stopping = (clf_early_stopping)search->early_stopping,
        .patience = search->patience,
        .renormalize = search->renormalize,
        .forced_first = config->forced_first,
        .forced_last = search->forced_last,
        .no_repeat_ngram_size = search->no_repeat_ngram,
        .encoder_no_repeat_ngram_size = search->source_no_repeat_ngram,
        .repetition_penalty = (double)search->repetition_penalty,
        .encoder_repetition_penalty = (double)search->source_repetition_penalty,
        .sample = search->sampling.is_on,
        .temperature = (double)search->sampling.temperature,
        .top_k = search->sampling.top_k,
        .top_p = (double)search->sampling.top_p,
        .min_p = (double)search->sampling.min_p,
        .typical_p = (double)search->sampling.typical_p,
        .epsilon_cutoff = (double)search->sampling.epsilon_cutoff,
        .eta_cutoff = (double)search->sampling.eta_cutoff,
        .max_length_factor = search->max_length_factor,
        .length_decay_start = search->decay_start,
        .length_decay_factor = (double)search->decay_factor,
        .task = task,
        .coverage_penalty = search->coverage_penalty,
        .beam_groups = search->groups,
        .diversity_penalty = (double)search->diversity_penalty,
    };
    clf__options_init(options, size, &defaults);
}

void clf_translate_options_init_sized(struct clf_translate_options *options, size_t size,
                                      const struct clf_model *model)
{
    if (model != NULL) {
        fill_options(options, size, &model->transformer->config, NULL);
    } else {
        memset(options, 0, size); /* invalid for every model, so a caller that ignores the failure gets an
                                     error */
    }
}

clf_status clf_translate_options_init_task_sized(struct clf_translate_options *options, size_t size,
                                                 const struct clf_model *model, const char *name)
{
    struct clf__config config;
    char *prefix;
    if (model == NULL || name == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s: is NULL; pass the %s whose default options are wanted",
                         model == NULL ? "model" : "task", model == NULL ? "model" : "task");
    }
    CLF__TRY(clf__config_load_task(&config, &prefix, model->folder, name));
    fill_options(options, size, &config, name);
    clf__config_free(&config);
    clf__free(prefix);
    return CLF_OK;
}

static clf_status check_glossary(const struct clf__settings *settings)
{
    const struct clf_translate_options *options = &settings->options;
    const char *problem = options->subwords                         ? "lines of tokens"
                          : settings->model->info.feature_size > 0  ? "a model that reads audio frames"
                          : options->sample                         ? "sampling"
                          : options->beam_groups > 1                ? "beam groups"
                          : options->alternatives > 0               ? "alternatives"
                          : options->early_stopping == CLF_STOP_ALL ? "early stopping \"all\""
                                                                    : NULL;
    return options->glossary == NULL || problem == NULL
               ? CLF_OK
               : clf__fail(CLF_BAD_ARGUMENT, "a glossary cannot be combined with %s; turn one of them off",
                           problem);
}

static clf_status check_draft(const struct clf_translate_options *options)
{
    const char *problem = options->beam != 1                 ? "a beam above 1; set beam to 1 (--beam 1)"
                          : options->sample                  ? "sampling; turn one of them off"
                          : options->alternatives > 0        ? "alternatives; turn one of them off"
                          : options->glossary != NULL        ? "a glossary; turn one of them off"
                          : options->coverage_penalty != 0.0 ? "a coverage penalty; set it to 0"
                          : options->generated != NULL       ? "the hook `generated`; turn one of them off"
                                                             : NULL;
    return options->draft == NULL || problem == NULL
               ? CLF_OK
               : clf__fail(CLF_BAD_ARGUMENT, "a draft model cannot be combined with %s", problem);
}

static clf_status check_alternatives(const struct clf_translate_options *options)
{
    if (options->alternatives < 0 || options->alternatives > CLF__SEARCH_BEAMS_LIMIT) {
        return clf__fail(CLF_BAD_ARGUMENT, "alternatives: %d is out of range; use 1 to %d, or 0 for none",
                         options->alternatives, CLF__SEARCH_BEAMS_LIMIT);
    }
    const char *problem = options->n_best > 1         ? "n-best above 1"
                          : options->sample           ? "sampling"
                          : options->split_sentences  ? "sentence splitting"
                          : options->streamed != NULL ? "streaming"
                                                      : NULL;
    return options->alternatives == 0 || problem == NULL
               ? CLF_OK
               : clf__fail(CLF_BAD_ARGUMENT, "alternatives cannot be combined with %s; turn one of them off",
                           problem);
}

clf_status clf__batch_tokens_check(int batch_tokens)
{
    return batch_tokens >= 0 && batch_tokens <= MAX_BATCH_TOKENS
               ? CLF_OK
               : clf__fail(CLF_BAD_ARGUMENT,
                           "batch size: %d tokens are out of range; use 1 to %d, or 0 for the default",
                           batch_tokens, (int)MAX_BATCH_TOKENS);
}

/* Checks rules about source tokens, which recordings do not have. */
static clf_status check_source_rules(const struct clf__settings *settings)
{
    const struct clf_translate_options *options = &settings->options;
    if (options->encoder_no_repeat_ngram_size != 0 && settings->model->info.feature_size > 0) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "encoder_no_repeat_ngram_size: is %d, but it requires text and this model reads "
                         "audio frames; set it to 0",
                         options->encoder_no_repeat_ngram_size);
    }
    if (options->encoder_repetition_penalty != 1.0 && settings->model->info.feature_size > 0) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "encoder_repetition_penalty: is %g, but it requires text and this model reads audio "
                         "frames; set it to 1",
                         options->encoder_repetition_penalty);
    }
    return CLF_OK;
}

static clf_status check_generated(const struct clf_translate_options *options)
{
    if (options->wants_logits && options->generated == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "wants_logits: requires the hook `generated`; set it");
    }
    const char *problem = options->generated == NULL         ? NULL
                          : options->beam != 1               ? "beam 1"
                          : options->n_best != 1             ? "n_best 1"
                          : options->alternatives > 0        ? "no alternatives"
                          : options->split_sentences         ? "no sentence splitting"
                          : options->replace_unknown         ? "no replacement of unknown tokens"
                          : options->coverage_penalty != 0.0 ? "no coverage penalty"
                          : options->glossary != NULL        ? "no glossary"
                          : options->streamed != NULL        ? "no hook for text"
                                                             : NULL;
    return problem == NULL ? CLF_OK : clf__fail(CLF_BAD_ARGUMENT, "a hook for tokens requires %s", problem);
}

clf_status clf__settings_check(const struct clf__settings *settings)
{
    const struct clf_translate_options *options = &settings->options;
    int limit = settings->model->info.max_target_length;
    if (options->max_length > limit) {
        return clf__fail(CLF_BAD_ARGUMENT, "maximum length: %d exceeds the model's %d positions; reduce it",
                         options->max_length, limit);
    }
    CLF__TRY(clf__batch_tokens_check(options->batch_tokens));
    CLF__TRY(check_source_rules(settings));
    int layers = settings->model->transformer->config.decoder_layers;
    if (options->alignment_layer < 0 || options->alignment_layer > layers) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "alignment layer: %d is out of range; use 1 to %d (the decoder's last layer), or 0 for none",
            options->alignment_layer, layers);
    }
    if (options->alignment_layer > 0 && options->split_sentences && options->sentence_translated == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "alignments cannot be combined with sentence splitting; turn one of them off");
    }
    if (options->replace_unknown && (options->streamed != NULL || settings->model->info.feature_size > 0)) {
        return clf__fail(CLF_BAD_ARGUMENT, "replacement of unknown tokens %s; turn it off",
                         options->streamed != NULL ? "cannot be combined with streaming"
                                                   : "requires text, but this model reads audio frames");
    }
    if (options->streamed != NULL &&
        (options->beam != 1 || options->n_best != 1 || options->split_sentences)) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "streaming requires beam 1 (currently %d), n_best 1 (currently %d) and no sentence splitting",
            options->beam, options->n_best);
    }
    CLF__TRY(check_alternatives(options));
    CLF__TRY(check_draft(options));
    CLF__TRY(check_glossary(settings));
    CLF__TRY(check_generated(options));
    if (options->exact_tokens && !options->subwords) {
        return clf__fail(CLF_BAD_ARGUMENT, "exact tokens require lines of tokens; set subwords (--tokens)");
    }
    if (options->patience != 1.0 && options->early_stopping != CLF_STOP_CTRANSLATE2) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "patience: %g has no effect with this early stopping; use 1, or early stopping "
                         "\"ctranslate2\"",
                         options->patience);
    }
    if (options->priority != CLF_PRIORITY_INTERACTIVE && options->priority != CLF_PRIORITY_BULK) {
        return clf__fail(CLF_BAD_ARGUMENT, "priority: %d is out of range; use %d (interactive) or %d (bulk)",
                         (int)options->priority, (int)CLF_PRIORITY_INTERACTIVE, (int)CLF_PRIORITY_BULK);
    }
    int count = options->suppressed_count;
    if (count < 0 || (count > 0 && options->suppressed == NULL)) {
        return clf__fail(CLF_BAD_ARGUMENT, "suppressed_count: is %d, %s", count,
                         count < 0 ? "but cannot be negative" : "but suppressed is NULL");
    }
    return CLF_OK;
}
