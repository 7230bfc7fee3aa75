/* Processors that ban or force ids. The table has one row per processor. */
#include <string.h>

#include "base/minmax.h"
#include "search/internal.h"

/* A processor; unused functions are NULL. */
struct processor {
    /* Returns CLF_BAD_ARGUMENT with a message if the processor's options are invalid. */
    clf_status (*check)(const struct clf__search_options *options);
    /* Returns the maximum number of ids that the processor bans per row. */
    size_t (*limit)(const struct clf__search_options *options);
    /* Adds the ids that the processor bans at every step; called once per source. */
    void (*ban_always)(struct clf__id_list *banned, const struct clf__search_options *options);
    /* Adds the ids that the processor bans as continuations of a hypothesis. */
    void (*ban)(struct clf__id_list *banned, const struct clf__search_source *source,
                const struct clf__beam *beam);
    /* Returns 1 if ban() reads the ids of the hypothesis. */
    int (*reads_ids)(const struct clf__search_options *options);
    /* Returns the forced id after `generated` tokens, which overrides all bans, or -1. */
    int (*force)(const struct clf__search_source *source, int generated);
};

/* --- Suppressed ids. --- */

static clf_status check_list(const struct clf__search_options *options, const int32_t *ids, int count)
{
    if (count < 0 || (count > 0 && ids == NULL)) {
        return clf__fail(CLF_BAD_ARGUMENT, "suppressed ids: the count is %d, but there is no list", count);
    }
    for (int i = 0; i < count; i++) {
        if (!clf__is_id(options, ids[i])) {
            return clf__fail(CLF_BAD_ARGUMENT, "suppressed id: %d is outside the vocabulary of %d", ids[i],
                             options->vocabulary);
        }
    }
    return CLF_OK;
}

static clf_status check_suppressed(const struct clf__search_options *options)
{
    return check_list(options, options->suppressed, options->suppressed_count);
}

static size_t limit_suppressed(const struct clf__search_options *options)
{
    return (size_t)options->suppressed_count;
}

static void ban_suppressed(struct clf__id_list *banned, const struct clf__search_options *options)
{
    for (int i = 0; i < options->suppressed_count; i++) {
        clf__id_list_insert(banned, options->suppressed[i]);
    }
}

/* --- Ids not allowed as the first token. --- */

static clf_status check_begin_suppressed(const struct clf__search_options *options)
{
    return check_list(options, options->begin_suppressed, options->begin_suppressed_count);
}

static size_t limit_begin_suppressed(const struct clf__search_options *options)
{
    return (size_t)options->begin_suppressed_count;
}

static void ban_begin_suppressed(struct clf__id_list *banned, const struct clf__search_source *source,
                                 const struct clf__beam *beam)
{
    const struct clf__search_options *options = source->options;
    for (int i = 0; beam->length == options->prefix_count && i < options->begin_suppressed_count; i++) {
        clf__id_list_insert(banned, options->begin_suppressed[i]);
    }
}

/* --- Repeated n-grams. --- */

static clf_status check_ngram(const struct clf__search_options *options)
{
    int own = options->no_repeat_ngram, source = options->source_no_repeat_ngram;
    return own >= 0 && source >= 0
               ? CLF_OK
               : clf__fail(CLF_BAD_ARGUMENT,
                           "n-gram size: %d is negative; use 1 or more, or 0 to turn it off",
                           own < 0 ? own : source);
}

static size_t limit_ngram(const struct clf__search_options *options)
{
    return options->no_repeat_ngram > 0 ? (size_t)options->max_length : 0;
}

static size_t limit_source_ngram(const struct clf__search_options *options)
{
    return options->source_no_repeat_ngram > 0 ? (size_t)options->source_limit : 0;
}

/* Bans each id that follows an occurrence of the beam's last n - 1 ids in `list`. */
static void ban_seen(struct clf__id_list *banned, const int32_t *list, int count, int n,
                     const struct clf__search_source *source, const struct clf__beam *beam)
{
    int before = n - 1, held = beam->length + 1 - source->options->skips_start;
    if (n == 0 || before > held) {
        return;
    }
    const int32_t *latest = beam->ids + beam->length + 1 - before;
    for (int i = 0; i + before < count; i++) {
        if (memcmp(list + i, latest, (size_t)before * sizeof *list) == 0) {
            clf__id_list_insert(banned, list[i + before]);
        }
    }
}

