#include "runtime/cluster/tree.h"

#include <string.h>

#include "base/half.h"
#include "base/memory.h"

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

/* Returns the maximum number of nodes of all ranks together, or of a single rank. */
static size_t most_nodes(const struct clf__communicator *communicator, int64_t most, int of_all)
{
    struct clf__tree_node nodes[CLF__TREE_NODES];
    size_t sum = 0, largest = 0;
    for (int rank = 0; rank < communicator->size; rank++) {
        struct clf__tree_leaves share = clf__tree_share(most, most, communicator->size, rank);
        size_t waiting = (size_t)clf__tree_waiting(share), whole = (size_t)clf__tree_nodes(nodes, share);
        size_t count = waiting > whole ? waiting : whole; /* a shorter update may end at any leaf */
        sum += count;
        largest = count > largest ? count : largest;
    }
    return of_all ? sum : largest;
}

static size_t width_of(const struct clf__tree_options *options)
{
    return options->is_bf16 ? sizeof(uint16_t) : sizeof(float);
}

/* Returns the size in bytes of a flight's packed buffer, which holds all nodes of this rank, and then the
 * sum. */
static size_t packed_bytes(const struct clf__communicator *communicator,
                           const struct clf__tree_options *options)
{
    return most_nodes(communicator, options->most, 0) * options->bucket * width_of(options);
}

static size_t most_parts(const struct clf__communicator *communicator,
                         const struct clf__tree_options *options)
{
    return most_nodes(communicator, options->most, 1) * options->share;
}

size_t clf__tree_sum_bytes(const struct clf__communicator *communicator,
                           const struct clf__tree_options *options)
{
    size_t parts = most_parts(communicator, options);
    size_t each = packed_bytes(communicator, options) + parts * width_of(options);
    return CLF__TREE_FLIGHTS * each + (options->is_bf16 ? parts * sizeof(float) : 0);
}

static clf_status create_flight(struct clf__tree_flight *out, const struct clf__communicator *communicator,
                                const struct clf__tree_options *options)
{
    size_t size = (size_t)communicator->size;
    CLF__TRY(clf__allocate(&out->sent, size, sizeof *out->sent));
    CLF__TRY(clf__allocate(&out->received, size, sizeof *out->received));
    CLF__TRY(clf__allocate(&out->packed, packed_bytes(communicator, options), 1));
    return clf__allocate(&out->parts, most_parts(communicator, options), width_of(options));
}

clf_status clf__tree_sum_create(struct clf__tree_sum *out, const struct clf__communicator *communicator,
                                const struct clf__tree_options *options)
{
    *out = (struct clf__tree_sum){.communicator = communicator, .options = *options};
    CLF__TRY(clf__allocate(&out->nodes, most_nodes(communicator, options->most, 1), sizeof *out->nodes));
    CLF__TRY(clf__allocate(&out->node_counts, (size_t)communicator->size, sizeof *out->node_counts));
    for (int i = 0; i < CLF__TREE_FLIGHTS; i++) {
        CLF__TRY(create_flight(&out->flights[i], communicator, options));
    }
    return options->is_bf16
               ? clf__allocate(&out->floats, most_parts(communicator, options), sizeof *out->floats)
               : CLF_OK;
}

void clf__tree_sum_free(struct clf__tree_sum *sum)
{
    clf__free(sum->nodes);
    clf__free(sum->node_counts);
    for (int i = 0; i < CLF__TREE_FLIGHTS; i++) {
        clf__free(sum->flights[i].sent);
        clf__free(sum->flights[i].received);
        clf__free(sum->flights[i].packed);
        clf__free(sum->flights[i].parts);
    }
    clf__free(sum->floats);
    *sum = (struct clf__tree_sum){.communicator = sum->communicator};
}

void clf__tree_begin(struct clf__tree_sum *sum, int64_t count)
{
    sum->node_count = 0;
    sum->begun = sum->ended = 0;
    for (int rank = 0; rank < sum->communicator->size; rank++) {
        struct clf__tree_leaves share =
            clf__tree_share(sum->options.most, count, sum->communicator->size, rank);
        sum->node_counts[rank] = clf__tree_nodes(sum->nodes + sum->node_count, share);
        sum->node_count += sum->node_counts[rank];
    }
}

void clf__tree_round(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = clf__float_of_bf16(clf__bf16_of(values[i]));
    }
}

void clf__tree_add_halves(const struct clf__tree_options *options, float *into, const float *from,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        into[i] += from[i];
    }
    if (options->is_bf16) {
        clf__tree_round(into, count);
    }
}

/* Adds nodes of `length` floats each, stored consecutively; the first receives the sum. A node waits on a
 * stack until its right half is complete. */
