#include <math.h>

#include "search/internal.h"

static clf_status check_sizes(const struct clf__search_options *options)
{
    if (options->beams < 1 || options->beams > CLF__SEARCH_BEAMS_LIMIT) {
        return clf__fail(CLF_BAD_ARGUMENT, "beam size: %d is out of range; use 1 (greedy) to %d",
                         options->beams, CLF__SEARCH_BEAMS_LIMIT);
    }
    if (options->sampling.is_on && options->beams == 1) {
        if (options->n_best < 1 || options->n_best > CLF__SEARCH_BEAMS_LIMIT) {
            return clf__fail(CLF_BAD_ARGUMENT, "n-best: %d is out of range; use 1 to %d samples",
                             options->n_best, CLF__SEARCH_BEAMS_LIMIT);
        }
    } else if (options->n_best < 1 || options->n_best > options->beams) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "n-best: %d is out of range; use 1 to the beam size, %d, or increase the beam size",
                         options->n_best, options->beams);
    }
    if (options->keeps_logits && (options->beams != 1 || options->n_best != 1)) {
        return clf__fail(CLF_BAD_ARGUMENT, "logits require beam 1 (currently %d) and n_best 1 (currently %d)",
                         options->beams, options->n_best);
    }
    if (options->max_length < 1) {
        return clf__fail(CLF_BAD_ARGUMENT, "maximum length: %d is out of range; use 1 or more",
                         options->max_length);
    }
    if (options->min_length < 0 || options->min_length > options->max_length) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "minimum length: %d is out of range; use 0 to the maximum length, %d",
                         options->min_length, options->max_length);
    }
    return CLF_OK;
}

static clf_status check_groups(const struct clf__search_options *options)
{
    if (options->groups < 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "beam groups: %d is negative; use 1 for no groups",
                         options->groups);
    }
    if (!clf__is_diverse(options)) {
        return CLF_OK;
    }
    if (options->beams % options->groups != 0) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "beam size: %d beams cannot be divided into %d groups of equal size; change one of "
                         "them, or use 1 group",
                         options->beams, options->groups);
    }
    if (!(options->diversity_penalty > 0.0f && isfinite(options->diversity_penalty))) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "diversity penalty: %g is out of range; with beam groups use a finite value above "
                         "0, because the groups would be identical otherwise",
                         (double)options->diversity_penalty);
    }
    const char *problem = options->sampling.is_on                       ? "sampling"
                          : options->early_stopping == CLF__STOP_ALL    ? "early stopping \"all\""
                          : options->early_stopping == CLF__STOP_SHRINK ? "early stopping \"shrink\""
                          : options->early_stopping == CLF__STOP_CTRANSLATE2
                              ? "early stopping \"ctranslate2\""
                              : NULL;
    return problem == NULL
               ? CLF_OK
               : clf__fail(CLF_BAD_ARGUMENT, "beam groups cannot be combined with %s; turn one of them off",
                           problem);
}

static clf_status check_patience(const struct clf__search_options *options)
{
    if (!isfinite(options->patience) || options->patience <= 0.0) {
        return clf__fail(CLF_BAD_ARGUMENT, "patience: %g is out of range; use a finite number above 0",
                         options->patience);
    }
    int is_beam_search = options->beams > 1 && !options->sampling.is_on;
    return is_beam_search && options->n_best > lround(options->beams * options->patience)
               ? clf__fail(CLF_BAD_ARGUMENT,
                           "n-best: %d is more than beam size %d times patience %g; increase one of them",
                           options->n_best, options->beams, options->patience)
               : CLF_OK;
}

static clf_status check_scoring(const struct clf__search_options *options)
{
    if (!isfinite(options->max_length_factor) || options->max_length_factor < 0.0) {
        return clf__fail(CLF_BAD_ARGUMENT, "maximum length factor: %g is out of range; use 0 or more",
                         options->max_length_factor);
    }
    if (!isfinite(options->length_penalty)) {
        return clf__fail(CLF_BAD_ARGUMENT, "length penalty: %g is not a finite number; use a finite number",
                         options->length_penalty);
    }
    if ((unsigned)options->length_rule > CLF__LENGTH_INCLUDING_START) {
        return clf__fail(CLF_BAD_ARGUMENT, "length rule: unknown value %d", (int)options->length_rule);
    }
    if ((unsigned)options->early_stopping > CLF__STOP_CTRANSLATE2) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "early stopping: unknown value %d; use false, true, never, all, shrink or ctranslate2",
            (int)options->early_stopping);
    }
    CLF__TRY(options->early_stopping == CLF__STOP_CTRANSLATE2 ? check_patience(options) : CLF_OK);
    if (options->sampling.is_on && options->early_stopping == CLF__STOP_ALL) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "early stopping \"all\" cannot be combined with sampling; use another value");
    }
    CLF__TRY(check_groups(options));
    CLF__TRY(clf__coverage_check(options));
    return options->sampling.is_on ? clf__sampling_check(&options->sampling) : CLF_OK;
}

