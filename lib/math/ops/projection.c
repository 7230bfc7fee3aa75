#include "math/ops/projection.h"

#include <assert.h>

#include "base/minmax.h"
#include "math/gemm/activations.h"
#include "math/gemm/layout.h"
#include "math/ops/operand.h"
#include "math/ops/rows.h"
#include "math/ops/softmax.h"
#include "runtime/device/caps.h"
#include "runtime/device/queue.h"

/* Constants of cl/layers/projection.cl. */
enum { BLOCK_PANELS = CLF__PROJECTION_PANELS, MOST_ROWS = CLF__PROJECTION_ROWS, ROW_BLOCK = 8 };

/* Rows per launch, enough to occupy the device. A GPU stores as many rows of logits at a time as fit in
 * 1/64 of its memory, within these limits. */
enum { LOGITS_ROWS = 256, MOST_LOGITS_ROWS = 4096, LOGITS_SHARE = 64, FUSED_ROWS = 1024 };

/* Up to this many rows are merged by the last group of the launch that computes their tiles. */
enum { MERGED_ROWS = 8 };

/* Groups per core, each with a share of the columns; there are several, so cores finish at about the same
 * time. Many rows use fewer groups, because each group must fill a list of candidates per row. */
enum { GROUPS_EACH = 8, MOST_GROUPS_EACH = 32 };

static int ceil_divide(int a, int b)
{
    return (a - 1) / b + 1;
}

static int is_fused(const struct clf_device *device, const struct clf__projection *projection)
{
    struct clf__weight_layout layout = clf__weight_layout(projection->weight);
    return clf__device_caps(device)->variant == CLF_VARIANT_CPU && layout.panel == CLF__PANEL;
}

/* The division of rows and columns among groups. It does not change the result. */
struct share {
    int rows_per_group, row_groups;
    int blocks; /* blocks of columns */
    int lists;  /* groups that share the blocks, with one list each */
};

static struct share share_of(const struct clf_device *device, int outputs, int rows)
{
    struct share share;
    int row_groups = ceil_divide(rows, MOST_ROWS);
    share.rows_per_group = ceil_divide(ceil_divide(rows, ROW_BLOCK), row_groups) * ROW_BLOCK;
    share.row_groups = ceil_divide(rows, share.rows_per_group);
    share.blocks = ceil_divide(ceil_divide(outputs, CLF__PANEL), BLOCK_PANELS);
    int wanted =
        clf__max_int(GROUPS_EACH, MOST_GROUPS_EACH / rows) * (int)clf__device_caps(device)->compute_units;
    share.lists = clf__min_int(share.blocks, ceil_divide(wanted, share.row_groups));
    return share;
}

static int logits_rows(const struct clf_device *device, int outputs)
{
    const struct clf__caps *caps = clf__device_caps(device);
    uint64_t bytes = clf__min_size(caps->memory_bytes / LOGITS_SHARE, caps->max_buffer_bytes);
    uint64_t rows = bytes / ((uint64_t)outputs * sizeof(float));
    return caps->variant == CLF_VARIANT_CPU || rows < LOGITS_ROWS ? LOGITS_ROWS
           : rows > MOST_LOGITS_ROWS                              ? MOST_LOGITS_ROWS
                                                                  : (int)rows;
}

/* Returns the number of rows of one launch, at most `rows`. */
static int count_rows(const struct clf__projection *projection, struct clf__tensor x, int rows)
{
    double operations = 2.0 * x.columns * clf__weight_outputs(projection->weight);
    double most = clf__device_most_operations(clf__buffer_device(x.buffer)) / operations;
    int group = most > CLF__SKINNY_ROWS ? CLF__SKINNY_ROWS : 1;
    return most < rows ? clf__max_int((int)most / group * group, 1) : rows;
}

