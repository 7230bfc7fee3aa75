#include "translate/documents/segment.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "text/markup/markup.h"
#include "translate/documents/html/tokens.h"

static void free_segment(struct clf__segment *segment)
{
    clf__free(segment->text);
    clf__free(segment->marks);
    clf__free(segment->tags);
    clf__free(segment->translation);
    clf__free(segment->moved);
    clf__free(segment->kept);
}

static clf_status copy(void *out, const void *items, int count, size_t size)
{
    void *copied = NULL;
    if (count > 0) {
        CLF__TRY(clf__allocate(&copied, (size_t)count, size));
        memcpy(copied, items, (size_t)count * size);
    }
    memcpy(out, &copied, sizeof copied);
    return CLF_OK;
}

static clf_status fill(struct clf__segment *out, const struct clf__new_segment *segment)
{
    CLF__TRY(clf__copy_bytes(&out->text, segment->text, segment->size));
    CLF__TRY(copy(&out->marks, segment->marks, segment->count, sizeof *out->marks));
    CLF__TRY(copy(&out->tags, segment->tags, segment->count, sizeof *out->tags));
    for (int i = 0; i < segment->count; i++) {
        out->tags[i].index = i;
    }
    out->start = segment->start;
    out->end = segment->end;
    out->kind = segment->kind;
    out->shown = (struct clf_document_segment){.size = sizeof out->shown,
                                               .text = out->text,
                                               .text_size = segment->size,
                                               .marks = out->marks,
                                               .mark_count = segment->count,
                                               .line = segment->line};
    return CLF_OK;
}

clf_status clf__segments_add(struct clf__segments *segments, const struct clf__new_segment *segment)
{
    if (segments->most > 0 && segments->count >= segments->most) {
        return clf__fail(CLF_UNSUPPORTED, "has more than %d texts to translate; divide it", segments->most);
    }
    CLF__TRY(clf__grow(&segments->items, segments->count, &segments->capacity, sizeof *segments->items));
    struct clf__segment added = {.text = NULL};
    clf_status status = fill(&added, segment);
    if (status == CLF_OK) {
        status = clf__kept_terms_apply(&segments->terms, &added);
    }
    if (status != CLF_OK) {
        free_segment(&added);
        return status;
    }
    segments->items[segments->count++] = added;
    return CLF_OK;
}

void clf__segments_free(struct clf__segments *segments)
{
    for (int i = 0; i < segments->count; i++) {
        free_segment(&segments->items[i]);
    }
    clf__free(segments->items);
    clf__kept_terms_free(&segments->terms);
    *segments = (struct clf__segments){.count = 0};
}

static int compare(const void *one, const void *other)
{
    size_t start = ((const struct clf__segment *)one)->start;
    size_t other_start = ((const struct clf__segment *)other)->start;
    return start < other_start ? -1 : start > other_start;
}

void clf__segments_sort(struct clf__segments *segments)
{
    if (segments->count > 0) {
        qsort(segments->items, (size_t)segments->count, sizeof *segments->items, compare);
    }
}

/* Moves each mark with CLF__TAG_ORDERED after the previous such mark: to the same place or, if that is inside
 * an element, to the end of the element. */
static void keep_order(const struct clf__segment *segment, struct clf_mark *moved)
{
    size_t last = 0;
    for (int i = 0; i < segment->shown.mark_count; i++) {
        struct clf_mark *mark = &moved[i];
        if (!(segment->tags[i].spaces & CLF__TAG_ORDERED)) {
            continue;
        }
        if (mark->start < last) {
            size_t place = last;
            for (int k = 0; k < segment->shown.mark_count; k++) {
                int is_inside = moved[k].start < place && place < moved[k].end;
                place = moved[k].parent == mark->parent && is_inside ? moved[k].end : place;
            }
            if (mark->parent >= 0 && place > moved[mark->parent].end) {
                place = moved[mark->parent].end;
            }
            mark->start = mark->end = place;
        }
        last = mark->start;
    }
}

