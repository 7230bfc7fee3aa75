#include "translate/documents/terms.h"

#include <stdlib.h>
#include <string.h>

#include <unicode/uchar.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "text/sentences/sentences.h"
#include "translate/documents/inlines.h"
#include "translate/documents/words.h"

/* --- The list. --- */

static clf_status add_term(struct clf__kept_terms *terms, const char *text, size_t size)
{
    CLF__TRY(clf__grow(&terms->items, terms->count, &terms->capacity, sizeof *terms->items));
    terms->items[terms->count++] = (struct clf__kept_term){text, size};
    return CLF_OK;
}

static int compare(const void *one, const void *other)
{
    const struct clf__kept_term *a = one, *b = other;
    int order = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);
    return order != 0 ? order : a->size < b->size ? -1 : a->size > b->size;
}

clf_status clf__kept_terms_read(struct clf__kept_terms *terms, const char *lines)
{
    *terms = (struct clf__kept_terms){.count = 0};
    if (lines == NULL) {
        return CLF_OK;
    }
    size_t size = strlen(lines);
    if (clf__utf8_valid_prefix(lines, size) < size) {
        return clf__fail(CLF_TEXT, "kept_terms: are not UTF-8; convert them");
    }
    CLF__TRY(clf__copy_bytes(&terms->text, lines, size));
    struct clf__text_line line = {.next = clf__utf8_mark(lines, size)};
    while (clf__text_line_next(&line, lines, size)) {
        struct clf__part part = clf__part_trim(lines, line.start, line.end);
        if (part.size > 0) {
            CLF__TRY(add_term(terms, terms->text + part.start, part.size));
        }
    }
    if (terms->count > 0) {
        qsort(terms->items, (size_t)terms->count, sizeof *terms->items, compare);
    }
    return CLF_OK;
}

void clf__kept_terms_free(struct clf__kept_terms *terms)
{
    clf__free(terms->text);
    clf__free(terms->items);
}

/* --- Matches. --- */

/* Returns the first one of terms low to high - 1, which have the same first `at` bytes, whose next byte is at
 * least `byte`. */
