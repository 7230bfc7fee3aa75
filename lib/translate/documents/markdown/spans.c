/* Follows the inlines of a block through its bytes. */
#include <ctype.h>
#include <string.h>

#include "base/memory.h"
#include "translate/documents/html/tokens.h"
#include "translate/documents/markdown/markdown.h"

static const char *text_at(const struct clf__markdown_spans *spans)
{
    return spans->content.text.bytes + spans->at;
}

static size_t left(const struct clf__markdown_spans *spans)
{
    return spans->content.text.size - spans->at;
}

static size_t place(const struct clf__markdown_spans *spans, size_t at)
{
    return spans->content.places[at];
}

static int begins_with(const struct clf__markdown_spans *spans, const char *word, size_t size)
{
    return size <= left(spans) && memcmp(text_at(spans), word, size) == 0;
}

clf_status clf__markdown_spans_end(struct clf__markdown_spans *spans)
{
    struct clf__markdown *state = spans->state;
    struct clf__segments *segments = &spans->document->segments;
    int count = segments->count;
    CLF__TRY(clf__inlines_end(&spans->inlines, spans->document, spans->line));
    if (segments->count > count) {
        CLF__TRY(clf__grow(&state->segments, state->segment_count, &state->segment_capacity,
                           sizeof *state->segments));
        state->segments[state->segment_count++] =
            (struct clf__markdown_segment){segments->items[count].start, spans->kind};
    }
    return CLF_OK;
}

/* Divides the text if another mark would not fit. */
static clf_status make_space(struct clf__markdown_spans *spans)
{
    return clf__inlines_are_full(&spans->inlines) ? clf__markdown_spans_end(spans) : CLF_OK;
}

/* Adds the next bytes as a mark without content. */
static clf_status add_single(struct clf__markdown_spans *spans, size_t size)
{
    if (size == 0 || size > left(spans)) {
        spans->is_lost = 1;
        return CLF_OK;
    }
    CLF__TRY(make_space(spans));
    size_t start = place(spans, spans->at), end = place(spans, spans->at + size - 1) + 1;
    spans->at += size;
    clf__inlines_single(&spans->inlines, spans->document->bytes, start, end);
    return CLF_OK;
}

/* Returns the size of an address such as "https://example.org/a" at a position, without the punctuation marks
 * after it. */
static size_t address_size(const char *text, size_t size)
{
    static const char *const starts[] = {"http://", "https://", "ftp://", "www.", "mailto:"};
    size_t length = 0;
    for (size_t i = 0; i < sizeof starts / sizeof *starts && length == 0; i++) {
        size_t start = strlen(starts[i]);
        length = start < size && memcmp(text, starts[i], start) == 0 ? start : 0;
    }
    while (length > 0 && length < size && !clf__html_is_space(text[length]) && text[length] != '<') {
        length++;
    }
    while (length > 0 && strchr("?!.,:;*_~'\")]}", text[length - 1]) != NULL) {
        length--;
    }
    return length;
}

/* Decodes the character reference at the position, of which cmark-gfm's parser has the table. Returns its
 * size; 0: text. */
static clf_status read_reference(char *out, size_t capacity, size_t *size,
                                 const struct clf__markdown_spans *spans)
{
    cmark_node *root;
    *size = clf__markdown_reference(spans->content.text.bytes, spans->content.text.size, spans->at);
    if (*size == 0) {
        return CLF_OK;
    }
    CLF__TRY(clf__markdown_parse(&root, text_at(spans), *size));
    cmark_node *paragraph = cmark_node_first_child(root);
    cmark_node *text = paragraph != NULL ? cmark_node_first_child(paragraph) : NULL;
    const char *literal = text != NULL ? cmark_node_get_literal(text) : NULL;
    size_t length = literal != NULL ? strlen(literal) : 0;
    if (length == 0 || length >= capacity ||
        (length == *size && memcmp(literal, text_at(spans), length) == 0)) {
        *size = 0;
    } else {
        memcpy(out, literal, length + 1);
    }
    cmark_node_free(root);
    return CLF_OK;
}