clf_status clf__segment_set(struct clf__segment *segment, const char *text, size_t size,
                            const struct clf_mark *moved)
{
    char *translation;
    struct clf_mark *marks;
    CLF__TRY(clf__copy_bytes(&translation, text, size));
    clf_status status = copy(&marks, moved, segment->shown.mark_count, sizeof *marks);
    if (status != CLF_OK) {
        clf__free(translation);
        return status;
    }
    keep_order(segment, marks);
    clf__free(segment->translation);
    clf__free(segment->moved);
    segment->translation = translation;
    segment->translation_size = size;
    segment->shown.translation = translation;
    segment->moved = marks;
    segment->is_known = 0;
    return CLF_OK;
}

int clf__segment_is_changed(const struct clf__segment *segment)
{
    return segment->translation != NULL &&
           (segment->translation_size != segment->shown.text_size ||
            memcmp(segment->translation, segment->text, segment->translation_size) != 0);
}

/* State of clf__segment_write(). */
struct part {
    const struct clf__segment_writer *writer;
    const struct clf__segment *segment;
    const char *text;
    const struct clf_mark *marks;
    size_t size, from, to, at;
    int is_after_term; /* the last text is a term */
};

static void add_tag(const struct part *part, size_t start, size_t end)
{
    part->writer->add_tag(part->writer->user, part->writer->bytes + start, end - start);
}

static void add_text(struct part *part, const char *text, size_t size, int is_term)
{
    part->writer->add_text(part->writer->user, text, size);
    part->is_after_term = is_term;
}

/* Writes the spaces that a mark without content had around it, unless the translation has them. */
static void space_before(struct part *part, const struct clf__tags *tags, size_t at)
{
    int is_after_word = at > 0 && !clf__html_is_space(part->text[at - 1]);
    if (tags->spaces & CLF__SPACE_BEFORE && (is_after_word || part->is_after_term)) {
        add_text(part, " ", 1, 0);
    }
}

static void space_after(struct part *part, const struct clf__tags *tags, size_t at)
{
    int is_apart = tags->spaces & CLF__SPACE_BEFORE || at == 0;
    if (is_apart && tags->spaces & CLF__SPACE_AFTER && at < part->size &&
        !clf__html_is_space(part->text[at])) {
        add_text(part, " ", 1, 0);
    }
}

static void write_text(struct part *part, size_t start, size_t end)
{
    size_t from = start > part->from ? start : part->from, to = end < part->to ? end : part->to;
    if (from < to) {
        add_text(part, part->text + from, to - from, 0);
    }
}

static int write_event(void *user, enum clf__markup_event event, int mark, size_t start, size_t end)
{
    struct part *part = user;
    if (event == CLF__MARKUP_TEXT) {
        write_text(part, start, end);
        part->at = end;
        return 1;
    }
    const struct clf__tags *tags = &part->segment->tags[mark];
    int is_start = event == CLF__MARKUP_START;
    int had_text = part->segment->marks[mark].start < part->segment->marks[mark].end;
    int starts_here =
        part->at >= part->from && (part->at < part->to || (part->at == part->to && part->to == part->size));
    int ends_here = part->marks[mark].start == part->marks[mark].end
                        ? starts_here
                        : part->at > part->from && part->at <= part->to;
    if (is_start && starts_here) {
        if (!had_text) {
            space_before(part, tags, part->at);
        }
        if (tags->is_term) {
            add_text(part, part->segment->kept + tags->start, tags->start_end - tags->start, 1);
        } else {
            add_tag(part, tags->start, tags->start_end);
        }
    } else if (!is_start && ends_here) {
        add_tag(part, tags->end, tags->end_end);
        if (!had_text) {
            space_after(part, tags, part->at);
        }
    }
    return 1;
}

clf_status clf__segment_write(const struct clf__segment_writer *writer, const struct clf__segment *segment,
                              size_t from, size_t to)
{
    int is_set = segment->translation != NULL;
    struct part part = {.writer = writer,
                        .segment = segment,
                        .text = is_set ? segment->translation : segment->text,
                        .marks = is_set ? segment->moved : segment->marks,
                        .size = is_set ? segment->translation_size : segment->shown.text_size,
                        .from = from,
                        .to = to};
    return clf__markup_write(part.marks, segment->shown.mark_count, part.size, write_event, &part);
}
