/* Translation memories: exact matches. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "translate/documents/bilingual/bilingual.h"
#include "translate/documents/html/tokens.h"

/* A text and its translation, in one line each. */
struct entry {
    char *source, *target;
    int index; /* in the file */
};

struct clf_memory {
    struct entry *entries; /* (count) sorted; of equal sources, the last one of the file comes first */
    int count, capacity;
};

/* --- The file. --- */

/* Adds text in which each run of white space is one space. */
static void add_line(struct clf__output *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        int is_space = clf__html_is_space(text[i]);
        if (!is_space || (out->size > 0 && out->bytes[out->size - 1] != ' ')) {
            clf__output_add(out, is_space ? " " : text + i, 1);
        }
    }
}

static void trim_end(struct clf__output *out)
{
    out->size -= out->size > 0 && out->bytes[out->size - 1] == ' ';
    clf__output_add(out, "", 0);
}

/* Returns the text of a <seg> with the text in its inline elements, such as the tags of HTML. */
static clf_status read_line(char **out, const char *bytes, const struct clf__bilingual_content *content)
{
    struct clf__xml_tokens tokens = {.bytes = bytes, .size = content->end, .at = content->start};
    struct clf__xml_token token;
    struct clf__output text = {.bytes = NULL}, line = {.bytes = NULL};
    clf__output_add(&text, "", 0);
    while (clf__xml_next(&token, &tokens)) {
        if (token.kind == CLF__XML_TEXT) {
            clf__xml_decode(&text, bytes + token.start, token.end - token.start);
        } else if (token.kind == CLF__XML_CDATA) {
            struct clf__xml_range inner = clf__xml_cdata(&token);
            clf__output_add(&text, bytes + inner.start, inner.end - inner.start);
        }
    }
    add_line(&line, text.bytes, text.size);
    trim_end(&line);
    clf__free(text.bytes);
    *out = line.bytes;
    clf_status status = text.status != CLF_OK ? text.status : line.status;
    if (status != CLF_OK) {
        clf__free(line.bytes);
        *out = NULL;
    }
    return status;
}

static clf_status add_entry(struct clf_memory *memory, const char *bytes, const struct clf__tmx_unit *unit)
{
    struct entry entry = {.index = memory->count};
    CLF__TRY(clf__grow(&memory->entries, memory->count, &memory->capacity, sizeof *memory->entries));
    CLF__TRY(read_line(&entry.source, bytes, &unit->source));
    clf_status status = read_line(&entry.target, bytes, &unit->target);
    if (status != CLF_OK || *entry.source == '\0' || *entry.target == '\0') {
        clf__free(entry.source);
        clf__free(entry.target);
        return status;
    }
    memory->entries[memory->count++] = entry;
    return CLF_OK;
}

static int compare(const void *one, const void *other)
{
    const struct entry *a = one, *b = other;
    int order = strcmp(a->source, b->source);
    return order != 0 ? order : b->index - a->index;
}

/* Reads a file in UTF-8. */
static clf_status read_text(struct clf_memory *memory, const struct clf_document *file,
                            const struct clf_memory_options *options)
{
    struct clf__tmx_unit unit;
    size_t mark = clf__utf8_mark(file->bytes, file->size);
    CLF__TRY(clf__xml_check(file->bytes, file->size, file->encoding != NULL));
    if (!clf__bilingual_is_root(file->bytes + mark, file->size - mark, "tmx")) {
        return clf__fail(CLF_FORMAT, "is not TMX: the first element is not <tmx>; use another file");
    }
    struct clf__tmx_reader reader =
        clf__tmx_begin(file->bytes, file->size,
                       (struct clf__tmx_languages){options->source_language, options->target_language});
    while (clf__tmx_next(&unit, &reader)) {
        if (unit.has_source && unit.has_target) {
            CLF__TRY(add_entry(memory, file->bytes, &unit));
        }
    }
    if (memory->count > 0) {
        qsort(memory->entries, (size_t)memory->count, sizeof *memory->entries, compare);
    }
    return CLF_OK;
}

