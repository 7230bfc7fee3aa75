/* Joins the slots of sentences that span several cues, and finds their segments. */
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "text/sentences/sentences.h"
#include "translate/documents/subtitles/subtitles.h"
#include "translate/documents/words.h"

/* A long pause ends a sentence; subtitles without punctuation are divided after MOST_SENTENCE bytes. */
static const double most_pause = 3; /* seconds */
enum { MOST_SENTENCE = 300 };       /* bytes */

/* The text of consecutive slots. */
struct run {
    struct clf_document *document;
    struct clf__subtitles *subtitles;
    int first, end;          /* slots */
    struct clf__output text; /* one line */
    size_t base;             /* position of the map in the plain text */
    size_t *map;             /* (map_size) for each byte of the plain text, its position in the text */
    size_t map_size, map_capacity;
    size_t *ends; /* (end - first) end of each slot in the text */
    size_t ends_capacity;
    struct clf__part_list sentences;
    struct clf_mark *marks; /* (mark_count) marks of the current segment */
    struct clf__tags *tags;
    int *local; /* for each mark of the run, its index in its segment; -1: none */
    size_t marks_capacity, tags_capacity, local_capacity;
    int next_mark; /* the first mark after the earlier runs */
    int mark_cue;  /* the cue of the last mark */
    int next_slot; /* the first slot of the current segment */
};

static const struct clf__cue *cue_of(const struct clf__subtitles *subtitles, int slot)
{
    return &subtitles->cues[subtitles->slots[slot].cue];
}

/* Returns the number of bytes of a slot after its last full stop. */
static size_t open_size(const char *text, size_t size, int *has_stop)
{
    static const char *const stops[] = {
        ".", "!", "?", "\xe2\x80\xa6", "\xe3\x80\x82", "\xef\xbc\x81", "\xef\xbc\x9f"};
    for (size_t at = size; at-- > 0;) {
        for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
            size_t length = strlen(stops[i]);
            if (length <= size - at && memcmp(text + at, stops[i], length) == 0) {
                *has_stop = 1;
                return size - at - length;
            }
        }
    }
    *has_stop = 0;
    return size;
}

/* Returns whether a slot begins a run. `open` is the size of the text since the last full stop. */
static int begins_run(const struct clf__subtitles *subtitles, int slot, size_t open)
{
    const struct clf__slot *here = &subtitles->slots[slot];
    if (slot == 0 || here->begins_run || here[-1].ends_run) {
        return 1;
    }
    const struct clf__cue *cue = cue_of(subtitles, slot), *before = cue_of(subtitles, slot - 1);
    return cue != before && (open > MOST_SENTENCE || cue->place != before->place ||
                             cue->from - before->to > most_pause || cue->from < before->from);
}

/* Finds the slots of the next run. */
static void find_run(struct run *run)
{
    const struct clf__subtitles *subtitles = run->subtitles;
    size_t open = 0;
    run->first = run->end;
    do {
        const struct clf__slot *slot = &subtitles->slots[run->end++];
        int has_stop;
        size_t size = open_size(subtitles->plain.bytes + slot->start, slot->end - slot->start, &has_stop);
        open = has_stop ? size : open + size;
    } while (run->end < subtitles->slot_count && !begins_run(subtitles, run->end, open));
}

static clf_status map_next(struct run *run)
{
    CLF__TRY(clf__grow_to(&run->map, run->map_size + 1, &run->map_capacity, sizeof *run->map));
    run->map[run->map_size++] = run->text.size;
    return CLF_OK;
}

/* Adds a space between two words, unless they are in a script without spaces. */
static void add_space(struct run *run, const char *next, size_t size)
{
    struct clf__output *text = &run->text;
    if (text->size > 0 && text->bytes[text->size - 1] != ' ' &&
        clf__words_need_space(text->bytes, text->size, next, size)) {
        clf__output_add(text, " ", 1);
    }
}

static int is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n';
}

/* Adds the text of a slot as one line. */
static clf_status add_slot(struct run *run, const struct clf__slot *slot, int is_first)
{
    const char *plain = run->subtitles->plain.bytes;
    struct clf__output *text = &run->text;
    while (run->base + run->map_size < slot->start) {
        CLF__TRY(map_next(run));
    }
    if (slot->start < slot->end && (is_first || slot->follows_space || slot->tag == slot->tag_end)) {
        add_space(run, plain + slot->start, slot->end - slot->start);
    }
    for (size_t at = slot->start; at < slot->end; at++) {
        if (at > slot->start && !is_space(plain[at]) && is_space(plain[at - 1])) {
            if (plain[at - 1] == '\n') {
                add_space(run, plain + at, slot->end - at);
            } else if (text->size > 0) {
                clf__output_add(text, " ", 1);
            }
        }
        CLF__TRY(map_next(run));
        if (!is_space(plain[at])) {
            clf__output_add(text, plain + at, 1);
        }
    }
    return text->status;
}

