/* Writes Markdown: text is escaped where it would be markup, and the result is parsed again. */
#include <ctype.h>
#include <string.h>

#include "base/memory.h"
#include "translate/documents/html/tokens.h"
#include "translate/documents/markdown/markdown.h"

static const size_t no_line = (size_t)-1;

enum last { NOTHING, TEXT, START, END, SINGLE };

/* A segment that is being written. */
struct writer {
    struct clf__output out; /* owned */
    const struct clf__segment *segment;
    const char *bytes; /* of the tags */
    enum clf__markdown_kind kind;
    size_t line_start; /* start of the line in `out`; no_line: no block can begin there */
    int is_spaced;     /* marks are separated from words by spaces */
    enum last last;
};

static int is_word(char byte)
{
    return isalnum((unsigned char)byte) || (unsigned char)byte >= 0x80;
}

static int is_gap(char byte)
{
    return byte == '\0' || clf__html_is_space(byte);
}

/* Returns whether a byte at the start of a line would begin a block: a list, a heading, a quote. */
static int begins_block(const char *text, size_t size)
{
    char next = '\0';
    if (size > 1) {
        next = text[1];
    }
    switch (*text) {
    case '#':
    case '>':
    case '=':
    case '|':
        return 1;
    case '-':
    case '+':
        return is_gap(next) || next == *text || next == '=';
    case ':':
        return next == '-';
    default:
        return 0;
    }
}

/* Returns whether the line contains only the digits of a list number before its end. */
static int ends_number(const struct writer *writer, char next)
{
    size_t at = writer->line_start, size = writer->out.size;
    while (at < size && isdigit((unsigned char)writer->out.bytes[at])) {
        at++;
    }
    return at == size && size > writer->line_start && is_gap(next);
}

/* Returns whether a byte of a text would be markup. */
static int is_markup(const struct writer *writer, const char *text, size_t size, size_t i)
{
    char before = '\0', next = '\0';
    if (i > 0) {
        before = text[i - 1];
    } else if (writer->last == TEXT || writer->last == NOTHING) {
        before = ' ';
    }
    if (i + 1 < size) {
        next = text[i + 1];
    }
    int is_line_start = writer->out.size == writer->line_start;
    switch (text[i]) {
    case '[':
    case ']':
    case '`':
    case '~':
        return 1;
    case '*':
        return is_line_start || before != ' ' || next != ' ';
    case '_':
        return is_line_start || !((is_word(before) && is_word(next)) || (before == ' ' && next == ' '));
    case '<':
        return next == '\0' || isalpha((unsigned char)next) || strchr("/!?", next) != NULL;
    case '&':
        return clf__markdown_reference(text, size, i) > 0;
    case '\\':
        return next == '\0' || clf__markdown_is_punctuation(next);
    case '|':
        return writer->kind == CLF__MARKDOWN_CELL || is_line_start;
    case '.':
    case ')':
        return writer->line_start != no_line && ends_number(writer, next);
    default:
        break;
    }
    if (text[i] == '#' && writer->kind == CLF__MARKDOWN_HEADING) {
        return is_gap(before);
    }
    return is_line_start && begins_block(text + i, size - i);
}

static void add_gap(struct writer *writer)
{
    const struct clf__output *out = &writer->out;
    if (out->size > 0 && out->size != writer->line_start && !clf__html_is_space(out->bytes[out->size - 1])) {
        clf__output_add(&writer->out, " ", 1);
    }
}

static void add_text(void *user, const char *text, size_t size)
{
    struct writer *writer = user;
    if (writer->is_spaced && (writer->last == END || writer->last == SINGLE)) {
        add_gap(writer);
    }
    for (size_t i = 0; i < size; i++) {
        if (text[i] == ' ' && writer->out.size == writer->line_start) {
            continue; /* indentation could begin a block */
        }
        if (is_markup(writer, text, size, i)) {
            clf__output_add(&writer->out, "\\", 1);
        }
        clf__output_add(&writer->out, text + i, 1);
    }
    writer->last = TEXT;
}

static enum last kind_of(const struct writer *writer, const char *tag)
{
    size_t start = (size_t)(tag - writer->bytes);
    for (int i = 0; i < writer->segment->shown.mark_count; i++) {
        const struct clf__tags *tags = &writer->segment->tags[i];
        if (tags->end < tags->end_end && tags->end == start) {
            return END;
        }
        if (!tags->is_term && tags->start == start) {
            return tags->end < tags->end_end ? START : SINGLE;
        }
    }
    return SINGLE;
}

