#include "text/sentences/sentences.h"

#include "base/memory.h"
#include "text/sentences/ends.h"
#include "text/tokenizers/clean_up.h"

clf_status clf__part_list_add(struct clf__part_list *list, struct clf__part part)
{
    CLF__TRY(clf__grow(&list->items, list->count, &list->capacity, sizeof *list->items));
    list->items[list->count++] = part;
    return CLF_OK;
}

void clf__part_list_free(struct clf__part_list *list)
{
    clf__free(list->items);
    *list = (struct clf__part_list){.count = 0};
}

struct clf__part clf__part_trim(const char *text, size_t start, size_t end)
{
    for (size_t space; start < end && (space = clf__text_space_in(text + start, end - start)) > 0;) {
        start += space;
    }
    size_t kept = start;
    for (size_t at = start; at < end;) {
        size_t space = clf__text_space_in(text + at, end - at);
        at += space > 0 ? space : 1;
        kept = space > 0 ? kept : at;
    }
    return (struct clf__part){start, kept - start};
}

static struct clf__passage read_passage(const char *text, size_t size)
{
    struct clf__passage passage = {text, size, 0};
    for (size_t at = 0; at < size && !passage.has_capitals;) {
        passage.has_capitals = clf__mark_at(&passage, at, &at) == CLF__MARK_UPPER;
    }
    return passage;
}

int clf__sentences_are_several(const char *text, size_t size)
{
    struct clf__passage passage = read_passage(text, size);
    size_t start = clf__skip_spaces(&passage, 0), end = clf__sentence_end(&passage, start);
    return clf__part_trim(text, end, size).size > 0;
}

clf_status clf__sentences_find(struct clf__part_list *out, const char *text, size_t size)
{
    struct clf__passage passage = read_passage(text, size);
    for (size_t start = 0, end; start < size; start = end) {
        end = clf__sentence_end(&passage, start);
        if (end == start) { /* a line break */
            clf__char_at(&passage, start, &end);
        }
        struct clf__part part = clf__part_trim(text, start, end);
        if (part.size > 0) {
            CLF__TRY(clf__part_list_add(out, part));
        }
    }
    return CLF_OK;
}