/* Adds the character at the position, which represents the start of a literal; returns its size in the
 * literal, or 0 if they do not agree. */
static clf_status add_character(size_t *taken, struct clf__markdown_spans *spans, const char *literal)
{
    char decoded[32];
    const char *text = text_at(spans);
    size_t size = 1, from = spans->at;
    *taken = 0;
    if (*text == '&') {
        CLF__TRY(read_reference(decoded, sizeof decoded, &size, spans));
        size_t length = size > 0 ? strlen(decoded) : 0;
        if (length > 0 && strncmp(literal, decoded, length) == 0) {
            spans->at += size;
            clf__inlines_text(&spans->inlines, decoded, length, place(spans, from),
                              place(spans, spans->at - 1) + 1);
            *taken = length;
            return CLF_OK;
        }
        size = 1;
    }
    if (*text == '\\' && left(spans) > 1 && clf__markdown_is_punctuation(text[1]) && text[1] == *literal) {
        size = 2;
    }
    if (size == 2 || *text == *literal) {
        spans->at += size;
        clf__inlines_text(&spans->inlines, literal, 1, place(spans, from), place(spans, spans->at - 1) + 1);
        *taken = 1;
    }
    return CLF_OK;
}

static int is_word(char byte)
{
    return isalnum((unsigned char)byte) || (unsigned char)byte >= 0x80;
}

/* Returns whether a byte of a literal is white space at the start of a line, which the content does not have.
 */
static int is_indentation(const struct clf__markdown_spans *spans, char byte)
{
    return (byte == ' ' || byte == '\t') && spans->at > 0 &&
           spans->content.text.bytes[spans->at - 1] == '\n' && !begins_with(spans, &byte, 1);
}

/* Adds a text node. */
static clf_status add_text(struct clf__markdown_spans *spans, const char *literal)
{
    size_t size = strlen(literal), taken;
    for (size_t i = 0; i < size && !spans->is_lost; i += taken) {
        const char *text = literal + i;
        taken = strchr("{$%", *text) != NULL   ? clf__placeholder_size(text, size - i)
                : i == 0 || !is_word(text[-1]) ? address_size(text, size - i)
                                               : 0;
        if (taken > 0 && begins_with(spans, text, taken)) {
            CLF__TRY(add_single(spans, taken));
            continue;
        }
        taken = is_indentation(spans, *text); /* of a line without the markers of its block */
        if (taken == 0 && left(spans) > 0) {
            CLF__TRY(add_character(&taken, spans, text));
        }
        spans->is_lost = taken == 0;
    }
    return CLF_OK;
}

/* Adds a line break. A hard one is a mark: two spaces or a backslash, and the start of the next line. */
static void add_break(struct clf__markdown_spans *spans, int is_hard)
{
    size_t start = spans->at;
    const char *text = spans->content.text.bytes;
    while (left(spans) > 0 && strchr(is_hard ? " \\" : " \t", text[spans->at]) != NULL) {
        spans->at++;
    }
    if (left(spans) == 0 || text[spans->at] != '\n') {
        spans->is_lost = 1;
        return;
    }
    spans->at++;
    size_t from = place(spans, start), to = place(spans, spans->at);
    if (is_hard) {
        clf__inlines_separator(&spans->inlines, spans->document->bytes, from, to);
    } else {
        clf__inlines_text(&spans->inlines, " ", 1, from, to);
    }
}

/* Returns the size of a code span. */
static size_t code_size(const struct clf__markdown_spans *spans)
{
    const char *text = text_at(spans);
    size_t size = left(spans), ticks = 0;
    while (ticks < size && text[ticks] == '`') {
        ticks++;
    }
    for (size_t at = ticks; ticks > 0 && at < size;) {
        size_t run = 0;
        while (at + run < size && text[at + run] == '`') {
            run++;
        }
        if (run == ticks) {
            return at + run;
        }
        at += run > 0 ? run : 1;
    }
    return 0;
}

