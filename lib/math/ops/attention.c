#include "math/ops/attention.h"

#include <assert.h>
#include <stdio.h>

#include "base/memory.h"
#include "math/ops/cache.h"
#include "math/ops/operand.h"
#include "runtime/device/caps.h"

/* Returns the private memory of a work-item: struct attention_work in cl/include/attention_blocks.cl,
 * struct backward_work in attention_backward_cpu.cl, or the states in attention_few.cl. */
static size_t count_private(const struct clf__heads *heads, int is_fused, int is_trained)
{
    enum { LANES = 16, OTHERS = 80 << 10 };
    size_t key = ((size_t)heads->key_width + LANES - 1) / LANES * LANES;
    size_t value = ((size_t)heads->value_width + LANES - 1) / LANES * LANES;
    size_t keys = CLF__ATTENTION_KEYS(heads->key_width, heads->value_width);
    size_t queries = CLF__ATTENTION_QUERIES(heads->key_width, heads->value_width);
    size_t states = CLF__STEP_STATES(heads->key_width, heads->value_width);
    size_t widened = LANES * 4 * (key > value ? key : value); /* rows of halves, converted to floats */
    size_t forward = is_fused ? 4 * (keys * key + queries * value) : states * (4 * key + 8 * value) + widened;
    size_t backward = is_trained ? 1792 * key + 1152 * value : 0;
    return (forward > backward ? forward : backward) + OTHERS;
}

/* Bytes of local memory of the GPU variants of cl/attention/attention.cl and
 * cl/attention/attention_step.cl. */
enum { BLOCK_LOCAL_BYTES = CLF__BLOCK_LOCAL_FLOATS * sizeof(float) };

/* The alignment of heads, in elements, for kernels that read several elements at once. */
enum { QUAD = 4, OCTET = 8 };

static size_t count_step_local(const struct clf__heads *heads, size_t ways)
{
    return 4 * sizeof(float) *
           CLF__STEP_LOCAL_QUADS((size_t)heads->key_width, (size_t)heads->value_width, ways);
}

struct clf__attention_room clf__attention_room(const struct clf_device *device,
                                               const struct clf__heads *heads, int is_trained)
{
    const struct clf__caps *caps = clf__device_caps(device);
    if (caps->form == CLF_FORM_CPU) {
        /* The other half of the stack is for frames of the driver and copies made by its compiler. */
        return (struct clf__attention_room){
            count_private(heads, caps->attention == CLF_ATTENTION_FUSED, is_trained),
            clf__thread_stack_bytes() / 2, "a thread's stack"};
    }
    size_t step = count_step_local(heads, 1), block = BLOCK_LOCAL_BYTES;
    return (struct clf__attention_room){step > block ? step : block, caps->local_memory_bytes,
                                        "local memory"};
}

static int is_aligned(struct clf__tensor x, int width, int unit)
{
    return x.offset % (size_t)unit == 0 && x.stride % unit == 0 && width % unit == 0;
}

static struct clf__attention_group step_group(const struct clf__heads *heads, size_t ways, int is_aligned)
{
    struct clf__attention_group group = {.items = ways * CLF__GROUP,
                                         .local_bytes = count_step_local(heads, ways),
                                         .ways = (int)ways,
                                         .is_aligned = is_aligned};
    snprintf(group.defines, sizeof group.defines, " -DWAYS=%d%s", (int)ways,
             is_aligned ? " -DIS_ALIGNED" : "");
    return group;
}

int clf__attention_group_halve(struct clf__attention_group *group, const struct clf__heads *heads)
{
    if (group->ways < 2) {
        return 0;
    }
    *group = step_group(heads, (size_t)group->ways / 2, group->is_aligned);
    return 1;
}

struct clf__attention_group clf__attention_step_group(const struct clf_device *device,
                                                      const struct clf__heads *heads, struct clf__tensor k,
                                                      struct clf__tensor v, size_t tasks, int keys)
{
    enum { TILE = 64, TASKS_A_UNIT = 16 };
    const struct clf__caps *caps = clf__device_caps(device);
    struct clf__attention_group group = {.items = 0, .local_bytes = 0, .defines = ""};
    if (caps->form == CLF_FORM_CPU) {
        return group;
    }
    size_t ways = keys > TILE && tasks < (size_t)TASKS_A_UNIT * caps->compute_units ? CLF__PART_TILES : 1;
    while (ways > 1 && (ways * CLF__GROUP > caps->max_work_group ||
                        count_step_local(heads, ways) > caps->local_memory_bytes)) {
        ways /= 2;
    }
    return step_group(heads, ways,
                      is_aligned(k, heads->key_width, OCTET) && is_aligned(v, heads->value_width, OCTET));
}

