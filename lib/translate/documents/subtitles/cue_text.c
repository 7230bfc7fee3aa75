/* Reads the text of a cue. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "translate/documents/html/elements.h"
#include "translate/documents/subtitles/subtitles.h"

/* Further tags only divide the text, so that a hostile cue costs little time. */
enum { MOST_PAIRED = 64 };

/* State of clf__cue_read(). */
struct reader {
    struct clf__subtitles *subtitles;
    const char *bytes;
    struct clf__cue *cue;
    struct clf__cue_tag *tags; /* (count) */
    int count, capacity;
    size_t from; /* start of the plain text of the cue */
};

static clf_status add_tag(struct reader *reader, struct clf__cue_tag tag, size_t start, size_t end)
{
    CLF__TRY(clf__grow(&reader->tags, reader->count, &reader->capacity, sizeof *reader->tags));
    tag.start = start;
    tag.end = end;
    tag.at = reader->subtitles->plain.size;
    tag.partner = -1;
    if (reader->count >= MOST_PAIRED) {
        tag.kind = CLF__CUE_TIME;
    }
    reader->tags[reader->count++] = tag;
    return CLF_OK;
}

/* Adds the plain text and finds the tags. */
static clf_status read_plain(struct reader *reader)
{
    struct clf__output *plain = &reader->subtitles->plain;
    const struct clf__cue_syntax *syntax = reader->subtitles->syntax;
    for (size_t at = reader->cue->start, size; at < reader->cue->end; at += size) {
        const char *text = reader->bytes + at;
        size_t left = reader->cue->end - at;
        struct clf__cue_tag tag = {.start = 0};
        if ((*text == '<' || *text == '{') && (size = syntax->read_tag(&tag, text, left)) > 0) {
            CLF__TRY(add_tag(reader, tag, at, at + size));
        } else if (syntax->read_character != NULL && (size = syntax->read_character(plain, text, left)) > 0) {
            continue;
        } else if (*text == '\r' || *text == '\n') {
            size = left > 1 && *text == '\r' && text[1] == '\n' ? 2 : 1;
            clf__output_add(plain, "\n", 1);
        } else {
            size = 1;
            clf__output_add(plain, text, 1);
        }
    }
    return plain->status;
}

static void pair_tags(struct reader *reader)
{
    int open[MOST_PAIRED], depth = 0;
    for (int i = 0; i < reader->count && i < MOST_PAIRED; i++) {
        struct clf__cue_tag *tag = &reader->tags[i];
        if (tag->kind == CLF__CUE_START) {
            open[depth++] = i;
        } else if (tag->kind == CLF__CUE_END && depth > 0 &&
                   reader->tags[open[depth - 1]].name == tag->name) {
            tag->partner = open[--depth];
            reader->tags[tag->partner].partner = i;
        }
    }
}

/* Finds the tags at the start and at the end of the cue whose elements contain its whole text. */
static void find_frame(struct reader *reader)
{
    struct clf__cue *cue = reader->cue;
    struct clf__cue_tag *tags = reader->tags;
    int first = 0, last = reader->count, before;
    cue->prefix = cue->start;
    while (first < last && tags[first].start == cue->prefix) {
        cue->prefix = tags[first++].end;
    }
    cue->suffix = cue->end;
    while (last > first && tags[last - 1].end == cue->suffix) {
        cue->suffix = tags[--last].start;
    }
    do { /* an element that ends within the text is not part of the frame */
        before = first - last;
        for (int i = 0; i < first; i++) {
            first = tags[i].partner >= 0 && tags[i].partner < last ? i : first;
        }
        for (int i = reader->count - 1; i >= last; i--) {
            last = tags[i].partner >= first ? i + 1 : last;
        }
    } while (first - last != before);
    cue->prefix = first > 0 ? tags[first - 1].end : cue->start;
    cue->suffix = last < reader->count ? tags[last].start : cue->end;
    for (int i = 0; i < reader->count; i++) {
        tags[i].is_framing = i < first || i >= last;
        if (tags[i].is_framing && tags[i].kind == CLF__CUE_POSITION) {
            cue->place ^= clf__html_hash(reader->bytes + tags[i].start, tags[i].end - tags[i].start);
        }
    }
}