static void add_tag(void *user, const char *tag, size_t size)
{
    struct writer *writer = user;
    struct clf__output *out = &writer->out;
    if (size == 0) {
        return;
    }
    enum last kind = kind_of(writer, tag);
    int is_break = memchr(tag, '\n', size) != NULL || memchr(tag, '\r', size) != NULL;
    if (writer->is_spaced && !is_break && kind != END && writer->last != START) {
        add_gap(writer);
    }
    if (*tag == '[' && writer->last == TEXT && out->size > 0 && out->bytes[out->size - 1] == '!') {
        out->size--; /* "![" would begin an image */
        clf__output_add_string(out, "\\!");
    }
    if (is_break && writer->last == TEXT && strchr(" \\", *tag) != NULL) {
        out->size -= out->size > 0 && out->bytes[out->size - 1] == ' ';
    }
    clf__output_add(out, tag, size);
    size_t start = size;
    while (start > 0 && strchr(" \t>", tag[start - 1]) != NULL) {
        start--;
    }
    if (start > 0 && strchr("\r\n", tag[start - 1]) != NULL) {
        writer->line_start = out->size;
    }
    writer->last = kind;
}

/* Numbers of inline nodes. */
struct counts {
    int emphasis, strong, strikethrough, code, others;
};

static void count(struct counts *counts, const char *name)
{
    *(strcmp(name, "emph") == 0            ? &counts->emphasis
      : strcmp(name, "strong") == 0        ? &counts->strong
      : strcmp(name, "strikethrough") == 0 ? &counts->strikethrough
      : strcmp(name, "code") == 0          ? &counts->code
                                           : &counts->others) += 1;
}

/* Counts the inline nodes that the tags represent. Returns 0 if some tags are only a part of a node. */
static int count_tags(struct counts *counts, const struct writer *writer)
{
    for (int i = 0; i < writer->segment->shown.mark_count; i++) {
        const struct clf__tags *tags = &writer->segment->tags[i];
        const char *tag = writer->bytes + tags->start;
        int is_pair = tags->end < tags->end_end;
        if (tags->is_term) {
            continue;
        }
        if (*tag == '`') {
            counts->code++;
        } else if (strchr("< \\", *tag) != NULL) { /* HTML, an address, or a line break */
            counts->others += 1 + is_pair;
        } else if (is_pair && *tag == '~') {
            counts->strikethrough++;
        } else if (is_pair && (*tag == '*' || *tag == '_')) {
            *(tags->start_end - tags->start == 1 ? &counts->emphasis : &counts->strong) += 1;
        } else if (is_pair && (*tag == '[' || *tag == '!')) {
            counts->others++;
        } else if (strchr("*_~]!", *tag) != NULL || (*tag == '[' && tag[1] != '^')) {
            return 0;
        }
    }
    return 1;
}

/* Counts the inline nodes of a tree with one block. Returns 0 if it has several blocks. */
static int count_nodes(struct counts *counts, cmark_node *root)
{
    cmark_node *block = cmark_node_first_child(root), *node = block;
    if (block == NULL || cmark_node_next(block) != NULL ||
        (cmark_node_get_type(block) != CMARK_NODE_PARAGRAPH &&
         cmark_node_get_type(block) != CMARK_NODE_HEADING)) {
        return 0;
    }
    while (node != NULL) {
        const char *name = cmark_node_get_type_string(node);
        cmark_node_type type = cmark_node_get_type(node);
        if (node != block && type != CMARK_NODE_TEXT && type != CMARK_NODE_SOFTBREAK) {
            count(counts, name);
        }
        cmark_node *next = cmark_node_first_child(node);
        while (next == NULL && node != block) {
            next = cmark_node_next(node);
            node = next == NULL ? cmark_node_parent(node) : node;
        }
        node = next;
    }
    return 1;
}

static void add_definition(struct clf__output *fragment, const char *label, size_t size)
{
    clf__output_add_string(fragment, "\n\n[");
    clf__output_add(fragment, label, size);
    clf__output_add_string(fragment, "]: x");
}

/* Adds the written text as a document of its own, with definitions of the labels of its links. */
static void add_fragment(struct clf__output *fragment, const struct writer *writer)
{
    const struct clf__output *out = &writer->out;
    if (writer->kind != CLF__MARKDOWN_PARAGRAPH) {
        clf__output_add(fragment, "# ", 2);
    }
    for (size_t i = 0; i < out->size; i++) {
        clf__output_add(fragment, out->bytes + i, 1);
        while ((out->bytes[i] == '\n' || out->bytes[i] == '\r') && i + 1 < out->size &&
               strchr(" \t>", out->bytes[i + 1]) != NULL) {
            i++;
        }
    }
    for (int i = 0; i < writer->segment->shown.mark_count; i++) {
        const struct clf__tags *tags = &writer->segment->tags[i];
        const char *end = writer->bytes + tags->end;
        size_t size = tags->end_end - tags->end;
        if (size > 3 && memcmp(end, "][", 2) == 0) {
            add_definition(fragment, end + 2, size - 3);
        } else if ((size == 1 && *end == ']') || (size == 3 && memcmp(end, "][]", 3) == 0)) {
            add_definition(fragment, writer->bytes + tags->start_end, tags->end - tags->start_end);
        }
    }
    clf__output_add_string(fragment, "\n");
}