static void add_nodes(const struct clf__tree_sum *sum, float *parts, size_t length)
{
    struct clf__tree_node stack[CLF__TREE_NODES];
    float *places[CLF__TREE_NODES];
    int depth = 0;
    for (int i = 0; i < sum->node_count; i++) {
        stack[depth] = sum->nodes[i];
        places[depth++] = parts + (size_t)i * length;
        while (depth > 1 && clf__tree_are_halves(&stack[depth - 2], &stack[depth - 1])) {
            depth--;
            clf__tree_add_halves(&sum->options, places[depth - 1], places[depth], length);
            stack[depth - 1] =
                (struct clf__tree_node){stack[depth - 1].index / 2, stack[depth - 1].level + 1};
        }
    }
    for (; depth > 1; depth--) {
        clf__tree_add_halves(&sum->options, places[depth - 2], places[depth - 1], length);
    }
}

static void pack_bf16(uint16_t *out, const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = clf__bf16_of(values[i]);
    }
}

static void unpack_bf16(float *out, const uint16_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = clf__float_of_bf16(values[i]);
    }
}

/* Packs `count` values into a flight's buffer, starting at element `first`. */
static void pack(const struct clf__tree_sum *sum, const struct clf__tree_flight *flight, size_t first,
                 const float *values, size_t count)
{
    if (sum->options.is_bf16) {
        pack_bf16((uint16_t *)flight->packed + first, values, count);
    } else {
        memcpy((float *)flight->packed + first, values, count * sizeof *values);
    }
}

size_t clf__tree_shares_before(const size_t *shares, int rank)
{
    size_t count = 0;
    for (int i = 0; i < rank; i++) {
        count += shares[i];
    }
    return count;
}

static struct clf__tree_flight *flight_of(struct clf__tree_sum *sum, int64_t bucket, int *ticket)
{
    int index = (int)(bucket % CLF__TREE_FLIGHTS);
    *ticket = 2 * index;
    return &sum->flights[index];
}

static clf_status begin(struct clf__tree_sum *sum, float *const *values, float *total, const size_t *shares)
{
    const struct clf__communicator *ranks = sum->communicator;
    size_t used = 0, place = 0;
    int ticket, own_nodes = sum->node_counts[ranks->rank];
    struct clf__tree_flight *flight = flight_of(sum, sum->begun++, &ticket);
    flight->shares = shares;
    flight->total = total;
    for (int i = 0; i < ranks->size; i++) {
        flight->sent[i] = (size_t)own_nodes * shares[i];
        flight->received[i] = (size_t)sum->node_counts[i] * shares[ranks->rank];
        for (int node = 0; node < own_nodes; node++) {
            pack(sum, flight, used, values[node] + place, shares[i]);
            used += shares[i];
        }
        place += shares[i];
    }
    return ranks->begin_exchange(ranks, ticket, width_of(&sum->options), flight->packed, flight->sent,
                                 flight->parts, flight->received);
}

/* Adds the nodes of this rank's share of a bucket. */
static clf_status add(struct clf__tree_sum *sum, int64_t bucket)
{
    const struct clf__communicator *ranks = sum->communicator;
    int ticket;
    struct clf__tree_flight *flight = flight_of(sum, bucket, &ticket);
    CLF__TRY(ranks->finish(ranks, ticket));
    size_t share = flight->shares[ranks->rank], own = clf__tree_shares_before(flight->shares, ranks->rank);
    float *parts = sum->options.is_bf16 ? sum->floats : flight->parts;
    if (sum->options.is_bf16) {
        unpack_bf16(parts, flight->parts, (size_t)sum->node_count * share);
    }
    add_nodes(sum, parts, share);
    memcpy(flight->total + own, parts, share * sizeof *parts);
    if (sum->options.is_scattered) {
        return CLF_OK;
    }
    if (sum->options.is_bf16) {
        pack(sum, flight, own, parts, share);
    }
    return ranks->begin_gather(ranks, ticket + 1, width_of(&sum->options),
                               sum->options.is_bf16 ? flight->packed : flight->total, flight->shares);
}

static clf_status end(struct clf__tree_sum *sum)
{
    const struct clf__communicator *ranks = sum->communicator;
    int ticket;
    const struct clf__tree_flight *flight = flight_of(sum, sum->ended++, &ticket);
    if (sum->options.is_scattered) {
        return CLF_OK;
    }
    CLF__TRY(ranks->finish(ranks, ticket + 1));
    if (sum->options.is_bf16) {
        unpack_bf16(flight->total, flight->packed, clf__tree_shares_before(flight->shares, ranks->size));
    }
    return CLF_OK;
}

/* Sums a bucket while the next one is exchanged, in the same order on every rank. */
clf_status clf__tree_push(struct clf__tree_sum *sum, float *const *values, float *total, const size_t *shares)
{
    if (sum->begun - sum->ended == CLF__TREE_FLIGHTS) {
        CLF__TRY(end(sum));
    }
    CLF__TRY(begin(sum, values, total, shares));
    return sum->begun > 1 ? add(sum, sum->begun - 2) : CLF_OK;
}

clf_status clf__tree_finish(struct clf__tree_sum *sum)
{
    if (sum->begun > 0) {
        CLF__TRY(add(sum, sum->begun - 1));
    }
    while (sum->ended < sum->begun) {
        CLF__TRY(end(sum));
    }
    return CLF_OK;
}
