/* Subtitles: cues with times, and sentences that span several cues.
 *
 * The text of a cue is divided into slots. A line that begins with a dash (another speaker), a line in
 * brackets, and the text after a time stamp or a voice tag each begin a slot. A run is a sequence of slots
 * with continuous text, and its sentences are the segments of the document. A part is the piece of a segment
 * in one slot; when a subtitle is written, the translation of a segment is split among its parts. */
#ifndef CLF_DOCUMENTS_SUBTITLES_H
#define CLF_DOCUMENTS_SUBTITLES_H

#include "translate/documents/format.h"

/* A tag in the text of a cue. */
enum clf__cue_tag_kind {
    CLF__CUE_START,
    CLF__CUE_END,
    CLF__CUE_SINGLE,   /* an element without content, or a tag without a partner */
    CLF__CUE_POSITION, /* a single tag that places the whole cue */
    CLF__CUE_TIME,     /* the text after it is shown later */
    CLF__CUE_VOICE,    /* another speaker */
};
struct clf__cue_tag {
    enum clf__cue_tag_kind kind;
    unsigned name;     /* hash of the name */
    size_t start, end; /* bytes of the document */
    size_t at;         /* position in the plain text */
    int partner;       /* index of the other tag; -1: none */
    int is_framing;    /* stays at the start or the end of the cue */
};

/* The notation of the text of cues. */
struct clf__cue_syntax {
    /* Reads the tag at the start of a text, except its position; returns its size, or 0 if it is text. */
    size_t (*read_tag)(struct clf__cue_tag *out, const char *text, size_t size);
    /* Reads the character in another notation at the start of a text, such as &amp;, and adds it to the plain
     * text; returns its size, or 0 if there is none. NULL: never. */
    size_t (*read_character)(struct clf__output *plain, const char *text, size_t size);
    /* Adds text without line breaks in the notation of the format. */
    void (*add_text)(struct clf__output *out, const char *text, size_t size);
    const char *line_break; /* between the lines of a cue; NULL: as before the cue */
};

struct clf__cue {
    int line;              /* line number of the cue's times */
    int text_line;         /* line number of the text; 0: the next line */
    double from, to;       /* seconds */
    size_t start, end;     /* the text: bytes of the document */
    size_t prefix, suffix; /* [start, prefix) and [suffix, end) are kept */
    unsigned place;        /* hash of the tags that place the cue; 0: none */
    int first_slot, slot_count;
    int first_mark, mark_count;
};

struct clf__slot {
    int cue;
    size_t lead, start, end, tail; /* positions in the plain text: [lead, start) and [end, tail) are kept */
    size_t tag, tag_end;           /* a tag before the slot: bytes of the document */
    int begins_line, begins_run, ends_run;
    int follows_space;
    int first_part, part_count;
};

/* A mark in the plain text. */
struct clf__cue_mark {
    struct clf_mark mark; /* the index of the parent is relative to the first mark of the cue */
    struct clf__tags tags;
};

struct clf__slot_part {
    int segment; /* index of the segment; ~index for a segment in `fixed` */
    int slot;
    size_t size;     /* code points of the source */
    size_t from, to; /* bytes of the translation */
};

struct clf__subtitles {
    const struct clf__cue_syntax *syntax;
    struct clf__output plain; /* the text of all cues without tags; lines end in "\n" */
    struct clf__cue *cues;
    struct clf__slot *slots;
    struct clf__cue_mark *marks;
    struct clf__slot_part *parts; /* in the order of segments, then of slots */
    int cue_count, cue_capacity, slot_count, slot_capacity, mark_count, mark_capacity, part_count,
        part_capacity;
    struct clf__segments fixed; /* texts without letters */
};

/* Creates document->state and frees it. */
clf_status clf__subtitles_create(struct clf__subtitles **out, struct clf_document *document,
                                 const struct clf__cue_syntax *syntax);
void clf__subtitles_close(struct clf_document *document);

/* Adds a cue, whose text is [cue->start, cue->end). */
clf_status clf__subtitles_add(struct clf__subtitles *subtitles, const struct clf__cue *cue);

/* Reads the text of a cue: adds plain text, marks and slots. */
clf_status clf__cue_read(struct clf__subtitles *subtitles, const char *bytes, int cue);
/* Finds the slots of a cue, whose plain text is [from, to) and which has these tags; the text before `from`
 * belongs to other cues. */
clf_status clf__cue_find_slots(struct clf__subtitles *subtitles, int cue, size_t from,
                               const struct clf__cue_tag *tags, int count);

/* Finds the segments of all cues and their parts. */
clf_status clf__subtitles_find_segments(struct clf_document *document);

/* Splits the translations among their parts. */
clf_status clf__subtitles_divide(struct clf_document *document);
/* Returns the segment of a part. */
struct clf__segment *clf__part_segment(const struct clf_document *document,
                                       const struct clf__slot_part *part);

clf_status clf__subtitles_write(struct clf__output *out, struct clf_document *document);

/* Reads the times of a cue. Returns 0 if a line has no valid times, such as "00:00:01,000 --> 00:00:02,500".
 *
 * @param needs_hours 0: hours may be missing. */
int clf__cue_times(double *from, double *to, const char *line, size_t size, int needs_hours);
/* Reads a single time, whose hours may be missing. */
int clf__cue_time(double *out, const char *text, size_t size);
/* Returns whether a line seems to be a line of times, even if it is malformed. */
int clf__cue_looks_timed(const char *line, size_t size);
/* Fails for a malformed line of times. */
clf_status clf__cue_fail(int number, const char *line, size_t size, const char *example);

#endif
