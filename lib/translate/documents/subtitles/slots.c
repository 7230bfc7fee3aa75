/* Divides the text of a cue into slots. */
#include <string.h>

#include "base/memory.h"
#include "text/sentences/sentences.h"
#include "translate/documents/subtitles/subtitles.h"

/* State of clf__cue_find_slots(). */
struct finder {
    struct clf__subtitles *subtitles;
    struct clf__cue *cue;
    int index; /* index of the cue */
};

static int ends_with(const char *text, size_t size, const char *word)
{
    size_t length = strlen(word);
    return length <= size && memcmp(text + size - length, word, length) == 0;
}

static const char *const notes[] = {"\xe2\x99\xaa", "\xe2\x99\xab", "\xe2\x99\xac"}; /* music */
enum { NOTES = sizeof notes / sizeof *notes };

static size_t skip_spaces(const char *text, size_t size, size_t at)
{
    while (at < size && (text[at] == ' ' || text[at] == '\t')) {
        at++;
    }
    return at;
}

/* Returns the size of a speaker's dash or of music notes at the start of a line; 0: none. */
static size_t lead_size(const char *text, size_t size)
{
    static const char *const dashes[] = {"-", "\xe2\x80\x90", "\xe2\x80\x93", "\xe2\x80\x94"};
    size_t lead = 0;
    for (size_t i = 0; i < sizeof dashes / sizeof *dashes && lead == 0; i++) {
        lead = clf__text_begins(text, size, dashes[i]) ? strlen(dashes[i]) : 0;
    }
    if (lead > 0 && (lead == size || strchr("-0123456789", text[lead]) != NULL)) {
        return 0;
    }
    lead = skip_spaces(text, size, lead);
    for (int i = 0; i < NOTES; i++) {
        if (clf__text_begins(text + lead, size - lead, notes[i])) {
            lead = skip_spaces(text, size, lead + strlen(notes[i]));
            i = -1;
        }
    }
    return lead;
}

/* Returns the size of the notes after a song, with the spaces before them. */
static size_t tail_size(const char *text, size_t size)
{
    size_t kept = size;
    for (int i = 0; i < NOTES; i++) {
        if (ends_with(text, kept, notes[i])) {
            kept -= strlen(notes[i]);
            while (kept > 0 && (text[kept - 1] == ' ' || text[kept - 1] == '\t')) {
                kept--;
            }
            i = -1;
        }
    }
    return size - kept;
}

/* Returns whether a line is a sound in brackets, such as "[Door opens]". */
static int is_in_brackets(const char *text, size_t size)
{
    static const char *const brackets[][2] = {
        {"[", "]"}, {"(", ")"}, {"\xef\xbc\x88", "\xef\xbc\x89"}, {"\xe3\x80\x90", "\xe3\x80\x91"}};
    for (size_t i = 0; i < sizeof brackets / sizeof *brackets; i++) {
        if (size > 2 && clf__text_begins(text, size, brackets[i][0]) &&
            ends_with(text, size, brackets[i][1])) {
            return 1;
        }
    }
    return 0;
}

static struct clf__slot *last_slot(struct finder *finder)
{
    return finder->cue->slot_count > 0 ? &finder->subtitles->slots[finder->subtitles->slot_count - 1] : NULL;
}

/* Ends the last slot of the cue at a position. */
static void end_slot(struct finder *finder, size_t at)
{
    struct clf__slot *slot = last_slot(finder);
    const char *plain = finder->subtitles->plain.bytes;
    if (slot != NULL) {
        struct clf__part part = clf__part_trim(plain, slot->start, at);
        slot->start = part.size > 0 ? part.start : slot->start;
        slot->tail = slot->start + part.size;
        slot->end = slot->tail - tail_size(plain + slot->start, part.size);
    }
}

