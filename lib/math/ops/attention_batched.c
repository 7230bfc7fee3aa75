#include <assert.h>

#include "math/gemm/gemm.h"
#include "math/ops/attention.h"
#include "math/ops/operand.h"
#include "math/ops/rows.h"
#include "math/ops/softmax.h"
#include "runtime/device/caps.h"

/* Maximum number of scores in memory: enough to occupy any device, but small compared with the weights. */
enum { MOST_SCORES = (64 << 20) / sizeof(float) };

/* The two parts of a range: the rows of a sequence's queries and of its keys. */
enum part { QUERIES = 0, KEYS = 2 };

clf_status clf__attention_scratch_reserve(struct clf__attention_scratch *scratch, struct clf__arena *arena,
                                          int sequences, const struct clf__heads *heads, int max_queries,
                                          int max_keys)
{
    int64_t rows = (int64_t)heads->count * max_queries; /* rows of the scores of one sequence */
    int64_t columns = max_keys > 0 ? max_keys : 1;
    int64_t most = rows > 0 ? MOST_SCORES / columns / rows : sequences;
    int64_t held = most < 1 ? 1 : most < sequences ? most : sequences;
    int64_t queries = held * rows, keys = held * heads->count * max_keys;
    CLF__TRY(clf__arena_reserve(arena, &scratch->queries, CLF__F32, queries, heads->key_width,
                                "attention's padded queries"));
    CLF__TRY(clf__arena_reserve(arena, &scratch->keys, CLF__F32, keys, heads->key_width,
                                "attention's padded keys"));
    CLF__TRY(clf__arena_reserve(arena, &scratch->values, CLF__F32, keys, heads->value_width,
                                "attention's padded values"));
    CLF__TRY(clf__arena_reserve(arena, &scratch->scores, CLF__F32, queries, max_keys, "attention's scores"));
    return clf__arena_reserve(arena, &scratch->outputs, CLF__F32, queries, heads->value_width,
                              "attention's padded outputs");
}

/* Copies the heads of x to padded (B * H * length, width), or back. */
static clf_status move_heads(int gather, struct clf__tensor padded, struct clf__tensor x, enum part part,
                             int length, const struct clf__attention_call *call)
{
    struct clf_device *device = clf__buffer_device(padded.buffer);
    const struct clf__argument arguments[] = {
        CLF__BUFFER(padded.buffer),  CLF__OPERAND(x),  CLF__VECTOR(call->ranges.table), CLF__INT(part),
        CLF__INT(call->heads.count), CLF__INT(length), CLF__INT(padded.columns),        CLF__INT(padded.rows),
    };
    const char *cpu = gather ? "heads_gather_cpu" : "heads_scatter_cpu";
    const char *gpu = gather ? "heads_gather_gpu" : "heads_scatter_gpu";
    const struct clf__launch launch = {
        .program = "attention_batched",
        .cpu = CLF__GRID(cpu, clf__groups(((size_t)padded.rows + 15) / 16)),
        .gpu = CLF__GRID(gpu, clf__groups((size_t)padded.rows)),
        CLF__ARGUMENTS(arguments),
        .cost = clf__rows_cost(padded.rows, padded.columns, 0, 2),
    };
    return clf__launch(device, &launch);
}

/* c (B * H, m, n) = alpha * a (B * H, m, k) b, all packed and starting at offset 0 (otherwise CLBlast's
 * strided batched GEMM gives wrong results). */
static clf_status multiply(struct clf__tensor c, struct clf__tensor a, struct clf__tensor b, int transpose_b,
                           float alpha, int batches)
{
    const struct clf__batched_shape shape = {
        .batches = batches,
        .m = c.rows / batches,
        .n = c.columns,
        .k = a.columns,
        .transpose_b = transpose_b,
        .alpha = alpha,
    };
    struct clf__batched_matrix operands[3];
    const struct clf__tensor tensors[3] = {c, a, b};
    for (int i = 0; i < 3; i++) {
        operands[i].matrix = clf__tensor_matrix(tensors[i]);
        operands[i].batch_stride = (size_t)(tensors[i].rows / batches) * (size_t)tensors[i].columns;
    }
    return clf__gemm_batched(operands[0], operands[1], operands[2], &shape);
}

