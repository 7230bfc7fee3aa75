#include "translate/documents/subtitles/layout.h"

#include <string.h>

#include "base/memory.h"
#include "translate/documents/words.h"

static int ends_with_gap(const struct clf__layout *layout)
{
    return layout->text.size == 0 || strchr(" \n", layout->text.bytes[layout->text.size - 1]) != NULL;
}

void clf__layout_add_text(void *user, const char *text, size_t size)
{
    struct clf__layout *layout = user;
    for (size_t i = 0; i < size; i++) {
        if (text[i] != ' ' || !ends_with_gap(layout)) {
            clf__output_add(&layout->text, text + i, 1);
        }
    }
}

void clf__layout_add_tag(void *user, const char *tag, size_t size)
{
    struct clf__layout *layout = user;
    if (layout->status == CLF_OK && size > 0) {
        layout->status =
            clf__grow(&layout->tags, layout->tag_count, &layout->tag_capacity, sizeof *layout->tags);
    }
    if (layout->status == CLF_OK && size > 0) {
        layout->tags[layout->tag_count++] = (struct clf__layout_tag){layout->text.size, tag, size};
    }
}

void clf__layout_add_space(struct clf__layout *layout, const char *next, size_t size)
{
    if (size > 0 && !ends_with_gap(layout) &&
        clf__words_need_space(layout->text.bytes, layout->text.size, next, size)) {
        clf__output_add(&layout->text, " ", 1);
    }
}

void clf__layout_end_line(struct clf__layout *layout)
{
    if (layout->text.size > 0) {
        clf__output_add(&layout->text, "\n", 1);
    }
}

void clf__layout_clear(struct clf__layout *layout)
{
    layout->text.size = 0;
    layout->tag_count = 0;
    layout->line_break = 0;
}

void clf__layout_free(struct clf__layout *layout)
{
    clf__free(layout->text.bytes);
    clf__free(layout->tags);
}

/* Returns the end of a line without trailing spaces. */
static size_t trim_end(const struct clf__layout *layout, size_t start, size_t end)
{
    while (end > start && strchr(" \n", layout->text.bytes[end - 1]) != NULL) {
        end--;
    }
    return end;
}

clf_status clf__layout_break(struct clf__layout *layout, int width)
{
    size_t *breaks, best = 0;
    int count;
    const char *text = layout->text.bytes;
    size_t end = trim_end(layout, 0, layout->text.size), all = clf__words_columns(text, end), least = all;
    if (width == 0 || all <= (size_t)width || memchr(text, '\n', end) != NULL) {
        return CLF_OK;
    }
    CLF__TRY(clf__words_breaks(&breaks, &count, text, end));
    size_t before = 0, at = 0;
    for (int i = 0; i < count; i++) {
        before += clf__words_columns(text + at, breaks[i] - at);
        at = breaks[i];
        size_t first = before - (text[at - 1] == ' '), second = all - before,
               longer = first > second ? first : second;
        if (longer < least) {
            least = longer;
            best = at;
        }
    }
    clf__free(breaks);
    layout->line_break = best;
    return CLF_OK;
}

/* Returns the end of the line that starts at a position, and the start of the next one. */
static size_t line_end(size_t *next, const struct clf__layout *layout, size_t start)
{
    const char *found = memchr(layout->text.bytes + start, '\n', layout->text.size - start);
    size_t end = found != NULL ? (size_t)(found - layout->text.bytes) : layout->text.size;
    *next = end + (found != NULL);
    if (layout->line_break > start && layout->line_break < end) {
        *next = end = layout->line_break;
    }
    return trim_end(layout, start, end);
}

size_t clf__layout_columns(const struct clf__layout *layout)
{
    size_t widest = 0;
    for (size_t start = 0, next; start < layout->text.size; start = next) {
        size_t end = line_end(&next, layout, start);
        size_t columns = clf__words_columns(layout->text.bytes + start, end - start);
        widest = columns > widest ? columns : widest;
    }
    return widest;
}

void clf__layout_write(struct clf__output *out, const struct clf__layout *layout, const char *newline,
                       void (*add_text)(struct clf__output *out, const char *text, size_t size))
{
    int tag = 0;
    size_t size = trim_end(layout, 0, layout->text.size);
    for (size_t start = 0, next; start < size; start = next) {
        size_t end = line_end(&next, layout, start), at = start;
        int is_last = next >= size;
        if (start > 0) {
            clf__output_add_string(out, newline);
        }
        /* A tag in the gap between two lines belongs to the line before the gap, and a tag after the gap to
         * the next line. */
        for (; tag < layout->tag_count && (layout->tags[tag].at < next || is_last); tag++) {
            size_t to = layout->tags[tag].at < end ? layout->tags[tag].at : end;
            add_text(out, layout->text.bytes + at, to - at);
            at = to;
            clf__output_add(out, layout->tags[tag].tag, layout->tags[tag].size);
        }
        add_text(out, layout->text.bytes + at, end - at);
    }
    for (; tag < layout->tag_count; tag++) { /* the cue has no text */
        clf__output_add(out, layout->tags[tag].tag, layout->tags[tag].size);
    }
}