static clf_status read_file(struct clf_memory *memory, const char *bytes, size_t size,
                            const struct clf_memory_options *options)
{
    struct clf_document file = {.size = size};
    if (size > CLF__DOCUMENT_MOST_BYTES) {
        return clf__fail(CLF_UNSUPPORTED, "has more than %d MiB; divide it", CLF__DOCUMENT_MOST_BYTES >> 20);
    }
    CLF__TRY(clf__copy_bytes(&file.bytes, size > 0 ? bytes : "", size));
    clf_status status = clf__document_decode(&file);
    if (status == CLF_OK) {
        status = read_text(memory, &file, options);
    }
    clf__free(file.bytes);
    clf__free(file.encoding);
    clf__free(file.original);
    return status;
}

static struct clf_memory_options default_options(void)
{
    return (struct clf_memory_options){.size = sizeof(struct clf_memory_options)};
}

void clf_memory_options_init_sized(struct clf_memory_options *options, size_t size)
{
    const struct clf_memory_options defaults = default_options();
    clf__options_init(options, size, &defaults);
}

clf_status clf_memory_open(struct clf_memory **out, const void *bytes, size_t size,
                           const struct clf_memory_options *options)
{
    struct clf_memory_options taken = default_options();
    struct clf_memory *memory;
    *out = NULL;
    if (bytes == NULL && size > 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "the bytes of a translation memory are NULL");
    }
    CLF__TRY(clf__options_take(&taken, sizeof taken, options, "clf_memory_options"));
    CLF__TRY(clf__allocate(&memory, 1, sizeof *memory));
    clf_status status = read_file(memory, bytes, size, &taken);
    if (status != CLF_OK) {
        clf_memory_free(memory);
        return clf__fail_in(status, "%s", taken.name != NULL ? taken.name : "memory");
    }
    *out = memory;
    return CLF_OK;
}

void clf_memory_free(struct clf_memory *memory)
{
    for (int i = 0; memory != NULL && i < memory->count; i++) {
        clf__free(memory->entries[i].source);
        clf__free(memory->entries[i].target);
    }
    if (memory != NULL) {
        clf__free(memory->entries);
    }
    clf__free(memory);
}

int clf_memory_count(const struct clf_memory *memory)
{
    return memory->count;
}

/* --- Segments. --- */

