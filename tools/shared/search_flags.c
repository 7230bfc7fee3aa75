/* Converts flags to search options. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/config/types.h"
#include "shared/command.h"

/* Parses an id (digits), "none" (-1), or a target token. Digits are never a token, so that an id has the same
 * meaning with every vocabulary. Returns -1 on success, or an exit status for an invalid value. */
static int find_token(int32_t *out, const struct clf_model *model, const char *flag, const char *token)
{
    if (strcmp(token, "none") == 0) {
        *out = -1;
        return -1;
    }
    int is_number = *token != '\0' && strspn(token, "0123456789") == strlen(token);
    int32_t id = -1;
    if (is_number) {
        errno = 0;
        long number = strtol(token, NULL, 10);
        id = errno == 0 && number <= INT_MAX ? (int32_t)number : -1;
    } else {
        id = clf_model_token_id(model, token);
    }
    if (id < 0 || clf_model_token(model, id) == NULL) {
        return report_wrong_call("--%s: \"%s\" is not a token or id in the model's target vocabulary", flag,
                                 token);
    }
    *out = id;
    return -1;
}

static int parse_suppressed(struct clf_translate_options *options, const struct clf_model *model,
                            const char *list)
{
    char *copy = strdup(list);
    int32_t *ids = malloc((strlen(list) / 2 + 1) * sizeof *ids);
    int status = copy != NULL && ids != NULL ? -1 : EXIT_FAILED;
    int count = 0;
    for (char *rest = copy, *token; status < 0 && (token = strtok_r(rest, ",", &rest)) != NULL;) {
        status = find_token(&ids[count++], model, "suppress", token);
    }
    free(copy);
    if (status >= 0) {
        free(ids);
        return status;
    }
    options->suppressed = ids;
    options->suppressed_count = count;
    return -1;
}

/* "N,X" */
static int parse_decay(struct clf_translate_options *options, const char *value)
{
    char *comma, *end;
    errno = 0;
    long start = strtol(value, &comma, 10);
    int is_pair = comma != value && *comma == ',' && errno == 0 && start >= 0 && start <= INT_MAX;
    double factor = is_pair ? strtod(comma + 1, &end) : 0.0;
    if (!is_pair || end == comma + 1 || *end != '\0' ||
        !(factor >= CLF__LEAST_DECAY && factor <= CLF__MOST_DECAY)) {
        return report_wrong_call("--length-decay: must be a number of tokens and a factor from %g to %g, "
                                 "separated by a comma, such as 20,1.05, not \"%s\"",
                                 CLF__LEAST_DECAY, CLF__MOST_DECAY, value);
    }
    options->length_decay_start = (int)start;
    options->length_decay_factor = factor;
    return -1;
}

static void override(int *value, int given)
{
    if (given >= 0) {
        *value = given;
    }
}

static void override_real(double *value, double given)
{
    if (!isnan(given)) {
        *value = given;
    }
}

/* Returns -1 on success, or an exit status for contradictory flags. */
static int apply_sampling(struct clf_translate_options *options, const struct flags *flags)
{
    if (flags->sample && flags->no_sample) {
        return report_wrong_call("--sample and --no-sample cannot be combined; remove one of them");
    }
    options->sample = (options->sample || flags->sample) && !flags->no_sample;
    const struct {
        const char *name;
        double *value, given;
    } reals[] = {
        {"temperature", &options->temperature, flags->temperature},
        {"top-p", &options->top_p, flags->top_p},
        {"min-p", &options->min_p, flags->min_p},
        {"typical-p", &options->typical_p, flags->typical_p},
        {"epsilon", &options->epsilon_cutoff, flags->epsilon},
        {"eta", &options->eta_cutoff, flags->eta},
    };
    const char *given = flags->top_k >= 0 ? "top-k" : flags->seed >= 0 ? "seed" : NULL;
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        override_real(reals[i].value, reals[i].given);
        given = isnan(reals[i].given) ? given : reals[i].name;
    }
    override(&options->top_k, flags->top_k);
    options->seed = flags->seed >= 0 ? (uint64_t)flags->seed : options->seed;
    return given != NULL && !options->sample
               ? report_wrong_call("--%s: requires sampling; add --sample", given)
               : -1;
}

