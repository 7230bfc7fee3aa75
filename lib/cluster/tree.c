#include "cluster/tree.h"

#include <string.h>

#include "base/memory.h"

enum {
    STRETCH = 1 << 18
}; /* floats of the sum at a time: some for each of many ranks, and they stay in a cache */

int clf__tree_nodes(struct clf__tree_node *nodes, struct clf__tree_leaves leaves)
{
    int count = 0;
    for (int64_t first = leaves.first, left = leaves.count; left > 0; count++) {
        int level = 0;
        while ((first & ((INT64_C(2) << level) - 1)) == 0 && INT64_C(2) << level <= left) {
            level++;
        }
        nodes[count] = (struct clf__tree_node){first >> level, level};
        first += INT64_C(1) << level;
        left -= INT64_C(1) << level;
    }
    return count;
}

int clf__tree_are_halves(const struct clf__tree_node *a, const struct clf__tree_node *b)
{
    return a->level == b->level && a->index % 2 == 0 && b->index == a->index + 1;
}

int clf__tree_waiting(struct clf__tree_leaves leaves)
{
    struct clf__tree_node nodes[CLF__TREE_NODES];
    int most = 0;
    for (int64_t count = 1; count < leaves.count; count++) {
        int waiting = clf__tree_nodes(nodes, (struct clf__tree_leaves){leaves.first, count});
        most = waiting > most ? waiting : most;
    }
    return most;
}

struct clf__tree_leaves clf__tree_share(int64_t most, int64_t count, int ranks, int rank)
{
    int64_t each = most / ranks, first = each * rank, left = count - first;
    return (struct clf__tree_leaves){first, left < 0 ? 0 : left < each ? left : each};
}

/* The most nodes that all ranks, or one of them, can have together. */
static size_t most_nodes(const struct clf__communicator *communicator, int64_t most, int of_all)
{
    struct clf__tree_node nodes[CLF__TREE_NODES];
    size_t sum = 0, largest = 0;
    for (int rank = 0; rank < communicator->size; rank++) {
        struct clf__tree_leaves share = clf__tree_share(most, most, communicator->size, rank);
        size_t waiting = (size_t)clf__tree_waiting(share), whole = (size_t)clf__tree_nodes(nodes, share);
        size_t count = waiting > whole ? waiting : whole; /* a short update may end anywhere */
        sum += count;
        largest = count > largest ? count : largest;
    }
    return of_all ? sum : largest;
}

/* Of a stretch that is shared out. */
static size_t most_of_share(int size)
{
    return STRETCH / (size_t)size + 1;
}

size_t clf__tree_sum_bytes(const struct clf__communicator *communicator, int64_t most)
{
    size_t parts = most_nodes(communicator, most, 1) * most_of_share(communicator->size);
    return (parts + most_nodes(communicator, most, 0) * STRETCH) * sizeof(float);
}

clf_status clf__tree_sum_create(struct clf__tree_sum *out, const struct clf__communicator *communicator,
                                int64_t most)
{
    size_t size = (size_t)communicator->size, all = most_nodes(communicator, most, 1);
    *out = (struct clf__tree_sum){.communicator = communicator};
    CLF__TRY(clf__allocate(&out->nodes, all, sizeof *out->nodes));
    CLF__TRY(clf__allocate(&out->node_counts, size, sizeof *out->node_counts));
    CLF__TRY(clf__allocate(&out->sent, size, sizeof *out->sent));
    CLF__TRY(clf__allocate(&out->received, size, sizeof *out->received));
    CLF__TRY(clf__allocate(&out->own, size, sizeof *out->own));
    CLF__TRY(clf__allocate(&out->parts, all * most_of_share(communicator->size), sizeof *out->parts));
    return clf__allocate(&out->packed, most_nodes(communicator, most, 0) * STRETCH, sizeof *out->packed);
}

void clf__tree_sum_free(struct clf__tree_sum *sum)
{
    clf__free(sum->nodes);
    clf__free(sum->node_counts);
    clf__free(sum->sent);
    clf__free(sum->received);
    clf__free(sum->own);
    clf__free(sum->parts);
    clf__free(sum->packed);
    *sum = (struct clf__tree_sum){.communicator = sum->communicator};
}

static void find_nodes(struct clf__tree_sum *sum, int64_t most, int64_t count)
{
    sum->node_count = 0;
    for (int rank = 0; rank < sum->communicator->size; rank++) {
        struct clf__tree_leaves share = clf__tree_share(most, count, sum->communicator->size, rank);
        sum->node_counts[rank] = clf__tree_nodes(sum->nodes + sum->node_count, share);
        sum->node_count += sum->node_counts[rank];
    }
}

static void add(float *into, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        into[i] += from[i];
    }
}

/* Nodes stand one after the other, `length` floats each; the sum comes to the first of them. Each waits on a
 * stack until its right half is complete. */
static void add_nodes(const struct clf__tree_sum *sum, float *parts, size_t length)
{
    struct clf__tree_node stack[CLF__TREE_NODES];
    size_t places[CLF__TREE_NODES];
    int depth = 0;
    for (int i = 0; i < sum->node_count; i++) {
        stack[depth] = sum->nodes[i];
        places[depth++] = (size_t)i * length;
        while (depth > 1 && clf__tree_are_halves(&stack[depth - 2], &stack[depth - 1])) {
            depth--;
            add(parts + places[depth - 1], parts + places[depth], length);
            stack[depth - 1] =
                (struct clf__tree_node){stack[depth - 1].index / 2, stack[depth - 1].level + 1};
        }
    }
    for (; depth > 1; depth--) {
        add(parts + places[depth - 2], parts + places[depth - 1], length);
    }
}

/* Each rank adds up its share of a stretch, of which it gets all nodes, and then they exchange their sums:
 * two times the stretch goes over the network, however many ranks there are. */
static clf_status add_stretch(struct clf__tree_sum *sum, float *const *values, float *total, size_t first,
                              size_t length)
{
    const struct clf__communicator *ranks = sum->communicator;
    size_t size = (size_t)ranks->size, used = 0, place = 0, own_place = 0;
    size_t own_nodes = (size_t)sum->node_counts[ranks->rank];
    for (size_t i = 0; i < size; i++) {
        sum->own[i] = length * (i + 1) / size - length * i / size;
        own_place = i == (size_t)ranks->rank ? place : own_place;
        sum->sent[i] = own_nodes * sum->own[i];
        for (size_t node = 0; node < own_nodes; node++) {
            memcpy(sum->packed + used, values[node] + first + place, sum->own[i] * sizeof *sum->packed);
            used += sum->own[i];
        }
        place += sum->own[i];
    }
    size_t share = sum->own[ranks->rank];
    for (size_t i = 0; i < size; i++) {
        sum->received[i] = (size_t)sum->node_counts[i] * share;
    }
    CLF__TRY(ranks->exchange(ranks, sum->packed, sum->sent, sum->parts, sum->received));
    add_nodes(sum, sum->parts, share);
    memcpy(total + first + own_place, sum->parts, share * sizeof *total);
    return ranks->gather(ranks, total + first, sum->own);
}

clf_status clf__tree_add(struct clf__tree_sum *sum, int64_t most, int64_t count, float *const *values,
                         float *total, size_t length)
{
    find_nodes(sum, most, count);
    for (size_t first = 0; first < length; first += STRETCH) {
        size_t left = length - first;
        CLF__TRY(add_stretch(sum, values, total, first, left < STRETCH ? left : STRETCH));
    }
    return CLF_OK;
}