static void ban_ngram(struct clf__id_list *banned, const struct clf__search_source *source,
                      const struct clf__beam *beam)
{
    int skipped = source->options->skips_start;
    ban_seen(banned, beam->ids + skipped, beam->length + 1 - skipped, source->options->no_repeat_ngram,
             source, beam);
}

static int reads_ngram(const struct clf__search_options *options)
{
    return options->no_repeat_ngram > 0;
}

static int reads_source_ngram(const struct clf__search_options *options)
{
    return options->source_no_repeat_ngram > 0;
}

static void ban_source_ngram(struct clf__id_list *banned, const struct clf__search_source *source,
                             const struct clf__beam *beam)
{
    ban_seen(banned, source->source_ids, source->source_count, source->options->source_no_repeat_ngram,
             source, beam);
}

/* --- Bad words. --- */

static clf_status check_bad_words(const struct clf__search_options *options)
{
    const int32_t *offsets = options->bad_word_offsets;
    if (options->bad_word_count < 0 ||
        (options->bad_word_count > 0 && (options->bad_words == NULL || offsets == NULL))) {
        return clf__fail(CLF_BAD_ARGUMENT, "bad words: the count is %d, but there is no list",
                         options->bad_word_count);
    }
    for (int word = 0; word < options->bad_word_count; word++) {
        if (offsets[word] < 0 || offsets[word + 1] <= offsets[word]) {
            return clf__fail(CLF_BAD_ARGUMENT, "bad word %d: is empty; use at least 1 id", word + 1);
        }
        for (int32_t i = offsets[word]; i < offsets[word + 1]; i++) {
            if (!clf__is_id(options, options->bad_words[i])) {
                return clf__fail(CLF_BAD_ARGUMENT, "id %d of bad word %d is outside the vocabulary of %d",
                                 options->bad_words[i], word + 1, options->vocabulary);
            }
        }
    }
    return CLF_OK;
}

static size_t limit_bad_words(const struct clf__search_options *options)
{
    return (size_t)options->bad_word_count;
}

static void ban_single_ids(struct clf__id_list *banned, const struct clf__search_options *options)
{
    for (int word = 0; word < options->bad_word_count; word++) {
        int32_t first = options->bad_word_offsets[word];
        int32_t id = options->bad_words[first];
        if (options->bad_word_offsets[word + 1] - first == 1 && !clf__is_end(options, id)) {
            clf__id_list_insert(banned, id);
        }
    }
}

static void ban_last_ids(struct clf__id_list *banned, const struct clf__search_source *source,
                         const struct clf__beam *beam)
{
    const struct clf__search_options *options = source->options;
    for (int i = 0; i < options->bad_word_count; i++) {
        const int32_t *word = options->bad_words + options->bad_word_offsets[i];
        int word_length = options->bad_word_offsets[i + 1] - options->bad_word_offsets[i];
        if (word_length > 1 && clf__beam_ends_with(beam, word, word_length - 1)) {
            clf__id_list_insert(banned, word[word_length - 1]);
        }
    }
}

static int reads_bad_words(const struct clf__search_options *options)
{
    int longest = 0;
    for (int i = 0; i < options->bad_word_count; i++) {
        longest = clf__max_int(longest, options->bad_word_offsets[i + 1] - options->bad_word_offsets[i]);
    }
    return longest > 1;
}

/* --- The end token before the minimum length. --- */

static size_t limit_early_end(const struct clf__search_options *options)
{
    return 1 + (size_t)options->other_end_count;
}

static void ban_early_end(struct clf__id_list *banned, const struct clf__search_source *source,
                          const struct clf__beam *beam)
{
    const struct clf__search_options *options = source->options;
    if (beam->length + 1 >= options->min_length) {
        return;
    }
    clf__id_list_insert(banned, options->end_id);
    for (int i = 0; i < options->other_end_count; i++) {
        clf__id_list_insert(banned, options->other_end_ids[i]);
    }
}

/* --- Forced ids. --- */

static clf_status check_forced(const struct clf__search_options *options, int id, const char *which)
{
    if (!clf__is_id(options, id)) {
        return clf__fail(CLF_BAD_ARGUMENT, "forced %s id: %d is outside the vocabulary of %d", which, id,
                         options->vocabulary);
    }
    for (int i = 0; i < options->suppressed_count; i++) {
        if (options->suppressed[i] == id) {
            return clf__fail(CLF_BAD_ARGUMENT,
                             "id %d is both suppressed and the forced %s id; remove one of them", id, which);
        }
    }
    return CLF_OK;
}

