/* Reads glossaries: lines of a source term, a target term and flags, separated by tabs. */
#include <stdlib.h>
#include <string.h>

#include <unicode/uchar.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "base/utf8.h"
#include "text/glossary/glossary.h"

enum { SOURCE, TARGET, FLAGS, FIELDS };
enum { MOST_BYTES = 1 << 28 };

/* A part of the text. */
struct field {
    const char *start;
    size_t size;
};

/* A line of the file. */
struct line {
    const char *name; /* of the file */
    int number;
    struct field fields[FIELDS];
    int count; /* number of fields; FIELDS + 1: more */
};

/* Removes the spaces around a field. */
static struct field trim(struct field field)
{
    while (field.size > 0 && field.start[0] == ' ') {
        field.start++;
        field.size--;
    }
    while (field.size > 0 && field.start[field.size - 1] == ' ') {
        field.size--;
    }
    return field;
}

static void split(struct line *line, struct field text)
{
    line->count = 0;
    for (const char *end = text.start + text.size; line->count <= FIELDS;) {
        const char *tab = memchr(text.start, '\t', text.size);
        struct field field = {text.start, (size_t)((tab != NULL ? tab : end) - text.start)};
        if (line->count < FIELDS) {
            line->fields[line->count] = trim(field);
        }
        line->count++;
        if (tab == NULL) {
            return;
        }
        text = (struct field){tab + 1, (size_t)(end - tab - 1)};
    }
}

static clf_status check(const struct line *line)
{
    if (line->count < 2) {
        return clf__fail(CLF_FORMAT, "%s:%d: has no tab; write a source term, a tab and a target term",
                         line->name, line->number);
    }
    if (line->count > FIELDS) {
        return clf__fail(CLF_FORMAT,
                         "%s:%d: has more than %d columns; write a source term, a target term and flags",
                         line->name, line->number, (int)FIELDS);
    }
    for (int i = SOURCE; i <= TARGET; i++) {
        if (line->fields[i].size == 0) {
            return clf__fail(CLF_FORMAT, "%s:%d: the %s term is empty; write one or remove the line",
                             line->name, line->number, i == SOURCE ? "source" : "target");
        }
    }
    return CLF_OK;
}

static clf_status read_flags(int *is_exact, const struct line *line)
{
    struct field flags = line->count > FLAGS ? line->fields[FLAGS] : (struct field){"", 0};
    *is_exact = flags.size == strlen("case") && memcmp(flags.start, "case", flags.size) == 0;
    return *is_exact || flags.size == 0
               ? CLF_OK
               : clf__fail(CLF_FORMAT, "%s:%d: unknown flag \"%.*s\"; write \"case\" or nothing", line->name,
                           line->number, (int)clf__utf8_cut(flags.start, clf__min_int((int)flags.size, 40)),
                           flags.start);
}

static clf_status add_term(struct clf_glossary *glossary, const struct line *line)
{
    CLF__TRY(check(line));
    CLF__TRY(clf__grow(&glossary->terms, glossary->count, &glossary->capacity, sizeof *glossary->terms));
    struct clf__term *term = &glossary->terms[glossary->count];
    *term = (struct clf__term){.line = line->number};
    glossary->count++;
    CLF__TRY(read_flags(&term->is_exact, line));
    CLF__TRY(clf__characters_read(&term->source, line->fields[SOURCE].start, line->fields[SOURCE].size));
    for (int i = 0; !term->is_exact && i < term->source.count; i++) {
        term->source.items[i] = u_foldCase(term->source.items[i], U_FOLD_CASE_DEFAULT);
    }
    return clf__copy_bytes(&term->target, line->fields[TARGET].start, line->fields[TARGET].size);
}

static clf_status read_lines(struct clf_glossary *glossary, const char *text, size_t size, const char *name)
{
    struct line line = {.name = name};
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        struct field whole = {text + at, end != NULL ? (size_t)(end - text) - at : size - at};
        at += whole.size + 1;
        line.number++;
        whole.size -= whole.size > 0 && whole.start[whole.size - 1] == '\r';
        if (whole.size > 0 && whole.start[0] != '#' && trim(whole).size > 0) {
            split(&line, whole);
            CLF__TRY(add_term(glossary, &line));
        }
    }
    return CLF_OK;
}