/* Returns the number of sequences that fit in the scratch memory. */
static int sequences_at_once(const struct clf__attention_scratch *scratch,
                             const struct clf__sequence_ranges *ranges, int heads)
{
    size_t queries = (size_t)heads * (size_t)ranges->max_queries,
           keys = (size_t)heads * (size_t)ranges->max_keys;
    size_t most = (size_t)scratch->queries.rows / queries;
    if (keys > 0) {
        size_t by_keys = (size_t)scratch->keys.rows / keys;
        size_t scores = (size_t)scratch->scores.rows * (size_t)scratch->scores.columns;
        size_t by_scores = scores / (queries * (size_t)ranges->max_keys);
        most = most < by_keys ? most : by_keys;
        most = most < by_scores ? most : by_scores;
    }
    assert(most > 0);
    return most < (size_t)ranges->sequences ? (int)most : ranges->sequences;
}

/* Returns the arguments for sequences first .. first + count - 1. Only tensors with rows per sequence are
 * sliced, because the ranges select queries and keys. */
static struct clf__attention_call cut(const struct clf__attention_call *call, int first, int count)
{
    struct clf__attention_call part = *call;
    int max_queries = call->ranges.max_queries, heads = call->heads.count;
    part.ranges.table = clf__tensor_rows(call->ranges.table, first, count);
    part.ranges.sequences = count;
    if (call->mask.additive.buffer) {
        part.mask.additive = clf__tensor_rows(call->mask.additive, first * max_queries, count * max_queries);
    }
    if (call->maps.buffer) {
        part.maps = clf__tensor_rows(call->maps, first * heads * max_queries, count * heads * max_queries);
    }
    return part;
}

/* Computes all sequences of a call at once. */
static clf_status forward(struct clf__tensor y, struct clf__tensor q, struct clf__tensor k,
                          struct clf__tensor v, const struct clf__attention_call *call)
{
    const struct clf__heads *heads = &call->heads;
    const struct clf__sequence_ranges *ranges = &call->ranges;
    const struct clf__attention_scratch *scratch = call->scratch;
    int batches = ranges->sequences * heads->count;
    int query_rows = batches * ranges->max_queries, key_rows = batches * ranges->max_keys;
    struct clf__tensor outputs = clf__tensor_packed(scratch->outputs, query_rows, heads->value_width);
    if (ranges->max_keys == 0) {
        CLF__TRY(
            clf__buffer_fill(outputs.buffer, 0, (size_t)outputs.rows * (size_t)outputs.columns * 4, 0.0f));
        return move_heads(0, outputs, y, QUERIES, ranges->max_queries, call);
    }
    struct clf__tensor queries = clf__tensor_packed(scratch->queries, query_rows, heads->key_width);
    struct clf__tensor keys = clf__tensor_packed(scratch->keys, key_rows, heads->key_width);
    struct clf__tensor values = clf__tensor_packed(scratch->values, key_rows, heads->value_width);
    struct clf__tensor scores = clf__tensor_packed(scratch->scores, query_rows, ranges->max_keys);
    CLF__TRY(move_heads(1, queries, q, QUERIES, ranges->max_queries, call));
    CLF__TRY(move_heads(1, keys, k, KEYS, ranges->max_keys, call));
    CLF__TRY(move_heads(1, values, v, KEYS, ranges->max_keys, call));
    CLF__TRY(multiply(scores, queries, keys, 1, heads->scale, batches));
    CLF__TRY(clf__mask_forward(scores, ranges, heads->count, &call->mask));
    CLF__TRY(clf__softmax_forward(scores, scores));
    if (call->maps.buffer) {
        assert(call->maps.rows == scores.rows && call->maps.stride == scores.stride);
        CLF__TRY(clf__buffer_copy(call->maps.buffer, call->maps.offset * 4, scores.buffer, 0,
                                  (size_t)scores.rows * (size_t)scores.columns * 4));
    }
    CLF__TRY(multiply(outputs, scores, values, 0, 1.0f, batches));
    return move_heads(0, outputs, y, QUERIES, ranges->max_queries, call);
}

clf_status clf__attention_batched_forward(struct clf__tensor y, struct clf__tensor q, struct clf__tensor k,
                                          struct clf__tensor v, const struct clf__attention_call *call)
{
    assert(call->scratch && call->scratch->scores.buffer);
    int sequences = call->ranges.sequences;
    int at_once = sequences_at_once(call->scratch, &call->ranges, call->heads.count);
    for (int first = 0; first < sequences; first += at_once) {
        int left = sequences - first;
        struct clf__attention_call part = cut(call, first, left < at_once ? left : at_once);
        CLF__TRY(forward(y, q, k, v, &part));
    }
    return CLF_OK;
}
