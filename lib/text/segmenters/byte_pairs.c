#include "text/segmenters/byte_pairs.h"

#include <limits.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "text/pieces.h"

enum { BYTES = 256, MAX_FILE_BYTES = 1 << 28, FIRST_UNPRINTABLE = 0x100 };
static const uint64_t empty_slot = UINT64_MAX;

/* GPT-2's table: printable characters of Latin-1 stand for their own bytes, the others, in rising order, are
 * U+0100 on. */
static int is_printable(int byte)
{
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

static int character_of(int byte)
{
    int before = 0;
    for (int other = 0; other < byte; other++) {
        before += !is_printable(other);
    }
    return is_printable(byte) ? byte : FIRST_UNPRINTABLE + before;
}

int clf__byte_pairs_byte(const char **text)
{
    static const int unprintable[] = {0x7f, 0xa0, 0xad}; /* with 0x00 .. 0x20 and 0x80 .. 0x9f */
    const unsigned char *bytes = (const unsigned char *)*text;
    int character = bytes[0], length = 1;
    if (bytes[0] >= 0xc2 && bytes[0] <= 0xdf && (bytes[1] & 0xc0) == 0x80) {
        character = (bytes[0] & 0x1f) << 6 | (bytes[1] & 0x3f);
        length = 2;
    }
    int code = character - FIRST_UNPRINTABLE; /* 0 .. 32, 127 .. 160, 173 in this order */
    int byte = code < 0 ? (is_printable(character) && (length == 2) == (character > 0x7f) ? character : -1)
               : code <= 32 ? code
               : code == 33 ? unprintable[0]
               : code <= 65 ? code - 34 + 0x80
               : code <= 67 ? unprintable[code - 65]
                            : -1;
    *text += byte >= 0 ? length : 0;
    return byte;
}

static clf_status add_bytes(struct clf__pieces *pieces)
{
    for (int byte = 0; byte < BYTES; byte++) {
        int character = character_of(byte);
        char text[2] = {(char)(character < 0x80 ? character : 0xc0 | character >> 6),
                        (char)(0x80 | (character & 0x3f))};
        CLF__TRY(clf__pieces_add(pieces, text, character < 0x80 ? 1 : 2, 0));
    }
    return CLF_OK;
}

struct line {
    const char *left, *right;
    size_t left_size, right_size;
};

/* The next pair of the file: 0 where there is none. *damaged: a line is no pair. */
static int next_pair(struct line *out, const char **text, int *damaged)
{
    while (**text != '\0') {
        const char *line = *text;
        size_t size = strcspn(line, "\n");
        *text += size + (line[size] == '\n');
        size -= size > 0 && line[size - 1] == '\r';
        if (size == 0 || strncmp(line, "#version", strlen("#version")) == 0) {
            continue;
        }
        const char *space = memchr(line, ' ', size);
        *damaged = space == NULL || space == line || space + 1 == line + size;
        if (!*damaged) {
            *out = (struct line){line, space + 1, (size_t)(space - line), (size_t)(line + size - space - 1)};
        }
        return 1;
    }
    return 0;
}

static clf_status damaged(const char *path, int rank, const char *what)
{
    return clf__fail(CLF_FORMAT, "%s: pair %d %s; download it again", path, rank + 1, what);
}

/* Every symbol that a merge makes. */
static clf_status add_results(struct clf__pieces *pieces, int *count, const char *text, const char *path)
{
    struct line line;
    int is_damaged = 0;
    for (*count = 0; next_pair(&line, &text, &is_damaged); ++*count) {
        if (is_damaged || line.left_size + line.right_size > INT_MAX / 2) {
            return damaged(path, *count, "is not two symbols with a space between");
        }
        char *whole = NULL;
        CLF__TRY(clf__allocate(&whole, line.left_size + line.right_size, 1));
        memcpy(whole, line.left, line.left_size);
        memcpy(whole + line.left_size, line.right, line.right_size);
        clf_status status = clf__pieces_add(pieces, whole, line.left_size + line.right_size, 0);
        clf__free(whole);
        CLF__TRY(status);
    }
    return CLF_OK;
}

static struct clf__merge *find_slot(const struct clf__byte_pairs *pairs, uint64_t pair)
{
    uint32_t mask = pairs->slot_count - 1, slot = (uint32_t)(pair * 0x9E3779B97F4A7C15u >> 32) & mask;
    while (pairs->slots[slot].pair != pair && pairs->slots[slot].pair != empty_slot) {
        slot = (slot + 1) & mask;
    }
    return &pairs->slots[slot];
}

static uint64_t pair_of(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

static clf_status add_merges(struct clf__byte_pairs *pairs, int count, const char *text, const char *path)
{
    for (pairs->slot_count = 1; pairs->slot_count < 2 * (uint32_t)count + 2;) {
        pairs->slot_count *= 2;
    }
    CLF__TRY(clf__allocate(&pairs->slots, pairs->slot_count, sizeof *pairs->slots));
    for (uint32_t i = 0; i < pairs->slot_count; i++) {
        pairs->slots[i].pair = empty_slot;
    }
    struct line line;
    int is_damaged;
    for (int rank = 0; next_pair(&line, &text, &is_damaged); rank++) {
        const char *result = pairs->symbols.pieces[BYTES + rank];
        int32_t left = clf__vocabulary_id(&pairs->symbols, line.left, line.left_size);
        int32_t right = clf__vocabulary_id(&pairs->symbols, line.right, line.right_size);
        if (left < 0 || right < 0) {
            return damaged(path, rank, "holds a symbol that is neither a byte nor made by a pair");
        }
        struct clf__merge *slot = find_slot(pairs, pair_of(left, right));
        if (slot->pair == empty_slot) { /* a pair that is there twice has its first rank */
            *slot = (struct clf__merge){pair_of(left, right), rank,
                                        clf__vocabulary_id(&pairs->symbols, result, strlen(result))};
        }
    }
    return CLF_OK;
}

static clf_status read_text(struct clf__byte_pairs *pairs, const char *text, const char *path)
{
    struct clf__pieces pieces = {0};
    int count = 0;
    clf_status status = add_bytes(&pieces);
    if (status == CLF_OK) {
        status = add_results(&pieces, &count, text, path);
    }
    if (status == CLF_OK) {
        status = clf__vocabulary_take(&pairs->symbols, &pieces, path);
    }
    clf__pieces_free(&pieces);
    return status == CLF_OK ? add_merges(pairs, count, text, path) : status;
}

clf_status clf__byte_pairs_read(struct clf__byte_pairs *out, const char *path)
{
    char *text = NULL;
    size_t size;
    CLF__TRY(clf__file_read(&text, &size, path, MAX_FILE_BYTES));
    *out = (struct clf__byte_pairs){.slot_count = 0};
    clf_status status = memchr(text, '\0', size) == NULL
                            ? read_text(out, text, path)
                            : clf__fail(CLF_FORMAT, "%s: holds a NUL byte; download it again", path);
    clf__free(text);
    if (status != CLF_OK) {
        clf__byte_pairs_free(out);
    }
    return status;
}

void clf__byte_pairs_free(struct clf__byte_pairs *pairs)
{
    clf__vocabulary_free(&pairs->symbols);
    clf__free(pairs->slots);
    *pairs = (struct clf__byte_pairs){.slot_count = 0};
}

/* A symbol of the word; one that was merged into the symbol before it is -1. */
struct clf__byte_pairs_link {
    int32_t symbol;
    int before, next; /* -1: none */
};

/* A merge that may be made where its left symbol stands, if both are there yet. */
struct clf__byte_pairs_step {
    int32_t rank, result;
    int at;
    uint64_t pair;
};

void clf__byte_pairs_work_free(struct clf__byte_pairs_work *work)
{
    clf__free(work->links);
    clf__free(work->heap);
    *work = (struct clf__byte_pairs_work){.capacity = 0};
}

static int is_before(const struct clf__byte_pairs_step *a, const struct clf__byte_pairs_step *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void heap_add(struct clf__byte_pairs_step *heap, int *count, struct clf__byte_pairs_step step)
{
    int at = (*count)++;
    for (; at > 0 && is_before(&step, &heap[(at - 1) / 2]); at = (at - 1) / 2) {
        heap[at] = heap[(at - 1) / 2];
    }
    heap[at] = step;
}

static struct clf__byte_pairs_step heap_take(struct clf__byte_pairs_step *heap, int *count)
{
    struct clf__byte_pairs_step first = heap[0], last = heap[--*count];
    int at = 0;
    for (int child = 1; child < *count; child = 2 * at + 1) {
        child += child + 1 < *count && is_before(&heap[child + 1], &heap[child]);
        if (!is_before(&heap[child], &last)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}

/* Plans the merge of the symbol at a place with the next one, where there is such a pair. */
static void plan(const struct clf__byte_pairs *pairs, struct clf__byte_pairs_work *work, int *planned, int at)
{
    const struct clf__byte_pairs_link *links = work->links;
    if (at < 0 || links[at].next < 0) {
        return;
    }
    uint64_t pair = pair_of(links[at].symbol, links[links[at].next].symbol);
    const struct clf__merge *merge = find_slot(pairs, pair);
    if (merge->pair == pair) {
        heap_add(work->heap, planned, (struct clf__byte_pairs_step){merge->rank, merge->result, at, pair});
    }
}

static void merge_all(const struct clf__byte_pairs *pairs, struct clf__byte_pairs_work *work, int count)
{
    struct clf__byte_pairs_link *links = work->links;
    int planned = 0;
    for (int i = 0; i + 1 < count; i++) {
        plan(pairs, work, &planned, i);
    }
    while (planned > 0) {
        struct clf__byte_pairs_step step = heap_take(work->heap, &planned);
        struct clf__byte_pairs_link *left = &links[step.at];
        if (left->symbol < 0 || left->next < 0 ||
            pair_of(left->symbol, links[left->next].symbol) != step.pair) {
            continue; /* one of the two was merged with its other neighbour */
        }
        struct clf__byte_pairs_link *right = &links[left->next];
        left->symbol = step.result;
        right->symbol = -1;
        left->next = right->next;
        if (left->next >= 0) {
            links[left->next].before = step.at;
        }
        plan(pairs, work, &planned, left->before);
        plan(pairs, work, &planned, step.at);
    }
}

clf_status clf__byte_pairs_cut(const struct clf__byte_pairs *pairs, struct clf__byte_pairs_work *work,
                               const char *word, size_t size, clf__piece_function *function, void *user)
{
    if (size > INT_MAX / 8) {
        return clf__fail(CLF_TEXT, "a word of %zu bytes is too long", size);
    }
    int count = (int)size;
    if (count > work->capacity) {
        CLF__TRY(clf__resize(&work->links, 2 * size, sizeof *work->links));
        /* A merge, of which a word has less than bytes, plans two more. */
        CLF__TRY(clf__resize(&work->heap, 6 * size, sizeof *work->heap));
        work->capacity = 2 * count;
    }
    for (int i = 0; i < count; i++) {
        work->links[i] =
            (struct clf__byte_pairs_link){(unsigned char)word[i], i - 1, i + 1 < count ? i + 1 : -1};
    }
    merge_all(pairs, work, count);
    for (int at = 0; at >= 0 && count > 0; at = work->links[at].next) {
        const char *piece = pairs->symbols.pieces[work->links[at].symbol];
        CLF__TRY(function(user, piece, strlen(piece)));
    }
    return CLF_OK;
}
