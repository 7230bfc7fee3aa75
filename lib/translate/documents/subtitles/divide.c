/* Splits translations among the slots of their sentences, in proportion to the source and between words. */
#include "base/memory.h"
#include "base/utf8.h"
#include "translate/documents/subtitles/subtitles.h"
#include "translate/documents/words.h"

struct clf__segment *clf__part_segment(const struct clf_document *document, const struct clf__slot_part *part)
{
    const struct clf__subtitles *subtitles = document->state;
    return part->segment >= 0 ? &document->segments.items[part->segment]
                              : &subtitles->fixed.items[~part->segment];
}

/* The text of a segment: its translation if there is one. */
static const char *text_of(size_t *size, const struct clf__segment *segment)
{
    *size = segment->translation != NULL ? segment->translation_size : segment->shown.text_size;
    return segment->translation != NULL ? segment->translation : segment->text;
}

/* Returns the break from `first` to `last` whose number of code points is nearest to `wanted`. */
static int find_nearest(const size_t *points, int first, int last, double wanted)
{
    int best = first;
    for (int i = first; i <= last; i++) {
        double away = (double)points[i] - wanted, nearest = (double)points[best] - wanted;
        best = (away < 0 ? -away : away) < (nearest < 0 ? -nearest : nearest) ? i : best;
        if (away > 0) {
            break;
        }
    }
    return best;
}

/* Sets the ranges of several parts. `points`: the number of code points before each break. */
static void place_parts(struct clf__slot_part *parts, int count, const size_t *breaks, const size_t *points,
                        int break_count, size_t size, size_t total)
{
    size_t sum = 0, before = 0;
    int next = 0;
    for (int i = 0; i < count; i++) {
        sum += parts[i].size;
    }
    parts[0].from = 0;
    for (int i = 0; i + 1 < count; i++) {
        int last = break_count - (count - 1 - i); /* leaves a break for each later part */
        before += parts[i].size;
        size_t at = size;
        if (next < break_count) {
            last = last < next ? next : last;
            int chosen = find_nearest(points, next, last,
                                      (double)before / (double)(sum > 0 ? sum : 1) * (double)total);
            at = breaks[chosen];
            next = chosen + 1;
        }
        parts[i].to = parts[i + 1].from = at;
    }
    parts[count - 1].to = size;
}

static clf_status divide(struct clf__slot_part *parts, int count, const char *text, size_t size)
{
    size_t *breaks = NULL, *points = NULL;
    int break_count = 0;
    if (count == 1) {
        parts->from = 0;
        parts->to = size;
        return CLF_OK;
    }
    CLF__TRY(clf__words_breaks(&breaks, &break_count, text, size));
    clf_status status = clf__allocate(&points, (size_t)break_count + 1, sizeof *points);
    if (status == CLF_OK) {
        size_t at = 0, counted = 0;
        for (int i = 0; i < break_count; i++) {
            counted += clf__utf8_count(text + at, breaks[i] - at);
            at = breaks[i];
            points[i] = counted;
        }
        counted += clf__utf8_count(text + at, size - at);
        place_parts(parts, count, breaks, points, break_count, size, counted);
    }
    clf__free(breaks);
    clf__free(points);
    return status;
}

/* Limits each mark of a translation to the cue that contains most of it. */
static void limit_marks(struct clf__segment *segment, const struct clf__subtitles *subtitles,
                        const struct clf__slot_part *parts, int count)
{
    for (int i = 0; i < segment->shown.mark_count; i++) {
        struct clf_mark *mark = &segment->moved[i];
        size_t best = 0, from = mark->start, to = mark->start;
        if (mark->parent >= 0) {
            const struct clf_mark *parent = &segment->moved[mark->parent];
            mark->start = mark->start < parent->start ? parent->start : mark->start;
            mark->start = mark->start > parent->end ? parent->end : mark->start;
            mark->end = mark->end > parent->end ? parent->end : mark->end;
            mark->end = mark->end < mark->start ? mark->start : mark->end;
        }
        for (int first = 0, next; first < count; first = next) {
            int cue = subtitles->slots[parts[first].slot].cue;
            for (next = first + 1; next < count && subtitles->slots[parts[next].slot].cue == cue; next++) {
            }
            size_t start = parts[first].from > mark->start ? parts[first].from : mark->start;
            size_t end = parts[next - 1].to < mark->end ? parts[next - 1].to : mark->end;
            if (start < end && end - start > best) {
                best = end - start;
                from = start;
                to = end;
            }
        }
        if (mark->start < mark->end) {
            mark->start = from;
            mark->end = to;
        }
    }
}

clf_status clf__subtitles_divide(struct clf_document *document)
{
    struct clf__subtitles *subtitles = document->state;
    for (int first = 0, next; first < subtitles->part_count; first = next) {
        struct clf__slot_part *parts = &subtitles->parts[first];
        for (next = first + 1;
             next < subtitles->part_count && subtitles->parts[next].segment == parts->segment; next++) {
        }
        struct clf__segment *segment = clf__part_segment(document, parts);
        size_t size;
        const char *text = text_of(&size, segment);
        CLF__TRY(divide(parts, next - first, text, size));
        if (segment->translation != NULL) {
            limit_marks(segment, subtitles, parts, next - first);
        }
    }
    return CLF_OK;
}
