/* WebVTT (www.w3.org/TR/webvtt1). Notes, styles, regions, identifiers and settings are kept. */
#include <string.h>

#include "translate/documents/html/elements.h"
#include "translate/documents/subtitles/subtitles.h"

#define EXAMPLE "00:01.000 --> 00:02.500"

static const char signature[] = "WEBVTT";
enum { SIGNATURE = sizeof signature - 1 };

static size_t read_tag(struct clf__cue_tag *out, const char *text, size_t size)
{
    double from;
    size = size < CLF__MOST_TAG ? size : CLF__MOST_TAG;
    const char *end = size > 0 && *text == '<' ? memchr(text, '>', size) : NULL;
    if (end == NULL) {
        return 0;
    }
    int is_end = text[1] == '/';
    const char *name = text + 1 + is_end;
    size_t length = 0;
    while (name + length < end && strchr(". \t\r\n", name[length]) == NULL) {
        length++;
    }
    out->kind = is_end ? CLF__CUE_END : CLF__CUE_START;
    out->name = clf__html_hash(name, length);
    if (length == 1 && (*name == 'v' || *name == 'V')) {
        out->kind = CLF__CUE_VOICE;
    } else if (clf__cue_time(&from, name, (size_t)(end - name))) {
        out->kind = CLF__CUE_TIME;
    } else if (length == 0 && !is_end && name == end) {
        out->kind = CLF__CUE_SINGLE;
    }
    return (size_t)(end - text) + 1;
}

/* Reads a character reference; returns its size, or 0 for text. Unknown references are kept as text. */
static size_t read_reference(struct clf__output *plain, const char *text, size_t size)
{
    static const struct {
        const char *name, *text;
    } references[] = {{"&amp;", "&"},
                      {"&lt;", "<"},
                      {"&gt;", ">"},
                      {"&nbsp;", "\xc2\xa0"},
                      {"&lrm;", "\xe2\x80\x8e"},
                      {"&rlm;", "\xe2\x80\x8f"},
                      {"&quot;", "\""},
                      {"&apos;", "'"},
                      {"&#39;", "'"}};
    for (size_t i = 0; *text == '&' && i < sizeof references / sizeof *references; i++) {
        size_t length = strlen(references[i].name);
        if (length <= size && memcmp(text, references[i].name, length) == 0) {
            clf__output_add_string(plain, references[i].text);
            return length;
        }
    }
    return 0;
}

static const struct clf__cue_syntax syntax = {read_tag, read_reference, clf__output_add_escaped, NULL};

static int is_blank(const struct clf__text_line *line)
{
    return line->start == line->end;
}

static int has_times(struct clf__cue *cue, const char *bytes, const struct clf__text_line *line)
{
    return clf__cue_times(&cue->from, &cue->to, bytes + line->start, line->end - line->start, 0);
}

static int begins_with(const char *bytes, const struct clf__text_line *line, const char *word)
{
    size_t size = strlen(word), length = line->end - line->start;
    return clf__text_begins(bytes + line->start, length, word) &&
           (length == size || strchr(" \t:", bytes[line->start + size]) != NULL);
}

/* Finds the times of the block that begins at a line: in this line, or after an identifier. *line becomes the
 * line of times. Returns 0 if the block is not a cue. */
static clf_status find_times(int *found, struct clf__cue *cue, struct clf__text_line *line, const char *bytes,
                             size_t size)
{
    struct clf__text_line next = *line;
    const char *text = bytes + line->start;
    *found = 0;
    if (begins_with(bytes, line, "NOTE") || begins_with(bytes, line, "STYLE") ||
        begins_with(bytes, line, "REGION")) {
        return CLF_OK;
    }
    if (!clf__cue_looks_timed(text, line->end - line->start)) {
        if (!clf__text_line_next(&next, bytes, size) || is_blank(&next) ||
            !clf__cue_looks_timed(bytes + next.start, next.end - next.start)) {
            return CLF_OK;
        }
        *line = next;
    }
    *found = has_times(cue, bytes, line);
    return *found ? CLF_OK
                  : clf__cue_fail(line->number, bytes + line->start, line->end - line->start, EXAMPLE);
}

/* Reads the text of a cue after its times; *line becomes its last line. The text ends before a blank line or
 * before the times of another cue. */
static void read_lines(struct clf__cue *cue, struct clf__text_line *line, const char *bytes, size_t size)
{
    struct clf__cue other;
    struct clf__text_line next = *line;
    cue->line = line->number;
    cue->start = cue->end = line->next;
    while (clf__text_line_next(&next, bytes, size) && !is_blank(&next) && !has_times(&other, bytes, &next)) {
        *line = next;
        cue->end = next.end;
    }
}

static void skip_block(struct clf__text_line *line, const char *bytes, size_t size)
{
    while (!is_blank(line) && clf__text_line_next(line, bytes, size)) {
    }
}

static clf_status read_cues(struct clf__subtitles *subtitles, const char *bytes, size_t size)
{
    struct clf__text_line line = {.next = clf__utf8_mark(bytes, size)};
    if (clf__text_line_next(&line, bytes, size)) { /* the header ends at a blank line or at times */
        struct clf__text_line next = line;
        struct clf__cue cue;
        while (!is_blank(&line) && clf__text_line_next(&next, bytes, size) &&
               !has_times(&cue, bytes, &next)) {
            line = next;
        }
    }
    while (clf__text_line_next(&line, bytes, size)) {
        struct clf__cue cue = {.line = 0};
        int found = 0;
        if (is_blank(&line)) {
            continue;
        }
        CLF__TRY(find_times(&found, &cue, &line, bytes, size));
        if (found) {
            read_lines(&cue, &line, bytes, size);
            CLF__TRY(clf__subtitles_add(subtitles, &cue));
        } else {
            skip_block(&line, bytes, size);
        }
    }
    return CLF_OK;
}

static int is_vtt(const char *bytes, size_t size)
{
    return size >= SIGNATURE && memcmp(bytes, signature, SIGNATURE) == 0 &&
           (size == SIGNATURE || strchr(" \t\r\n", bytes[SIGNATURE]) != NULL);
}

static clf_status read_vtt(struct clf_document *document)
{
    struct clf__subtitles *subtitles;
    size_t mark = clf__utf8_mark(document->bytes, document->size);
    CLF__TRY(clf__subtitles_create(&subtitles, document, &syntax));
    if (document->size > mark && !is_vtt(document->bytes + mark, document->size - mark)) {
        return clf__fail(CLF_FORMAT,
                         "line 1: a WebVTT file begins with \"%s\"; add this line, or use the format of "
                         "the file",
                         signature);
    }
    CLF__TRY(read_cues(subtitles, document->bytes, document->size));
    return clf__subtitles_find_segments(document);
}

const struct clf__format clf__format_vtt = {
    .shown = {sizeof(struct clf_document_format), "vtt", ".vtt", "text/vtt; charset=utf-8",
              "WebVTT subtitles"},
    .is = is_vtt,
    .read = read_vtt,
    .write = clf__subtitles_write,
    .close = clf__subtitles_close,
};
