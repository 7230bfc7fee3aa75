#include "serve/html.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "serve/html_block.h"
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
    struct range *ranges;      /* (texts) */
    struct html_inline **tags; /* (texts) owned; the tags of the elements in `marks` */
    struct marks marks;        /* of the texts */
    size_t count, most, capacity;
};

int html_exists(void)
{
    return html_text_exists();
}

static int grow(struct html *html)
{
    if (json_array_size(html->texts) < html->capacity) {
        return 1;
    }
    size_t capacity = html->capacity * 2 + 16;
    struct range *ranges = realloc(html->ranges, capacity * sizeof *ranges);
    html->ranges = ranges != NULL ? ranges : html->ranges;
    struct html_inline **tags = realloc((void *)html->tags, capacity * sizeof *tags);
    html->tags = tags != NULL ? tags : html->tags;
    html->capacity = ranges != NULL && tags != NULL ? capacity : html->capacity;
    return ranges != NULL && tags != NULL;
}

/* Adds a text unless it has no letters; returns 0 if out of memory. */
static int add_text(struct html *html, const struct html_block_text *text, size_t document)
{
    if (!html_text_has_letter(text->text, text->size) || html->count++ >= html->most) {
        return 1;
    }
    size_t index = json_array_size(html->texts), bytes = (size_t)text->count * sizeof *text->inlines;
    struct html_inline *tags = text->count > 0 ? malloc(bytes) : NULL;
    if ((text->count > 0 && tags == NULL) || !grow(html) ||
        json_array_append_new(html->texts, json_stringn(text->text, text->size)) != 0) {
        free(tags);
        return 0;
    }
    if (tags != NULL) {
        memcpy(tags, text->inlines, bytes);
    }
    html->ranges[index] = (struct range){document, text->start, text->end};
    html->tags[index] = tags;
    return marks_add(&html->marks, text->elements, text->count);
}

/* Adds a text without elements, unless it is white space. */
static int add_range(struct html *html, const char *bytes, struct range range)
{
    struct html_block_text text = {.count = 0};
    html_text_trim(bytes, &range.start, &range.end);
    if (range.start == range.end) {
        return 1;
    }
    text.text = html_text_decode(&text.size, bytes + range.start, range.end - range.start);
    text.start = range.start;
    text.end = range.end;
    int is_ok = text.text != NULL && add_text(html, &text, range.document);
    free(text.text);
    return is_ok;
}

/* Adds each line as a text. */
static int add_lines(struct html *html, const char *bytes, struct range range)
{
    int is_ok = 1;
    for (size_t start = range.start; start < range.end && is_ok;) {
        const char *found = memchr(bytes + start, '\n', range.end - start);
        size_t end = found != NULL ? (size_t)(found - bytes) : range.end;
        is_ok = add_range(html, bytes, (struct range){range.document, start, end});
        start = end + (found != NULL);
    }
    return is_ok;
}

/* Adds the only text of pieces, or one with elements. */
static int add_pieces(struct html *html, const struct html_block *block, const char *bytes, size_t document,
                      int from, int to)
{
    struct html_block_text text;
    if (html_block_texts(block, from, to) < 2) {
        int is_ok = 1;
        for (int i = from; i < to && is_ok; i++) {
            const struct html_piece *piece = &block->pieces[i];
            is_ok = piece->kind != HTML_PIECE_TEXT ||
                    add_range(html, bytes, (struct range){document, piece->start, piece->end});
        }
        return is_ok;
    }
    if (!html_block_read(&text, block, bytes, from, to)) {
        return 0;
    }
    int is_ok = add_text(html, &text, document);
    free(text.text);
    return is_ok;
}

/* Adds the texts of a block, which tags without a partner divide, and empties the block. */
static int end_block(struct html *html, struct html_block *block, const char *bytes, size_t document)
{
    int from = 0, is_ok = 1;
    while (from < block->count && is_ok) {
        int to = block->count, found;
        while ((found = html_block_pair(block, from, to)) >= 0) {
            to = found;
        }
        is_ok = add_pieces(html, block, bytes, document, from, to);
        from = to;
    }
    block->count = 0;
    return is_ok;
}

/* Returns 1 if the next token is the end tag of a start tag; reads it. */
static int is_closed(struct html_tokens *tokens, const struct html_token *start)
{
    struct html_tokens ahead = *tokens;
    struct html_token end;
    if (start->kind != HTML_START_TAG || !html_next(&end, &ahead) || end.kind != HTML_END_TAG ||
        html_name_hash(tokens->bytes + start->name, start->name_size) !=
            html_name_hash(tokens->bytes + end.name, end.name_size)) {
        return 0;
    }
    *tokens = ahead;
    return 1;
}

/* Reads a token that is not text: adds it to the block if it is inline. Returns 1 if the block ends. */
static int take_tag(struct html_block *block, struct html_elements *elements, struct html_tokens *tokens,
                    const struct html_token *token)
{
    struct html_piece piece = {.start = token->start, .end = token->end};
    const char *bytes = tokens->bytes;
    int is_tag = token->kind == HTML_START_TAG || token->kind == HTML_END_TAG;
    if (!is_tag) {
        piece.kind = HTML_PIECE_EMPTY;
        return elements->untranslated > 0 || elements->preformatted > 0 ||
               !html_block_add(block, bytes, piece);
    }
    enum html_place place = html_elements_place(elements, tokens, token);
    if (place == HTML_UNTRANSLATED && is_closed(tokens, token)) {
        piece.end = tokens->at;
        piece.kind = HTML_PIECE_EMPTY;
        return !html_block_add(block, bytes, piece);
    }
    html_elements_take(elements, tokens, token);
    if (place == HTML_OUTSIDE || place == HTML_UNTRANSLATED) {
        return 1;
    }
    piece.kind = place == HTML_EMPTY             ? HTML_PIECE_EMPTY
                 : token->kind == HTML_START_TAG ? HTML_PIECE_START
                                                 : HTML_PIECE_END;
    piece.name = html_name_hash(tokens->bytes + token->name, token->name_size);
    return !html_block_add(block, bytes, piece);
}