static int compare(const struct clf__characters *a, const struct clf__characters *b)
{
    int common = clf__min_int(a->count, b->count);
    for (int i = 0; i < common; i++) {
        if (a->items[i] != b->items[i]) {
            return a->items[i] < b->items[i] ? -1 : 1;
        }
    }
    return a->count - b->count;
}

/* Equal sources stay in the order of the file. */
static int by_source(const void *left, const void *right)
{
    const struct clf__term *a = *(const struct clf__term *const *)left;
    const struct clf__term *b = *(const struct clf__term *const *)right;
    int order = compare(&a->source, &b->source);
    return order != 0 ? order : a->line - b->line;
}

/* Sorts the terms with or without the flag "case", and reports one that occurs twice. */
static clf_status sort(struct clf__term_order *out, const struct clf_glossary *glossary, int is_exact,
                       const char *name)
{
    CLF__TRY(clf__allocate(&out->items, (size_t)glossary->count, sizeof *out->items));
    for (int i = 0; i < glossary->count; i++) {
        if (glossary->terms[i].is_exact == is_exact) {
            out->items[out->count++] = &glossary->terms[i];
        }
    }
    qsort(out->items, (size_t)out->count, sizeof *out->items, by_source);
    for (int i = 1; i < out->count; i++) {
        const struct clf__term *first = out->items[i - 1], *second = out->items[i];
        if (compare(&first->source, &second->source) == 0) {
            return clf__fail(
                CLF_FORMAT,
                "%s:%d: its source term is also in line %d, with the target \"%.80s\"; remove one "
                "of the lines",
                name, second->line, first->line, first->target);
        }
    }
    return CLF_OK;
}

/* Checks that the text is UTF-8 without NUL bytes. */
static clf_status check_text(const char *text, size_t size, const char *name)
{
    CLF__TRY(
        clf__utf8_check_start(name, text, size < (size_t)CLF__UTF8_START ? size : (size_t)CLF__UTF8_START));
    const char *nul = memchr(text, '\0', size);
    size_t valid = clf__utf8_valid_prefix(text, size), first = nul != NULL ? (size_t)(nul - text) : size;
    int number = 1;
    for (size_t i = 0; i < valid && i < first; i++) {
        number += text[i] == '\n';
    }
    if (first < valid) {
        return clf__fail(CLF_FORMAT, "%s:%d: contains a NUL byte; remove it", name, number);
    }
    return valid == size
               ? CLF_OK
               : clf__fail(CLF_FORMAT, "%s:%d: is not valid UTF-8; convert the file, for example with iconv",
                           name, number);
}

static clf_status read(struct clf_glossary *glossary, const char *text, size_t size, const char *name)
{
    CLF__TRY(check_text(text, size, name));
    size_t before = clf__utf8_mark(text, size);
    CLF__TRY(read_lines(glossary, text + before, size - before, name));
    CLF__TRY(sort(&glossary->folded, glossary, 0, name));
    return sort(&glossary->exact, glossary, 1, name);
}

clf_status clf__glossary_parse(struct clf_glossary **out, const char *text, size_t size, const char *name)
{
    struct clf_glossary *glossary;
    *out = NULL;
    CLF__TRY(clf__allocate(&glossary, 1, sizeof *glossary));
    atomic_store(&glossary->users, 1);
    clf_status status = read(glossary, text, size, name);
    if (status != CLF_OK) {
        clf_glossary_free(glossary);
        return status;
    }
    *out = glossary;
    return CLF_OK;
}

clf_status clf_glossary_load(struct clf_glossary **out, const char *path)
{
    char *text;
    size_t size;
    *out = NULL;
    if (path == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "path: is NULL; pass the path of a glossary");
    }
    CLF__TRY(clf__file_read(&text, &size, path, MOST_BYTES));
    clf_status status = clf__glossary_parse(out, text, size, path);
    clf__free(text);
    return status;
}

int clf_glossary_count(const struct clf_glossary *glossary)
{
    return glossary->count;
}

void clf__glossary_keep(struct clf_glossary *glossary)
{
    atomic_fetch_add(&glossary->users, 1);
}

void clf_glossary_free(struct clf_glossary *glossary)
{
    if (glossary == NULL || atomic_fetch_sub(&glossary->users, 1) > 1) {
        return;
    }
    for (int i = 0; i < glossary->count; i++) {
        clf__free(glossary->terms[i].source.items);
        clf__free(glossary->terms[i].target);
    }
    clf__free(glossary->terms);
    clf__free(glossary->folded.items);
    clf__free(glossary->exact.items);
    clf__free(glossary);
}