int clf__attention_parts(int keys)
{
    return keys > 0 ? (keys - 1) / CLF__PART_KEYS + 1 : 1;
}

int64_t clf__attention_partials(const struct clf__heads *heads, int rows, int max_keys)
{
    int parts = clf__attention_parts(max_keys);
    return parts > 1 ? (int64_t)rows * heads->count * parts * CLF__PARTIAL_WIDTH(heads->value_width) : 0;
}

int clf__attention_split_rows(const struct clf_device *device, const struct clf__heads *heads)
{
    enum { TASKS_A_UNIT = 8 };
    return TASKS_A_UNIT * (int)clf__device_caps(device)->compute_units / heads->count;
}

int clf__attention_split(const struct clf_device *device, const struct clf__heads *heads, int rows,
                         int max_keys, struct clf__tensor partials)
{
    int64_t needed = clf__attention_partials(heads, rows, max_keys);
    int is_split = clf__device_caps(device)->form == CLF_FORM_GPU && needed > 0 && partials.buffer != NULL &&
                   partials.columns >= needed && rows <= clf__attention_split_rows(device, heads);
    return is_split ? clf__attention_parts(max_keys) : 1;
}

struct clf__cost clf__attention_cost(const struct clf__heads *heads, double queries, double keys,
                                     enum clf__type key_type, double pairs)
{
    double widths = heads->key_width + heads->value_width;
    double read = queries * sizeof(float) + keys * (double)clf__type_bytes(key_type);
    /* Five operations per pair in addition to the two dot products: scale, maximum, difference, exp and
     * sum. */
    return (struct clf__cost){.operations = heads->count * pairs * (2.0 * widths + 5.0),
                              .bytes = heads->count * widths * read};
}

struct clf__cost clf__attention_join_cost(const struct clf__heads *heads, int rows, int parts)
{
    double sums = (double)rows * heads->count * parts * (heads->value_width + 2.0);
    return (struct clf__cost){.operations = 3.0 * sums, .bytes = sizeof(float) * sums};
}

static struct clf__cost count_cost(const struct clf__heads *heads, const struct clf__sequence_ranges *ranges,
                                   int queries, enum clf__type key_type)
{
    double sequences = ranges->sequences;
    return ranges->pairs > 0.0 ? clf__attention_cost(heads, queries, ranges->keys, key_type, ranges->pairs)
                               : clf__attention_cost(heads, queries, sequences * ranges->max_keys, key_type,
                                                     sequences * ranges->max_queries * ranges->max_keys);
}

/* Returns whether attention_rows of cl/attention/attention_step.cl computes the call, instead of
 * cl/attention/attention.cl. */
static int takes_rows(const struct clf__attention_call *call)
{
    return call->few_queries && call->dropout.rate == 0.0f;
}

/* Returns whether cl/attention/attention_matrix.cl computes the call; it needs heads small enough for
 * registers. This depends on the model and the device, never on the batch. */
static int takes_matrix(const struct clf__attention_call *call, const struct clf__caps *caps)
{
    enum { WIDEST = 128, WIDTHS = 16 };
    const struct clf__heads *heads = &call->heads;
    return clf__caps_have_matrix(caps) && call->precision != CLF__PRECISION_FP32 && !takes_rows(call) &&
           call->window == NULL && call->dropout.rate == 0.0f && heads->key_width <= WIDEST &&
           heads->value_width <= WIDEST && heads->key_width % WIDTHS == 0 && heads->value_width % WIDTHS == 0;
}

