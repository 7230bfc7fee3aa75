/* Markdown: the text of paragraphs, headings and table cells. Code, HTML blocks, front matter, link targets
 * and definitions are kept; inline markup is kept as marks. */
#include "translate/documents/markdown/markdown.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* State of reading a document. */
struct reader {
    struct clf_document *document;
    const char *bytes;
    struct clf__text_line *lines; /* (line_count) from the first line that cmark-gfm receives */
    int line_count, line_capacity;
    int quotes;             /* depth of block quotes */
    const cmark_node *leaf; /* the block whose inlines follow; NULL: none */
    int row;                /* line of the current row, as an index of `lines` */
    size_t cell;            /* start of the next cell */
    struct clf__markdown_spans spans;
};

static int is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* Returns whether a line contains one of the words, which are separated by spaces, and nothing else. */
static int is_line(const char *bytes, const struct clf__text_line *line, const char *words)
{
    size_t end = line->end;
    while (end > line->start && is_blank(bytes[end - 1])) {
        end--;
    }
    for (; *words != '\0'; words += strspn(words, " ")) {
        size_t size = strcspn(words, " ");
        if (size == end - line->start && memcmp(bytes + line->start, words, size) == 0) {
            return 1;
        }
        words += size;
    }
    return 0;
}

/* Returns the line before the text: the last line of the front matter (YAML between "---" lines, or TOML
 * between "+++" lines), if there is one. */
static struct clf__text_line skip_front_matter(const char *bytes, size_t size)
{
    const struct clf__text_line start = {.next = clf__utf8_mark(bytes, size)};
    struct clf__text_line line = start;
    if (!clf__text_line_next(&line, bytes, size) || !is_line(bytes, &line, "--- +++")) {
        return start;
    }
    const char *end = bytes[line.start] == '-' ? "--- ..." : "+++";
    while (clf__text_line_next(&line, bytes, size)) {
        if (is_line(bytes, &line, end)) {
            return line;
        }
    }
    return start;
}

static clf_status read_lines(struct reader *reader, struct clf__text_line line)
{
    while (clf__text_line_next(&line, reader->bytes, reader->document->size)) {
        CLF__TRY(
            clf__grow(&reader->lines, reader->line_count, &reader->line_capacity, sizeof *reader->lines));
        reader->lines[reader->line_count++] = line;
    }
    return CLF_OK;
}

/* Returns the start of the text of a line after the markers of block quotes and the indentation of lists. */
static size_t skip_markers(const struct reader *reader, const struct clf__text_line *line)
{
    size_t at = line->start;
    for (int quotes = reader->quotes;; quotes--) {
        while (at < line->end && is_blank(reader->bytes[at])) {
            at++;
        }
        if (quotes == 0 || at == line->end || reader->bytes[at] != '>') {
            return at;
        }
        at++;
    }
}

static int header_line(const struct reader *reader, cmark_node *table);

/* Finds the lines of a block. Returns 0 if they are not in the document. A paragraph that ends in the header
 * of a table has no lines in cmark-gfm. */
static int find_lines(int *first, int *last, const struct reader *reader, cmark_node *node)
{
    cmark_node *next = cmark_node_next(node);
    *first = cmark_node_get_start_line(node) - 1;
    *last = cmark_node_get_end_line(node) - 1;
    if (*first < 0 && next != NULL && strcmp(cmark_node_get_type_string(next), "table") == 0) {
        *first = cmark_node_get_start_line(next) - 1;
        *last = header_line(reader, next) - 1;
    }
    *last = *last < *first ? *first : *last;
    return *first >= 0 && *last < reader->line_count;
}

/* Returns the start of a block in its first line. */
static size_t start_of(const struct reader *reader, int line, cmark_node *node)
{
    size_t start = reader->lines[line].start + (size_t)cmark_node_get_start_column(node) - 1;
    return start < reader->lines[line].end ? start : reader->lines[line].end;
}

