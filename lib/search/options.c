#include <math.h>

#include "search/internal.h"

static int id_in_range(const struct clf__search_options *options, int id)
{
    return id >= 0 && id < options->vocabulary;
}

static clf_status check_sizes(const struct clf__search_options *options)
{
    if (options->beams < 1 || options->beams > CLF__SEARCH_BEAMS_LIMIT) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "beam size %d: search takes 2 candidates a beam and at most %d of them, so it is 1 "
                         "(greedy) to %d",
                         options->beams, 2 * CLF__SEARCH_BEAMS_LIMIT, CLF__SEARCH_BEAMS_LIMIT);
    }
    if (options->n_best < 1 || options->n_best > options->beams) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "n-best %d: it is 1 to the beam size, %d; take fewer or widen the beam",
                         options->n_best, options->beams);
    }
    if (options->max_length < 1) {
        return clf__fail(CLF_BAD_ARGUMENT, "maximum length %d: at least 1 token must be generated",
                         options->max_length);
    }
    if (options->min_length < 0 || options->min_length > options->max_length) {
        return clf__fail(CLF_BAD_ARGUMENT, "minimum length %d: it is 0 to the maximum length, %d",
                         options->min_length, options->max_length);
    }
    return CLF_OK;
}

static clf_status check_scoring(const struct clf__search_options *options)
{
    if (!isfinite(options->length_penalty)) {
        return clf__fail(CLF_BAD_ARGUMENT, "length penalty %g: it must be a finite number",
                         options->length_penalty);
    }
    switch (options->length_rule) {
    case CLF__LENGTH_HUGGINGFACE:
    case CLF__LENGTH_GNMT:
    case CLF__LENGTH_NONE:
    case CLF__LENGTH_JADORE:
        break;
    default:
        return clf__fail(CLF_BAD_ARGUMENT, "length rule %d is none of the known ones",
                         (int)options->length_rule);
    }
    switch (options->early_stopping) {
    case CLF__STOP_FALSE:
    case CLF__STOP_TRUE:
    case CLF__STOP_NEVER:
    case CLF__STOP_ALL:
        break;
    default:
        return clf__fail(CLF_BAD_ARGUMENT, "early stopping %d is neither false, true, never nor all",
                         (int)options->early_stopping);
    }
    return CLF_OK;
}

static clf_status check_forced(const struct clf__search_options *options, int id, const char *which)
{
    if (id == -1) {
        return CLF_OK;
    }
    if (!id_in_range(options, id)) {
        return clf__fail(CLF_BAD_ARGUMENT, "the forced %s id %d is outside the vocabulary of %d", which, id,
                         options->vocabulary);
    }
    for (int i = 0; i < options->suppressed_count; i++) {
        if (options->suppressed[i] == id) {
            return clf__fail(CLF_BAD_ARGUMENT, "id %d is both the forced %s one and suppressed; drop one", id,
                             which);
        }
    }
    return CLF_OK;
}

static clf_status check_ids(const struct clf__search_options *options)
{
    if (options->vocabulary < 1) {
        return clf__fail(CLF_BAD_ARGUMENT, "a vocabulary of %d ids", options->vocabulary);
    }
    if (!id_in_range(options, options->start_id) || !id_in_range(options, options->end_id)) {
        return clf__fail(CLF_BAD_ARGUMENT, "start id %d or end id %d is outside the vocabulary of %d",
                         options->start_id, options->end_id, options->vocabulary);
    }
    if (options->suppressed_count < 0 || (options->suppressed_count > 0 && options->suppressed == NULL)) {
        return clf__fail(CLF_BAD_ARGUMENT, "%d suppressed ids without a list", options->suppressed_count);
    }
    for (int i = 0; i < options->suppressed_count; i++) {
        if (!id_in_range(options, options->suppressed[i])) {
            return clf__fail(CLF_BAD_ARGUMENT, "the suppressed id %d is outside the vocabulary of %d",
                             options->suppressed[i], options->vocabulary);
        }
    }
    CLF__TRY(check_forced(options, options->forced_first, "first"));
    return check_forced(options, options->forced_last, "last");
}

static clf_status check_bad_words(const struct clf__search_options *options)
{
    const int32_t *offsets = options->bad_word_offsets;
    if (options->bad_word_count < 0 ||
        (options->bad_word_count > 0 && (options->bad_words == NULL || offsets == NULL))) {
        return clf__fail(CLF_BAD_ARGUMENT, "%d bad words without a list", options->bad_word_count);
    }
    for (int word = 0; word < options->bad_word_count; word++) {
        if (offsets[word] < 0 || offsets[word + 1] <= offsets[word]) {
            return clf__fail(CLF_BAD_ARGUMENT, "bad word %d is empty; a bad word has at least 1 id",
                             word + 1);
        }
        for (int32_t i = offsets[word]; i < offsets[word + 1]; i++) {
            if (!id_in_range(options, options->bad_words[i])) {
                return clf__fail(CLF_BAD_ARGUMENT, "id %d of bad word %d is outside the vocabulary of %d",
                                 options->bad_words[i], word + 1, options->vocabulary);
            }
        }
    }
    return CLF_OK;
}

int clf__candidates_wanted(int beams, int vocabulary)
{
    int wanted = beams == 1 ? 1 : 2 * beams;
    return wanted < vocabulary ? wanted : vocabulary;
}

int clf__counts_banned(const struct clf__search_options *options)
{
    /* Greedy has no use for them: the best id is the same, and its score counts what is left. */
    return options->beams > 1 && !options->renormalize;
}

struct clf__search_limits clf__search_limits_for(const struct clf__search_options *options, int places)
{
    return (struct clf__search_limits){.places = places,
                                       .beams = options->beams,
                                       .max_length = options->max_length,
                                       .vocabulary = options->vocabulary,
                                       .banned = (int)clf__bans_limit(options)};
}

clf_status clf__search_check_rows(const struct clf__search_limits *limits)
{
    size_t rows = (size_t)limits->places * (size_t)limits->beams, banned = (size_t)limits->banned;
    if (rows >= INT32_MAX || (banned > 0 && rows > INT32_MAX / banned)) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "%d sources at a time with %d beams and up to %zu banned ids a row are too many; "
                         "translate fewer lines at once",
                         limits->places, limits->beams, banned);
    }
    return CLF_OK;
}

clf_status clf__search_check_room(const struct clf__search_limits *limits,
                                  const struct clf__search_options *options)
{
    struct clf__search_limits wanted = clf__search_limits_for(options, 1);
    if (wanted.beams > limits->beams || wanted.max_length > limits->max_length ||
        wanted.banned > limits->banned || wanted.vocabulary != limits->vocabulary) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "a search for %d beams of %d tokens with %d banned ids of %d has no room for %d "
                         "beams of %d tokens with %d banned ids of %d",
                         limits->beams, limits->max_length, limits->banned, limits->vocabulary, wanted.beams,
                         wanted.max_length, wanted.banned, wanted.vocabulary);
    }
    return CLF_OK;
}

clf_status clf__search_check(const struct clf__search_options *options)
{
    CLF__TRY(check_sizes(options));
    CLF__TRY(check_scoring(options));
    CLF__TRY(check_ids(options));
    CLF__TRY(check_bad_words(options));
    struct clf__search_limits alone = clf__search_limits_for(options, 1);
    return clf__search_check_rows(&alone);
}
