#include "math/ops/attention_launch.h"

#include <assert.h>
#include <stdio.h>

#include "base/memory.h"
#include "math/ops/cache.h"

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

static size_t count_step_local(const struct clf__heads *heads, size_t ways)
{
    return 4 * sizeof(float) *
           CLF__STEP_LOCAL_QUADS((size_t)heads->key_width, (size_t)heads->value_width, ways);
}

struct clf__attention_room clf__attention_room(const struct clf_device *device,
                                               const struct clf__heads *heads, int is_trained)
{
    const struct clf__caps *caps = clf__device_caps(device);
    if (caps->variant == CLF_VARIANT_CPU) {
        /* The other half of the stack is for frames of the driver and copies made by its compiler. */
        return (struct clf__attention_room){
            count_private(heads, caps->attention == CLF_ATTENTION_FUSED, is_trained),
            clf__thread_stack_bytes() / 2, "a thread's stack"};
    }
    size_t step = count_step_local(heads, 1), block = BLOCK_LOCAL_BYTES;
    return (struct clf__attention_room){step > block ? step : block, caps->local_memory_bytes,
                                        "local memory"};
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
    enum { TILE = 64, TASKS_A_UNIT = 16, OCTET = 8 };
    const struct clf__caps *caps = clf__device_caps(device);
    struct clf__attention_group group = {.items = 0, .local_bytes = 0, .defines = ""};
    if (caps->variant == CLF_VARIANT_CPU) {
        return group;
    }
    size_t ways = keys > TILE && tasks < (size_t)TASKS_A_UNIT * caps->compute_units ? CLF__PART_TILES : 1;
    while (ways > 1 && (ways * CLF__GROUP > caps->max_work_group ||
                        count_step_local(heads, ways) > caps->local_memory_bytes)) {
        ways /= 2;
    }
    return step_group(heads, ways,
                      clf__attention_is_aligned(k, heads->key_width, OCTET) &&
                          clf__attention_is_aligned(v, heads->value_width, OCTET));
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
    int is_split = clf__device_caps(device)->variant == CLF_VARIANT_GPU && needed > 0 &&
                   partials.buffer != NULL && partials.columns >= needed &&
                   rows <= clf__attention_split_rows(device, heads);
    return is_split ? clf__attention_parts(max_keys) : 1;
}

int clf__attention_block_queries(const struct clf__attention_call *call, const struct clf__caps *caps)
{
    enum { LEAST_CPU_BLOCK = 8, GROUPS_A_PROCESSOR = 4 };
    if (caps->variant == CLF_VARIANT_GPU) {
        return clf__attention_takes_rows(call) ? 1 : CLF__BLOCK_QUERIES;
    }
    if (clf__attention_takes_rows(call)) {
        return CLF__STEP_QUERIES(call->heads.key_width, call->heads.value_width);
    }
    double pairs = (double)call->ranges.sequences * call->heads.count * call->ranges.max_queries;
    int block = CLF__ATTENTION_QUERIES(call->heads.key_width, call->heads.value_width);
    while (block > LEAST_CPU_BLOCK && pairs / block < GROUPS_A_PROCESSOR * (double)caps->compute_units) {
        block /= 2;
    }
    return block;
}

struct clf__attention_group clf__attention_block_group(const struct clf__caps *caps,
                                                       const struct clf__heads *heads, struct clf__tensor q,
                                                       struct clf__tensor k, struct clf__tensor v)
{
    struct clf__attention_group group = {.items = 0, .local_bytes = 0, .defines = ""};
    if (caps->variant == CLF_VARIANT_GPU) {
        group.items = CLF__TILE_GROUP;
        group.local_bytes = BLOCK_LOCAL_BYTES;
        snprintf(group.defines, sizeof group.defines, "%s",
                 clf__attention_has_quads(heads, q, k, v) ? " -DIS_ALIGNED" : "");
    }
    return group;
}

/* Runs the kernels for blocks of queries. */
static clf_status forward_blocks(const struct clf__attention_operands *operands,
                                 const struct clf__attention_call *call)
{
    const struct clf__heads *heads = &call->heads;
    struct clf_device *device = clf__buffer_device(operands->y.buffer);
    const struct clf__caps *caps = clf__device_caps(device);
    int has_dropout = call->dropout.rate > 0.0f;
    struct clf__attention_sizes sizes = clf__attention_sizes_of(operands, call);
    sizes.block_queries = clf__attention_block_queries(call, caps);
    size_t slices = caps->variant == CLF_VARIANT_CPU ? 1 : ((size_t)heads->value_width + 63) / 64;
    size_t tasks;
    CLF__TRY(clf__attention_count_tasks(&tasks, call, sizes.block_queries, slices));
    const struct clf__attention_group group =
        clf__attention_block_group(caps, heads, operands->q, operands->k, operands->v);
    const struct clf__argument arguments[] = {
        CLF__LOCAL(group.local_bytes), CLF__ATTENTION_BUFFERS(*operands),
        CLF__ATTENTION_MASKS(call),    CLF__STRUCT(sizes),
        CLF__DROPOUT(call->dropout),
    };
    char defines[128];
    snprintf(defines, sizeof defines, "-DKEY_WIDTH=%d -DVALUE_WIDTH=%d%s%s%s", heads->key_width,
             heads->value_width, has_dropout ? " -DHAS_DROPOUT" : "", clf__result_define(operands->y),
             group.defines);
    const struct clf__launch launch = {
        .program = "attention",
        .defines = defines,
        .cpu = CLF__GRID("attention_forward_cpu", clf__groups(tasks)),
        .gpu = {"attention_forward_gpu", {clf__groups(tasks)}, {group.items}},
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof *arguments - (has_dropout ? 0 : 6),
        .cost = clf__attention_call_cost(operands, call),
    };
    return clf__launch(device, &launch);
}

