/* Finds the terms of a glossary in a line. */
#include <string.h>

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "base/memory.h"
#include "text/glossary/glossary.h"

/* A line, as written and with folded case. */
struct line {
    struct clf__characters written, folded;
};

/* Returns whether a word may begin or end between two characters of a line. */
static int is_boundary(const struct clf__characters *line, int at)
{
    if (at == 0 || at == line->count) {
        return 1;
    }
    return clf__is_word_boundary(line->items[at - 1], line->items[at]);
}

/* Returns the first term from `low` to high - 1 whose character at `depth` is at least `character`; all have
 * the same characters before it. A term without this character comes first. */
static int find_first(const struct clf__term_order *order, int low, int high, int depth, int32_t character)
{
    while (low < high) {
        int middle = low + (high - low) / 2;
        const struct clf__characters *source = &order->items[middle]->source;
        if (source->count <= depth || source->items[depth] < character) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Returns the longest term that begins at a character of the line, or NULL. */
static const struct clf__term *find_longest(const struct clf__term_order *order,
                                            const struct clf__characters *line, int at)
{
    const struct clf__term *longest = NULL;
    int low = 0, high = order->count;
    for (int depth = 0; at + depth < line->count && low < high; depth++) {
        int32_t character = line->items[at + depth];
        low = find_first(order, low, high, depth, character);
        high = find_first(order, low, high, depth, character + 1);
        if (low < high && order->items[low]->source.count == depth + 1 && is_boundary(line, at + depth + 1)) {
            longest = order->items[low];
        }
    }
    return longest;
}

/* Returns whether a sentence begins at a character, by the characters before it. */
static int begins_sentence(const struct clf__characters *line, int at)
{
    while (at > 0 && !clf__is_word_character(line->items[at - 1]) &&
           u_getIntPropertyValue(line->items[at - 1], UCHAR_SENTENCE_BREAK) != U_SB_ATERM &&
           u_getIntPropertyValue(line->items[at - 1], UCHAR_SENTENCE_BREAK) != U_SB_STERM) {
        at--;
    }
    return at == 0 || !clf__is_word_character(line->items[at - 1]);
}

static int has_capitals(const char *text)
{
    int has_one = 0;
    for (int32_t at = 0, character; text[at] != '\0';) {
        U8_NEXT(text, at, -1, character);
        has_one |= u_isupper(character) || u_istitle(character);
    }
    return has_one;
}

/* Copies a target; with is_capital, the first letter of a target without capitals becomes one. */
static clf_status copy_target(char **out, const char *target, int is_capital)
{
    int32_t at = 0, made = 0, character;
    char first[U8_MAX_LENGTH + 1] = "";
    if (!is_capital || has_capitals(target)) {
        return clf__copy_string(out, target);
    }
    U8_NEXT(target, at, -1, character);
    U8_APPEND_UNSAFE(first, made, u_totitle(character));
    first[made] = '\0';
    return clf__format(out, "%s%s", first, target + at);
}

static clf_status add_target(struct clf__targets *out, const struct line *line, int at,
                             const struct clf__term *term)
{
    int32_t first = line->written.items[at];
    int is_capital = (u_isupper(first) || u_istitle(first)) && begins_sentence(&line->written, at);
    CLF__TRY(clf__grow(&out->items, out->count, &out->capacity, sizeof *out->items));
    CLF__TRY(copy_target(&out->items[out->count], term->target, is_capital));
    out->count++;
    return CLF_OK;
}

static clf_status find_all(struct clf__targets *out, const struct clf_glossary *glossary,
                           const struct line *line)
{
    for (int at = 0; at < line->written.count;) {
        const struct clf__term *found = NULL;
        if (is_boundary(&line->written, at)) {
            const struct clf__term *exact = find_longest(&glossary->exact, &line->written, at);
            found = find_longest(&glossary->folded, &line->folded, at);
            found = exact != NULL && (found == NULL || exact->source.count >= found->source.count) ? exact
                                                                                                   : found;
        }
        CLF__TRY(found != NULL ? add_target(out, line, at, found) : CLF_OK);
        at += found != NULL ? found->source.count : 1;
    }
    return CLF_OK;
}

clf_status clf__glossary_find(struct clf__targets *out, const struct clf_glossary *glossary, const char *text,
                              size_t size)
{
    struct line line = {.folded = {.count = 0}};
    *out = (struct clf__targets){.count = 0};
    clf_status status = clf__characters_read(&line.written, text, size);
    if (status == CLF_OK) {
        status = clf__allocate(&line.folded.items, (size_t)line.written.count, sizeof *line.folded.items);
    }
    line.folded.count = status == CLF_OK ? line.written.count : 0;
    for (int i = 0; i < line.folded.count; i++) {
        line.folded.items[i] = u_foldCase(line.written.items[i], U_FOLD_CASE_DEFAULT);
    }
    if (status == CLF_OK) {
        status = find_all(out, glossary, &line);
    }
    clf__free(line.written.items);
    clf__free(line.folded.items);
    return status;
}

void clf__targets_free(struct clf__targets *targets)
{
    for (int i = 0; i < targets->count; i++) {
        clf__free(targets->items[i]);
    }
    clf__free(targets->items);
    *targets = (struct clf__targets){.count = 0};
}
