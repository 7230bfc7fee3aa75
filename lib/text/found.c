#include "text/found.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "text/clean_up.h"
#include "text/pieces.h"
#include "text/vocabulary.h"

void clf__found_pieces_free(struct clf__found_pieces *found)
{
    clf__free(found->ids);
    *found = (struct clf__found_pieces){0};
}

struct piece {
    const char *text;
    int32_t id;
};

static int by_byte_and_length(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    unsigned char first = (unsigned char)*a->text, second = (unsigned char)*b->text;
    size_t a_length = strlen(a->text), b_length = strlen(b->text);
    if (first != second) {
        return first < second ? -1 : 1;
    }
    if (a_length != b_length) {
        return a_length > b_length ? -1 : 1;
    }
    return (a->id > b->id) - (a->id < b->id);
}

static int is_found(const struct clf__vocabulary *vocabulary, int32_t id)
{
    return (vocabulary->marks[id] & CLF__PIECE_FOUND) != 0 && vocabulary->pieces[id][0] != '\0';
}

clf_status clf__found_pieces_collect(struct clf__found_pieces *out, const struct clf__vocabulary *vocabulary)
{
    int count = 0;
    for (int32_t id = 0; id < vocabulary->size; id++) {
        count += is_found(vocabulary, id);
    }
    struct piece *pieces = NULL;
    CLF__TRY(clf__allocate(&pieces, (size_t)count, sizeof *pieces));
    int filled = 0;
    for (int32_t id = 0; id < vocabulary->size; id++) {
        if (is_found(vocabulary, id)) {
            pieces[filled++] = (struct piece){vocabulary->pieces[id], id};
        }
    }
    qsort(pieces, (size_t)count, sizeof *pieces, by_byte_and_length);
    struct clf__found_pieces found = {.vocabulary = vocabulary};
    clf_status status = clf__allocate(&found.ids, (size_t)count, sizeof *found.ids);
    for (int i = 0; status == CLF_OK && i < count; i++) {
        found.ids[i] = pieces[i].id;
        found.first[(unsigned char)*pieces[i].text + 1]++;
    }
    clf__free(pieces);
    for (int byte = 0; byte < 256; byte++) {
        found.first[byte + 1] += found.first[byte];
    }
    *out = found;
    return status;
}

/* The white space that a piece takes with it on its right. */
static size_t spaces_behind(const struct clf__found_pieces *found, int32_t id, const char *text, size_t size)
{
    size_t spaces = 0;
    if ((found->vocabulary->marks[id] & CLF__PIECE_EATS_RIGHT) == 0) {
        return 0;
    }
    for (size_t space = 1; spaces < size && space > 0; spaces += space) {
        space = clf__text_space_in(text + spaces, size - spaces);
    }
    return spaces;
}

size_t clf__found_pieces_eaten(const struct clf__found_pieces *found, int32_t id, const char *text,
                               size_t before)
{
    if ((found->vocabulary->marks[id] & CLF__PIECE_EATS_LEFT) == 0) {
        return 0;
    }
    size_t kept = 0; /* the end of the last character that is no space */
    for (size_t at = 0; at < before;) {
        size_t space = clf__text_space_in(text + at, before - at);
        at += space > 0 ? space : 1;
        kept = space > 0 ? kept : at;
    }
    return before - kept;
}

int32_t clf__found_pieces_next(const struct clf__found_pieces *found, size_t *before, size_t *length,
                               const char *text, size_t size)
{
    for (size_t i = 0; found->ids != NULL && i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        for (int k = found->first[byte]; k < found->first[byte + 1]; k++) {
            const char *piece = found->vocabulary->pieces[found->ids[k]];
            size_t bytes = strlen(piece);
            if (bytes <= size - i && memcmp(text + i, piece, bytes) == 0) {
                *before = i;
                *length = bytes + spaces_behind(found, found->ids[k], text + i + bytes, size - i - bytes);
                return found->ids[k];
            }
        }
    }
    return -1;
}
