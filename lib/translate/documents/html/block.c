#include "translate/documents/html/block.h"

#include "base/memory.h"
#include "translate/documents/html/text.h"
#include "translate/documents/html/tokens.h"

int clf__html_block_add(struct clf__html_block *block, const char *bytes, struct clf__html_piece piece)
{
    size_t start = piece.start, end = piece.end;
    if (block->count == CLF__HTML_MOST_PIECES) {
        return 0;
    }
    clf__html_trim(bytes, &start, &end);
    piece.has_text = piece.kind == CLF__HTML_PIECE_TEXT && start < end;
    piece.partner = -1;
    block->pieces[block->count++] = piece;
    return 1;
}

int clf__html_block_texts(const struct clf__html_block *block, int from, int to)
{
    int count = 0;
    for (int i = from; i < to; i++) {
        count += block->pieces[i].has_text;
    }
    return count;
}

/* Finds the first and the last piece with text. */
static void find_texts(int *first, int *last, const struct clf__html_block *block, int from, int to)
{
    *first = *last = -1;
    for (int i = from; i < to; i++) {
        if (block->pieces[i].has_text) {
            *first = *first < 0 ? i : *first;
            *last = i;
        }
    }
}

int clf__html_block_pair(struct clf__html_block *block, int from, int to)
{
    int open[CLF__HTML_MOST_PIECES], depth = 0, first, last;
    for (int i = from; i < to; i++) {
        struct clf__html_piece *piece = &block->pieces[i];
        piece->partner = -1;
        if (piece->kind == CLF__HTML_PIECE_START) {
            open[depth++] = i;
        } else if (piece->kind == CLF__HTML_PIECE_END && depth > 0 &&
                   block->pieces[open[depth - 1]].name == piece->name) {
            piece->partner = open[--depth];
            block->pieces[piece->partner].partner = i;
        }
    }
    find_texts(&first, &last, block, from, to);
    for (int i = first + 1; first >= 0 && i < last; i++) {
        enum clf__html_piece_kind kind = block->pieces[i].kind;
        if ((kind == CLF__HTML_PIECE_START || kind == CLF__HTML_PIECE_END) && block->pieces[i].partner < 0) {
            return i;
        }
    }
    return -1;
}

/* Extends a range of pieces to the surrounding tags whose partner is in the range. */
static void add_tags(int *first, int *last, const struct clf__html_block *block, int from, int to)
{
    int start = *first, end = *last;
    for (int i = start - 1; i >= from; i--) {
        int partner = block->pieces[i].partner;
        start = partner >= *first && partner <= *last ? i : start;
    }
    for (int i = end + 1; i < to; i++) {
        int partner = block->pieces[i].partner;
        end = partner >= start && partner <= *last ? i : end;
    }
    *first = start;
    *last = end;
}

/* Adds text with character references, and turns runs of white space into a space. */
static clf_status add_text(struct clf__html_text *out, const char *bytes, const struct clf__html_piece *piece)
{
    size_t size;
    char *text;
    CLF__TRY(clf__html_references(&text, &size, bytes + piece->start, piece->end - piece->start));
    for (size_t i = 0; i < size; i++) {
        int is_space = clf__html_is_space(text[i]);
        if (!is_space || (out->text.size > 0 && out->text.bytes[out->text.size - 1] != ' ')) {
            clf__output_add(&out->text, is_space ? " " : text + i, 1);
        }
    }
    clf__free(text);
    return out->text.status;
}

static int is_space_at(const char *bytes, size_t at, size_t from, size_t to)
{
    return at >= from && at < to && clf__html_is_space(bytes[at]);
}

/* Begins an element; its end is set later. */
static void add_element(struct clf__html_text *out, const struct clf__html_block *block, const char *bytes,
                        int piece, int parent)
{
    const struct clf__html_piece *tag = &block->pieces[piece];
    struct clf__tags *tags = &out->tags[out->count];
    *tags = (struct clf__tags){tag->start, tag->end, tag->end, tag->end, 0, 0, 0};
    if (tag->partner >= 0) {
        tags->end = block->pieces[tag->partner].start;
        tags->end_end = block->pieces[tag->partner].end;
    }
    tags->spaces = is_space_at(bytes, tag->start - 1, out->start, out->end) * CLF__SPACE_BEFORE +
                   is_space_at(bytes, tags->end_end, out->start, out->end) * CLF__SPACE_AFTER;
    out->elements[out->count++] = (struct clf_mark){out->text.size, out->text.size, parent};
}

/* Removes white space around the content of elements and of the text. */
static void trim(struct clf__html_text *out)
{
    size_t size = out->text.size;
    const char *text = out->text.bytes;
    size -= size > 0 && text[size - 1] == ' ';
    out->text.size = size;
    for (int i = 0; i < out->count; i++) {
        struct clf_mark *element = &out->elements[i];
        element->end = element->end < size ? element->end : size;
        element->start = element->start < size ? element->start : size;
        element->start += element->start < element->end && text[element->start] == ' ';
        element->end -= element->start < element->end && text[element->end - 1] == ' ';
    }
}

clf_status clf__html_block_read(struct clf__html_text *out, const struct clf__html_block *block,
                                const char *bytes, int from, int to)
{
    int first, last, open[CLF__HTML_MOST_PIECES], depth = 0;
    find_texts(&first, &last, block, from, to);
    *out = (struct clf__html_text){.start = block->pieces[first].start, .end = block->pieces[last].end};
    size_t ignored = block->pieces[first].end;
    clf__html_trim(bytes, &out->start, &ignored);
    ignored = block->pieces[last].start;
    clf__html_trim(bytes, &ignored, &out->end);
    const size_t start = out->start, end = out->end;
    const int first_text = first, last_text = last;
    add_tags(&first, &last, block, from, to);
    out->start = first < first_text ? block->pieces[first].start : start;
    out->end = last > last_text ? block->pieces[last].end : end;
    for (int i = first; i <= last; i++) {
        struct clf__html_piece piece = block->pieces[i];
        if (piece.kind == CLF__HTML_PIECE_TEXT) {
            piece.start = i == first_text ? start : piece.start;
            piece.end = i == last_text ? end : piece.end;
            CLF__TRY(add_text(out, bytes, &piece));
        } else if (piece.kind == CLF__HTML_PIECE_END && piece.partner >= 0) {
            out->elements[open[--depth]].end = out->text.size;
        } else { /* a tag without a partner is kept like an element without content */
            add_element(out, block, bytes, i, depth > 0 ? open[depth - 1] : -1);
            if (piece.partner >= 0) {
                open[depth++] = out->count - 1;
            }
        }
    }
    trim(out);
    return CLF_OK;
}
