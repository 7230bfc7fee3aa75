/* Advanced SubStation Alpha and SubStation Alpha: the text of dialogue. Styles, fonts, comments, override
 * tags such as {\i1}, drawings and karaoke are kept. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "translate/documents/html/elements.h"
#include "translate/documents/subtitles/subtitles.h"

#define NO_BREAK_SPACE "\xc2\xa0"
#define WORD_JOINER    "\xe2\x81\xa0" /* separates a backslash from a letter that would make it an escape */

/* Longer blocks are text, so that a hostile line costs little time. */
enum { MOST_FIELDS = 32, MOST_BLOCK = 1 << 14 };

/* The fields of a line of dialogue. The text is the last one. */
struct fields {
    int count, start, end, style, name;
};
static const struct fields usual_fields = {10, 1, 2, 3, 4};

/* --- The text. --- */

/* Returns whether a tag block contains a tag, such as "pos" in {\an8\pos(1,2)}. */
static int has_tag(const char *block, size_t size, const char *name)
{
    size_t length = strlen(name);
    for (size_t at = 0; at + length < size; at++) {
        if (block[at] == '\\' && strncmp(block + at + 1, name, length) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Returns the scale of the drawing that the block begins; 0: text follows; -1: the block does not say. */
static int drawing_scale(const char *block, size_t size)
{
    int scale = -1;
    for (size_t at = 0; at + 2 < size; at++) {
        if (block[at] == '\\' && block[at + 1] == 'p' && isdigit((unsigned char)block[at + 2])) {
            scale = block[at + 2] - '0';
        }
    }
    return scale;
}

/* Returns the size of the tag block at the start of a text; 0: there is none. */
static size_t block_size(const char *text, size_t size)
{
    size = size < MOST_BLOCK ? size : MOST_BLOCK;
    const char *end = size > 0 && *text == '{' ? memchr(text, '}', size) : NULL;
    return end != NULL ? (size_t)(end - text) + 1 : 0;
}

/* Returns the size of a block and of the drawing after it. */
static size_t drawing_size(const char *text, size_t size)
{
    for (size_t at = 0, is_drawn = 0; at < size;) {
        size_t block = block_size(text + at, size - at);
        int scale = drawing_scale(text + at, block);
        at += block > 0 ? block : 1;
        is_drawn = scale >= 0 ? scale > 0 : is_drawn;
        if (block > 0 && !is_drawn) {
            return at;
        }
    }
    return size;
}

static size_t read_tag(struct clf__cue_tag *out, const char *text, size_t size)
{
    static const char *const places[] = {"an", "a1",  "a2",   "a3",  "a5",   "a6",   "a7",
                                         "a9", "pos", "move", "org", "clip", "iclip"};
    size_t block = block_size(text, size);
    if (block == 0) {
        return 0;
    }
    out->kind = CLF__CUE_SINGLE;
    if (drawing_scale(text, block) > 0) {
        return drawing_size(text, size);
    }
    if (block == 5 && text[1] == '\\' && strchr("ibus", text[2]) != NULL &&
        (text[3] == '0' || text[3] == '1')) {
        out->kind = text[3] == '1' ? CLF__CUE_START : CLF__CUE_END;
        out->name = clf__html_hash(text + 2, 1);
        return block;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        out->kind = has_tag(text, block, places[i]) ? CLF__CUE_POSITION : out->kind;
    }
    return block;
}

/* Reads \N, \n and \h. */
static size_t read_character(struct clf__output *plain, const char *text, size_t size)
{
    const char *found = size > 1 && *text == '\\' ? strchr("Nnh", text[1]) : NULL;
    if (found == NULL || *found == '\0') {
        return 0;
    }
    clf__output_add_string(plain, *found == 'N' ? "\n" : *found == 'n' ? " " : NO_BREAK_SPACE);
    return 2;
}

/* Braces cannot be written as text. */
static void add_text(struct clf__output *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '{' || text[i] == '}') {
            clf__output_add(out, text[i] == '{' ? "(" : ")", 1);
        } else if (i + 1 < size && memcmp(text + i, NO_BREAK_SPACE, 2) == 0) {
            clf__output_add_string(out, "\\h");
            i++;
        } else {
            clf__output_add(out, text + i, 1);
        }
        if (text[i] == '\\' && (i + 1 == size || strchr("Nnh{", text[i + 1]) != NULL)) {
            clf__output_add_string(out, WORD_JOINER);
        }
    }
}

static const struct clf__cue_syntax syntax = {read_tag, read_character, add_text, "\\N"};

/* --- Lines. --- */

/* Returns the position after a word at the start of a line and the spaces after it; 0: another word. */
static size_t skip_word(const char *bytes, const struct clf__text_line *line, const char *word)
{
    size_t size = strlen(word), at = line->start;
    if (line->end - at < size || strncasecmp(bytes + at, word, size) != 0) {
        return 0;
    }
    for (at += size; at < line->end && (bytes[at] == ' ' || bytes[at] == '\t'); at++) {
    }
    return at;
}

/* Divides a line at commas; the last part contains the rest. Returns the number of parts, at most `most`. */
static int divide(struct clf__text_line *parts, int most, const char *bytes, size_t at, size_t end)
{
    int count = 0;
    while (count < most) {
        const char *comma = count + 1 < most && at < end ? memchr(bytes + at, ',', end - at) : NULL;
        size_t stop = comma != NULL ? (size_t)(comma - bytes) : end;
        parts[count++] = (struct clf__text_line){.start = at, .end = stop};
        if (comma == NULL) {
            break;
        }
        at = stop + 1;
    }
    return count;
}

static void trim(struct clf__text_line *part, const char *bytes)
{
    while (part->start < part->end && isspace((unsigned char)bytes[part->start])) {
        part->start++;
    }
    while (part->end > part->start && isspace((unsigned char)bytes[part->end - 1])) {
        part->end--;
    }
}

static int is_word(const struct clf__text_line *part, const char *bytes, const char *word)
{
    size_t size = strlen(word);
    return part->end - part->start == size && strncasecmp(bytes + part->start, word, size) == 0;
}

/* Reads the names of the fields. */
static clf_status read_fields(struct fields *out, const char *bytes, size_t at,
                              const struct clf__text_line *line)
{
    struct clf__text_line parts[MOST_FIELDS];
    *out = (struct fields){divide(parts, MOST_FIELDS, bytes, at, line->end), -1, -1, -1, -1};
    for (int i = 0; i < out->count; i++) {
        trim(&parts[i], bytes);
        out->start = is_word(&parts[i], bytes, "Start") ? i : out->start;
        out->end = is_word(&parts[i], bytes, "End") ? i : out->end;
        out->style = is_word(&parts[i], bytes, "Style") ? i : out->style;
        out->name = is_word(&parts[i], bytes, "Name") || is_word(&parts[i], bytes, "Actor") ? i : out->name;
    }
    if (out->start < 0 || out->end < 0 || !is_word(&parts[out->count - 1], bytes, "Text")) {
        return clf__fail(CLF_FORMAT,
                         "line %d: the format of the events needs Start, End, and Text as the last field; "
                         "correct it",
                         line->number);
    }
    return CLF_OK;
}

static clf_status read_time(double *out, struct clf__text_line *part, const char *bytes, int number)
{
    enum { MOST_SHOWN = 40 };
    trim(part, bytes);
    size_t size = part->end - part->start;
    if (clf__cue_time(out, bytes + part->start, size)) {
        return CLF_OK;
    }
    int shown = (int)(size > MOST_SHOWN ? clf__utf8_cut(bytes + part->start, MOST_SHOWN) : size);
    return clf__fail(CLF_FORMAT, "line %d: \"%.*s\" is not a time, such as \"0:00:01.50\"; correct it",
                     number, shown, bytes + part->start);
}

/* Reads a line of dialogue. */
static clf_status read_dialogue(struct clf__subtitles *subtitles, const struct fields *fields,
                                const char *bytes, size_t at, const struct clf__text_line *line)
{
    struct clf__text_line parts[MOST_FIELDS];
    struct clf__cue cue = {.line = line->number, .text_line = line->number};
    int count = divide(parts, fields->count, bytes, at, line->end);
    if (count < fields->count) {
        return clf__fail(CLF_FORMAT, "line %d: has %d fields, but the format has %d; correct it",
                         line->number, count, fields->count);
    }
    CLF__TRY(read_time(&cue.from, &parts[fields->start], bytes, line->number));
    CLF__TRY(read_time(&cue.to, &parts[fields->end], bytes, line->number));
    const struct clf__text_line *text = &parts[count - 1];
    if (has_tag(bytes + text->start, text->end - text->start, "k") ||
        has_tag(bytes + text->start, text->end - text->start, "K")) {
        return CLF_OK; /* karaoke: the tags have the times of syllables */
    }
    cue.start = text->start;
    cue.end = text->end;
    /* A sentence does not go on in another style or with another speaker. */
    const int kinds[] = {fields->style, fields->name};
    for (int i = 0; i < 2; i++) {
        const struct clf__text_line *part = kinds[i] >= 0 ? &parts[kinds[i]] : NULL;
        if (part != NULL && part->start < part->end) {
            cue.place = cue.place * 31 + clf__html_hash(bytes + part->start, part->end - part->start);
        }
    }
    return clf__subtitles_add(subtitles, &cue);
}

static clf_status read_lines(struct clf__subtitles *subtitles, const char *bytes, size_t size)
{
    struct clf__text_line line = {.next = clf__utf8_mark(bytes, size)};
    struct fields fields = usual_fields;
    int is_events = 0;
    size_t at;
    while (clf__text_line_next(&line, bytes, size)) {
        if (line.start < line.end && bytes[line.start] == '[') {
            is_events = skip_word(bytes, &line, "[Events]") > 0;
        } else if (is_events && (at = skip_word(bytes, &line, "Format:")) > 0) {
            CLF__TRY(read_fields(&fields, bytes, at, &line));
        } else if (is_events && (at = skip_word(bytes, &line, "Dialogue:")) > 0) {
            CLF__TRY(read_dialogue(subtitles, &fields, bytes, at, &line));
        }
    }
    return CLF_OK;
}

/* Returns whether a text begins with the header, after comments. */
static int is_ass(const char *bytes, size_t size)
{
    struct clf__text_line line = {.next = 0};
    while (clf__text_line_next(&line, bytes, size)) {
        if (line.start < line.end && bytes[line.start] != ';') {
            return skip_word(bytes, &line, "[Script Info]") > 0;
        }
    }
    return 0;
}

static clf_status read_ass(struct clf_document *document)
{
    struct clf__subtitles *subtitles;
    size_t mark = clf__utf8_mark(document->bytes, document->size);
    CLF__TRY(clf__subtitles_create(&subtitles, document, &syntax));
    if (document->size > mark && !is_ass(document->bytes + mark, document->size - mark)) {
        return clf__fail(CLF_FORMAT,
                         "line 1: an ASS file begins with \"[Script Info]\"; add this line, or use "
                         "the format of the file");
    }
    CLF__TRY(read_lines(subtitles, document->bytes, document->size));
    return clf__subtitles_find_segments(document);
}

const struct clf__format clf__format_ass = {
    .shown = {sizeof(struct clf_document_format), "ass", ".ass .ssa", "text/x-ssa; charset=utf-8",
              "ASS and SSA subtitles"},
    .is = is_ass,
    .read = read_ass,
    .write = clf__subtitles_write,
    .close = clf__subtitles_close,
};