/* Returns the size up to a byte, with it; 0: there is none. */
static size_t size_to(const struct clf__markdown_spans *spans, char byte)
{
    const char *text = text_at(spans), *found = memchr(text, byte, left(spans));
    return found != NULL ? (size_t)(found - text) + 1 : 0;
}

/* Adds an HTML tag or comment. */
static clf_status add_html(struct clf__markdown_spans *spans, const char *literal)
{
    size_t size = strlen(literal);
    if (!begins_with(spans, literal, size) || size == 0) {
        spans->is_lost = 1;
        return CLF_OK;
    }
    size_t from = place(spans, spans->at), to = place(spans, spans->at + size - 1) + 1;
    CLF__TRY(make_space(spans));
    size_t taken =
        to - from == size ? clf__inlines_markup(&spans->inlines, spans->document->bytes, from, to) : 0;
    if (taken == 0) { /* a comment, or a tag on several lines */
        return add_single(spans, size);
    }
    spans->is_lost = taken != size;
    spans->at += size;
    return CLF_OK;
}

/* Begins a node that contains others: its start tag has `size` bytes. */
static clf_status open_node(struct clf__markdown_spans *spans, size_t size)
{
    if (spans->depth == CLF__MOST_INLINES || size == 0 || size > left(spans)) {
        spans->is_lost = 1;
        return CLF_OK;
    }
    CLF__TRY(make_space(spans));
    unsigned name = ++spans->names;
    spans->open[spans->depth++] = (struct clf__markdown_open){name, spans->at + size, size};
    clf__inlines_open(&spans->inlines, spans->document->bytes, name, place(spans, spans->at),
                      place(spans, spans->at + size - 1) + 1);
    spans->at += size;
    return CLF_OK;
}

/* Ends a node. Returns its mark in the inlines. */
static clf_status close_node(int *mark, struct clf__markdown_spans *spans, size_t size)
{
    struct clf__inlines *inlines = &spans->inlines;
    *mark = -1;
    if (spans->depth == 0 || size == 0 || size > left(spans)) {
        spans->is_lost = 1;
        return CLF_OK;
    }
    unsigned name = spans->open[--spans->depth].name;
    int found = inlines->depth - 1;
    while (found >= 0 && inlines->names[inlines->open[found]] != name) {
        found--;
    }
    if (found < 0) {
        CLF__TRY(make_space(spans));
    }
    *mark = found >= 0 ? inlines->open[found] : inlines->count;
    clf__inlines_close(inlines, spans->document->bytes, name, place(spans, spans->at),
                       place(spans, spans->at + size - 1) + 1);
    spans->at += size;
    return CLF_OK;
}

/* Replaces the end tag of a link whose text is its label: "]" becomes "][label]". */
static clf_status add_label(struct clf__markdown_spans *spans, int mark, size_t start, size_t end)
{
    struct clf__output *tags = &spans->state->tags;
    struct clf__tags *tag = &spans->inlines.tags[mark];
    if (tags->size == 0) {
        clf__output_add(tags, spans->document->bytes, spans->document->size);
    }
    size_t from = tags->size;
    clf__output_add(tags, "][", 2);
    for (size_t i = start; i < end; i++) {
        char byte = spans->content.text.bytes[i];
        clf__output_add(tags, byte == '\n' ? " " : &byte, 1);
    }
    clf__output_add(tags, "]", 1);
    if (tag->end < tag->end_end) {
        tag->end = from;
        tag->end_end = tags->size;
    } else {
        tag->start = from;
        tag->start_end = tag->end = tag->end_end = tags->size;
    }
    return tags->status;
}