static int find_byte(const struct clf__kept_terms *terms, int low, int high, size_t at, int byte)
{
    while (low < high) {
        int middle = low + (high - low) / 2;
        const struct clf__kept_term *term = &terms->items[middle];
        int next = at < term->size ? (unsigned char)term->text[at] : -1;
        if (next < byte) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Returns the size of the longest term at a position; 0: there is none. */
static size_t term_size(const struct clf__kept_terms *terms, const char *text, size_t size, size_t at)
{
    size_t longest = 0;
    int low = 0, high = terms->count; /* the terms that begin with bytes [at, end) */
    for (size_t end = at; end < size && low < high;) {
        int byte = (unsigned char)text[end];
        low = find_byte(terms, low, high, end - at, byte);
        high = find_byte(terms, low, high, end - at, byte + 1);
        end++;
        if (low < high && terms->items[low].size == end - at && !clf__words_are_joined(text, size, end)) {
            longest = end - at;
        }
    }
    return longest > 0 && !clf__words_are_joined(text, size, at) ? longest : 0;
}

/* Returns whether a mark begins or ends within bytes [start, end). */
static int is_divided(const struct clf__segment *segment, size_t start, size_t end)
{
    for (int i = 0; i < segment->shown.mark_count; i++) {
        const struct clf_mark *mark = &segment->marks[i];
        if ((mark->start > start && mark->start < end) || (mark->end > start && mark->end < end)) {
            return 1;
        }
    }
    return 0;
}

/* A segment whose terms become marks. */
struct change {
    struct clf__segment *segment;
    struct clf__output text;
    size_t *map; /* (text_size + 1) for each byte of the old text, its position in the new text */
    struct clf__part terms[CLF__MOST_INLINES];
    int count;
    int is_overfull; /* further terms remain in the text */
};

static char byte_before(const struct clf__output *text)
{
    return (char)(text->size > 0 ? text->bytes[text->size - 1] : ' ');
}

/* Copies the text without the terms, and without the spaces that are doubled. */
static clf_status remove_terms(struct change *change, const struct clf__kept_terms *terms)
{
    const struct clf__segment *segment = change->segment;
    const char *text = segment->text;
    size_t size = segment->shown.text_size, at = 0;
    struct clf__output *out = &change->text;
    clf__output_add(out, "", 0);
    while (at < size) {
        int is_full = change->count + segment->shown.mark_count >= CLF__MOST_INLINES;
        size_t term = term_size(terms, text, size, at);
        int is_kept = term > 0 && !is_divided(segment, at, at + term);
        change->is_overfull |= is_kept && is_full;
        if (!is_kept || is_full) {
            change->map[at] = out->size;
            clf__output_add(out, text + at++, 1);
            continue;
        }
        change->terms[change->count++] = (struct clf__part){at, term};
        size_t end = at + term;
        out->size -=
            out->size > 0 && byte_before(out) == ' ' && (end == size || strchr(",.;:!?)", text[end]) != NULL);
        for (; at < end; at++) {
            change->map[at] = out->size;
        }
        if (at < size && text[at] == ' ' && byte_before(out) == ' ') {
            change->map[at++] = out->size;
        }
    }
    change->map[size] = out->size;
    for (size_t i = size; i-- > 0;) { /* a space before a term may have been removed */
        change->map[i] = change->map[i] < change->map[i + 1] ? change->map[i] : change->map[i + 1];
    }
    out->size = change->map[size];
    clf__output_add(out, "", 0);
    return out->status;
}

/* --- Marks. --- */

/* New lists of marks and tags. */
struct lists {
    struct clf_mark *marks;
    struct clf__tags *tags;
    int *indexes; /* the new index of each old mark */
    int count;
};

/* Adds the mark of a term. Its bytes are `from` and following ones of segment->kept. */
static void add_mark(struct lists *lists, const struct change *change, struct clf__part term, size_t from)
{
    const struct clf__segment *segment = change->segment;
    const char *text = segment->text;
    size_t end = term.start + term.size;
    int parent = -1, ends = 0; /* the term ends its mark */
    for (int i = 0; i < segment->shown.mark_count; i++) {
        const struct clf_mark *mark = &segment->marks[i];
        if (mark->start <= term.start && mark->end >= end) {
            parent = lists->indexes[i];
            ends |= mark->end == end;
        }
    }
    int spaces = (term.start > 0 && text[term.start - 1] == ' ' ? CLF__SPACE_BEFORE : 0) |
                 (!ends && text[end] == ' ' ? CLF__SPACE_AFTER : 0);
    size_t at = change->map[term.start];
    lists->marks[lists->count] = (struct clf_mark){at, at, parent};
    lists->tags[lists->count++] =
        (struct clf__tags){from, from + term.size, from + term.size, from + term.size, spaces, 1, 0};
}

static void fill_lists(struct lists *lists, const struct change *change)
{
    const struct clf__segment *segment = change->segment;
    size_t from = 0;
    for (int old = 0, term = 0; old < segment->shown.mark_count || term < change->count;) {
        int is_old = old < segment->shown.mark_count &&
                     (term == change->count || segment->marks[old].start <= change->terms[term].start);
        if (!is_old) {
            add_mark(lists, change, change->terms[term], from);
            from += change->terms[term++].size;
            continue;
        }
        const struct clf_mark *mark = &segment->marks[old];
        lists->indexes[old] = lists->count;
        lists->tags[lists->count] = segment->tags[old];
        lists->marks[lists->count++] =
            (struct clf_mark){change->map[mark->start], change->map[mark->end],
                              mark->parent < 0 ? -1 : lists->indexes[mark->parent]};
        old++;
    }
}

static clf_status copy_terms(char **out, const struct change *change)
{
    struct clf__output kept = {.bytes = NULL};
    for (int i = 0; i < change->count; i++) {
        clf__output_add(&kept, change->segment->text + change->terms[i].start, change->terms[i].size);
    }
    *out = kept.bytes;
    return kept.status;
}

static clf_status make_lists(struct lists *lists, const struct change *change)
{
    int old = change->segment->shown.mark_count;
    size_t count = (size_t)(old + change->count);
    CLF__TRY(clf__allocate(&lists->marks, count, sizeof *lists->marks));
    CLF__TRY(clf__allocate(&lists->tags, count, sizeof *lists->tags));
    CLF__TRY(clf__allocate(&lists->indexes, (size_t)old, sizeof *lists->indexes));
    fill_lists(lists, change);
    return CLF_OK;
}

/* Gives the lists and the text to the segment. */
static void take(struct clf__segment *segment, const struct lists *lists, const struct clf__output *text,
                 char *kept)
{
    clf__free(segment->text);
    clf__free(segment->marks);
    clf__free(segment->tags);
    segment->text = text->bytes;
    segment->marks = lists->marks;
    segment->tags = lists->tags;
    segment->kept = kept;
    segment->shown.text = segment->text;
    segment->shown.text_size = text->size;
    segment->shown.marks = segment->marks;
    segment->shown.mark_count = lists->count;
}

static clf_status apply(struct change *change, const struct clf__kept_terms *terms)
{
    struct lists lists = {.count = 0};
    char *kept = NULL;
    CLF__TRY(clf__allocate(&change->map, change->segment->shown.text_size + 1, sizeof *change->map));
    CLF__TRY(remove_terms(change, terms));
    if (change->count == 0) {
        return CLF_OK;
    }
    clf_status status = make_lists(&lists, change);
    if (status == CLF_OK) {
        status = copy_terms(&kept, change);
    }
    if (status == CLF_OK) {
        take(change->segment, &lists, &change->text, kept);
        change->text.bytes = NULL;
    } else {
        clf__free(lists.marks);
        clf__free(lists.tags);
        clf__free(kept);
    }
    clf__free(lists.indexes);
    return status;
}

clf_status clf__kept_terms_apply(struct clf__kept_terms *terms, struct clf__segment *segment)
{
    struct change *change;
    if (terms == NULL || terms->count == 0) {
        return CLF_OK;
    }
    CLF__TRY(clf__allocate(&change, 1, sizeof *change));
    change->segment = segment;
    clf_status status = apply(change, terms);
    terms->overfull += change->is_overfull;
    clf__free(change->text.bytes);
    clf__free(change->map);
    clf__free(change);
    return status;
}
