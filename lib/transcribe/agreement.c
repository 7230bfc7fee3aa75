#include "transcribe/agreement.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"

enum { MOST_REPEATED = 5, REACH = 5 };
static const double SLACK = 0.1, NEARBY = 1; /* seconds, as in whisper_streaming */

clf_status clf__live_words_add(struct clf__live_words *words, const struct clf_word *word, int begins_segment)
{
    char *text;
    CLF__TRY(clf__grow(&words->data, words->count, &words->capacity, sizeof *words->data));
    CLF__TRY(clf__copy_string(&text, word->text));
    struct clf__live_word *added = &words->data[words->count++];
    *added = (struct clf__live_word){.word = *word, .begins_segment = begins_segment};
    added->word.text = text;
    return CLF_OK;
}

void clf__live_words_drop(struct clf__live_words *words, int count)
{
    for (int i = 0; i < count; i++) {
        clf__free(words->data[i].word.text);
    }
    words->count -= count;
    if (words->count > 0) {
        memmove(words->data, words->data + count, (size_t)words->count * sizeof *words->data);
    }
}

void clf__live_words_free(struct clf__live_words *words)
{
    clf__live_words_drop(words, words->count);
    clf__free(words->data);
    *words = (struct clf__live_words){0};
}

/* Moves the first `count` words to the end of another list. */
static clf_status move(struct clf__live_words *to, struct clf__live_words *from, int count)
{
    for (int i = 0; i < count; i++) {
        CLF__TRY(clf__live_words_add(to, &from->data[i].word, from->data[i].begins_segment));
    }
    clf__live_words_drop(from, count);
    return CLF_OK;
}

static int is_same(const struct clf__live_word *one, const struct clf__live_word *other)
{
    return strcmp(one->word.text, other->word.text) == 0;
}

/* Skips ASCII white space and punctuation. */
static const char *skip_marks(const char *text)
{
    while (*text != '\0' && strchr(" !\"'(),-.:;?", *text) != NULL) {
        text++;
    }
    return text;
}

static int lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter;
}

/* Returns 1 if two words differ at most in ASCII punctuation and letter case. */
static int is_similar(const struct clf__live_word *one, const struct clf__live_word *other)
{
    const char *a = skip_marks(one->word.text), *b = skip_marks(other->word.text);
    int has_letters = *a != '\0';
    while (*a != '\0' && lower(*a) == lower(*b)) {
        a = skip_marks(a + 1);
        b = skip_marks(b + 1);
    }
    return has_letters && *a == *b;
}

/* Returns how many of the last final words equal the words before index `end` of a hypothesis. */
static int count_repeated(const struct clf__live_words *committed, const struct clf__live_words *words,
                          int end)
{
    int most = clf__min_int(clf__min_int(committed->count, end), MOST_REPEATED), count = 0;
    while (count < most &&
           is_similar(&committed->data[committed->count - 1 - count], &words->data[end - 1 - count])) {
        count++;
    }
    return count;
}

/* Drops the words of a hypothesis that are final already. They end with the last final words near the end of
 * these or, if the hypothesis has other words there, at that time. */
static void drop_final(const struct clf__agreement *agreement, struct clf__live_words *hypothesis)
{
    int by_time = 0, first, longest = 0, count = hypothesis->count;
    while (by_time < count && !(hypothesis->data[by_time].word.start > agreement->end - SLACK)) {
        by_time++;
    }
    first = by_time;
    for (int distance = 0; distance <= REACH; distance++) {
        for (int side = -1; side <= 1; side += 2) {
            int end = by_time + side * distance;
            int is_near =
                end > 0 && end <= count && fabs(hypothesis->data[end - 1].word.end - agreement->end) < NEARBY;
            int repeated = is_near ? count_repeated(&agreement->committed, hypothesis, end) : 0;
            if (repeated > longest) {
                longest = repeated;
                first = end;
            }
        }
    }
    clf__live_words_drop(hypothesis, first);
}

clf_status clf__agreement_add(struct clf__agreement *agreement, struct clf__live_words *hypothesis)
{
    int same = 0;
    drop_final(agreement, hypothesis);
    while (same < hypothesis->count && same < agreement->unstable.count &&
           is_same(&hypothesis->data[same], &agreement->unstable.data[same])) {
        same++;
    }
    clf__live_words_free(&agreement->unstable);
    agreement->unstable = *hypothesis;
    *hypothesis = (struct clf__live_words){0};
    return clf__agreement_commit(agreement, same);
}

clf_status clf__agreement_commit(struct clf__agreement *agreement, int count)
{
    if (count > 0) {
        agreement->end = agreement->unstable.data[count - 1].word.end;
    }
    return move(&agreement->committed, &agreement->unstable, count);
}

static int count_characters(const char *text)
{
    int count = 0;
    for (; *text != '\0'; text++) {
        count += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return count;
}

clf_status clf__agreement_pass(struct clf__agreement *agreement, double time)
{
    struct clf__live_words *committed = &agreement->committed, *passed = &agreement->passed;
    int count = 0, characters = 0;
    while (count < committed->count && committed->data[count].word.end <= time) {
        count++;
    }
    CLF__TRY(move(passed, committed, count));
    int first = passed->count;
    while (first > 0 && characters <= CLF__PROMPT_CHARACTERS) {
        characters += count_characters(passed->data[--first].word.text);
    }
    clf__live_words_drop(passed, first + (characters > CLF__PROMPT_CHARACTERS));
    return CLF_OK;
}

clf_status clf__agreement_prompt(char **out, const struct clf__agreement *agreement)
{
    CLF__TRY(clf__copy_string(out, ""));
    clf_status status = CLF_OK;
    for (int i = 0; i < agreement->passed.count && status == CLF_OK; i++) {
        status = clf__append(out, "%s", agreement->passed.data[i].word.text);
    }
    if (status != CLF_OK) {
        clf__free(*out);
        *out = NULL;
    }
    return status;
}

void clf__agreement_free(struct clf__agreement *agreement)
{
    clf__live_words_free(&agreement->committed);
    clf__live_words_free(&agreement->unstable);
    clf__live_words_free(&agreement->passed);
}