static clf_status read_run(struct run *run)
{
    const struct clf__slot *slots = run->subtitles->slots;
    run->text.size = run->map_size = 0;
    clf__output_add(&run->text, "", 0);
    run->base = slots[run->first].lead;
    CLF__TRY(
        clf__grow_to(&run->ends, (size_t)(run->end - run->first), &run->ends_capacity, sizeof *run->ends));
    for (int i = run->first; i < run->end; i++) {
        CLF__TRY(add_slot(run, &slots[i], run->subtitles->cues[slots[i].cue].first_slot == i));
        run->ends[i - run->first] = run->text.size;
    }
    return CLF_OK;
}

static size_t place_in_run(const struct run *run, size_t at)
{
    size_t offset = at > run->base ? at - run->base : 0;
    return offset < run->map_size ? run->map[offset] : run->text.size;
}

/* Returns the end of the marks of the run. */
static int end_of_marks(const struct run *run)
{
    const struct clf__subtitles *subtitles = run->subtitles;
    int last = run->next_mark;
    size_t limit =
        run->end < subtitles->slot_count ? subtitles->slots[run->end].lead : subtitles->plain.size + 1;
    while (last < subtitles->mark_count && subtitles->marks[last].mark.start < limit) {
        last++;
    }
    return last;
}

/* Joins sentences that a mark contains only partly, and sentences without letters to a neighbour. */
static void join_sentences(struct run *run, int last_mark)
{
    struct clf__part *parts = run->sentences.items;
    int kept = 0, mark = run->next_mark;
    size_t reach = 0; /* end of the marks that begin before the current border */
    for (int i = 0; i < run->sentences.count; i++) {
        size_t end = parts[i].start + parts[i].size;
        int joins = kept > 0 &&
                    (reach > parts[i].start ||
                     !clf__text_has_letter(run->text.bytes + parts[i].start, parts[i].size) ||
                     !clf__text_has_letter(run->text.bytes + parts[kept - 1].start, parts[kept - 1].size));
        if (joins) {
            parts[kept - 1].size = end - parts[kept - 1].start;
        } else {
            parts[kept++] = parts[i];
        }
        for (; mark < last_mark && place_in_run(run, run->subtitles->marks[mark].mark.start) < end; mark++) {
            size_t to = place_in_run(run, run->subtitles->marks[mark].mark.end);
            reach = to > reach ? to : reach;
        }
    }
    run->sentences.count = kept;
}

/* Returns the index of the first mark in the cue of `mark`. Calls must pass marks in ascending order. */
static int first_of_cue(struct run *run, int mark)
{
    const struct clf__cue *cues = run->subtitles->cues;
    while (cues[run->mark_cue].first_mark + cues[run->mark_cue].mark_count <= mark) {
        run->mark_cue++;
    }
    return cues[run->mark_cue].first_mark;
}

/* Places a mark within a part of the text, without surrounding spaces. */
static struct clf_mark place_mark(const struct run *run, const struct clf_mark *mark, struct clf__part part)
{
    struct clf_mark placed = {place_in_run(run, mark->start), place_in_run(run, mark->end), -1};
    size_t end = part.start + part.size;
    const char *text = run->text.bytes;
    placed.end = placed.end < end ? placed.end : end;
    placed.start = placed.start > part.start ? placed.start : part.start;
    placed.start = placed.start < end ? placed.start : end;
    placed.end = placed.end > placed.start ? placed.end : placed.start;
    while (placed.start < placed.end && text[placed.start] == ' ') {
        placed.start++;
    }
    while (placed.end > placed.start && text[placed.end - 1] == ' ') {
        placed.end--;
    }
    placed.start -= part.start;
    placed.end -= part.start;
    return placed;
}

/* Finds the marks of a segment; returns the mark after the last one. */
static clf_status find_marks(int *count, struct run *run, struct clf__part part, int *mark, int last,
                             int is_last)
{
    const struct clf__subtitles *subtitles = run->subtitles;
    *count = 0;
    for (; *mark < last; (*mark)++) {
        const struct clf__cue_mark *found = &subtitles->marks[*mark];
        size_t start = place_in_run(run, found->mark.start), end = part.start + part.size;
        int is_empty = found->mark.start == found->mark.end;
        if (!is_last && (start > end || (start == end && !is_empty))) {
            break;
        }
        size_t needed = (size_t)*count + 1;
        CLF__TRY(clf__grow_to(&run->marks, needed, &run->marks_capacity, sizeof *run->marks));
        CLF__TRY(clf__grow_to(&run->tags, needed, &run->tags_capacity, sizeof *run->tags));
        CLF__TRY(clf__grow_to(&run->local, (size_t)(*mark - run->next_mark) + 1, &run->local_capacity,
                              sizeof *run->local));
        struct clf_mark placed = place_mark(run, &found->mark, part);
        int parent = found->mark.parent < 0 ? -1 : first_of_cue(run, *mark) + found->mark.parent;
        placed.parent = parent >= run->next_mark ? run->local[parent - run->next_mark] : -1;
        run->local[*mark - run->next_mark] = *count;
        run->tags[*count] = found->tags;
        run->marks[(*count)++] = placed;
    }
    return CLF_OK;
}