/* Collects the text of a paragraph or a heading. */
static clf_status read_block(struct reader *reader, cmark_node *node)
{
    struct clf__markdown_spans *spans = &reader->spans;
    const char *bytes = reader->bytes;
    int first, last;
    if (!find_lines(&first, &last, reader, node)) {
        spans->is_lost = 1;
        return CLF_OK;
    }
    cmark_node *placed = cmark_node_get_start_line(node) > 0 ? node : cmark_node_next(node);
    size_t start = start_of(reader, first, placed);
    for (int i = first; i <= last; i++) {
        const struct clf__text_line *line = &reader->lines[i];
        start = i > first ? skip_markers(reader, line) : start;
        CLF__TRY(clf__markdown_content_add(&spans->content, bytes, start, line->end));
        clf__output_add(&spans->content.text, "\n", 1);
    }
    const struct clf__text_line *end = &reader->lines[last];
    CLF__TRY(clf__markdown_content_add(&spans->content, bytes, end->next, end->next));
    const struct clf__output *text = &spans->content.text;
    size_t at = strspn(text->bytes, "#");
    int is_heading = cmark_node_get_type(node) == CMARK_NODE_HEADING;
    spans->kind = CLF__MARKDOWN_PARAGRAPH;
    if (is_heading && at > 0 && at <= 6 && strchr(" \t\n", text->bytes[at]) != NULL) {
        spans->kind = CLF__MARKDOWN_HEADING;
        spans->at = at + strspn(text->bytes + at, " \t");
        return CLF_OK;
    }
    for (size_t size = 1; size > 0; spans->at += size) {
        size = clf__markdown_definition(text->bytes, text->size, spans->at);
    }
    return CLF_OK;
}

/* Returns the line of the header of a table, as an index of `lines`; -1 if it is unknown. cmark-gfm reports
 * that of the paragraph whose last line is the header. */
static int header_line(const struct reader *reader, cmark_node *table)
{
    cmark_node *header = cmark_node_first_child(table);
    cmark_node *row = header != NULL ? cmark_node_next(header) : NULL;
    int line = row != NULL ? cmark_node_get_start_line(row) - 3 : cmark_node_get_end_line(table) - 2;
    return line >= 0 && line < reader->line_count ? line : -1;
}

static void begin_row(struct reader *reader, cmark_node *node)
{
    int last;
    cmark_node *table = cmark_node_parent(node);
    if (cmark_node_previous(node) == NULL) {
        reader->row = header_line(reader, table);
    } else if (!find_lines(&reader->row, &last, reader, node)) {
        reader->row = -1;
    }
    if (reader->row < 0) {
        return;
    }
    const struct clf__text_line *line = &reader->lines[reader->row];
    int is_first = cmark_node_get_start_line(table) == reader->row + 1;
    reader->cell = is_first ? start_of(reader, reader->row, table) : skip_markers(reader, line);
    reader->cell += reader->cell < line->end && reader->bytes[reader->cell] == '|';
}

/* Collects the text of the next cell of a row. */
static clf_status read_cell(struct reader *reader)
{
    struct clf__markdown_spans *spans = &reader->spans;
    int found = 0;
    spans->kind = CLF__MARKDOWN_CELL;
    if (reader->row >= 0) {
        CLF__TRY(clf__markdown_content_cell(&found, &spans->content, reader->bytes, &reader->cell,
                                            reader->lines[reader->row].end));
        spans->line = reader->lines[reader->row].number;
    }
    spans->is_lost = !found && reader->row < 0;
    return CLF_OK;
}

static clf_status begin_leaf(struct reader *reader, cmark_node *node, int is_cell)
{
    struct clf__markdown_spans *spans = &reader->spans;
    int line = cmark_node_get_start_line(node) - 1;
    reader->leaf = node;
    clf__markdown_content_clear(&spans->content);
    clf__inlines_clear(&spans->inlines);
    spans->at = 0;
    spans->depth = spans->is_lost = 0;
    spans->skip = NULL;
    spans->line = line >= 0 && line < reader->line_count ? reader->lines[line].number : 1;
    return is_cell ? read_cell(reader) : read_block(reader, node);
}

static clf_status end_leaf(struct reader *reader)
{
    struct clf__markdown_spans *spans = &reader->spans;
    reader->leaf = NULL;
    if (!spans->is_lost) {
        return clf__markdown_spans_end(spans);
    }
    spans->state->lost++;
    clf__inlines_clear(&spans->inlines);
    return CLF_OK;
}

static clf_status take(struct reader *reader, cmark_event_type event, cmark_node *node)
{
    int is_start = event == CMARK_EVENT_ENTER;
    const char *name = cmark_node_get_type_string(node);
    if (reader->leaf == node) {
        return end_leaf(reader);
    }
    if (reader->leaf != NULL) {
        return clf__markdown_spans_take(&reader->spans, event, node);
    }
    cmark_node_type type = cmark_node_get_type(node);
    if (type == CMARK_NODE_BLOCK_QUOTE) {
        reader->quotes += is_start ? 1 : -1;
    } else if (is_start && (strcmp(name, "table_row") == 0 || strcmp(name, "table_header") == 0)) {
        begin_row(reader, node);
    }
    int is_cell = strcmp(name, "table_cell") == 0;
    return is_start && (is_cell || type == CMARK_NODE_PARAGRAPH || type == CMARK_NODE_HEADING)
               ? begin_leaf(reader, node, is_cell)
               : CLF_OK;
}