static clf_status close_link(struct clf__markdown_spans *spans)
{
    const struct clf__output *text = &spans->content.text;
    size_t end = spans->at;
    int mark;
    if (left(spans) == 0 || *text_at(spans) != ']' || spans->depth == 0) {
        spans->is_lost = 1;
        return CLF_OK;
    }
    size_t label = spans->open[spans->depth - 1].text;
    struct clf__markdown_tail tail = clf__markdown_read_tail(text->bytes, text->size, spans->at + 1);
    CLF__TRY(close_node(&mark, spans, 1 + tail.size));
    int is_empty = mark >= 0 && spans->inlines.marks[mark].start == spans->inlines.text.size;
    return mark >= 0 && !tail.has_label && !is_empty ? add_label(spans, mark, label, end) : CLF_OK;
}

/* Takes a link or an image: "[text](target)", "![text][label]" or "<target>". */
static clf_status take_link(struct clf__markdown_spans *spans, int is_start, int is_image,
                            const cmark_node *node)
{
    if (!is_start) {
        return close_link(spans);
    }
    if (!is_image && begins_with(spans, "<", 1)) {
        spans->skip = node;
        return add_single(spans, size_to(spans, '>'));
    }
    const char *tag = is_image ? "![" : "[";
    return open_node(spans, begins_with(spans, tag, strlen(tag)) ? strlen(tag) : 0);
}

/* Takes emphasis: one or two of the same byte before and after a text. */
static clf_status take_emphasis(struct clf__markdown_spans *spans, int is_start, size_t size,
                                const char *bytes)
{
    const char *text = text_at(spans);
    int mark, is_here = left(spans) >= size && strchr(bytes, *text) != NULL;
    for (size_t i = 1; is_here && i < size; i++) {
        is_here = text[i] == *text;
    }
    if (is_start) {
        return open_node(spans, is_here ? size : 0);
    }
    return close_node(&mark, spans, is_here ? size : 0);
}

/* Strikethrough has one or two tildes. */
static clf_status take_strikethrough(struct clf__markdown_spans *spans, int is_start)
{
    size_t size = is_start           ? 1 + (size_t)begins_with(spans, "~~", 2)
                  : spans->depth > 0 ? spans->open[spans->depth - 1].size
                                     : 0;
    return take_emphasis(spans, is_start, size, "~");
}

static clf_status take(struct clf__markdown_spans *spans, int is_start, cmark_node *node)
{
    const char *literal = cmark_node_get_literal(node);
    switch (cmark_node_get_type(node)) {
    case CMARK_NODE_TEXT:
        return add_text(spans, literal);
    case CMARK_NODE_SOFTBREAK:
        add_break(spans, 0);
        return CLF_OK;
    case CMARK_NODE_LINEBREAK:
        CLF__TRY(make_space(spans));
        add_break(spans, 1);
        return CLF_OK;
    case CMARK_NODE_CODE:
        return add_single(spans, code_size(spans));
    case CMARK_NODE_HTML_INLINE:
        return add_html(spans, literal);
    case CMARK_NODE_FOOTNOTE_REFERENCE:
        return !is_start ? CLF_OK : add_single(spans, begins_with(spans, "[^", 2) ? size_to(spans, ']') : 0);
    case CMARK_NODE_EMPH:
        return take_emphasis(spans, is_start, 1, "*_");
    case CMARK_NODE_STRONG:
        return take_emphasis(spans, is_start, 2, "*_");
    case CMARK_NODE_LINK:
        return take_link(spans, is_start, 0, node);
    case CMARK_NODE_IMAGE:
        return take_link(spans, is_start, 1, node);
    default:
        break;
    }
    if (strcmp(cmark_node_get_type_string(node), "strikethrough") == 0) {
        return take_strikethrough(spans, is_start);
    }
    spans->is_lost = 1;
    return CLF_OK;
}

clf_status clf__markdown_spans_take(struct clf__markdown_spans *spans, cmark_event_type event,
                                    cmark_node *node)
{
    if (spans->skip == node) {
        spans->skip = NULL;
        return CLF_OK;
    }
    return spans->is_lost || spans->skip != NULL ? CLF_OK : take(spans, event == CMARK_EVENT_ENTER, node);
}