int clf__attention_block_queries(const struct clf__attention_call *call, const struct clf__caps *caps)
{
    enum { LEAST_CPU_BLOCK = 8, GROUPS_A_PROCESSOR = 4 };
    if (caps->form == CLF_FORM_GPU) {
        return takes_rows(call) ? 1 : CLF__BLOCK_QUERIES;
    }
    if (takes_rows(call)) {
        return CLF__STEP_QUERIES(call->heads.key_width, call->heads.value_width);
    }
    double pairs = (double)call->ranges.sequences * call->heads.count * call->ranges.max_queries;
    int block = CLF__ATTENTION_QUERIES(call->heads.key_width, call->heads.value_width);
    while (block > LEAST_CPU_BLOCK && pairs / block < GROUPS_A_PROCESSOR * (double)caps->compute_units) {
        block /= 2;
    }
    return block;
}

static struct clf__attention_sizes list_sizes(struct clf__tensor y, struct clf__tensor q,
                                              struct clf__tensor k, struct clf__tensor v,
                                              const struct clf__attention_call *call)
{
    const struct clf__sequence_ranges *ranges = &call->ranges;
    const struct clf__mask *mask = &call->mask;
    return (struct clf__attention_sizes){
        .y = CLF__PLACE(y),
        .q = CLF__PLACE(q),
        .k = CLF__PLACE(k),
        .v = CLF__PLACE(v),
        .ranges = CLF__PLACE(ranges->table),
        .hidden = CLF__PLACE(mask->hidden_keys),
        .additive = CLF__PLACE(mask->additive),
        .relative = CLF__PLACE(mask->relative),
        .reach = (mask->relative.columns - 1) / 2,
        .sequences = ranges->sequences,
        .heads = call->heads.count,
        .max_queries = ranges->max_queries,
        .scale = call->heads.scale,
        .causal = mask->causal,
        .parts = 1,
    };
}

struct clf__attention_group clf__attention_block_group(const struct clf__caps *caps,
                                                       const struct clf__heads *heads, struct clf__tensor q,
                                                       struct clf__tensor k, struct clf__tensor v)
{
    struct clf__attention_group group = {.items = 0, .local_bytes = 0, .defines = ""};
    if (caps->form == CLF_FORM_GPU) {
        int aligned = is_aligned(q, heads->key_width, QUAD) && is_aligned(k, heads->key_width, QUAD) &&
                      is_aligned(v, heads->value_width, QUAD);
        group.items = CLF__TILE_GROUP;
        group.local_bytes = BLOCK_LOCAL_BYTES;
        snprintf(group.defines, sizeof group.defines, "%s", aligned ? " -DIS_ALIGNED" : "");
    }
    return group;
}

clf_status clf__attention_count_tasks(size_t *tasks, const struct clf__attention_call *call, int block,
                                      size_t slices)
{
    const struct clf__sequence_ranges *ranges = &call->ranges;
    size_t blocks = ((size_t)ranges->max_queries + (size_t)block - 1) / (size_t)block;
    *tasks = (size_t)ranges->sequences * (size_t)call->heads.count * blocks * slices;
    return *tasks <= INT32_MAX
               ? CLF_OK
               : clf__fail(CLF_UNSUPPORTED,
                           "attention over %d sequences of up to %d queries and %d heads needs %zu work "
                           "items, and kernels count to %d; use a smaller --batch-tokens",
                           ranges->sequences, ranges->max_queries, call->heads.count, *tasks, INT32_MAX);
}

/* Returns the 16-bit precision to which matrix instructions round the operands. */
static enum clf__precision operand_precision(const struct clf__attention_call *call)
{
    return call->precision == CLF__PRECISION_BF16 ? CLF__PRECISION_BF16 : CLF__PRECISION_FP16;
}

static enum clf__type operand_type(const struct clf__attention_call *call)
{
    return operand_precision(call) == CLF__PRECISION_BF16 ? CLF__BF16 : CLF__F16;
}

/* A group of cl/attention/attention_matrix.cl: warps with `tiles` tiles of queries each. */
struct matrix_group {
    int warps, tiles, queries;
};

static struct matrix_group matrix_group(const struct clf__matrix_level *level, int warps, int tiles)
{
    return (struct matrix_group){warps, tiles, warps * tiles * level->rows};
}

/* Short sequences use groups of fewer warps. Warps with several tiles read keys and values less often, but
 * need more registers, and long sequences to occupy the device. The choice does not change bits. */