/* Begins a slot at a position of the plain text. */
static clf_status begin_slot(struct finder *finder, size_t at, int begins_line)
{
    struct clf__subtitles *subtitles = finder->subtitles;
    end_slot(finder, at);
    CLF__TRY(clf__grow(&subtitles->slots, subtitles->slot_count, &subtitles->slot_capacity,
                       sizeof *subtitles->slots));
    int is_first = finder->cue->slot_count == 0;
    subtitles->slots[subtitles->slot_count++] = (struct clf__slot){
        .cue = finder->index,
        .lead = at,
        .start = at,
        .begins_line = begins_line && !is_first,
        .follows_space = !is_first && strchr(" \t\n", subtitles->plain.bytes[at - 1]) != NULL};
    finder->cue->slot_count++;
    return CLF_OK;
}

/* Begins a slot at a tag. */
static clf_status begin_at_tag(struct finder *finder, const struct clf__cue_tag *tag, int begins_line)
{
    CLF__TRY(begin_slot(finder, tag->at, begins_line));
    struct clf__slot *slot = last_slot(finder);
    slot->tag = tag->start;
    slot->tag_end = tag->end;
    slot->begins_run = tag->kind == CLF__CUE_VOICE;
    return CLF_OK;
}

/* Adds the slots of a line without surrounding white space, which ends at `line_end`; *tag is the next tag.
 */
static clf_status add_line(struct finder *finder, struct clf__part line, size_t line_end,
                           const struct clf__cue_tag **tag, const struct clf__cue_tag *end)
{
    const char *text = finder->subtitles->plain.bytes + line.start;
    size_t lead = lead_size(text, line.size), tail = tail_size(text, line.size);
    int is_sound = is_in_brackets(text, line.size), begins_line = 1;
    for (; *tag < end && (*tag)->at <= line.start; (*tag)++) {
        CLF__TRY(begin_at_tag(finder, *tag, begins_line));
        begins_line = 0;
    }
    const struct clf__slot *last = last_slot(finder);
    if (begins_line && (last == NULL || lead > 0 || is_sound || last->ends_run)) {
        CLF__TRY(begin_slot(finder, line.start, 1));
    }
    struct clf__slot *slot = last_slot(finder);
    if (lead > 0 || is_sound) {
        slot->lead = line.start;
        slot->start = line.start + lead;
        slot->begins_run = 1;
    }
    for (; *tag < end && (*tag)->at <= line_end; (*tag)++) {
        CLF__TRY(begin_at_tag(finder, *tag, 0));
    }
    last_slot(finder)->ends_run = is_sound || tail > 0;
    return CLF_OK;
}

clf_status clf__cue_find_slots(struct clf__subtitles *subtitles, int cue, size_t from,
                               const struct clf__cue_tag *tags, int count)
{
    struct finder finder = {subtitles, &subtitles->cues[cue], cue};
    struct clf__cue_tag *dividing = NULL;
    int dividing_count = 0;
    finder.cue->first_slot = subtitles->slot_count;
    CLF__TRY(clf__allocate(&dividing, (size_t)count, sizeof *dividing));
    for (int i = 0; i < count; i++) {
        if (!tags[i].is_framing && (tags[i].kind == CLF__CUE_TIME || tags[i].kind == CLF__CUE_VOICE)) {
            dividing[dividing_count++] = tags[i];
        }
    }
    const struct clf__cue_tag *next = dividing, *end = dividing + dividing_count;
    struct clf__text_line line = {.next = from};
    clf_status status = CLF_OK;
    while (status == CLF_OK && clf__text_line_next(&line, subtitles->plain.bytes, subtitles->plain.size)) {
        struct clf__part part = clf__part_trim(subtitles->plain.bytes, line.start, line.end);
        status = part.size > 0 ? add_line(&finder, part, line.end, &next, end) : CLF_OK;
    }
    for (; status == CLF_OK && finder.cue->slot_count > 0 && next < end; next++) {
        status = begin_at_tag(&finder, next, 0);
    }
    end_slot(&finder, subtitles->plain.size);
    clf__free(dividing);
    return status;
}
