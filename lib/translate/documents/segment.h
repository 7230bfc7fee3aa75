/* The segments of a document: texts with inline markup, and their translations. */
#ifndef CLF_DOCUMENTS_SEGMENT_H
#define CLF_DOCUMENTS_SEGMENT_H

#include <clformer/document.h>

#include "base/status.h"
#include "translate/documents/output.h"
#include "translate/documents/terms.h"

/* The tags of a mark: bytes of the document. */
struct clf__tags {
    size_t start, start_end, end, end_end; /* both tags; end == end_end: only a start tag */
    int spaces;                            /* flags below; only for a mark without content */
    int is_term; /* [start, start_end) are bytes of clf__segment.kept, which are text */
    int index;   /* of the mark in clf__new_segment; unused for terms */
};
enum {
    CLF__SPACE_BEFORE = 1,
    CLF__SPACE_AFTER = 2,
    CLF__TAG_ORDERED = 4 /* stays after earlier marks with this flag, such as the end of a bookmark */
};

/* A segment and its owned parts, to which `shown` points. */
struct clf__segment {
    struct clf_document_segment shown;
    char *text;
    struct clf_mark *marks; /* (shown.mark_count) of the text */
    struct clf__tags *tags; /* (shown.mark_count) */
    size_t start, end;      /* bytes of the document that a translation replaces; unused in subtitles */
    int kind;               /* private to the format */
    char *translation;      /* (translation_size) NULL: not set */
    size_t translation_size;
    struct clf_mark *moved; /* (shown.mark_count) of the translation */
    int is_known;           /* from a translation memory or an earlier run; not translated */
    char *kept;             /* terms that are not translated, one after another; NULL: none */
};

struct clf__segments {
    struct clf__segment *items;
    int count, capacity;
    int most;                     /* 0: no limit */
    struct clf__kept_terms terms; /* not translated */
};

/* A segment to add; everything is copied. */
struct clf__new_segment {
    const char *text; /* (size) */
    size_t size;
    const struct clf_mark *marks; /* (count) */
    const struct clf__tags *tags; /* (count) */
    int count;
    size_t start, end;
    int line;
    int kind;
};
/* Adds a segment. Returns CLF_UNSUPPORTED if the number of segments would exceed the limit. */
clf_status clf__segments_add(struct clf__segments *segments, const struct clf__new_segment *segment);
void clf__segments_free(struct clf__segments *segments);
/* Sorts segments by their bytes: a segment comes before the segments in its tags. */
void clf__segments_sort(struct clf__segments *segments);

/* Sets a translation with marks at given places; both are copied. Marks with CLF__TAG_ORDERED are moved
 * after earlier ones. */
clf_status clf__segment_set(struct clf__segment *segment, const char *text, size_t size,
                            const struct clf_mark *moved);

/* Returns whether the translation differs from the text. */
int clf__segment_is_changed(const struct clf__segment *segment);

/* Writes bytes [from, to) of the translation, or of the text if there is none, with the tags of the marks
 * that start or end in it. Start tags at the end of a part are written with the next part, if there is one.
 *
 * @param bytes the document.
 * @param add adds text in the notation of the format. */
struct clf__segment_writer {
    const char *bytes;
    void (*add_text)(void *user, const char *text, size_t size);
    void (*add_tag)(void *user, const char *tag, size_t size);
    void *user;
};
clf_status clf__segment_write(const struct clf__segment_writer *writer, const struct clf__segment *segment,
                              size_t from, size_t to);

#endif
