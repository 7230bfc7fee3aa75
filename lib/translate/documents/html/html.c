/* HTML: a segment is the text of a paragraph with its inline elements, unless it contains tags that are not
 * balanced or elements that are not translated. */
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "translate/documents/format.h"
#include "translate/documents/html/block.h"
#include "translate/documents/html/elements.h"
#include "translate/documents/html/text.h"
#include "translate/documents/html/tokens.h"

/* State of reading a document. */
struct reader {
    struct clf_document *document;
    const char *bytes;
    struct clf__html_elements elements;
    struct clf__html_block block;
    size_t counted; /* bytes whose line breaks are counted in `line` */
    int line;
};

/* Adds a segment unless it has no letters. */
static clf_status add_segment(struct reader *reader, struct clf__new_segment *segment)
{
    if (!clf__text_has_letter(segment->text, segment->size)) {
        return CLF_OK;
    }
    for (; reader->counted < segment->start; reader->counted++) {
        reader->line += reader->bytes[reader->counted] == '\n';
    }
    segment->line = reader->line;
    return clf__segments_add(&reader->document->segments, segment);
}

/* Adds a text without elements, unless it is white space. */
static clf_status add_range(struct reader *reader, size_t start, size_t end)
{
    char *text;
    clf__html_trim(reader->bytes, &start, &end);
    struct clf__new_segment segment = {.start = start, .end = end};
    if (start == end) {
        return CLF_OK;
    }
    CLF__TRY(clf__html_decode(&text, &segment.size, reader->bytes + start, end - start));
    segment.text = text;
    clf_status status = add_segment(reader, &segment);
    clf__free(text);
    return status;
}

/* Adds each line as a text. */
static clf_status add_lines(struct reader *reader, size_t start, size_t end)
{
    while (start < end) {
        const char *found = memchr(reader->bytes + start, '\n', end - start);
        size_t line_end = found != NULL ? (size_t)(found - reader->bytes) : end;
        CLF__TRY(add_range(reader, start, line_end));
        start = line_end + (found != NULL);
    }
    return CLF_OK;
}

/* Adds pieces as a plain range if they have one text, otherwise as a text with elements. */
static clf_status add_pieces(struct reader *reader, int from, int to)
{
    const struct clf__html_block *block = &reader->block;
    if (clf__html_block_texts(block, from, to) < 2) {
        for (int i = from; i < to; i++) {
            if (block->pieces[i].kind == CLF__HTML_PIECE_TEXT) {
                CLF__TRY(add_range(reader, block->pieces[i].start, block->pieces[i].end));
            }
        }
        return CLF_OK;
    }
    struct clf__html_text text;
    clf_status status = clf__html_block_read(&text, block, reader->bytes, from, to);
    struct clf__new_segment segment = {.text = text.text.bytes,
                                       .size = text.text.size,
                                       .marks = text.elements,
                                       .tags = text.tags,
                                       .count = text.count,
                                       .start = text.start,
                                       .end = text.end};
    status = status == CLF_OK ? add_segment(reader, &segment) : status;
    clf__free(text.text.bytes);
    return status;
}

/* Adds the texts of a block, divided at tags without a partner, and empties the block. */
static clf_status end_block(struct reader *reader)
{
    struct clf__html_block *block = &reader->block;
    for (int from = 0, to; from < block->count; from = to) {
        int found;
        to = block->count;
        while ((found = clf__html_block_pair(block, from, to)) >= 0) {
            to = found;
        }
        CLF__TRY(add_pieces(reader, from, to));
    }
    block->count = 0;
    return CLF_OK;
}

/* If the next token is the end tag of `start`, reads it and returns 1. */
static int is_closed(struct clf__html_tokens *tokens, const struct clf__html_token *start)
{
    struct clf__html_tokens ahead = *tokens;
    struct clf__html_token end;
    if (start->kind != CLF__HTML_START_TAG || !clf__html_next(&end, &ahead) ||
        end.kind != CLF__HTML_END_TAG ||
        clf__html_hash(tokens->bytes + start->name, start->name_size) !=
            clf__html_hash(tokens->bytes + end.name, end.name_size)) {
        return 0;
    }
    *tokens = ahead;
    return 1;
}

