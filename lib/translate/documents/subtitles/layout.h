/* The lines of a cue. */
#ifndef CLF_DOCUMENTS_SUBTITLES_LAYOUT_H
#define CLF_DOCUMENTS_SUBTITLES_LAYOUT_H

#include "translate/documents/output.h"

/* The text of a cue with tags; zero-initialise, and call clf__layout_free(). */
struct clf__layout {
    struct clf__output text; /* without tags; "\n" between lines that the document divides */
    struct clf__layout_tag {
        size_t at; /* position in the text */
        const char *tag;
        size_t size;
    } * tags; /* (tag_count) */
    int tag_count, tag_capacity;
    size_t line_break; /* start of the second line of a line that is too wide; 0: none */
    clf_status status;
};

/* Add to the end. A space at the start of a line or after another space is ignored. Both have the types of
 * clf__segment_writer, with the layout as `user`; tags are borrowed. */
void clf__layout_add_text(void *user, const char *text, size_t size);
void clf__layout_add_tag(void *user, const char *tag, size_t size);
/* Adds a space before `next`, unless the text ends with a space or the scripts do not use spaces. */
void clf__layout_add_space(struct clf__layout *layout, const char *next, size_t size);
void clf__layout_end_line(struct clf__layout *layout);
void clf__layout_clear(struct clf__layout *layout);
void clf__layout_free(struct clf__layout *layout);

/* Breaks a line wider than `width` columns into two lines of about the same width; 0: never. */
clf_status clf__layout_break(struct clf__layout *layout, int width);
/* Returns the width of the widest line in columns. */
size_t clf__layout_columns(const struct clf__layout *layout);

/* Writes the lines with their tags.
 *
 * @param newline the line break of the document.
 * @param add_text adds text to `out` in the notation of the format. */
void clf__layout_write(struct clf__output *out, const struct clf__layout *layout, const char *newline,
                       void (*add_text)(struct clf__output *out, const char *text, size_t size));

#endif
