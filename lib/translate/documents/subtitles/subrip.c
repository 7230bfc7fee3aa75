/* SubRip: numbered cues, with <i>, <b>, <u>, <s> and <font>, and SubStation Alpha tags such as {\an8}. */
#include <string.h>
#include <strings.h>

#include "translate/documents/html/elements.h"
#include "translate/documents/subtitles/subtitles.h"

#define EXAMPLE "00:00:01,000 --> 00:00:02,500"

/* Reads {\an8}, {\i1} or {\pos(1,2)}. */
static size_t read_override(struct clf__cue_tag *out, const char *text, size_t size)
{
    const char *end = memchr(text, '}', size);
    if (size < 4 || text[1] != '\\' || end == NULL || memchr(text, '\n', (size_t)(end - text)) != NULL) {
        return 0;
    }
    int is_switch = strchr("ibus", text[2]) != NULL && (text[3] == '0' || text[3] == '1') && text + 4 == end;
    out->kind = is_switch ? (text[3] == '1' ? CLF__CUE_START : CLF__CUE_END) : CLF__CUE_POSITION;
    out->name = clf__html_hash(text, 3);
    return (size_t)(end - text) + 1;
}

static size_t read_tag(struct clf__cue_tag *out, const char *text, size_t size)
{
    static const char *const names[] = {"i", "b", "u", "s", "font"};
    enum { MOST_NAME = 4 };
    size = size < CLF__MOST_TAG ? size : CLF__MOST_TAG;
    if (size > 0 && *text == '{') {
        return read_override(out, text, size);
    }
    const char *end = size > 2 && *text == '<' ? memchr(text, '>', size) : NULL;
    if (end == NULL) {
        return 0;
    }
    int is_end = text[1] == '/';
    const char *name = text + 1 + is_end;
    size_t length = 0;
    while (length <= MOST_NAME && name + length < end && strchr(" \t\r\n", name[length]) == NULL) {
        length++;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == length && strncasecmp(name, names[i], length) == 0) {
            out->kind = is_end ? CLF__CUE_END : CLF__CUE_START;
            out->name = clf__html_hash(name, length);
            return (size_t)(end - text) + 1;
        }
    }
    return 0;
}

/* Adds text without arrows, so that the text is not mistaken for a line of times. */
static void add_text(struct clf__output *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (i < 2 || memcmp(text + i - 2, "-->", 3) != 0) {
            clf__output_add(out, text + i, 1);
        }
    }
}

static const struct clf__cue_syntax syntax = {read_tag, NULL, add_text, NULL};

static int is_blank(const char *line, size_t size)
{
    return strspn(line, " \t") >= size;
}

static int is_number(const char *line, size_t size)
{
    size_t digits = strspn(line, "0123456789");
    return digits > 0 && digits <= size && is_blank(line + digits, size - digits);
}

static int has_times(struct clf__cue *cue, const char *bytes, const struct clf__text_line *line)
{
    return clf__cue_times(&cue->from, &cue->to, bytes + line->start, line->end - line->start, 1);
}

/* Returns 1 if a cue begins at a line, and reads its times; *line becomes the line of times. */
static int begins_cue(struct clf__cue *cue, struct clf__text_line *line, const char *bytes, size_t size)
{
    struct clf__text_line next = *line;
    if (is_number(bytes + line->start, line->end - line->start) && clf__text_line_next(&next, bytes, size) &&
        has_times(cue, bytes, &next)) {
        *line = next;
        return 1;
    }
    return has_times(cue, bytes, line);
}

/* Fails if a malformed line of times follows a blank line. */
static clf_status check_block(const struct clf__text_line *line, const char *bytes, size_t size)
{
    struct clf__text_line times = *line;
    if (is_number(bytes + line->start, line->end - line->start) &&
        !clf__text_line_next(&times, bytes, size)) {
        return CLF_OK;
    }
    const char *text = bytes + times.start;
    size_t length = times.end - times.start;
    return clf__cue_looks_timed(text, length) ? clf__cue_fail(times.number, text, length, EXAMPLE) : CLF_OK;
}

static clf_status read_cues(struct clf__subtitles *subtitles, const char *bytes, size_t size)
{
    struct clf__text_line line = {.next = clf__utf8_mark(bytes, size)};
    struct clf__cue cue = {.line = 0};
    int is_after_blank = 1;
    while (clf__text_line_next(&line, bytes, size)) {
        struct clf__cue begun = {.line = 0};
        if (is_blank(bytes + line.start, line.end - line.start)) {
            is_after_blank = 1;
            continue;
        }
        if (begins_cue(&begun, &line, bytes, size)) {
            if (cue.line > 0) {
                CLF__TRY(clf__subtitles_add(subtitles, &cue));
            }
            cue = begun;
            cue.line = line.number;
            cue.start = cue.end = line.next;
            is_after_blank = 0;
            continue;
        }
        if (is_after_blank) {
            CLF__TRY(check_block(&line, bytes, size));
        }
        if (cue.line == 0) {
            return clf__cue_fail(line.number, bytes + line.start, line.end - line.start, EXAMPLE);
        }
        cue.end = line.end;
        is_after_blank = 0;
    }
    return cue.line > 0 ? clf__subtitles_add(subtitles, &cue) : CLF_OK;
}

static clf_status read_srt(struct clf_document *document)
{
    struct clf__subtitles *subtitles;
    CLF__TRY(clf__subtitles_create(&subtitles, document, &syntax));
    CLF__TRY(read_cues(subtitles, document->bytes, document->size));
    return clf__subtitles_find_segments(document);
}

/* Returns whether the first lines are a number and times. */
static int is_srt(const char *bytes, size_t size)
{
    struct clf__text_line line = {.next = 0};
    struct clf__cue cue;
    while (clf__text_line_next(&line, bytes, size)) {
        if (!is_blank(bytes + line.start, line.end - line.start)) {
            return begins_cue(&cue, &line, bytes, size);
        }
    }
    return 0;
}

const struct clf__format clf__format_srt = {
    .shown = {sizeof(struct clf_document_format), "srt", ".srt", "application/x-subrip; charset=utf-8",
              "SubRip subtitles"},
    .is = is_srt,
    .read = read_srt,
    .write = clf__subtitles_write,
    .close = clf__subtitles_close,
};
