#include "text/tokenizers/segmenters/merges.h"

#include <limits.h>

#include "base/memory.h"

static const uint64_t empty_slot = UINT64_MAX;

/* Maximum number of heap entries per symbol: each merge adds two, and a word has fewer merges than symbols.
 */
enum { HEAP_TIMES = 3 };

static struct clf__merge *find_slot(const struct clf__merges *merges, uint64_t pair)
{
    uint32_t mask = merges->slot_count - 1, slot = (uint32_t)(pair * 0x9E3779B97F4A7C15u >> 32) & mask;
    while (merges->slots[slot].pair != pair && merges->slots[slot].pair != empty_slot) {
        slot = (slot + 1) & mask;
    }
    return &merges->slots[slot];
}

static uint64_t pair_of(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

clf_status clf__merges_create(struct clf__merges *out, int count)
{
    struct clf__merges merges = {.slot_count = 1};
    while (merges.slot_count < 2 * (uint32_t)count + 2) {
        merges.slot_count *= 2;
    }
    CLF__TRY(clf__allocate(&merges.slots, merges.slot_count, sizeof *merges.slots));
    for (uint32_t i = 0; i < merges.slot_count; i++) {
        merges.slots[i].pair = empty_slot;
    }
    *out = merges;
    return CLF_OK;
}

void clf__merges_add(struct clf__merges *merges, int32_t left, int32_t right, int32_t rank, int32_t result,
                     int replaces)
{
    struct clf__merge *slot = find_slot(merges, pair_of(left, right));
    if (slot->pair == empty_slot || replaces) {
        *slot = (struct clf__merge){pair_of(left, right), rank, result};
    }
}

void clf__merges_free(struct clf__merges *merges)
{
    clf__free(merges->slots);
    *merges = (struct clf__merges){.slot_count = 0};
}

/* A candidate merge at its left symbol, valid if both symbols still exist. */
struct clf__merge_step {
    int32_t rank, result;
    int at;
};

void clf__merge_work_free(struct clf__merge_work *work)
{
    clf__free(work->links);
    clf__free(work->heap);
    *work = (struct clf__merge_work){.capacity = 0};
}

static int is_before(const struct clf__merge_step *a, const struct clf__merge_step *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void heap_add(struct clf__merge_step *heap, int *count, struct clf__merge_step step)
{
    int at = (*count)++;
    for (; at > 0 && is_before(&step, &heap[(at - 1) / 2]); at = (at - 1) / 2) {
        heap[at] = heap[(at - 1) / 2];
    }
    heap[at] = step;
}

static struct clf__merge_step heap_take(struct clf__merge_step *heap, int *count)
{
    struct clf__merge_step first = heap[0], last = heap[--*count];
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

/* Plans the merge of the symbol at a position with its right neighbour if there is such a merge. */
static void plan(const struct clf__merges *merges, struct clf__merge_work *work, int *planned, int at)
{
    const struct clf__merge_link *links = work->links;
    if (at < 0 || links[at].next < 0) {
        return;
    }
    uint64_t pair = pair_of(links[at].symbol, links[links[at].next].symbol);
    const struct clf__merge *merge = find_slot(merges, pair);
    if (merge->pair == pair) {
        heap_add(work->heap, planned, (struct clf__merge_step){merge->rank, merge->result, at});
    }
}

/* Returns whether a planned merge is still valid. As in Hugging Face tokenizers, the symbols may have changed
 * if their merge has the same result, except with at_once. */
static int can_be_made(const struct clf__merges *merges, const struct clf__merge_work *work,
                       const struct clf__merge_step *step)
{
    const struct clf__merge_link *left = &work->links[step->at];
    if (left->symbol < 0 || left->next < 0) {
        return 0;
    }
    uint64_t pair = pair_of(left->symbol, work->links[left->next].symbol);
    const struct clf__merge *merge = find_slot(merges, pair);
    return merge->pair == pair &&
           (merges->at_once ? merge->rank == step->rank : merge->result == step->result);
}

static void merge_at(struct clf__merge_work *work, const struct clf__merge_step *step)
{
    struct clf__merge_link *links = work->links, *left = &links[step->at], *right = &links[left->next];
    left->symbol = step->result;
    right->symbol = -1;
    left->next = right->next;
    if (left->next >= 0) {
        links[left->next].before = step->at;
    }
}

clf_status clf__merge_begin(struct clf__merge_work *work, size_t most)
{
    if (most > INT_MAX / 8) {
        return clf__fail(CLF_TEXT, "a word of %zu bytes is too long", most);
    }
    if ((int)most > work->capacity) {
        CLF__TRY(clf__resize(&work->links, 2 * most, sizeof *work->links));
        CLF__TRY(clf__resize(&work->heap, 2 * most * HEAP_TIMES, sizeof *work->heap));
        work->capacity = 2 * (int)most;
    }
    work->count = 0;
    return CLF_OK;
}

void clf__merge_symbol(struct clf__merge_work *work, int32_t symbol)
{
    int at = work->count++;
    work->links[at] = (struct clf__merge_link){symbol, at - 1, -1};
    if (at > 0) {
        work->links[at - 1].next = at;
    }
}

void clf__merge_all(const struct clf__merges *merges, struct clf__merge_work *work)
{
    int count = work->count, planned = 0, made = 0;
    struct clf__merge_step *end = work->heap + (size_t)HEAP_TIMES * (size_t)work->capacity;
    for (int i = 0; i + 1 < count; i++) {
        plan(merges, work, &planned, i);
    }
    while (planned > 0) {
        struct clf__merge_step step = heap_take(work->heap, &planned);
        if (can_be_made(merges, work, &step)) {
            merge_at(work, &step);
            made++;
            end[-made] = step; /* stored at the other end of the heap memory */
        }
        if (merges->at_once && planned > 0 && work->heap[0].rank == step.rank) {
            continue;
        }
        for (; made > 0; made--) {
            int at = end[-made].at;
            plan(merges, work, &planned, work->links[at].before);
            plan(merges, work, &planned, at);
        }
    }
}
