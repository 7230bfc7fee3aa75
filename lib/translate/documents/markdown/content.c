/* Parses Markdown, and collects the text of blocks. */
#include <pthread.h>
#include <string.h>

#include <cmark-gfm-core-extensions.h>

#include "base/memory.h"
#include "translate/documents/markdown/markdown.h"

static pthread_mutex_t one_call = PTHREAD_MUTEX_INITIALIZER;

static cmark_node *parse(const char *bytes, size_t size)
{
    static const char *const names[] = {"table", "strikethrough", "tasklist"};
    cmark_gfm_core_extensions_ensure_registered();
    cmark_parser *parser = cmark_parser_new(CMARK_OPT_FOOTNOTES);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cmark_syntax_extension *extension = cmark_find_syntax_extension(names[i]);
        if (extension != NULL) {
            cmark_parser_attach_syntax_extension(parser, extension);
        }
    }
    cmark_parser_feed(parser, bytes, size);
    cmark_node *root = cmark_parser_finish(parser);
    cmark_parser_free(parser);
    return root;
}

clf_status clf__markdown_parse(cmark_node **out, const char *bytes, size_t size)
{
    pthread_mutex_lock(&one_call);
    *out = parse(bytes, size);
    pthread_mutex_unlock(&one_call);
    return *out != NULL ? CLF_OK : clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to parse Markdown");
}

void clf__markdown_content_clear(struct clf__markdown_content *content)
{
    content->text.size = 0;
}

void clf__markdown_content_free(struct clf__markdown_content *content)
{
    clf__free(content->text.bytes);
    clf__free(content->places);
}

clf_status clf__markdown_content_add(struct clf__markdown_content *content, const char *bytes, size_t start,
                                     size_t end)
{
    size_t size = content->text.size;
    CLF__TRY(
        clf__grow_to(&content->places, size + end - start + 1, &content->capacity, sizeof *content->places));
    clf__output_add(&content->text, bytes + start, end - start);
    for (size_t at = start; at <= end; at++) {
        content->places[size + at - start] = at;
    }
    return content->text.status;
}

static int is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

clf_status clf__markdown_content_cell(int *found, struct clf__markdown_content *content, const char *bytes,
                                      size_t *at, size_t end)
{
    size_t start = *at, stop = start;
    *found = start < end;
    while (stop < end && (bytes[stop] != '|' || (stop > start && bytes[stop - 1] == '\\'))) {
        stop++;
    }
    *at = stop + (stop < end);
    while (start < stop && is_blank(bytes[start])) {
        start++;
    }
    while (stop > start && is_blank(bytes[stop - 1])) {
        stop--;
    }
    clf__markdown_content_clear(content);
    for (size_t from = start, to; from < stop; from = to) { /* "\|" is a vertical bar */
        from += bytes[from] == '\\' && from + 1 < stop && bytes[from + 1] == '|';
        for (to = from + 1; to < stop && (bytes[to] != '\\' || bytes[to + 1] != '|'); to++) {
        }
        CLF__TRY(clf__markdown_content_add(content, bytes, from, to));
    }
    return clf__markdown_content_add(content, bytes, stop, stop);
}