/* Adds the parts of a segment: its shares in the slots. */
static clf_status add_parts(struct run *run, struct clf__part sentence, int segment)
{
    struct clf__subtitles *subtitles = run->subtitles;
    size_t end = sentence.start + sentence.size;
    for (int slot = run->next_slot; slot < run->end; slot++) {
        size_t slot_start = slot > run->first ? run->ends[slot - run->first - 1] : 0;
        size_t slot_end = run->ends[slot - run->first];
        size_t from = slot_start > sentence.start ? slot_start : sentence.start,
               to = slot_end < end ? slot_end : end;
        if (slot_start >= end && sentence.size > 0) {
            break;
        }
        run->next_slot = slot;
        if (from >= to && sentence.size > 0) {
            continue;
        }
        struct clf__part part = clf__part_trim(run->text.bytes, from, to);
        CLF__TRY(clf__grow(&subtitles->parts, subtitles->part_count, &subtitles->part_capacity,
                           sizeof *subtitles->parts));
        struct clf__slot *owner = &subtitles->slots[slot];
        owner->first_part = owner->part_count == 0 ? subtitles->part_count : owner->first_part;
        owner->part_count++;
        subtitles->parts[subtitles->part_count++] =
            (struct clf__slot_part){.segment = segment,
                                    .slot = slot,
                                    .size = clf__utf8_count(run->text.bytes + part.start, part.size)};
        if (sentence.size == 0) {
            break;
        }
    }
    return CLF_OK;
}

static clf_status add_segment(struct run *run, struct clf__part part, int mark_count)
{
    struct clf__segments *translated = &run->document->segments, *fixed = &run->subtitles->fixed;
    int has_letter = clf__text_has_letter(run->text.bytes + part.start, part.size);
    int slot = run->next_slot;
    while (slot + 1 < run->end && run->ends[slot - run->first] <= part.start) {
        slot++;
    }
    const struct clf__new_segment segment = {.text = run->text.bytes + part.start,
                                             .size = part.size,
                                             .marks = run->marks,
                                             .tags = run->tags,
                                             .count = mark_count,
                                             .line = cue_of(run->subtitles, slot)->text_line};
    CLF__TRY(clf__segments_add(has_letter ? translated : fixed, &segment));
    return add_parts(run, part, has_letter ? translated->count - 1 : ~(fixed->count - 1));
}

static clf_status add_segments(struct run *run)
{
    int last_mark = end_of_marks(run), mark = run->next_mark;
    run->sentences.count = 0;
    run->next_slot = run->first;
    if (run->text.size > 0) {
        CLF__TRY(clf__sentences_find(&run->sentences, run->text.bytes, run->text.size));
    }
    join_sentences(run, last_mark);
    if (run->sentences.count == 0 && last_mark > mark) { /* marks without text */
        CLF__TRY(clf__part_list_add(&run->sentences, (struct clf__part){0, 0}));
    }
    for (int i = 0; i < run->sentences.count; i++) {
        int count;
        CLF__TRY(find_marks(&count, run, run->sentences.items[i], &mark, last_mark,
                            i + 1 == run->sentences.count));
        CLF__TRY(add_segment(run, run->sentences.items[i], count));
    }
    run->next_mark = last_mark;
    return CLF_OK;
}

static clf_status find_segments(struct run *run)
{
    while (run->end < run->subtitles->slot_count) {
        find_run(run);
        CLF__TRY(read_run(run));
        CLF__TRY(add_segments(run));
    }
    return CLF_OK;
}

clf_status clf__subtitles_find_segments(struct clf_document *document)
{
    struct clf__subtitles *subtitles = document->state;
    struct run run = {.document = document, .subtitles = subtitles};
    for (int i = 0; i < subtitles->cue_count; i++) {
        CLF__TRY(clf__cue_read(subtitles, document->bytes, i));
    }
    clf_status status = find_segments(&run);
    clf__free(run.text.bytes);
    clf__free(run.map);
    clf__free(run.ends);
    clf__free(run.marks);
    clf__free(run.tags);
    clf__free(run.local);
    clf__part_list_free(&run.sentences);
    return status;
}