/* Processes a token that is not text: adds an inline tag to the block. Returns 1 if the block ends. */
static int take_tag(struct clf__html_block *block, struct clf__html_elements *elements,
                    struct clf__html_tokens *tokens, const struct clf__html_token *token)
{
    struct clf__html_piece piece = {.start = token->start, .end = token->end};
    const char *bytes = tokens->bytes;
    int is_tag = token->kind == CLF__HTML_START_TAG || token->kind == CLF__HTML_END_TAG;
    if (!is_tag) {
        piece.kind = CLF__HTML_PIECE_EMPTY;
        return elements->untranslated > 0 || elements->preformatted > 0 ||
               !clf__html_block_add(block, bytes, piece);
    }
    enum clf__html_place_kind place = clf__html_place(elements, tokens, token);
    if (place == CLF__HTML_UNTRANSLATED && is_closed(tokens, token)) {
        piece.end = tokens->at;
        piece.kind = CLF__HTML_PIECE_EMPTY;
        return !clf__html_block_add(block, bytes, piece);
    }
    clf__html_take(elements, tokens, token);
    if (place == CLF__HTML_OUTSIDE || place == CLF__HTML_UNTRANSLATED) {
        return 1;
    }
    piece.kind = place == CLF__HTML_EMPTY             ? CLF__HTML_PIECE_EMPTY
                 : token->kind == CLF__HTML_START_TAG ? CLF__HTML_PIECE_START
                                                      : CLF__HTML_PIECE_END;
    piece.name = clf__html_hash(tokens->bytes + token->name, token->name_size);
    return !clf__html_block_add(block, bytes, piece);
}

static clf_status read_token(struct reader *reader, struct clf__html_tokens *tokens,
                             const struct clf__html_token *token)
{
    const struct clf__html_piece piece = {
        .kind = CLF__HTML_PIECE_TEXT, .start = token->start, .end = token->end};
    if (token->kind != CLF__HTML_TEXT) {
        return take_tag(&reader->block, &reader->elements, tokens, token) ? end_block(reader) : CLF_OK;
    }
    if (reader->elements.untranslated > 0) {
        return CLF_OK;
    }
    if (reader->elements.preformatted > 0) {
        return add_lines(reader, token->start, token->end);
    }
    if (!clf__html_block_add(&reader->block, reader->bytes, piece)) {
        CLF__TRY(end_block(reader));
        clf__html_block_add(&reader->block, reader->bytes, piece);
    }
    return CLF_OK;
}

static clf_status read_tokens(struct reader *reader)
{
    struct clf_document *document = reader->document;
    struct clf__html_tokens tokens = {.bytes = document->bytes,
                                      .size = document->size,
                                      .at = clf__utf8_mark(document->bytes, document->size)};
    struct clf__html_token token;
    while (clf__html_next(&token, &tokens)) {
        CLF__TRY(read_token(reader, &tokens, &token));
    }
    return end_block(reader);
}

/* Returns the hashes of names that are separated by spaces. */
static clf_status read_names(unsigned **out, int *count, const char *names)
{
    int capacity = 0;
    *out = NULL;
    *count = 0;
    for (const char *at = names; *at != '\0';) {
        size_t size = strcspn(at, " ");
        if (size > 0) {
            CLF__TRY(clf__grow(out, *count, &capacity, sizeof **out));
            (*out)[(*count)++] = clf__html_hash(at, size);
        }
        at += size + strspn(at + size, " ");
    }
    return CLF_OK;
}

static clf_status read_html(struct clf_document *document)
{
    const char *names = document->options.ignored;
    struct reader *reader;
    unsigned *ignored = NULL;
    CLF__TRY(clf__allocate(&reader, 1, sizeof *reader));
    reader->document = document;
    reader->bytes = document->bytes;
    reader->line = 1;
    clf_status status = read_names(&ignored, &reader->elements.ignored_count, names != NULL ? names : "");
    if (status == CLF_OK) {
        reader->elements.ignored = ignored;
        status = read_tokens(reader);
    }
    clf__free(ignored);
    clf__free(reader);
    return status;
}

/* Returns whether a text begins with a document type or an <html> tag, after comments. */
static int is_html(const char *bytes, size_t size)
{
    struct clf__html_tokens tokens = {.bytes = bytes, .size = size};
    struct clf__html_token token;
    while (clf__html_next(&token, &tokens)) {
        size_t start = token.start, end = token.end;
        clf__html_trim(bytes, &start, &end);
        if (token.kind == CLF__HTML_START_TAG) {
            return token.name_size == 4 && strncasecmp(bytes + token.name, "html", 4) == 0;
        }
        if (token.kind == CLF__HTML_OTHER && end - start >= 14 &&
            strncasecmp(bytes + start, "<!doctype html", 14) == 0) {
            return 1;
        }
        if (token.kind != CLF__HTML_OTHER && start < end) {
            return 0;
        }
    }
    return 0;
}

static void add_text(void *user, const char *text, size_t size)
{
    clf__output_add_escaped(user, text, size);
}

static clf_status write_html(struct clf__output *out, struct clf_document *document)
{
    return clf__document_splice(out, document, add_text);
}

const struct clf__format clf__format_html = {
    .shown = {sizeof(struct clf_document_format), "html", ".html .htm", "text/html; charset=utf-8", "HTML"},
    .is = is_html,
    .read = read_html,
    .write = write_html,
    .has_references = 1,
};