/* Returns whether a slot of the cue that begins a run begins in the text between two tags. */
static int is_divided(const struct reader *reader, const struct clf__cue_tag *start,
                      const struct clf__cue_tag *end)
{
    for (int i = 0; i < reader->cue->slot_count; i++) {
        const struct clf__slot *slot = &reader->subtitles->slots[reader->cue->first_slot + i];
        int begins_run = slot->begins_run || (i > 0 && slot[-1].ends_run);
        if (i > 0 && begins_run && slot->lead > start->at && slot->start < end->at) {
            return 1;
        }
    }
    return 0;
}

static int is_space_at(const struct reader *reader, size_t at)
{
    return at >= reader->cue->start && at < reader->cue->end && strchr(" \t\r\n", reader->bytes[at]) != NULL;
}

static clf_status add_mark(struct reader *reader, const struct clf__cue_tag *tag, int parent)
{
    struct clf__subtitles *subtitles = reader->subtitles;
    const struct clf__cue_tag *end = tag->partner >= 0 ? &reader->tags[tag->partner] : NULL;
    struct clf__cue_mark mark = {{tag->at, end != NULL ? end->at : tag->at, parent},
                                 {tag->start, tag->end, tag->end, tag->end, 0, 0, 0}};
    if (end != NULL) {
        mark.tags.end = end->start;
        mark.tags.end_end = end->end;
    }
    mark.tags.spaces = is_space_at(reader, tag->start - 1) * CLF__SPACE_BEFORE +
                       is_space_at(reader, mark.tags.end_end) * CLF__SPACE_AFTER;
    CLF__TRY(clf__grow(&subtitles->marks, subtitles->mark_count, &subtitles->mark_capacity,
                       sizeof *subtitles->marks));
    subtitles->marks[subtitles->mark_count++] = mark;
    reader->cue->mark_count++;
    return CLF_OK;
}

/* Adds the elements that contain a part of the text. */
static clf_status add_marks(struct reader *reader)
{
    int open[MOST_PAIRED], depth = 0;
    reader->cue->first_mark = reader->subtitles->mark_count;
    for (int i = 0; i < reader->count && i < MOST_PAIRED; i++) {
        struct clf__cue_tag *tag = &reader->tags[i];
        if (tag->is_framing || tag->kind == CLF__CUE_TIME || tag->kind == CLF__CUE_VOICE) {
            continue;
        }
        if (tag->kind == CLF__CUE_END && tag->partner >= 0) {
            depth--;
            continue;
        }
        if (tag->partner >= 0 && is_divided(reader, tag, &reader->tags[tag->partner])) {
            reader->tags[tag->partner].partner = -1;
            tag->partner = -1;
        }
        CLF__TRY(add_mark(reader, tag, depth > 0 ? open[depth - 1] : -1));
        if (tag->partner >= 0) {
            open[depth++] = reader->cue->mark_count - 1;
        }
    }
    return CLF_OK;
}

static clf_status read_cue(struct reader *reader, int cue)
{
    CLF__TRY(read_plain(reader));
    pair_tags(reader);
    find_frame(reader);
    CLF__TRY(clf__cue_find_slots(reader->subtitles, cue, reader->from, reader->tags, reader->count));
    return reader->cue->slot_count > 0 ? add_marks(reader) : CLF_OK;
}

clf_status clf__cue_read(struct clf__subtitles *subtitles, const char *bytes, int cue)
{
    struct reader reader = {
        .subtitles = subtitles, .bytes = bytes, .cue = &subtitles->cues[cue], .from = subtitles->plain.size};
    clf_status status = read_cue(&reader, cue);
    clf__free(reader.tags);
    return status;
}