/* A launch for few queries: its operands and its groups. */
struct rows {
    struct clf__attention_operands operands;
    struct clf__attention_sizes sizes;
    struct clf__attention_group group;
};

/* Launches gpu_kernel with this number of groups, or the kernel of the CPU variant. */
static clf_status launch_rows(const struct rows *rows, const struct clf__attention_call *call,
                              const char *gpu_kernel, size_t groups, struct clf__cost cost, int *exceeds)
{
    const struct clf__argument arguments[] = {
        CLF__LOCAL(rows->group.local_bytes),
        CLF__GPU_BUFFER(call->partials.buffer),
        CLF__ATTENTION_BUFFERS(rows->operands),
        CLF__ATTENTION_MASKS(call),
        CLF__STRUCT(rows->sizes),
    };
    char defines[144];
    snprintf(defines, sizeof defines, "-DKEY_WIDTH=%d -DVALUE_WIDTH=%d%s%s%s", call->heads.key_width,
             call->heads.value_width, clf__result_define(rows->operands.y),
             clf__cache_define(rows->operands.k), rows->group.defines);
    const struct clf__launch launch = {
        .program = "attention_step",
        .defines = defines,
        .cpu = CLF__GRID("attention_rows_cpu", clf__groups(groups)),
        .gpu = {gpu_kernel, {clf__groups(groups)}, {rows->group.items}},
        CLF__ARGUMENTS(arguments),
        .cost = cost,
        .exceeds = exceeds,
    };
    return clf__launch(clf__buffer_device(rows->operands.y.buffer), &launch);
}

/* Runs the kernels for few queries. */
static clf_status forward_rows(const struct clf__attention_operands *operands,
                               const struct clf__attention_call *call)
{
    const struct clf__heads *heads = &call->heads;
    int max_keys = call->ranges.max_keys, query_rows = operands->q.rows;
    const struct clf_device *device = clf__buffer_device(operands->y.buffer);
    struct rows rows = {.operands = *operands, .sizes = clf__attention_sizes_of(operands, call)};
    int parts = clf__attention_split(device, heads, query_rows, max_keys, call->partials);
    rows.sizes.block_queries = clf__attention_block_queries(call, clf__device_caps(device));
    rows.sizes.parts = parts;
    rows.sizes.partials = (struct clf__place)CLF__PLACE(call->partials);
    size_t queries;
    CLF__TRY(clf__attention_count_tasks(&queries, call, rows.sizes.block_queries, 1));
    size_t tasks = queries * (size_t)parts;
    rows.group = clf__attention_step_group(device, heads, operands->k, operands->v, tasks, max_keys);
    struct clf__cost cost = clf__attention_call_cost(operands, call);
    int exceeds = 0;
    do {
        int *found = rows.group.ways > 1 ? &exceeds : NULL;
        CLF__TRY(launch_rows(&rows, call, "attention_rows_gpu", tasks, cost, found));
    } while (exceeds && clf__attention_group_halve(&rows.group, heads));
    return parts > 1 ? launch_rows(&rows, call, "attention_rows_join_gpu", queries,
                                   clf__attention_join_cost(heads, query_rows, parts), NULL)
                     : CLF_OK;
}

static int is_batched(const struct clf__caps *caps, const struct clf__attention_call *call)
{
    return call->window == NULL && (call->maps.buffer != NULL ||
                                    (caps->attention == CLF_ATTENTION_BATCHED && call->dropout.rate == 0.0f));
}

int clf__attention_reads_halves(const struct clf_device *device, const struct clf__attention_call *call)
{
    return clf__attention_takes_rows(call) && !is_batched(clf__device_caps(device), call);
}

int clf__attention_reads(enum clf__type type, const struct clf_device *device,
                         const struct clf__attention_call *call)
{
    const struct clf__caps *caps = clf__device_caps(device);
    return !is_batched(caps, call) && clf__attention_takes_matrix(call, caps) &&
           type == clf__attention_operand_type(call) && call->weights.buffer == NULL;
}

int clf__attention_writes(enum clf__type type, const struct clf_device *device,
                          const struct clf__attention_call *call)
{
    const struct clf__caps *caps = clf__device_caps(device);
    int is_16_bits = type == CLF__BF16 || type == CLF__F16;
    return is_16_bits && !is_batched(caps, call) &&
           (caps->variant == CLF_VARIANT_GPU || (type == CLF__BF16 && !clf__attention_takes_rows(call)));
}

int clf__attention_step_writes(enum clf__type type, const struct clf_device *device)
{
    return (type == CLF__BF16 || type == CLF__F16) && clf__device_caps(device)->variant == CLF_VARIANT_GPU;
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
    const struct clf__attention_operands operands = {y, q, k, v};
    CLF__TRY(is_batched(caps, call)                    ? clf__attention_batched_forward(y, q, k, v, call)
             : clf__attention_takes_matrix(call, caps) ? clf__attention_matrix_forward(&operands, call)
             : clf__attention_takes_rows(call)         ? forward_rows(&operands, call)
                                                       : forward_blocks(&operands, call));
    return call->weights.buffer != NULL
               ? clf__attention_weights_forward(call->weights, q, k, call->weight_heads, call)
               : CLF_OK;
}