clf_status clf__projection_scratch_reserve(struct clf__projection_scratch *scratch, struct clf__arena *arena,
                                           const struct clf__projection *projection, int rows, int k,
                                           int with_logits)
{
    int outputs = clf__weight_outputs(projection->weight);
    int fused = is_fused(arena->device, projection);
    scratch->rows =
        clf__min_int(rows, fused && !with_logits ? FUSED_ROWS : logits_rows(arena->device, outputs));
    if (!fused || with_logits) {
        CLF__TRY(clf__arena_reserve(arena, &scratch->logits, CLF__F32, scratch->rows, outputs, "the logits"));
    }
    if (!fused) {
        return CLF_OK;
    }
    int64_t lists = 0; /* the maximum over all row counts, because fewer rows have more lists */
    for (int r = 1; r <= scratch->rows; r++) {
        int64_t count = (int64_t)r * share_of(arena->device, outputs, r).lists;
        lists = count > lists ? count : lists;
    }
    lists *= clf__max_int(k, 1);
    int64_t blocks = (int64_t)scratch->rows * share_of(arena->device, outputs, 1).blocks;
    CLF__TRY(clf__arena_reserve(arena, &scratch->partials, CLF__F32, 1, 4 * blocks + lists,
                                "the partial results of the projection"));
    return clf__arena_reserve(arena, &scratch->ids, CLF__I32, 1, lists, "the candidates of the projection");
}

/* The macros of cl/layers/projection.cl. */
static const char *defines_of(const struct clf__projection *projection)
{
    static const char *const defines[] = {"-DPRECISION=0", "-DPRECISION=1", "-DPRECISION=2", "-DPRECISION=3"};
    return defines[clf__weight_layout(projection->weight).precision];
}

/* The tiles of the logits of some rows, and the results computed from them. */
struct tiles {
    const struct clf__projection *projection;
    struct clf__tensor x;
    struct share share;
    int k;
    struct clf__tensor partials; /* (R, 4 * blocks + lists * k) */
    struct clf__tensor ids;      /* (R, lists * k) i32 */
    /* Either banned ids or labels: */
    struct clf__tensor banned, banned_offsets;
    struct clf__tensor labels, picked;
    /* With a counter, the launch also writes the final results; otherwise these buffers are NULL. */
    struct clf__tensor counter, values, value_ids, statistics;
    int both;
};

static struct tiles tiles_of(struct clf__tensor x, const struct clf__projection *projection, int k,
                             const struct clf__projection_scratch *scratch)
{
    struct clf_device *device = clf__buffer_device(x.buffer);
    struct tiles tiles = {.projection = projection, .x = x, .k = k};
    tiles.share = share_of(device, clf__weight_outputs(projection->weight), x.rows);
    tiles.ids = clf__tensor_packed(scratch->ids, x.rows, tiles.share.lists * k);
    tiles.partials =
        clf__tensor_packed(scratch->partials, x.rows, 4 * tiles.share.blocks + tiles.ids.columns);
    return tiles;
}

/* The cost of a GEMM that does not write its result. */
static struct clf__cost tiles_cost(const struct tiles *tiles)
{
    struct clf__cost cost = clf__weight_cost(tiles->x.rows, tiles->projection->weight, NULL);
    double logits = (double)tiles->x.rows * clf__weight_outputs(tiles->projection->weight);
    cost.operations += 5 * logits;
    cost.bytes -= sizeof(float) * logits;
    return cost;
}

/* Lists the kernel's size arguments; x: the rows as the kernel reads them. */
static struct clf__projection_sizes list_sizes(const struct tiles *tiles, struct clf__matrix x)
{
    return (struct clf__projection_sizes){
        .partials = CLF__PLACE(tiles->partials),
        .ids = CLF__PLACE(tiles->ids),
        .x = CLF__PLACE(x),
        .banned = CLF__PLACE(tiles->banned),
        .banned_offsets = CLF__PLACE(tiles->banned_offsets),
        .labels = CLF__PLACE(tiles->labels),
        .picked = CLF__PLACE(tiles->picked),
        .counter = CLF__PLACE(tiles->counter),
        .best = CLF__PLACE(tiles->values),
        .best_ids = CLF__PLACE(tiles->value_ids),
        .statistics = CLF__PLACE(tiles->statistics),
        .rows = tiles->x.rows,
        .rows_per_group = tiles->share.rows_per_group,
        .inputs = tiles->x.columns,
        .outputs = clf__weight_outputs(tiles->projection->weight),
        .scale = tiles->projection->scale,
        .banned_count = tiles->banned.columns,
        .k = tiles->k,
        .both = tiles->both,
    };
}

