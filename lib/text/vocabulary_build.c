#include "text/vocabulary_build.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"

/* The slot where a piece is, or would be. */
static uint32_t find(const struct clf__piece_counts *counts, const char *piece, size_t length)
{
    uint32_t mask = counts->slot_count - 1, slot = (uint32_t)clf__hash(piece, length) & mask;
    for (;; slot = (slot + 1) & mask) {
        int item = counts->slots[slot];
        if (item < 0) {
            return slot;
        }
        const char *known = counts->items[item].piece;
        if (strlen(known) == length && memcmp(known, piece, length) == 0) {
            return slot;
        }
    }
}

/* Room for twice as many, with slots for twice as many again. */
static clf_status grow(struct clf__piece_counts *counts)
{
    if (counts->capacity > 1 << 28) {
        return clf__fail(CLF_TEXT, "a text of more than %d different pieces has no vocabulary",
                         counts->count);
    }
    int capacity = counts->capacity > 0 ? 2 * counts->capacity : 1024;
    uint32_t slot_count = 2 * (uint32_t)capacity;
    int *slots = NULL;
    CLF__TRY(clf__resize(&counts->items, (size_t)capacity, sizeof *counts->items));
    CLF__TRY(clf__allocate(&slots, slot_count, sizeof *slots));
    memset(slots, 0xFF, slot_count * sizeof *slots);
    clf__free(counts->slots);
    counts->slots = slots;
    counts->slot_count = slot_count;
    counts->capacity = capacity;
    for (int i = 0; i < counts->count; i++) {
        const char *piece = counts->items[i].piece;
        counts->slots[find(counts, piece, strlen(piece))] = i;
    }
    return CLF_OK;
}

clf_status clf__piece_counts_add(void *user, const char *piece, size_t length)
{
    struct clf__piece_counts *counts = user;
    if (counts->count == counts->capacity) {
        CLF__TRY(grow(counts));
    }
    uint32_t slot = find(counts, piece, length);
    if (counts->slots[slot] < 0) {
        char *copy = NULL;
        CLF__TRY(clf__copy_bytes(&copy, piece, length));
        counts->items[counts->count] = (struct clf__counted_piece){copy, 0};
        counts->slots[slot] = counts->count++;
    }
    counts->items[counts->slots[slot]].count++;
    return CLF_OK;
}

static int by_count(const void *left, const void *right)
{
    const struct clf__counted_piece *a = left, *b = right;
    if (a->count != b->count) {
        return a->count > b->count ? -1 : 1;
    }
    return strcmp(a->piece, b->piece);
}

void clf__piece_counts_sort(struct clf__piece_counts *counts)
{
    if (counts->count > 0) {
        qsort(counts->items, (size_t)counts->count, sizeof *counts->items, by_count);
    }
}

void clf__piece_counts_free(struct clf__piece_counts *counts)
{
    for (int i = 0; i < counts->count; i++) {
        clf__free(counts->items[i].piece);
    }
    clf__free(counts->items);
    clf__free(counts->slots);
    *counts = (struct clf__piece_counts){0};
}

clf_status clf__vocabulary_write(const char *path, const char *const *pieces, int count)
{
    json_t *root = json_object();
    int failed = root == NULL;
    for (int i = 0; i < count; i++) {
        failed |= json_object_set_new(root, pieces[i], json_integer(i)) != 0;
    }
    clf_status status = clf__json_write(path, failed ? NULL : root, 0);
    json_decref(root);
    return status;
}