static clf_status check_ids(const struct clf__search_options *options)
{
    if (options->vocabulary < 1) {
        return clf__fail(CLF_BAD_ARGUMENT, "vocabulary: the size %d must be 1 or more", options->vocabulary);
    }
    if (options->other_end_count < 0 || (options->other_end_count > 0 && options->other_end_ids == NULL)) {
        return clf__fail(CLF_BAD_ARGUMENT, "other end ids: the count is %d, but there is no list",
                         options->other_end_count);
    }
    for (int i = 0; i < options->other_end_count; i++) {
        if (!clf__is_id(options, options->other_end_ids[i])) {
            return clf__fail(CLF_BAD_ARGUMENT, "end id: %d is outside the vocabulary of %d",
                             options->other_end_ids[i], options->vocabulary);
        }
    }
    if (options->beams > 1 && options->other_end_count > CLF__SEARCH_CANDIDATES_LIMIT / options->beams - 2) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "end ids: %d end ids with %d beams need more than %d candidates; use fewer beams",
                         1 + options->other_end_count, options->beams, CLF__SEARCH_CANDIDATES_LIMIT);
    }
    int has_start = options->start_id == -1 || clf__is_id(options, options->start_id);
    if (!has_start || !clf__is_id(options, options->end_id)) {
        return clf__fail(CLF_BAD_ARGUMENT, "start id %d or end id %d is outside the vocabulary of %d",
                         options->start_id, options->end_id, options->vocabulary);
    }
    return CLF_OK;
}

int clf__search_rows(const struct clf__search_options *options)
{
    return options->sampling.is_on && options->beams == 1 ? options->n_best : options->beams;
}

int clf__candidates_kept(int beams, int ends)
{
    return beams *
           (ends > 1
                ? ends + 1
                : 2); /* so that all beams can continue even if all their end tokens are among the best */
}

int clf__candidates_of_row(int beams, int ends, int vocabulary)
{
    int wanted = beams == 1 ? 1 : clf__candidates_kept(beams, ends);
    return wanted < vocabulary ? wanted : vocabulary;
}

int clf__candidates_wanted(const struct clf__search_options *options)
{
    return options->sampling.is_on
               ? 1
               : clf__candidates_of_row(options->beams, 1 + options->other_end_count, options->vocabulary);
}

int clf__counts_banned(const struct clf__search_options *options)
{
    /* Greedy search needs no statistics before bans: its scores are normalised without banned ids. */
    return options->beams > 1 && !options->renormalize;
}

int clf__wants_logits(const struct clf__search_options *options)
{
    /* Beam groups with renormalisation sum the probabilities left after bans and penalties. */
    return options->sampling.is_on || options->keeps_logits || clf__penalties_limit(options) > 0 ||
           (clf__is_diverse(options) && options->renormalize);
}

int clf__can_be_ahead(const struct clf__search_options *options)
{
    int is_plain = !clf__is_diverse(options) && options->early_stopping != CLF__STOP_ALL &&
                   options->early_stopping != CLF__STOP_SHRINK &&
                   options->other_end_count < CLF__CHOICE_ENDS &&
                   options->beams * clf__candidates_wanted(options) <= CLF__CHOICE_CANDIDATES;
    return (options->beams == 1 || is_plain) && options->constraints == NULL && !clf__wants_logits(options) &&
           !clf__wants_attention(options) && !clf__bans_read_ids(options);
}

int clf__reads_all_statistics(const struct clf__search_options *options)
{
    /* In beam search, penalties change log-probabilities, which need the statistics before bans. */
    return clf__counts_banned(options) || (options->beams > 1 && clf__wants_logits(options));
}

struct clf__search_limits clf__search_limits_for(const struct clf__search_options *options, int slots)
{
    return (struct clf__search_limits){
        .slots = slots,
        .beams = clf__search_rows(options),
        .ends = 1 + options->other_end_count,
        .max_length = options->max_length,
        .vocabulary = options->vocabulary,
        .banned = (int)clf__bans_limit(options),
        .changed = (int)clf__penalties_limit(options),
        .logits = clf__wants_logits(options),
        .picks = options->constraints != NULL ? 2 * options->constraints->form_count : 0,
        .kept = options->keeps_logits,
        .places = clf__coverage_places(options)};
}

clf_status clf__search_check_rows(const struct clf__search_limits *limits)
{
    size_t rows = (size_t)limits->slots * (size_t)limits->beams + (size_t)limits->proposals;
    size_t banned = (size_t)limits->banned;
    if (rows >= INT32_MAX || (banned > 0 && rows > INT32_MAX / banned)) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "%d sources at a time with %d beams and up to %zu banned ids per row are too many; "
                         "translate fewer lines at once",
                         limits->slots, limits->beams, banned);
    }
    return CLF_OK;
}

clf_status clf__search_check_room(const struct clf__search_limits *limits,
                                  const struct clf__search_options *options)
{
    struct clf__search_limits wanted = clf__search_limits_for(options, 1);
    if (wanted.beams > limits->beams || wanted.max_length > limits->max_length ||
        wanted.ends > limits->ends || wanted.banned > limits->banned || wanted.changed > limits->changed ||
        wanted.logits > limits->logits || wanted.picks > limits->picks || wanted.kept > limits->kept ||
        wanted.places > limits->places || wanted.vocabulary != limits->vocabulary) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "the search was created for %d beams, %d tokens, %d banned ids, a vocabulary of %d "
                         "and %d changed ids, too few for %d beams, %d tokens, %d banned ids, a vocabulary "
                         "of %d and %d changed ids",
                         limits->beams, limits->max_length, limits->banned, limits->vocabulary,
                         limits->changed, wanted.beams, wanted.max_length, wanted.banned, wanted.vocabulary,
                         wanted.changed);
    }
    return CLF_OK;
}

clf_status clf__search_check(const struct clf__search_options *options)
{
    CLF__TRY(check_sizes(options));
    CLF__TRY(check_scoring(options));
    CLF__TRY(check_ids(options));
    CLF__TRY(clf__processors_check(options));
    CLF__TRY(clf__constraints_check(options));
    struct clf__search_limits alone = clf__search_limits_for(options, 1);
    return clf__search_check_rows(&alone);
}