static clf_status check_forced_last(const struct clf__search_options *options)
{
    return options->forced_last == -1 ? CLF_OK : check_forced(options, options->forced_last, "last");
}

static int force_last(const struct clf__search_source *source, int generated)
{
    return generated == source->max_length - 1 ? source->options->forced_last : -1;
}

static clf_status check_prefix(const struct clf__search_options *options)
{
    int count = options->prefix_count;
    if (count < 0 || count > options->max_length || (count > 0 && options->prefix == NULL)) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "prefix: %d ids are out of range; use a list of at most %d ids, the maximum length",
                         count, options->max_length);
    }
    if (options->prefix_is_prompt && count == options->max_length) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "prompt: its %d ids reach the maximum length; shorten it or increase the maximum length", count);
    }
    for (int i = 0; i < count; i++) {
        int32_t id = options->prefix[i];
        if (!options->prefix_is_prompt) {
            CLF__TRY(check_forced(options, id, "first"));
        } else if (!clf__is_id(options, id) || clf__is_end(options, id)) {
            return clf__fail(CLF_BAD_ARGUMENT,
                             "id %d of the prompt is an end id or outside the vocabulary of %d", id,
                             options->vocabulary);
        }
    }
    return CLF_OK;
}

static int force_prefix(const struct clf__search_source *source, int generated)
{
    const struct clf__search_options *options = source->options;
    return generated < options->prefix_count ? options->prefix[generated] : -1;
}

/* The first processor that forces an id wins. */
static const struct processor processors[] = {
    {.check = check_suppressed, .limit = limit_suppressed, .ban_always = ban_suppressed},
    {.check = check_bad_words,
     .limit = limit_bad_words,
     .ban_always = ban_single_ids,
     .ban = ban_last_ids,
     .reads_ids = reads_bad_words},
    {.check = check_begin_suppressed, .limit = limit_begin_suppressed, .ban = ban_begin_suppressed},
    {.check = check_ngram, .limit = limit_ngram, .ban = ban_ngram, .reads_ids = reads_ngram},
    {.limit = limit_source_ngram, .ban = ban_source_ngram, .reads_ids = reads_source_ngram},
    {.limit = limit_early_end, .ban = ban_early_end},
    {.check = check_forced_last, .force = force_last},
    {.check = check_prefix, .force = force_prefix},
};
static const struct processor *const processors_end = processors + sizeof processors / sizeof *processors;

clf_status clf__processors_check(const struct clf__search_options *options)
{
    CLF__TRY(clf__penalties_check(options));
    for (const struct processor *each = processors; each < processors_end; each++) {
        CLF__TRY(each->check != NULL ? each->check(options) : CLF_OK);
    }
    return CLF_OK;
}

size_t clf__bans_limit(const struct clf__search_options *options)
{
    size_t vocabulary = (size_t)options->vocabulary, sum = clf__penalties_limit(options);
    for (const struct processor *each = processors; each < processors_end; each++) {
        sum += each->limit != NULL ? each->limit(options) : 0;
    }
    return sum < vocabulary ? sum : vocabulary;
}

int clf__bans_prepare(int32_t *always_banned, const struct clf__search_options *options)
{
    struct clf__id_list list = {.ids = always_banned};
    for (const struct processor *each = processors; each < processors_end; each++) {
        if (each->ban_always != NULL) {
            each->ban_always(&list, options);
        }
    }
    return list.count;
}

void clf__bans_write(struct clf__id_list *banned, const struct clf__search_source *source,
                     const struct clf__beam *beam)
{
    banned->count = source->always_banned_count;
    memcpy(banned->ids, source->always_banned, (size_t)banned->count * sizeof *banned->ids);
    for (const struct processor *each = processors; each < processors_end; each++) {
        if (each->ban != NULL) {
            each->ban(banned, source, beam);
        }
    }
}

int clf__bans_read_ids(const struct clf__search_options *options)
{
    int reads = 0;
    for (const struct processor *each = processors; each < processors_end; each++) {
        reads |= each->reads_ids != NULL && each->reads_ids(options);
    }
    return reads;
}

int clf__forced_id(const struct clf__search_source *source, int generated)
{
    int forced = -1;
    for (const struct processor *each = processors; forced < 0 && each < processors_end; each++) {
        forced = each->force != NULL ? each->force(source, generated) : -1;
    }
    return forced;
}