/* Returns whether the written text has the markup of the segment, and nothing else. */
static clf_status check(int *is_correct, const struct writer *writer)
{
    struct counts expected = {0}, found = {0};
    struct clf__output fragment = {.bytes = NULL};
    cmark_node *root = NULL;
    *is_correct = 0;
    int is_countable = count_tags(&expected, writer);
    add_fragment(&fragment, writer);
    clf_status status = fragment.status;
    if (status == CLF_OK) {
        status = clf__markdown_parse(&root, fragment.bytes, fragment.size);
    }
    if (status == CLF_OK) {
        int is_one = count_nodes(&found, root);
        *is_correct = is_one && (!is_countable || memcmp(&expected, &found, sizeof found) == 0);
    }
    if (root != NULL) {
        cmark_node_free(root);
    }
    clf__free(fragment.bytes);
    return status;
}

static clf_status write_once(struct writer *writer, int is_spaced)
{
    const struct clf__segment_writer to = {writer->bytes, add_text, add_tag, writer};
    writer->out.size = 0;
    clf__output_add(&writer->out, "", 0);
    writer->is_spaced = is_spaced;
    writer->line_start = writer->kind == CLF__MARKDOWN_HEADING ? no_line : 0;
    writer->last = NOTHING;
    CLF__TRY(clf__segment_write(&to, writer->segment, 0, writer->segment->translation_size));
    return writer->out.status;
}

/* Moves the tags around the whole text. */
static void put_around(struct clf_mark *moved, const struct clf__segment *segment)
{
    int parent = -1;
    for (int i = 0; i < segment->shown.mark_count; i++) {
        const struct clf__tags *tags = &segment->tags[i];
        int is_pair = tags->end < tags->end_end;
        moved[i] =
            (struct clf_mark){is_pair ? 0 : segment->translation_size, segment->translation_size, parent};
        parent = is_pair ? i : parent;
    }
}

/* Writes a segment with its tags around the whole text. */
static clf_status write_around(struct writer *writer)
{
    struct clf__segment around = *writer->segment;
    const struct clf__segment *segment = writer->segment;
    CLF__TRY(clf__allocate(&around.moved, (size_t)around.shown.mark_count, sizeof *around.moved));
    put_around(around.moved, segment);
    writer->segment = &around;
    clf_status status = write_once(writer, 1);
    writer->segment = segment;
    clf__free(around.moved);
    return status;
}

/* Writes a segment. If its marks do not become the same markup, it is written again with spaces around the
 * marks, as they need between letters of Chinese, and then with the marks around the whole text. */
static clf_status write_segment(int *is_correct, struct writer *writer)
{
    enum { ATTEMPTS = 3 };
    *is_correct = 0;
    for (int attempt = 0; attempt < ATTEMPTS && !*is_correct; attempt++) {
        CLF__TRY(attempt < 2 ? write_once(writer, attempt) : write_around(writer));
        CLF__TRY(check(is_correct, writer));
    }
    return CLF_OK;
}

static clf_status write_all(struct clf__output *out, struct writer *writer,
                            const struct clf_document *document, int *kept)
{
    const struct clf__markdown *state = document->state;
    size_t at = 0;
    for (int i = 0; i < document->segments.count; i++) {
        int is_correct;
        writer->segment = &document->segments.items[i];
        writer->kind = state->segments[i].kind;
        if (!clf__segment_is_changed(writer->segment)) {
            continue;
        }
        CLF__TRY(write_segment(&is_correct, writer));
        if (is_correct) {
            clf__output_add(out, document->bytes + at, writer->segment->start - at);
            clf__output_add(out, writer->out.bytes, writer->out.size);
            at = writer->segment->end;
        }
        *kept += !is_correct;
    }
    clf__output_add(out, document->bytes + at, document->size - at);
    return CLF_OK;
}

clf_status clf__markdown_write(struct clf__output *out, struct clf_document *document)
{
    const struct clf__markdown *state = document->state;
    struct writer writer = {.bytes = state->tags.size > 0 ? state->tags.bytes : document->bytes};
    int kept = 0;
    clf_status status = write_all(out, &writer, document, &kept);
    clf__free(writer.out.bytes);
    kept += state->lost;
    if (status != CLF_OK || kept == 0) {
        return status;
    }
    return clf__document_warn(document, "%d text%s not translated, because of markup that cannot be placed",
                              kept, kept == 1 ? "" : "s");
}