static struct matrix_group choose_matrix_group(const struct clf__attention_call *call,
                                               const struct clf__caps *caps, int is_rounded, int has_bias)
{
    enum { FEW_WARPS = 2, MOST_WARPS = 4, WIDEST = 64 };
    const struct clf__matrix_level *level = &caps->level->matrix;
    const struct clf__heads *heads = &call->heads;
    struct matrix_group few = matrix_group(level, FEW_WARPS, 1), most = matrix_group(level, MOST_WARPS, 1);
    struct matrix_group large = matrix_group(level, MOST_WARPS, level->query_tiles);
    int queries = call->ranges.max_queries;
    double groups = (double)call->ranges.sequences * heads->count * ((double)queries / large.queries);
    if (queries <= few.queries) {
        return few;
    }
    return is_rounded && !has_bias && heads->key_width <= WIDEST && heads->value_width <= WIDEST &&
                   queries > most.queries && groups >= caps->compute_units
               ? large
               : most;
}

/* Computes attention with matrix instructions. */
static clf_status forward_matrix(struct clf__tensor y, struct clf__tensor q, struct clf__tensor k,
                                 struct clf__tensor v, const struct clf__attention_call *call)
{
    const struct clf__heads *heads = &call->heads;
    const struct clf__mask *mask = &call->mask;
    const struct clf__caps *caps = clf__device_caps(clf__buffer_device(y.buffer));
    int is_rounded = q.type != CLF__F32,
        has_bias = mask->additive.buffer != NULL || mask->relative.buffer != NULL;
    int aligned = is_aligned(q, heads->key_width, QUAD) && is_aligned(k, heads->key_width, QUAD) &&
                  is_aligned(v, heads->value_width, QUAD);
    const struct matrix_group group = choose_matrix_group(call, caps, is_rounded, has_bias);
    assert(y.type == CLF__F32 || y.type == operand_type(call));
    assert(k.type == q.type && v.type == q.type);
    assert(!is_rounded || (is_aligned(q, heads->key_width, OCTET) && is_aligned(k, heads->key_width, OCTET) &&
                           is_aligned(v, heads->value_width, OCTET)));
    const struct clf__attention_sizes sizes = list_sizes(y, q, k, v, call);
    size_t tasks;
    CLF__TRY(clf__attention_count_tasks(&tasks, call, group.queries, 1));
    const struct clf__argument arguments[] = {
        CLF__BUFFER(y.buffer),
        CLF__BUFFER(q.buffer),
        CLF__BUFFER(k.buffer),
        CLF__BUFFER(v.buffer),
        CLF__BUFFER(call->ranges.table.buffer),
        CLF__BUFFER(mask->hidden_keys.buffer),
        CLF__BUFFER(mask->additive.buffer),
        CLF__BUFFER(mask->relative.buffer),
        CLF__STRUCT(sizes),
    };
    char defines[192];
    snprintf(defines, sizeof defines,
             "-DPRECISION=%d -DKEY_WIDTH=%d -DVALUE_WIDTH=%d -DWARPS=%d -DROW_TILES=%d%s%s%s",
             (int)operand_precision(call), heads->key_width, heads->value_width, group.warps, group.tiles,
             has_bias ? " -DHAS_BIAS" : "",
             is_rounded ? " -DOPERANDS_ARE_ROUNDED"
             : aligned  ? " -DIS_ALIGNED"
                        : "",
             clf__result_define(y));
    const struct clf__launch launch = {
        .program = "attention_matrix",
        .defines = defines,
        .gpu = {.kernel = "attention_matrix_gpu",
                .groups = {clf__groups(tasks)},
                .local = {(size_t)(caps->level->matrix.lanes * group.warps)}},
        CLF__ARGUMENTS(arguments),
        .cost = count_cost(heads, &call->ranges, q.rows, k.type),
    };
    return clf__launch(clf__buffer_device(y.buffer), &launch);
}