static int read_document(struct html *html, size_t document)
{
    const json_t *string = json_array_get(html->documents, document);
    struct html_tokens tokens = {.bytes = json_string_value(string), .size = json_string_length(string)};
    struct html_elements elements = {.ignored = html->ignored, .ignored_count = html->ignored_count};
    struct html_block block = {.count = 0};
    struct html_token token;
    int is_ok = 1;
    while (is_ok && html_next(&token, &tokens)) {
        struct html_piece piece = {.kind = HTML_PIECE_TEXT, .start = token.start, .end = token.end};
        if (token.kind != HTML_TEXT) {
            is_ok = !take_tag(&block, &elements, &tokens, &token) ||
                    end_block(html, &block, tokens.bytes, document);
        } else if (elements.preformatted > 0 && elements.untranslated == 0) {
            is_ok = add_lines(html, tokens.bytes, (struct range){document, token.start, token.end});
        } else if (elements.untranslated == 0 && !html_block_add(&block, tokens.bytes, piece)) {
            is_ok = end_block(html, &block, tokens.bytes, document) &&
                    html_block_add(&block, tokens.bytes, piece);
        }
    }
    return is_ok && end_block(html, &block, tokens.bytes, document);
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
        for (size_t i = 0; i < json_array_size(html->texts); i++) {
            free(html->tags[i]);
        }
        json_decref(html->documents);
        json_decref(html->texts);
        marks_free(&html->marks);
        free(html->ranges);
        free((void *)html->tags);
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

const struct marks *html_marks(const struct html *html)
{
    return &html->marks;
}

/* The output of a translation with its elements. */
struct writer {
    FILE *file;
    const char *bytes, *text; /* the document and the translation */
    size_t size;              /* of the translation */
    const struct html_inline *tags;
    const struct clf_mark *elements;
};

/* Writes an element without content, with the spaces around it that the text had. */
static void write_empty(const struct writer *writer, int element)
{
    const struct html_inline *tags = &writer->tags[element];
    size_t at = writer->elements[element].start;
    if (at > 0 && tags->spaces & HTML_SPACE_BEFORE && !html_is_space(writer->text[at - 1])) {
        putc(' ', writer->file);
    }
    fwrite(writer->bytes + tags->start, 1, tags->start_end - tags->start, writer->file);
    fwrite(writer->bytes + tags->end, 1, tags->end_end - tags->end, writer->file);
    if (at < writer->size && tags->spaces == (HTML_SPACE_BEFORE | HTML_SPACE_AFTER) &&
        !html_is_space(writer->text[at])) {
        putc(' ', writer->file);
    }
}

static int write_part(void *user, enum clf__markup_event event, int element, size_t start, size_t end)
{
    const struct writer *writer = user;
    if (event == CLF__MARKUP_TEXT) {
        html_text_write(writer->file, writer->text + start, end - start);
        return 1;
    }
    const struct html_inline *tags = &writer->tags[element];
    int is_start = event == CLF__MARKUP_START;
    if (tags->end == tags->end_end) { /* there is only the first tag */
        if (is_start) {
            write_empty(writer, element);
        }
    } else if (is_start) {
        fwrite(writer->bytes + tags->start, 1, tags->start_end - tags->start, writer->file);
    } else {
        fwrite(writer->bytes + tags->end, 1, tags->end_end - tags->end, writer->file);
    }
    return 1;
}

/* Returns a document with its translations; *next is the index of its first text. */
static json_t *join_document(const struct html *html, size_t document, const json_t *translations,
                             const struct marks *marks, size_t *next)
{
    const json_t *string = json_array_get(html->documents, document);
    const char *bytes = json_string_value(string);
    size_t at = 0, size = 0;
    char *joined = NULL;
    FILE *file = open_memstream(&joined, &size);
    int is_ok = file != NULL;
    for (; is_ok && *next < json_array_size(html->texts) && html->ranges[*next].document == document;
         (*next)++) {
        const json_t *translation = json_array_get(translations, *next);
        const struct marked_text *marked = &marks->texts[*next];
        if (!json_equal(translation, json_array_get(html->texts, *next))) {
            struct writer writer = {file,
                                    bytes,
                                    json_string_value(translation),
                                    json_string_length(translation),
                                    html->tags[*next],
                                    marked->elements};
            fwrite(bytes + at, 1, html->ranges[*next].start - at, file);
            is_ok = clf__markup_write(marked->elements, marked->count, writer.size, write_part, &writer) ==
                    CLF_OK;
            at = html->ranges[*next].end;
        }
    }
    if (file == NULL) {
        return NULL;
    }
    fwrite(bytes + at, 1, json_string_length(string) - at, file);
    int failed = ferror(file) || !is_ok;
    json_t *result = fclose(file) == 0 && !failed ? json_stringn(joined, size) : NULL;
    free(joined);
    return result;
}

json_t *html_join(const struct html *html, const json_t *translations, const struct marks *marks)
{
    json_t *result = json_array();
    size_t next = 0;
    for (size_t i = 0; i < json_array_size(html->documents) && result != NULL; i++) {
        if (json_array_append_new(result, join_document(html, i, translations, marks, &next)) != 0) {
            json_decref(result);
            result = NULL;
        }
    }
    return result;
}
