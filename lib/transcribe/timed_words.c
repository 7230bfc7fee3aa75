#include "transcribe/timed_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "text/tokenizers/speech.h"

static const double LONGEST_MEDIAN = 0.7;
static const double LONG = 2.0, PAUSE = 4.0; /* multiples of the median duration */
static const double SLACK =
    0.5; /* seconds that words may extend beyond their segment before they are shortened */
static const char SENTENCE_ENDS[] = ".。!！?？";

void clf__timed_words_free(struct clf__timed_words *words)
{
    for (int i = 0; i < words->count; i++) {
        clf__free(words->data[i].text);
    }
    clf__free(words->data);
    *words = (struct clf__timed_words){0};
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Finds the median duration of words with a duration; 0 if there are none. */
static clf_status find_median(struct clf__timed_words *words)
{
    double *lengths;
    int count = 0;
    CLF__TRY(clf__allocate(&lengths, (size_t)words->count, sizeof *lengths));
    for (int i = 0; i < words->count; i++) {
        lengths[count] = words->data[i].end - words->data[i].start;
        count += lengths[count] != 0.0;
    }
    qsort(lengths, (size_t)count, sizeof *lengths, compare);
    double median = count > 0 ? (lengths[(count - 1) / 2] + lengths[count / 2]) / 2.0 : 0.0;
    words->median = fmin(median, LONGEST_MEDIAN);
    clf__free(lengths);
    return CLF_OK;
}

/* Returns 1 if a text is empty or a substring of `signs`. */
static int is_among(const char *text, const char *signs)
{
    return strstr(signs, text) != NULL;
}

static void shorten_sentence_ends(const struct clf__timed_words *words)
{
    double longest = LONG * words->median;
    for (int i = 1; i < words->count && longest > 0.0; i++) {
        struct clf__timed_word *word = &words->data[i];
        if (!(word->end - word->start > longest)) {
            continue;
        }
        if (is_among(word->text, SENTENCE_ENDS)) {
            word->end = word->start + longest;
        } else if (is_among(words->data[i - 1].text, SENTENCE_ENDS)) {
            word->start = word->end - longest;
        }
    }
}

/* Concatenates two texts into `into`; `from` becomes empty. */
static clf_status join(struct clf__timed_word *into, const char *first, const char *second,
                       struct clf__timed_word *from)
{
    char *text;
    CLF__TRY(clf__format(&text, "%s%s", first, second));
    clf__free(into->text);
    into->text = text;
    into->ids += from->ids;
    from->text[0] = '\0';
    from->ids = 0;
    return CLF_OK;
}

static clf_status is_prepended(int *result, const char *text, const char *signs)
{
    size_t size;
    char *stripped;
    *result = 0;
    if (text[0] != ' ') {
        return CLF_OK;
    }
    const char *start = clf__speech_strip(&size, text);
    CLF__TRY(clf__copy_bytes(&stripped, start, size));
    *result = is_among(stripped, signs);
    clf__free(stripped);
    return CLF_OK;
}

static clf_status join_to_next(const struct clf__timed_words *words, const char *signs)
{
    for (int i = words->count - 2, next = words->count - 1; i >= 0; i--) {
        struct clf__timed_word *word = &words->data[i], *behind = &words->data[next];
        int joins;
        CLF__TRY(is_prepended(&joins, word->text, signs));
        if (joins) {
            CLF__TRY(join(behind, word->text, behind->text, word));
        } else {
            next = i;
        }
    }
    return CLF_OK;
}

static clf_status join_to_last(const struct clf__timed_words *words, const char *signs)
{
    for (int last = 0, i = 1; i < words->count; i++) {
        struct clf__timed_word *before = &words->data[last], *word = &words->data[i];
        size_t size = strlen(before->text);
        int ends_with_space = size > 0 && before->text[size - 1] == ' ';
        if (!ends_with_space && is_among(word->text, signs)) {
            CLF__TRY(join(before, before->text, word->text, word));
        } else {
            last = i;
        }
    }
    return CLF_OK;
}

clf_status clf__timed_words_settle(struct clf__timed_words *words, const char *prepend, const char *append)
{
    CLF__TRY(find_median(words));
    shorten_sentence_ends(words);
    CLF__TRY(join_to_next(words, prepend));
    return join_to_last(words, append);
}

/* Rounds to hundredths as NumPy does. */
static double hundredths(double seconds)
{
    return rint(seconds * 100.0) / 100.0;
}

/* Adds the words of one segment, starting at *next, and advances *next. */
static clf_status take_words(struct clf_segment *segment, int ids, const struct clf__timed_words *words,
                             int *next, double offset)
{
    int end = *next;
    for (int taken = 0; end < words->count && taken < ids; end++) {
        taken += words->data[end].ids;
    }
    CLF__TRY(clf__allocate(&segment->words, (size_t)(end - *next), sizeof *segment->words));
    for (; *next < end; ++*next) {
        const struct clf__timed_word *from = &words->data[*next];
        if (from->text[0] != '\0') {
            struct clf_word *word = &segment->words[segment->word_count];
            CLF__TRY(clf__copy_string(&word->text, from->text));
            word->start = hundredths(offset + from->start);
            word->end = hundredths(offset + from->end);
            word->probability = from->probability;
            segment->word_count++;
        }
    }
    return CLF_OK;
}

/* The first word or the first two words after a pause may include part of the pause. */
static void shorten_first(struct clf_word *words, int count, double median, double spoken)
{
    double longest = LONG * median;
    int is_long = words[0].end - words[0].start > longest ||
                  (count > 1 && words[1].end - words[0].start > longest * 2.0);
    if (!(words[0].end - spoken > median * PAUSE && is_long)) {
        return;
    }
    if (count > 1 && words[1].end - words[1].start > longest) {
        words[0].end = words[1].start = fmax(words[1].end / 2.0, words[1].end - longest);
    }
    words[0].start = fmax(0.0, words[0].end - longest);
}

/* Adjusts the words if they extend far beyond their segment, otherwise the times of the segment. */
static void reconcile(struct clf_segment *segment, double median)
{
    struct clf_word *first = &segment->words[0], *last = &segment->words[segment->word_count - 1];
    if (segment->start < first->end && segment->start - SLACK > first->start) {
        first->start = fmax(0.0, fmin(first->end - median, segment->start));
    } else {
        segment->start = first->start;
    }
    if (segment->end > last->start && segment->end + SLACK < last->end) {
        last->end = fmax(last->start + median, segment->end);
    } else {
        segment->end = last->end;
    }
}

clf_status clf__timed_words_share(struct clf_segment *segments, const int *ids, int count,
                                  const struct clf__timed_words *words, double offset, double spoken)
{
    int next = 0;
    for (int i = 0; i < count; i++) {
        struct clf_segment *segment = &segments[i];
        CLF__TRY(take_words(segment, ids[i], words, &next, offset));
        if (segment->word_count > 0) {
            shorten_first(segment->words, segment->word_count, words->median, spoken);
            reconcile(segment, words->median);
            spoken = segment->end;
        }
    }
    return CLF_OK;
}
