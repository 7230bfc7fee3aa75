#include "serve/html.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "serve/html_elements.h"
#include "serve/html_text.h"

/* The bytes of a text in a document. */
struct range {
    size_t document, start, end;
};

struct html {
    unsigned ignored[HTML_MOST_IGNORED]; /* (ignored_count) */
    int ignored_count;
    json_t *documents, *texts; /* owned */
    struct range *ranges;      /* (count) one per text */
    size_t count, most, capacity;
};

int html_exists(void)
{
    return html_text_exists();
}

static int add_range(struct html *html, struct range range)
{
    size_t used = json_array_size(html->texts);
    if (used == html->capacity) {
        size_t capacity = html->capacity * 2 + 16;
        struct range *grown = realloc(html->ranges, capacity * sizeof *grown);
        if (grown == NULL) {
            return 0;
        }
        html->ranges = grown;
        html->capacity = capacity;
    }
    html->ranges[used] = range;
    return 1;
}

/* Adds a text unless it is white space or has no letters; returns 0 if out of memory. */
static int add_text(struct html *html, const char *bytes, struct range range)
{
    size_t size;
    html_text_trim(bytes, &range.start, &range.end);
    if (range.start == range.end) {
        return 1;
    }
    char *text = html_text_decode(&size, bytes + range.start, range.end - range.start);
    int is_ok = text != NULL;
    if (is_ok && html_text_has_letter(text, size) && html->count++ < html->most) {
        is_ok = add_range(html, range) && json_array_append_new(html->texts, json_stringn(text, size)) == 0;
    }
    free(text);
    return is_ok;
}

/* Adds each line as a text. */
static int add_lines(struct html *html, const char *bytes, struct range range)
{
    int is_ok = 1;
    for (size_t start = range.start; start < range.end && is_ok;) {
        const char *found = memchr(bytes + start, '\n', range.end - start);
        size_t end = found != NULL ? (size_t)(found - bytes) : range.end;
        is_ok = add_text(html, bytes, (struct range){range.document, start, end});
        start = end + (found != NULL);
    }
    return is_ok;
}

static int read_document(struct html *html, size_t document)
{
    const json_t *string = json_array_get(html->documents, document);
    struct html_tokens tokens = {.bytes = json_string_value(string), .size = json_string_length(string)};
    struct html_elements elements = {.ignored = html->ignored, .ignored_count = html->ignored_count};
    struct html_token token;
    int is_ok = 1;
    while (is_ok && html_next(&token, &tokens)) {
        if (token.kind != HTML_TEXT) {
            html_elements_take(&elements, &tokens, &token);
        } else if (elements.untranslated == 0) {
            struct range range = {document, token.start, token.end};
            is_ok = (elements.preformatted > 0 ? add_lines : add_text)(html, tokens.bytes, range);
        }
    }
    return is_ok;
}

clf_status html_read(struct html **out, const json_t *documents, size_t most, const json_t *ignored)
{
    struct html *html = *out = calloc(1, sizeof *html);
    int is_ok = html != NULL;
    if (is_ok) {
        html->most = most;
        html->documents = json_incref((json_t *)documents);
        html->texts = json_array();
        is_ok = html->texts != NULL;
    }
    for (size_t i = 0; is_ok && i < json_array_size(ignored) && i < HTML_MOST_IGNORED; i++) {
        const json_t *name = json_array_get(ignored, i);
        html->ignored[html->ignored_count++] =
            html_name_hash(json_string_value(name), json_string_length(name));
    }
    for (size_t i = 0; i < json_array_size(documents) && is_ok; i++) {
        is_ok = read_document(html, i);
    }
    if (!is_ok) {
        html_free(html);
        *out = NULL;
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the HTML in a request");
    }
    return CLF_OK;
}

void html_free(struct html *html)
{
    if (html != NULL) {
        json_decref(html->documents);
        json_decref(html->texts);
        free(html->ranges);
        free(html);
    }
}

size_t html_count(const struct html *html)
{
    return html->count;
}

const json_t *html_texts(const struct html *html)
{
    return html->texts;
}

/* Returns a document with its translations; *next is the index of its first text. */
static json_t *join_document(const struct html *html, size_t document, const json_t *translations,
                             size_t *next)
{
    const json_t *string = json_array_get(html->documents, document);
    const char *bytes = json_string_value(string);
    size_t at = 0, size = 0;
    char *joined = NULL;
    FILE *file = open_memstream(&joined, &size);
    if (file == NULL) {
        return NULL;
    }
    for (; *next < json_array_size(html->texts) && html->ranges[*next].document == document; (*next)++) {
        const json_t *translation = json_array_get(translations, *next);
        if (!json_equal(translation, json_array_get(html->texts, *next))) {
            fwrite(bytes + at, 1, html->ranges[*next].start - at, file);
            html_text_write(file, json_string_value(translation), json_string_length(translation));
            at = html->ranges[*next].end;
        }
    }
    fwrite(bytes + at, 1, json_string_length(string) - at, file);
    int failed = ferror(file);
    json_t *result = fclose(file) == 0 && !failed ? json_stringn(joined, size) : NULL;
    free(joined);
    return result;
}

json_t *html_join(const struct html *html, const json_t *translations)
{
    json_t *result = json_array();
    size_t next = 0;
    for (size_t i = 0; i < json_array_size(html->documents) && result != NULL; i++) {
        if (json_array_append_new(result, join_document(html, i, translations, &next)) != 0) {
            json_decref(result);
            result = NULL;
        }
    }
    return result;
}