static clf_status launch_tiles(const struct tiles *tiles)
{
    const struct clf__projection *projection = tiles->projection;
    struct clf_device *device = clf__buffer_device(tiles->x.buffer);
    struct clf__weight_layout layout = clf__weight_layout(projection->weight);
    struct clf__matrix x = clf__tensor_matrix(tiles->x);
    if (clf__activations_are_packed(device, layout.precision)) {
        struct clf__activations packed;
        CLF__TRY(
            clf__activations_pack(&packed, device, x, tiles->x.rows, tiles->x.columns, layout.precision));
        x = (struct clf__matrix){.buffer = packed.buffer, .stride = packed.pitch};
        x.stride /= layout.precision == CLF__PRECISION_INT8 ? 1 : 4; /* in pairs for bf16 */
    }
    const struct clf__projection_sizes sizes = list_sizes(tiles, x);
    const struct clf__argument arguments[] = {
        CLF__BUFFER(tiles->partials.buffer),
        CLF__BUFFER(tiles->ids.buffer),
        CLF__BUFFER(x.buffer),
        CLF__BUFFER(layout.buffer),
        CLF__BUFFER(projection->bias),
        CLF__BUFFER(tiles->banned.buffer),
        CLF__BUFFER(tiles->banned_offsets.buffer),
        CLF__BUFFER(tiles->labels.buffer),
        CLF__BUFFER(tiles->picked.buffer),
        CLF__BUFFER(tiles->counter.buffer),
        CLF__BUFFER(tiles->values.buffer),
        CLF__BUFFER(tiles->value_ids.buffer),
        CLF__BUFFER(tiles->statistics.buffer),
        CLF__STRUCT(sizes),
    };
    const struct clf__launch launch = {
        .program = "projection",
        .defines = defines_of(projection),
        .cpu = CLF__GRID("projection_tiles_cpu", (size_t)tiles->share.row_groups, (size_t)tiles->share.lists),
        CLF__ARGUMENTS(arguments),
        .cost = tiles_cost(tiles),
    };
    return clf__launch(device, &launch);
}

/* Merges the results of the tiles of each row; the caller has set the rest of the launch. */
static clf_status merge(struct clf__rows_launch launch, const struct tiles *tiles)
{
    launch.program = "projection";
    launch.defines = defines_of(tiles->projection);
    launch.rows = tiles->x.rows;
    launch.columns = clf__weight_outputs(tiles->projection->weight);
    launch.cost = clf__rows_cost(tiles->partials.rows, tiles->partials.columns, 1, 1);
    return clf__rows_launch(&launch);
}

static clf_status fused_top_k(struct clf__tensor values, struct clf__tensor ids,
                              struct clf__tensor statistics, struct tiles *tiles, int both,
                              struct clf__tensor counter)
{
    const struct clf__caps *caps = clf__device_caps(clf__buffer_device(values.buffer));
    if (counter.buffer == NULL || !caps->has_device_atomics || values.rows > MERGED_ROWS) {
        CLF__TRY(launch_tiles(tiles));
        const struct clf__tensor views[] = {values, ids, statistics, tiles->partials, tiles->ids};
        const struct clf__argument extras[] = {CLF__INT(tiles->share.blocks), CLF__INT(tiles->share.lists),
                                               CLF__INT(tiles->k), CLF__INT(both)};
        return merge((struct clf__rows_launch){.cpu_kernel = "projection_top_k_cpu",
                                               CLF__VIEWS(views),
                                               CLF__EXTRAS(extras)},
                     tiles);
    }
    tiles->counter = counter;
    tiles->values = values;
    tiles->value_ids = ids;
    tiles->statistics = statistics;
    tiles->both = both;
    return launch_tiles(tiles);
}