static int compare_segments(const void *a, const void *b)
{
    const struct clf__markdown_segment *first = a, *second = b;
    return first->start < second->start ? -1 : first->start > second->start;
}

/* cmark-gfm moves footnotes to the end; the segments are in the order of the document. */
static void sort(struct clf__segments *segments, struct clf__markdown *state)
{
    clf__segments_sort(segments);
    if (state->segment_count > 0) {
        qsort(state->segments, (size_t)state->segment_count, sizeof *state->segments, compare_segments);
    }
}

static clf_status read_tree(struct reader *reader, cmark_node *root)
{
    cmark_iter *iterator = cmark_iter_new(root);
    clf_status status = iterator != NULL ? CLF_OK : clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory");
    while (status == CLF_OK) {
        cmark_event_type event = cmark_iter_next(iterator);
        if (event == CMARK_EVENT_DONE) {
            break;
        }
        status = take(reader, event, cmark_iter_get_node(iterator));
    }
    cmark_iter_free(iterator);
    return status;
}

/* Returns whether a line can be the second line of a table, after the markers of its blocks. */
static int is_delimiter_row(const char *bytes, const struct clf__text_line *line)
{
    int has_column = 0, has_dash = 0;
    for (size_t at = line->end; at > line->start && strchr("|:- \t", bytes[at - 1]) != NULL; at--) {
        has_column |= bytes[at - 1] == '|' || bytes[at - 1] == ':';
        has_dash |= bytes[at - 1] == '-';
    }
    return has_column && has_dash;
}

/* Fails if the paragraphs would take cmark-gfm 0.29 a time that grows with the square of their size: it reads
 * a paragraph again at each line that can be the second line of a table, and looks for the start of each
 * link. */
static clf_status check_time(const struct reader *reader)
{
    static const double most = 1e8; /* bytes; a second or two */
    double rows = 0, bytes = 0, brackets = 0, cost = 0;
    for (int i = 0; i < reader->line_count; i++) {
        const struct clf__text_line *line = &reader->lines[i];
        if (line->start == line->end) {
            cost += rows * bytes + brackets * brackets / 16;
            rows = bytes = brackets = 0;
        }
        bytes += (double)(line->next - line->start);
        rows += is_delimiter_row(reader->bytes, line);
        for (size_t at = line->start; at < line->end; at++) {
            brackets += reader->bytes[at] == '[';
        }
        if (cost + rows * bytes + brackets * brackets / 16 > most) {
            return clf__fail(CLF_UNSUPPORTED,
                             "line %d: a paragraph has too many links or rows of tables; divide it",
                             line->number);
        }
    }
    return CLF_OK;
}

static clf_status read_all(struct reader *reader)
{
    struct clf_document *document = reader->document;
    const struct clf__text_line line = skip_front_matter(document->bytes, document->size);
    cmark_node *root;
    CLF__TRY(read_lines(reader, line));
    CLF__TRY(check_time(reader));
    CLF__TRY(clf__markdown_parse(&root, document->bytes + line.next, document->size - line.next));
    clf_status status = read_tree(reader, root);
    cmark_node_free(root);
    sort(&document->segments, reader->spans.state);
    return status;
}

static clf_status read_markdown(struct clf_document *document)
{
    struct reader *reader;
    struct clf__markdown *state;
    if (document->size > CLF__MARKDOWN_MOST_BYTES) {
        return clf__fail(CLF_UNSUPPORTED, "has more than %d MiB, the limit for Markdown; divide it",
                         CLF__MARKDOWN_MOST_BYTES >> 20);
    }
    CLF__TRY(clf__allocate(&state, 1, sizeof *state));
    document->state = state;
    CLF__TRY(clf__allocate(&reader, 1, sizeof *reader));
    reader->document = reader->spans.document = document;
    reader->bytes = document->bytes;
    reader->spans.state = state;
    clf_status status = read_all(reader);
    clf__markdown_content_free(&reader->spans.content);
    clf__free(reader->spans.inlines.text.bytes);
    clf__free(reader->lines);
    clf__free(reader);
    return status;
}

static void close_markdown(struct clf_document *document)
{
    struct clf__markdown *state = document->state;
    if (state != NULL) {
        clf__free(state->segments);
        clf__free(state->tags.bytes);
    }
    clf__free(state);
    document->state = NULL;
}

const struct clf__format clf__format_markdown = {
    .shown = {sizeof(struct clf_document_format), "markdown", ".md .markdown", "text/markdown; charset=utf-8",
              "Markdown: the text of paragraphs, headings and tables"},
    .read = read_markdown,
    .write = clf__markdown_write,
    .close = close_markdown,
};
