#include "support/documents.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "support/support.h"
#include "text/markup/words.h"

enum { MOST_TEXT = 1 << 16 };

void document_same(char *out, size_t capacity, const char *text)
{
    snprintf(out, capacity, "%s", text);
}

void document_shout(char *out, size_t capacity, const char *text)
{
    snprintf(out, capacity, "%s", text);
    for (; *out != '\0'; out++) {
        *out = (char)((unsigned char)*out < 0x80 ? toupper((unsigned char)*out) : *out);
    }
}

void document_marked(char *out, size_t capacity, const char *text)
{
    snprintf(out, capacity, "\xe2\x80\xb9%s\xe2\x80\xba", text);
}

struct clf_document *document_open(const char *name, const char *bytes)
{
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = name;
    return document_open_with(&options, bytes, strlen(bytes));
}

struct clf_document *document_open_with(const struct clf_document_options *options, const void *bytes,
                                        size_t size)
{
    struct clf_document *document;
    assert_ok(clf_document_open(&document, bytes, size, options));
    return document;
}

const char *document_texts(const struct clf_document *document)
{
    size_t size = 1;
    for (int i = 0; i < clf_document_count(document); i++) {
        size += clf_document_segment_at(document, i)->text_size + 1;
    }
    char *texts = support_array(size, 1);
    for (int i = 0; i < clf_document_count(document); i++) {
        strcat(texts, i > 0 ? "|" : "");
        strcat(texts, clf_document_segment_at(document, i)->text);
    }
    return texts;
}

static void set_translation(struct clf_document *document, int index, document_words *words)
{
    const struct clf_document_segment *segment = clf_document_segment_at(document, index);
    struct clf__markup_word *from, *to;
    int from_count, to_count, count = 0;
    char *text = support_array(MOST_TEXT, 1);
    words(text, MOST_TEXT, segment->text);
    assert_ok(clf__markup_words(&from, &from_count, segment->text, segment->text_size));
    assert_ok(clf__markup_words(&to, &to_count, text, strlen(text)));
    struct clf_alignment_link *links = support_array((size_t)to_count + 1, sizeof *links);
    for (; count < from_count && count < to_count; count++) {
        links[count] = (struct clf_alignment_link){from[count].start, from[count].end - from[count].start,
                                                   to[count].start, to[count].end - to[count].start};
    }
    assert_ok(clf_document_set(document, index, text, strlen(text), links, count));
    clf__free(from);
    clf__free(to);
}

void document_translate(struct clf_document *document, document_words *words)
{
    for (int i = 0; i < clf_document_count(document); i++) {
        set_translation(document, i, words);
    }
}

static void reverse(struct clf_document *document, int index)
{
    const struct clf_document_segment *segment = clf_document_segment_at(document, index);
    struct clf__markup_word *words;
    int count;
    assert_ok(clf__markup_words(&words, &count, segment->text, segment->text_size));
    char *text = support_array(segment->text_size + (size_t)count + 1, 1);
    struct clf_alignment_link *links = support_array((size_t)count + 1, sizeof *links);
    size_t size = 0;
    for (int i = 0; i < count; i++) {
        const struct clf__markup_word *word = &words[count - 1 - i];
        size_t length = word->end - word->start;
        size += i > 0 ? (size_t)sprintf(text + size, " ") : 0;
        links[i] = (struct clf_alignment_link){word->start, length, size, length};
        memcpy(text + size, segment->text + word->start, length);
        size += length;
    }
    assert_ok(clf_document_set(document, index, text, size, links, count));
    clf__free(words);
}

void document_reverse(struct clf_document *document)
{
    for (int i = 0; i < clf_document_count(document); i++) {
        reverse(document, i);
    }
}

const char *document_written(struct clf_document *document)
{
    char *bytes;
    size_t size;
    assert_ok(clf_document_write(&bytes, &size, document));
    assert_int_equal(strlen(bytes), size);
    char *copy = support_array(size + 1, 1);
    memcpy(copy, bytes, size + 1);
    clf_string_free(bytes);
    return copy;
}

static void check_equal(const char *bytes, const char *got, const char *expected)
{
    if (strcmp(got, expected) != 0) {
        fail_msg("%s\nexpected:\n%s\ngot:\n%s", bytes, expected, got);
    }
}

void document_check(const char *name, const char *bytes, document_words *words, const char *expected)
{
    struct clf_document *document = document_open(name, bytes);
    document_translate(document, words);
    check_equal(bytes, document_written(document), expected);
    clf_document_free(document);
}

void document_check_texts(const char *name, const char *bytes, const char *texts)
{
    struct clf_document *document = document_open(name, bytes);
    check_equal(bytes, document_texts(document), texts);
    clf_document_free(document);
    document_check(name, bytes, document_same, bytes);
}

void document_check_cases(const char *name, const struct document_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        document_check_texts(name, cases[i].bytes, cases[i].texts);
        document_check(name, cases[i].bytes, document_shout, cases[i].expected);
    }
}

void document_check_open(struct clf_document *document, const char *bytes, const char *texts,
                         const char *expected)
{
    check_equal(bytes, document_texts(document), texts);
    document_translate(document, document_same);
    check_equal(bytes, document_written(document), bytes);
    document_translate(document, document_shout);
    check_equal(bytes, document_written(document), expected);
}

void document_check_only(const char *name, const char *bytes, const char *translation, const char *expected)
{
    struct clf_document *document = document_open(name, bytes);
    assert_int_equal(clf_document_count(document), 1);
    assert_ok(clf_document_set(document, 0, translation, strlen(translation), NULL, 0));
    check_equal(bytes, document_written(document), expected);
    clf_document_free(document);
}

void document_check_refused(const char *name, const char *bytes, const char *message)
{
    struct clf_document *document;
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = name;
    assert_fails(clf_document_open(&document, bytes, strlen(bytes), &options), CLF_FORMAT, message);
}