/* Runs the kernels for blocks of queries. */
static clf_status forward_blocks(struct clf__tensor y, struct clf__tensor q, struct clf__tensor k,
                                 struct clf__tensor v, const struct clf__attention_call *call)
{
    const struct clf__heads *heads = &call->heads;
    const struct clf__sequence_ranges *ranges = &call->ranges;
    const struct clf__mask *mask = &call->mask;
    struct clf_device *device = clf__buffer_device(y.buffer);
    const struct clf__caps *caps = clf__device_caps(device);
    int has_dropout = call->dropout.rate > 0.0f;
    struct clf__attention_sizes sizes = list_sizes(y, q, k, v, call);
    sizes.block_queries = clf__attention_block_queries(call, caps);
    size_t slices = caps->form == CLF_FORM_CPU ? 1 : ((size_t)heads->value_width + 63) / 64;
    size_t tasks;
    CLF__TRY(clf__attention_count_tasks(&tasks, call, sizes.block_queries, slices));
    const struct clf__attention_group group = clf__attention_block_group(caps, heads, q, k, v);
    const struct clf__argument arguments[] = {
        CLF__LOCAL(group.local_bytes),
        CLF__BUFFER(y.buffer),
        CLF__BUFFER(q.buffer),
        CLF__BUFFER(k.buffer),
        CLF__BUFFER(v.buffer),
        CLF__BUFFER(ranges->table.buffer),
        CLF__BUFFER(mask->hidden_keys.buffer),
        CLF__BUFFER(mask->additive.buffer),
        CLF__BUFFER(mask->relative.buffer),
        CLF__STRUCT(sizes),
        CLF__DROPOUT(call->dropout),
    };
    char defines[128];
    snprintf(defines, sizeof defines, "-DKEY_WIDTH=%d -DVALUE_WIDTH=%d%s%s%s", heads->key_width,
             heads->value_width, has_dropout ? " -DHAS_DROPOUT" : "", clf__result_define(y), group.defines);
    const struct clf__launch launch = {
        .program = "attention",
        .defines = defines,
        .cpu = CLF__GRID("attention_forward_cpu", clf__groups(tasks)),
        .gpu = {"attention_forward_gpu", {clf__groups(tasks)}, {group.items}},
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof *arguments - (has_dropout ? 0 : 6),
        .cost = count_cost(heads, ranges, q.rows, k.type),
    };
    return clf__launch(device, &launch);
}

/* A launch for few queries: its operands and its groups. */
struct rows {
    struct clf__tensor y, q, k, v;
    struct clf__attention_sizes sizes;
    struct clf__attention_group group;
};

/* Launches gpu_kernel with this number of groups, or the kernel of the CPU variant. */
static clf_status launch_rows(const struct rows *rows, const struct clf__attention_call *call,
                              const char *gpu_kernel, size_t groups, struct clf__cost cost, int *exceeds)
{
    const struct clf__mask *mask = &call->mask;
    const struct clf__argument arguments[] = {
        CLF__LOCAL(rows->group.local_bytes),
        CLF__GPU_BUFFER(call->partials.buffer),
        CLF__BUFFER(rows->y.buffer),
        CLF__BUFFER(rows->q.buffer),
        CLF__BUFFER(rows->k.buffer),
        CLF__BUFFER(rows->v.buffer),
        CLF__BUFFER(call->ranges.table.buffer),
        CLF__BUFFER(mask->hidden_keys.buffer),
        CLF__BUFFER(mask->additive.buffer),
        CLF__BUFFER(mask->relative.buffer),
        CLF__STRUCT(rows->sizes),
    };
    char defines[144];
    snprintf(defines, sizeof defines, "-DKEY_WIDTH=%d -DVALUE_WIDTH=%d%s%s%s", call->heads.key_width,
             call->heads.value_width, clf__result_define(rows->y), clf__cache_define(rows->k),
             rows->group.defines);
    const struct clf__launch launch = {
        .program = "attention_step",
        .defines = defines,
        .cpu = CLF__GRID("attention_rows_cpu", clf__groups(groups)),
        .gpu = {gpu_kernel, {clf__groups(groups)}, {rows->group.items}},
        CLF__ARGUMENTS(arguments),
        .cost = cost,
        .exceeds = exceeds,
    };
    return clf__launch(clf__buffer_device(rows->y.buffer), &launch);
}