/* Returns the translation of a text; NULL if there is none. */
static const char *find(const struct clf_memory *memory, const char *source)
{
    int low = 0, high = memory->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (strcmp(memory->entries[middle].source, source) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < memory->count && strcmp(memory->entries[low].source, source) == 0
               ? memory->entries[low].target
               : NULL;
}

/* A translation from the memory, in which the tags of a segment are found. */
struct match {
    const struct clf_document *document;
    const struct clf__segment *segment;
    const char *text; /* (size) with tags */
    size_t size;
    struct place {
        size_t start, end; /* of a tag in the text */
        int mark, is_end;
    } * places; /* (count) */
    int count;
    struct clf__output plain; /* without tags */
    struct clf_mark *moved;   /* (segment->shown.mark_count) */
};

/* Finds a tag at or after a position where no other tag was found. Returns 0 if it is not there. */
static int find_tag(struct match *match, const char *tag, size_t size, size_t from, int mark, int is_end)
{
    for (size_t at = from; (at = clf__text_find(match->text, match->size, at, tag, size)) < match->size;
         at++) {
        int is_free = 1;
        for (int i = 0; i < match->count && is_free; i++) {
            is_free = at >= match->places[i].end || at + size <= match->places[i].start;
        }
        if (is_free) {
            match->places[match->count++] = (struct place){at, at + size, mark, is_end};
            return 1;
        }
    }
    return 0;
}

static int find_tags(struct match *match)
{
    const struct clf__segment *segment = match->segment;
    for (int i = 0; i < segment->shown.mark_count; i++) {
        const struct clf__tags *tags = &segment->tags[i];
        const char *bytes = tags->is_term ? segment->kept : match->document->bytes;
        if (tags->start_end > match->document->size || tags->end_end > match->document->size ||
            !find_tag(match, bytes + tags->start, tags->start_end - tags->start, 0, i, 0)) {
            return 0;
        }
        size_t after = match->places[match->count - 1].end;
        if (tags->end < tags->end_end &&
            !find_tag(match, bytes + tags->end, tags->end_end - tags->end, after, i, 1)) {
            return 0;
        }
    }
    return 1;
}

static int compare_places(const void *one, const void *other)
{
    const struct place *a = one, *b = other;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* Removes the tags from the text, and finds the marks. */
static void place_marks(struct match *match)
{
    size_t at = 0;
    if (match->count > 0) {
        qsort(match->places, (size_t)match->count, sizeof *match->places, compare_places);
    }
    for (int i = 0; i < match->count; i++) {
        const struct place *place = &match->places[i];
        clf__output_add(&match->plain, match->text + at, place->start - at);
        at = place->end;
        struct clf_mark *mark = &match->moved[place->mark];
        mark->parent = match->segment->marks[place->mark].parent;
        mark->end = match->plain.size;
        mark->start = place->is_end ? mark->start : mark->end;
    }
    clf__output_add(&match->plain, match->text + at, match->size - at);
}

/* Returns whether the marks are nested as in the source, and marks of the same parent have no common bytes.
 */
static int is_nested(const struct match *match)
{
    for (int i = 0; i < match->segment->shown.mark_count; i++) {
        const struct clf_mark *mark = &match->moved[i];
        const struct clf_mark *parent = mark->parent >= 0 ? &match->moved[mark->parent] : NULL;
        if (parent != NULL && (mark->start < parent->start || mark->end > parent->end)) {
            return 0;
        }
        for (int k = 0; k < i; k++) {
            const struct clf_mark *other = &match->moved[k];
            if (other->parent == mark->parent && other->start < mark->end && mark->start < other->end) {
                return 0;
            }
        }
    }
    return 1;
}

static clf_status set_match(int *is_set, struct match *match, struct clf__segment *segment)
{
    *is_set = 0;
    size_t count = (size_t)segment->shown.mark_count;
    CLF__TRY(clf__allocate(&match->places, 2 * count, sizeof *match->places));
    CLF__TRY(clf__allocate(&match->moved, count, sizeof *match->moved));
    if (!find_tags(match)) {
        return CLF_OK;
    }
    clf__output_add(&match->plain, "", 0);
    place_marks(match);
    CLF__TRY(match->plain.status);
    if (!is_nested(match)) {
        return CLF_OK;
    }
    CLF__TRY(clf__segment_set(segment, match->plain.bytes, match->plain.size, match->moved));
    segment->is_known = *is_set = 1;
    return CLF_OK;
}

static void add_part(void *user, const char *text, size_t size)
{
    add_line(user, text, size);
}

static clf_status recall(int *is_set, struct clf_document *document, const struct clf_memory *memory,
                         struct clf__segment *segment)
{
    struct clf__output line = {.bytes = NULL};
    const struct clf__segment_writer writer = {document->bytes, add_part, add_part, &line};
    struct clf__segment source = *segment;
    source.translation = NULL;
    *is_set = 0;
    for (int i = 0; i < segment->shown.mark_count; i++) { /* tags that are not bytes of the document */
        const struct clf__tags *tags = &segment->tags[i];
        if (!tags->is_term && (document->format->is_binary || tags->end_end > document->size)) {
            return CLF_OK;
        }
    }
    clf_status status = clf__segment_write(&writer, &source, 0, source.shown.text_size);
    trim_end(&line);
    status = status == CLF_OK ? line.status : status;
    const char *text = status == CLF_OK ? find(memory, line.bytes) : NULL;
    if (text != NULL) {
        struct match match = {.document = document, .segment = segment, .text = text, .size = strlen(text)};
        status = set_match(is_set, &match, segment);
        clf__free(match.places);
        clf__free(match.moved);
        clf__free(match.plain.bytes);
    }
    clf__free(line.bytes);
    return status;
}

clf_status clf_document_recall(struct clf_document *document, const struct clf_memory *memory, int *count)
{
    int found = 0;
    document->has_memory = 1;
    for (int i = 0; i < document->segments.count; i++) {
        int is_set;
        CLF__TRY(recall(&is_set, document, memory, &document->segments.items[i]));
        found += is_set;
    }
    if (count != NULL) {
        *count = found;
    }
    return CLF_OK;
}
