/* Text shortlists: lines of target word, source word and probability, as in fast_align and extract_lex
 * tables, read as by marian-dev's LexicalShortlistGenerator. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "text/shortlist_lists.h"

struct entry {
    int32_t source, target;
    float probability;
    uint32_t line;
};

struct entries {
    struct entry *items;
    size_t count, room;
};

struct field {
    const char *start;
    size_t length;
};

enum { TARGET, SOURCE, PROBABILITY, FIELDS };

static clf_status damaged(const char *path, size_t line, const char *what)
{
    return clf__fail(CLF_FORMAT,
                     "%s: line %zu %s, but a line must be a target token, a source token and a probability; "
                     "correct it, or use no shortlist",
                     path, line, what);
}

static int is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Splits a line into fields; returns the count, or FIELDS + 1 if there are more. */
static int split(struct field out[FIELDS], const char *line, size_t length)
{
    int count = 0;
    for (size_t at = 0; at < length;) {
        size_t start = at;
        while (at < length && !is_space(line[at])) {
            at++;
        }
        if (at > start) {
            if (count == FIELDS) {
                return FIELDS + 1;
            }
            out[count++] = (struct field){line + start, at - start};
        }
        at += at < length;
    }
    return count;
}

/* Reads a probability, which ends at the white space or NUL after the field. */
static int read_probability(float *out, const struct field *field)
{
    char *end;
    *out = strtof(field->start, &end);
    return end == field->start + field->length && isfinite(*out);
}

/* Returns whether a field is NULL, the empty word of an alignment. */
static int is_null(const struct field *field)
{
    return field->length == 4 && memcmp(field->start, "NULL", 4) == 0;
}

static clf_status append(struct entries *entries, const struct entry *entry)
{
    CLF__TRY(clf__grow_to(&entries->items, entries->count + 1, &entries->room, sizeof *entries->items));
    entries->items[entries->count++] = *entry;
    return CLF_OK;
}

static clf_status read_line(struct entries *entries, const char *line, size_t length, size_t number,
                            const char *path, const struct clf__shortlist_words *words)
{
    struct field fields[FIELDS];
    float probability;
    int count = split(fields, line, length);
    if (count == 0) {
        return CLF_OK;
    }
    if (count != FIELDS) {
        return damaged(path, number,
                       count < FIELDS ? "has fewer than three fields" : "has more than three fields");
    }
    if (!read_probability(&probability, &fields[PROBABILITY])) {
        return damaged(path, number, "does not end with a number");
    }
    if (is_null(&fields[TARGET]) || is_null(&fields[SOURCE])) {
        return CLF_OK;
    }
    struct entry entry = {
        .source = words->id_of(words->user, 0, fields[SOURCE].start, fields[SOURCE].length),
        .target = words->id_of(words->user, 1, fields[TARGET].start, fields[TARGET].length),
        .probability = probability,
        .line = (uint32_t)number,
    };
    int is_known = entry.source >= 0 && entry.source < words->source && entry.target >= 0 &&
                   entry.target < words->target;
    return is_known ? append(entries, &entry) : CLF_OK;
}

static clf_status read_lines(struct entries *entries, const char *text, size_t size, const char *path,
                             const struct clf__shortlist_words *words)
{
    size_t number = 0;
    for (size_t at = 0; at < size;) {
        const char *line = text + at, *end = memchr(line, '\n', size - at);
        size_t length = end != NULL ? (size_t)(end - line) : size - at;
        number++;
        if (memchr(line, '\0', length) != NULL) {
            return damaged(path, number, "contains a NUL byte");
        }
        CLF__TRY(read_line(entries, line, length, number, path, words));
        at += length + 1;
    }
    return CLF_OK;
}

/* Sorts by source word, then target word, then line. */
static int by_words(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->source != b->source) {
        return a->source < b->source ? -1 : 1;
    }
    if (a->target != b->target) {
        return a->target < b->target ? -1 : 1;
    }
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Sorts by descending probability; ties by descending word id. */
static int by_probability(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->probability != b->probability) {
        return a->probability > b->probability ? -1 : 1;
    }
    return a->target > b->target ? -1 : a->target < b->target;
}

static int ascending(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return a < b ? -1 : a > b;
}

/* Keeps the last line for each target word of one source word. Returns the number of remaining items. */
static size_t drop_earlier(struct entry *items, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (i + 1 == count || items[i].target != items[i + 1].target) {
            items[kept++] = items[i];
        }
    }
    return kept;
}

/* Appends the list of one source word after `used` ids. Returns the length of the list. */
static size_t list_best(int32_t *listed, struct entry *items, size_t count,
                        const struct clf__shortlist_cut *cut)
{
    size_t kept = drop_earlier(items, count), taken = 0;
    qsort(items, kept, sizeof *items, by_probability);
    while (taken < kept && taken < (size_t)cut->best && items[taken].probability > cut->threshold) {
        listed[taken] = items[taken].target;
        taken++;
    }
    qsort(listed, taken, sizeof *listed, ascending);
    return taken;
}

static void list_all(struct clf__shortlist_lists *out, struct entries *entries, int source_words,
                     const struct clf__shortlist_cut *cut)
{
    size_t at = 0, used = 0;
    for (int32_t word = 0; word < source_words; word++) {
        size_t first = at;
        while (at < entries->count && entries->items[at].source == word) {
            at++;
        }
        out->starts[word] = (uint32_t)used;
        if (at > first) {
            size_t taken = list_best(out->listed + used, entries->items + first, at - first, cut);
            out->best = clf__max_int(out->best, (int)taken);
            used += taken;
        }
    }
    out->starts[source_words] = (uint32_t)used;
}

clf_status clf__shortlist_read_text(struct clf__shortlist_lists *out, const char *text, size_t size,
                                    const char *path, const struct clf__shortlist_words *words,
                                    const struct clf__shortlist_cut *cut)
{
    struct entries entries = {.items = NULL};
    clf_status status = read_lines(&entries, text, size, path, words);
    if (status == CLF_OK) {
        status = clf__allocate(&out->starts, (size_t)words->source + 1, sizeof *out->starts);
    }
    if (status == CLF_OK) {
        status = clf__allocate(&out->listed, entries.count + 1, sizeof *out->listed);
    }
    if (status == CLF_OK) {
        if (entries.count > 0) { /* items is NULL if there are no entries */
            qsort(entries.items, entries.count, sizeof *entries.items, by_words);
        }
        out->first = clf__min_int(cut->first, words->target);
        list_all(out, &entries, words->source, cut);
    }
    clf__free(entries.items);
    return status;
}