/* Returns -1 on success, or an exit status for flags that cannot be combined with --stream. */
static int check_streamed(const struct flags *flags)
{
    const struct clf_translate_options *options = &flags->translate;
    if (!flags->stream) {
        return -1;
    }
    if (options->beam != 1) {
        return flags->beam >= 0 ? report_wrong_call("--stream: requires --beam 1")
                                : report_wrong_call(
                                      "--stream: requires --beam 1 (the model's default is %d); add --beam 1",
                                      options->beam);
    }
    if (options->n_best != 1) {
        return report_wrong_call("--stream: requires --n-best 1");
    }
    return options->split_sentences
               ? report_wrong_call("--stream and --split-sentences cannot be combined; remove one of them")
               : -1;
}

/* Sets the options that contain tokens. Returns -1 on success, or an exit status for a token that the model
 * does not have. */
static int apply_tokens(struct clf_translate_options *options, const struct flags *flags,
                        const struct clf_model *model)
{
    int status = -1;
    if (flags->forced_first != NULL) {
        status = find_token(&options->forced_first, model, "forced-first", flags->forced_first);
    }
    if (status < 0 && flags->forced_last != NULL) {
        status = find_token(&options->forced_last, model, "forced-last", flags->forced_last);
    }
    if (status < 0 && flags->suppress != NULL) {
        status = parse_suppressed(options, model, flags->suppress);
    }
    if (status < 0 && flags->length_decay != NULL) {
        status = parse_decay(options, flags->length_decay);
    }
    return status;
}

int flags_apply(struct flags *flags, const struct clf_model *model)
{
    struct clf_translate_options *options = &flags->translate;
    clf_translate_options_init(options, model);
    if (flags->task != NULL) {
        clf_status status = clf_translate_options_init_task(options, model, flags->task);
        if (status != CLF_OK) {
            return report_failure(status);
        }
    }
    override(&options->beam, flags->beam);
    override(&options->beam_groups, flags->beam_groups);
    override_real(&options->diversity_penalty, flags->diversity_penalty);
    if (!isnan(flags->diversity_penalty) && options->beam_groups < 2) {
        return report_wrong_call("--diversity-penalty: requires beam groups; add --beam-groups");
    }
    override(&options->n_best, flags->n_best);
    override(&options->alternatives, flags->alternatives);
    if (flags->n_best < 0 && options->alternatives > 0) {
        options->n_best = 1;
    }
    override(&options->min_length, flags->min_length);
    override(&options->max_length, flags->max_length);
    override(&options->batch_tokens, flags->batch_tokens);
    override(&options->renormalize, flags->renormalize);
    override(&options->no_repeat_ngram_size, flags->no_repeat_ngram_size);
    override(&options->encoder_no_repeat_ngram_size, flags->encoder_no_repeat_ngram_size);
    if (flags->length_rule >= 0) {
        options->length_rule = (clf_length_rule)flags->length_rule;
    }
    if (flags->early_stopping >= 0) {
        options->early_stopping = (clf_early_stopping)flags->early_stopping;
    }
    override_real(&options->patience, flags->patience);
    override_real(&options->length_penalty, flags->length_penalty);
    override_real(&options->coverage_penalty, flags->coverage_penalty);
    override_real(&options->repetition_penalty, flags->repetition_penalty);
    override_real(&options->encoder_repetition_penalty, flags->encoder_repetition_penalty);
    int wrong = apply_sampling(options, flags);
    if (wrong >= 0) {
        return wrong;
    }
    override_real(&options->max_length_factor, flags->max_length_factor);
    options->shortlist = flags->shortlist;
    options->subwords = flags->tokens;
    options->exact_tokens = flags->exact_tokens;
    options->split_sentences = flags->split_sentences;
    options->replace_unknown = flags->replace_unknown;
    if (flags->alignments) { /* the second-to-last layer gives the best alignments (Garg et al. 2019) */
        int layers = clf_model_describe(model)->decoder_layers;
        options->alignment_layer =
            flags->alignment_layer >= 0 ? flags->alignment_layer : layers - (layers > 1);
    }
    wrong = check_streamed(flags);
    if (wrong >= 0) {
        return wrong;
    }
    options->source_language = flags->source_language;
    options->target_language = flags->target_language;
    options->interrupted = signals_interrupted;
    clf_status loaded =
        flags->glossary != NULL ? clf_glossary_load(&options->glossary, flags->glossary) : CLF_OK;
    return loaded == CLF_OK ? apply_tokens(options, flags, model) : report_failure(loaded);
}

void flags_release(struct flags *flags)
{
    free((void *)flags->translate.suppressed);
    clf_glossary_free(flags->translate.glossary);
    flags->translate.suppressed = NULL;
    flags->translate.glossary = NULL;
}
