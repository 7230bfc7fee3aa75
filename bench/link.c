/* Measures the link between ranks for bench/cluster: `mpirun -n N clf_link FLOATS BLOCK` prints one line of
 * JSON. Latency and bidirectional rate are measured between pairs of ranks. Then all ranks reduce FLOATS
 * numbers, by MPI_Allreduce and by clformer's algorithm (reduce-scatter and all-gather of blocks of BLOCK
 * floats). All calls busy-wait, which gives the best rate of the link. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

enum {
    ROUNDS = 5, /* rounds per timing; the fastest round counts, because other processes only add time */
    SMALL_MESSAGES = 2000,  /* messages per round */
    LARGE_BYTES = 1 << 19,  /* bytes that two ranks exchange for a block of 1 MiB */
    LARGE_MESSAGES = 100,   /* messages per round */
    MOST_AT_ONCE = 1 << 24, /* maximum floats per MPI_Allreduce */
};

struct link {
    int rank, size, other; /* other: the partner of this rank, or none */
    size_t floats, block;
    float *values, *parts; /* (floats), (block + size) */
    int *counts, *places, *own, *zeros;
};

static void *allocate(size_t count, size_t width)
{
    void *memory = calloc(count, width);
    if (memory == NULL) {
        fprintf(stderr, "clf_link: not enough host memory for %zu times %zu bytes\n", count, width);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

static void send_small(struct link *link)
{
    char byte = 0;
    for (int i = 0; i < SMALL_MESSAGES; i++) {
        if (link->rank < link->other) {
            MPI_Send(&byte, 1, MPI_BYTE, link->other, 0, MPI_COMM_WORLD);
            MPI_Recv(&byte, 1, MPI_BYTE, link->other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&byte, 1, MPI_BYTE, link->other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&byte, 1, MPI_BYTE, link->other, 0, MPI_COMM_WORLD);
        }
    }
}

static void send_large(struct link *link)
{
    for (int i = 0; i < LARGE_MESSAGES; i++) {
        MPI_Sendrecv(link->values, LARGE_BYTES, MPI_BYTE, link->other, 0, link->parts, LARGE_BYTES, MPI_BYTE,
                     link->other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void reduce(struct link *link)
{
    for (size_t first = 0; first < link->floats; first += MOST_AT_ONCE) {
        size_t left = link->floats - first;
        MPI_Allreduce(MPI_IN_PLACE, link->values + first, (int)(left < MOST_AT_ONCE ? left : MOST_AT_ONCE),
                      MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void add_shares(struct link *link, size_t share)
{
    for (int i = 1; i < link->size; i++) {
        for (size_t k = 0; k < share; k++) {
            link->parts[k] += link->parts[(size_t)i * share + k];
        }
    }
}

static void exchange(struct link *link)
{
    for (size_t first = 0; first < link->floats; first += link->block) {
        size_t left = link->floats - first, length = left < link->block ? left : link->block;
        size_t size = (size_t)link->size, share = 0;
        for (size_t i = 0, place = 0; i < size; i++) {
            link->counts[i] = (int)(length * (i + 1) / size - length * i / size);
            link->places[i] = (int)place;
            place += (size_t)link->counts[i];
            share = i == (size_t)link->rank ? (size_t)link->counts[i] : share;
        }
        for (size_t i = 0; i < size; i++) {
            link->own[i] = (int)share;
            link->zeros[i] = (int)(i * share);
        }
        MPI_Alltoallv(link->values + first, link->counts, link->places, MPI_FLOAT, link->parts, link->own,
                      link->zeros, MPI_FLOAT, MPI_COMM_WORLD);
        add_shares(link, share);
        memcpy(link->values + first + link->places[link->rank], link->parts, share * sizeof *link->parts);
        MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_FLOAT, link->values + first, link->counts, link->places,
                       MPI_FLOAT, MPI_COMM_WORLD);
    }
}

/* Adds a block of numbers repeatedly, on all ranks at the same time, as in a training update. */
static void add(struct link *link)
{
    for (size_t first = 0; first + link->block <= link->floats; first += link->block) {
        for (size_t k = 0; k < link->block; k++) {
            link->values[first + k] += link->parts[k];
        }
    }
}

/* Returns the time of the slowest rank in the fastest round, in seconds. */
static double measure(struct link *link, void (*work)(struct link *link), int in_pairs)
{
    double best = 0;
    for (int round = 0; round <= ROUNDS; round++) { /* the first round warms up */
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime(), slowest;
        if (!in_pairs || link->other < link->size) {
            work(link);
        }
        double own = MPI_Wtime() - start;
        MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        best = round == 1 || (round > 0 && slowest < best) ? slowest : best;
    }
    return best;
}

static void measure_all(struct link *link)
{
    double small = measure(link, send_small, 1) / SMALL_MESSAGES / 2;
    double large = measure(link, send_large, 1) / LARGE_MESSAGES;
    double adding = measure(link, add, 0);
    double reducing = measure(link, reduce, 0), exchanging = measure(link, exchange, 0);
    if (link->rank == 0) {
        printf("{\"ranks\": %d, \"floats\": %zu, \"block\": %zu, \"latency\": %.9g, "
               "\"bytes_per_second\": %.9g, \"added_bytes_per_second\": %.9g, \"allreduce_seconds\": %.9g, "
               "\"exchange_seconds\": %.9g}\n",
               link->size, link->floats, link->block, small, LARGE_BYTES / large,
               (double)(link->floats / link->block * link->block * sizeof(float)) / adding, reducing,
               exchanging);
    }
}

int main(int argc, char **argv)
{
    struct link link = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &link.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &link.size);
    link.floats = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    link.block = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    if (link.size < 2 || link.block < LARGE_BYTES / sizeof(float) || link.floats < link.block ||
        link.block > MOST_AT_ONCE) {
        fprintf(stderr, "usage: mpirun -n N clf_link FLOATS BLOCK\nN is 2 or more, BLOCK is 131072 to "
                        "16777216, FLOATS is at least BLOCK\n");
        MPI_Finalize();
        return 2;
    }
    size_t size = (size_t)link.size;
    link.other = link.rank ^ 1;
    link.values = allocate(link.floats, sizeof *link.values);
    link.parts = allocate(link.block + size, sizeof *link.parts);
    link.counts = allocate(4 * size, sizeof *link.counts);
    link.places = link.counts + size;
    link.own = link.places + size;
    link.zeros = link.own + size;
    measure_all(&link);
    free(link.values);
    free(link.parts);
    free(link.counts);
    MPI_Finalize();
    return 0;
}