/* Runs the kernels for few queries. */
static clf_status forward_rows(struct clf__tensor y, struct clf__tensor q, struct clf__tensor k,
                               struct clf__tensor v, const struct clf__attention_call *call)
{
    const struct clf__heads *heads = &call->heads;
    const struct clf__sequence_ranges *ranges = &call->ranges;
    const struct clf_device *device = clf__buffer_device(y.buffer);
    struct rows rows = {.y = y, .q = q, .k = k, .v = v, .sizes = list_sizes(y, q, k, v, call)};
    int parts = clf__attention_split(device, heads, q.rows, ranges->max_keys, call->partials);
    rows.sizes.block_queries = clf__attention_block_queries(call, clf__device_caps(device));
    rows.sizes.parts = parts;
    rows.sizes.partials = (struct clf__place)CLF__PLACE(call->partials);
    size_t queries;
    CLF__TRY(clf__attention_count_tasks(&queries, call, rows.sizes.block_queries, 1));
    size_t tasks = queries * (size_t)parts;
    rows.group = clf__attention_step_group(device, heads, k, v, tasks, ranges->max_keys);
    struct clf__cost cost = count_cost(heads, ranges, q.rows, k.type);
    int exceeds = 0;
    do {
        int *found = rows.group.ways > 1 ? &exceeds : NULL;
        CLF__TRY(launch_rows(&rows, call, "attention_rows_gpu", tasks, cost, found));
    } while (exceeds && clf__attention_group_halve(&rows.group, heads));
    return parts > 1 ? launch_rows(&rows, call, "attention_rows_join_gpu", queries,
                                   clf__attention_join_cost(heads, q.rows, parts), NULL)
                     : CLF_OK;
}

static int is_batched(const struct clf__caps *caps, const struct clf__attention_call *call)
{
    return call->window == NULL && (call->maps.buffer != NULL ||
                                    (caps->attention == CLF_ATTENTION_BATCHED && call->dropout.rate == 0.0f));
}

int clf__attention_reads_halves(const struct clf_device *device, const struct clf__attention_call *call)
{
    return takes_rows(call) && !is_batched(clf__device_caps(device), call);
}

int clf__attention_reads(enum clf__type type, const struct clf_device *device,
                         const struct clf__attention_call *call)
{
    const struct clf__caps *caps = clf__device_caps(device);
    return !is_batched(caps, call) && takes_matrix(call, caps) && type == operand_type(call) &&
           call->weights.buffer == NULL;
}

int clf__attention_writes(enum clf__type type, const struct clf_device *device,
                          const struct clf__attention_call *call)
{
    const struct clf__caps *caps = clf__device_caps(device);
    int is_16_bits = type == CLF__BF16 || type == CLF__F16;
    return is_16_bits && !is_batched(caps, call) &&
           (caps->form == CLF_FORM_GPU || (type == CLF__BF16 && !takes_rows(call)));
}

int clf__attention_step_writes(enum clf__type type, const struct clf_device *device)
{
    return (type == CLF__BF16 || type == CLF__F16) && clf__device_caps(device)->form == CLF_FORM_GPU;
}

const char *clf__result_define(struct clf__tensor y)
{
    return y.type == CLF__F16 ? " -DRESULT_PRECISION=1" : y.type == CLF__BF16 ? " -DRESULT_PRECISION=2" : "";
}

clf_status clf__attention_forward(struct clf__tensor y, struct clf__tensor q, struct clf__tensor k,
                                  struct clf__tensor v, const struct clf__attention_call *call)
{
    assert(q.columns == call->heads.count * call->heads.key_width && k.columns == q.columns);
    assert(y.columns == call->heads.count * call->heads.value_width && v.columns == y.columns);
    assert(call->ranges.table.stride == 4 || call->ranges.sequences < 2);
    if (call->ranges.sequences == 0 || call->ranges.max_queries == 0) {
        return CLF_OK;
    }
    struct clf_device *device = clf__buffer_device(y.buffer);
    assert(call->window == NULL && (!call->maps.buffer || call->dropout.rate == 0.0f));
    assert(y.type == CLF__F32 || clf__attention_writes(y.type, device, call));
    assert(k.type == CLF__F32 || clf__attention_reads_halves(device, call) ||
           clf__attention_reads(k.type, device, call));
    const struct clf__caps *caps = clf__device_caps(device);
    CLF__TRY(is_batched(caps, call)     ? clf__attention_batched_forward(y, q, k, v, call)
             : takes_matrix(call, caps) ? forward_matrix(y, q, k, v, call)
             : takes_rows(call)         ? forward_rows(y, q, k, v, call)
                                        : forward_blocks(y, q, k, v, call));
    return call->weights.buffer != NULL
               ? clf__attention_weights_forward(call->weights, q, k, call->weight_heads, call)
               : CLF_OK;
}
