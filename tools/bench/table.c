/* Prints a report as text tables. */
#include <string.h>

#include "bench/bench.h"

/* A variant: a column of the ops table or a line of the stages table. */
struct variant {
    const char *precision, *gemm;
};
enum { MOST_VARIANTS = 16 };

static int same(const json_t *row, const char *key, const char *value)
{
    return strcmp(bench_text(row, key), value) == 0;
}

static int is_of(const json_t *row, struct variant variant)
{
    return same(row, "precision", variant.precision) && same(row, "gemm", variant.gemm);
}

/* Lists the variants in the order in which they were measured. Returns the count. */
static int list_variants(struct variant *variants, const json_t *rows)
{
    int count = 0;
    size_t index;
    json_t *row;
    json_array_foreach(rows, index, row)
    {
        struct variant variant = {bench_text(row, "precision"), bench_text(row, "gemm")};
        int known = *variant.gemm == '\0';
        for (int i = 0; i < count; i++) {
            known |= is_of(row, variants[i]);
        }
        if (!known && count < MOST_VARIANTS) {
            variants[count++] = variant;
        }
    }
    return count;
}

static const json_t *find_case(const json_t *rows, struct variant variant, const char *work, int batch,
                               int beam)
{
    size_t index;
    json_t *row;
    json_array_foreach(rows, index, row)
    {
        if (is_of(row, variant) && same(row, "work", work) && (int)bench_number(row, "batch") == batch &&
            (int)bench_number(row, "beam") == beam) {
            return row;
        }
    }
    return NULL;
}

/* Returns 1 if a row was measured with settings of `clformer tune`. */
static int is_tuned(const json_t *rows)
{
    size_t index;
    json_t *row;
    int found = 0;
    json_array_foreach(rows, index, row)
    {
        found |= json_is_true(json_object_get(row, "tuned"));
    }
    return found;
}

static void print_head(const json_t *device, size_t index)
{
    const json_t *machine = json_object_get(device, "machine"), *peak = json_object_get(device, "peaks");
    printf("%s%zu  %s  [%s]\n", index > 0 ? "\n" : "", index, bench_text(device, "name"),
           bench_text(device, "kind"));
    printf("   platform  %s, driver %s, %s kernels%s\n", bench_text(device, "platform"),
           bench_text(device, "driver"), same(device, "variant", "cpu") ? "CPU" : "GPU",
           is_tuned(json_object_get(device, "rows")) ? ", tuned" : "");
    printf("   machine   %s, %.0f cores, %.1f GiB, %s\n", bench_text(machine, "processor"),
           bench_number(machine, "cores"), bench_number(machine, "memory_bytes") / (1 << 30),
           bench_text(machine, "system"));
    printf("   peaks     ");
    bench_print_peaks("FMA", peak);
}

static void print_starts(const json_t *rows)
{
    size_t index;
    json_t *row;
    json_array_foreach(rows, index, row)
    {
        int is_first = same(row, "work", "first start");
        if ((is_first || same(row, "work", "start")) && bench_number(row, "seconds") > 0) {
            printf("   %-9s %.2f s to the first line%s, %.0f MB\n", is_first ? "first" : "start",
                   bench_number(row, "seconds"), is_first ? " with empty caches" : "",
                   1e-6 * bench_number(row, "peak_bytes"));
        }
    }
}

static const struct {
    const char *title, *work;
    int beam;
} stages[] = {
    {"encode", "encode", 1},
    {"translate, greedy", "translate", 1},
    {"translate, beam 4", "translate", 4},
    {"training step", "train", 1},
};
enum { STAGES = sizeof stages / sizeof *stages, BATCHES = 3 };
static const int batches[BATCHES] = {1, 8, 64};