static clf_status fused_pick(const struct tiles *tiles)
{
    CLF__TRY(launch_tiles(tiles));
    const struct clf__tensor views[] = {tiles->picked, tiles->labels, tiles->partials};
    const struct clf__argument extras[] = {CLF__INT(tiles->share.blocks), CLF__INT(tiles->share.lists)};
    return merge((struct clf__rows_launch){.cpu_kernel = "projection_pick_cpu",
                                           CLF__VIEWS(views),
                                           CLF__EXTRAS(extras)},
                 tiles);
}

clf_status clf__projection_logits(struct clf__tensor *logits, struct clf__tensor x,
                                  const struct clf__projection *projection,
                                  const struct clf__projection_scratch *scratch)
{
    assert(x.rows <= scratch->logits.rows);
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    epilogue.scale = projection->scale;
    epilogue.bias = projection->bias;
    *logits = clf__tensor_rows(scratch->logits, 0, x.rows);
    return clf__gemm_weight(clf__tensor_matrix(*logits), clf__tensor_matrix(x), x.rows, projection->weight,
                            &epilogue);
}

clf_status clf__projection_top_k(struct clf__tensor values, struct clf__tensor ids,
                                 struct clf__tensor statistics, struct clf__tensor x,
                                 const struct clf__projection *projection, struct clf__tensor banned,
                                 struct clf__tensor banned_offsets, int both,
                                 const struct clf__projection_scratch *scratch)
{
    assert(ids.columns == values.columns && statistics.columns == 4 && banned_offsets.columns == x.rows + 1);
    CLF__TRY(clf__top_k_check(values.columns));
    int fused = is_fused(clf__buffer_device(x.buffer), projection);
    for (int first = 0, count; first < x.rows; first += count) {
        count = count_rows(projection, x, clf__min_int(scratch->rows, x.rows - first));
        struct clf__tensor chunk = clf__tensor_rows(x, first, count);
        struct clf__tensor chunk_values = clf__tensor_rows(values, first, count);
        struct clf__tensor chunk_ids = clf__tensor_rows(ids, first, count);
        struct clf__tensor chunk_statistics = clf__tensor_rows(statistics, first, count);
        struct clf__tensor offsets = clf__tensor_columns(banned_offsets, first, count + 1);
        if (fused) {
            struct tiles tiles = tiles_of(chunk, projection, values.columns, scratch);
            tiles.banned = banned;
            tiles.banned_offsets = offsets;
            CLF__TRY(fused_top_k(chunk_values, chunk_ids, chunk_statistics, &tiles, both, scratch->counter));
        } else {
            struct clf__tensor logits;
            CLF__TRY(clf__projection_logits(&logits, chunk, projection, scratch));
            CLF__TRY(
                clf__top_k_forward(chunk_values, chunk_ids, chunk_statistics, logits, banned, offsets, both));
        }
    }
    return CLF_OK;
}

clf_status clf__projection_pick(struct clf__tensor picked, struct clf__tensor x,
                                const struct clf__projection *projection, struct clf__tensor labels,
                                const struct clf__projection_scratch *scratch)
{
    assert(picked.columns == x.rows && labels.columns == x.rows);
    int fused = is_fused(clf__buffer_device(x.buffer), projection);
    for (int first = 0, count; first < x.rows; first += count) {
        count = count_rows(projection, x, clf__min_int(scratch->rows, x.rows - first));
        struct clf__tensor chunk = clf__tensor_rows(x, first, count);
        struct clf__tensor chunk_picked = clf__tensor_columns(picked, first, count);
        struct clf__tensor chunk_labels = clf__tensor_columns(labels, first, count);
        if (fused) {
            struct tiles tiles = tiles_of(chunk, projection, 1, scratch);
            tiles.labels = chunk_labels;
            tiles.picked = chunk_picked;
            CLF__TRY(fused_pick(&tiles));
        } else {
            struct clf__tensor logits;
            CLF__TRY(clf__projection_logits(&logits, chunk, projection, scratch));
            CLF__TRY(clf__log_softmax_pick(chunk_picked, logits, chunk_labels));
        }
    }
    return CLF_OK;
}