/* Prints tokens per second by stage and batch, and the peak memory of a process except in training. */
static void print_stages(const json_t *rows, const struct variant *variants, int variant_count,
                         const char *model)
{
    printf("\n   %-18s", "tokens/s");
    for (int s = 0; s < STAGES; s++) {
        printf("  %-23s", stages[s].title);
    }
    printf("\n   %-18.18s", model);
    for (int s = 0; s < STAGES; s++) {
        printf("  batch 1%8d%8d", batches[1], batches[2]);
    }
    printf("  peak MB\n");
    for (int w = 0; w < variant_count; w++) {
        double most = 0;
        printf("   %-5s %-12s", variants[w].precision, variants[w].gemm);
        for (int s = 0; s < STAGES; s++) {
            printf(" ");
            for (int b = 0; b < BATCHES; b++) {
                const json_t *row = find_case(rows, variants[w], stages[s].work, batches[b], stages[s].beam);
                double rate = bench_number(row, "tokens_per_second"), bytes = bench_number(row, "peak_bytes");
                most = bytes > most && strcmp(stages[s].work, "train") != 0 ? bytes : most;
                rate > 0 ? printf("%8.0f", rate) : printf("%8s", "-");
            }
        }
        most > 0 ? printf("%9.0f\n", 1e-6 * most) : printf("%9s\n", "-");
    }
}

static int is_op(const json_t *row, const json_t *like)
{
    return same(row, "work", "op") && same(row, "op", bench_text(like, "op")) &&
           same(row, "shape", bench_text(like, "shape")) && bench_number(row, "share") > 0;
}

/* Returns 1 for the first measured row of an op and shape. */
static int is_first(const json_t *rows, size_t index)
{
    const json_t *row = json_array_get(rows, index);
    for (size_t i = 0; i < index; i++) {
        if (is_op(json_array_get(rows, i), row)) {
            return 0;
        }
    }
    return is_op(row, row);
}

/* Prints one line per op and shape with the fraction of the bound that each variant reaches. */
static void print_ops(const json_t *rows, const struct variant *variants, int variant_count)
{
    printf("\n   %-67s", "op, with shapes of Transformer-base: % of its bound");
    for (int w = 0; w < variant_count; w++) {
        printf("  %s %-7s", variants[w].precision, variants[w].gemm);
    }
    printf("\n");
    size_t index, other;
    json_t *row, *again;
    json_array_foreach(rows, index, row)
    {
        if (!is_first(rows, index)) {
            continue;
        }
        printf("   %-17s %-38s %-10s", bench_text(row, "op"), bench_text(row, "shape"),
               bench_text(row, "bound"));
        for (int w = 0; w < variant_count; w++) {
            double share = 0;
            json_array_foreach(rows, other, again)
            {
                share = is_op(again, row) && is_of(again, variants[w]) ? bench_number(again, "share") : share;
            }
            share > 0 ? printf("%7.0f %%    ", 100 * share) : printf("%7s      ", "-");
        }
        printf("\n");
    }
}

static void print_failures(const json_t *rows)
{
    static const char *const parts[] = {"shape", "precision", "gemm"};
    size_t index;
    json_t *row;
    json_array_foreach(rows, index, row)
    {
        if (json_object_get(row, "error") != NULL) {
            int is_op = same(row, "work", "op");
            printf("   failed: %s", bench_text(row, is_op ? "op" : "work"));
            for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
                const char *part = bench_text(row, parts[i]);
                printf("%s%s", *part != '\0' ? ", " : "", part);
            }
            if (json_object_get(row, "batch") != NULL) {
                printf(", batch %.0f, beam %.0f", bench_number(row, "batch"), bench_number(row, "beam"));
            }
            printf(": %s\n", bench_text(row, "error"));
        }
    }
}

void bench_table(const json_t *devices)
{
    size_t index;
    json_t *device;
    json_array_foreach(devices, index, device)
    {
        const json_t *rows = json_object_get(device, "rows");
        struct variant variants[MOST_VARIANTS];
        int variant_count = list_variants(variants, rows);
        print_head(device, index);
        print_starts(rows);
        if (variant_count > 0) {
            print_stages(rows, variants, variant_count, bench_text(device, "model"));
            print_ops(rows, variants, variant_count);
        }
        printf("\n");
        print_failures(rows);
    }
    printf("The bound of an op is the time for its arithmetic at the peak rate, or for reading its operands "
           "once,\n"
           "whichever is longer. More than 100 %% is possible if operands are in a cache.\n");
}
