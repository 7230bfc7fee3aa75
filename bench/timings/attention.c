/* Timings of attention: whole sequences, and one decoding step. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "cases/attention.h"
#include "math/ops/attention.h"
#include "timings/internal.h"

enum { COLUMNS = SPEED_HEADS * SPEED_HEAD_WIDTH };

static struct clf__heads heads_of(int count, int width)
{
    return (struct clf__heads){count, width, width, 1.0f / sqrtf((float)width)};
}

struct attention {
    struct clf__tensor y, q, k, v;
    struct clf__attention_call call;
};

static clf_status attend(struct op_bench *bench, void *context)
{
    (void)bench;
    const struct attention *one = context;
    return clf__attention_forward(one->y, one->q, one->k, one->v, &one->call);
}

/* Allocates zeros on the host; NULL on failure. */
static int32_t *integers(struct op_bench *bench, size_t count)
{
    int32_t *values = NULL;
    OP_TRY(bench, clf__allocate(&values, count, sizeof *values));
    return values;
}

static struct clf__sequence_ranges make_ranges(struct op_bench *bench, const struct attention_case *shape)
{
    struct clf__sequence_ranges ranges = {
        .sequences = shape->sequences, .max_queries = shape->length, .max_keys = shape->length};
    int32_t *table = integers(bench, 4 * (size_t)shape->sequences);
    for (int b = 0; b < shape->sequences && table != NULL; b++) {
        table[4 * b] = table[4 * b + 2] = b * shape->length;
        table[4 * b + 1] = table[4 * b + 3] = shape->length;
    }
    if (table != NULL) {
        ranges.table = op_integers(bench, shape->sequences, 4, table);
        clf__ranges_count(&ranges, table, shape->causal);
    }
    clf__free(table);
    return ranges;
}

/* Makes random operands in fp32, or in the 16-bit type that the projections of an encoder write. */
static struct clf__tensor operand(struct op_bench *bench, int rows, int columns,
                                  const struct clf__attention_call *call)
{
    enum clf__type type = call->precision == CLF__PRECISION_BF16 ? CLF__BF16 : CLF__F16;
    struct clf__tensor floats = op_floats(bench, rows, columns);
    if (bench->status != CLF_OK || !clf__attention_reads(type, bench->device, call)) {
        return floats;
    }
    struct clf__tensor rounded = clf__tensor_as(op_floats(bench, rows, columns), type);
    OP_TRY(bench, clf__gemm_round(clf__tensor_matrix(rounded), clf__tensor_matrix(floats), rows, columns));
    return rounded;
}

static void attention(struct op_bench *bench, const struct attention_case *shape, struct clf__heads heads)
{
    char text[64], width[32] = "";
    if (heads.key_width != SPEED_HEAD_WIDTH) {
        snprintf(width, sizeof width, " of %d", heads.key_width);
    }
    snprintf(text, sizeof text, "%d of %d tokens, %d heads%s%s", shape->sequences, shape->length, heads.count,
             width, shape->causal ? ", causal" : "");
    int rows = shape->sequences * shape->length, columns = heads.count * heads.key_width;
    struct clf__attention_scratch scratch = {.scores = {.buffer = NULL}};
    struct attention one = {
        .y = op_floats(bench, rows, columns),
        .call = {.heads = heads,
                 .mask = CLF__MASK_NONE,
                 .scratch = &scratch,
                 .precision = bench->choice.precision},
    };
    one.call.mask.causal = shape->causal;
    one.call.ranges = make_ranges(bench, shape);
    one.q = operand(bench, rows, columns, &one.call);
    one.k = operand(bench, rows, columns, &one.call);
    one.v = operand(bench, rows, columns, &one.call);
    struct clf__arena arena; /* scratch memory of batched attention */
    clf__arena_init(&arena, bench->device);
    OP_TRY(bench, clf__attention_scratch_reserve(&scratch, &arena, shape->sequences, &one.call.heads,
                                                 shape->length, shape->length));
    OP_TRY(bench, clf__arena_allocate(&arena));
    bench->repeats = 1;
    op_end(bench, "attention", text, attend, &one);
    clf__arena_free(&arena);
}

struct attention_step {
    struct clf__tensor y, q, k, v;
    struct clf__heads heads;
    struct clf__attention_history history;
};

static clf_status attend_step(struct op_bench *bench, void *context)
{
    (void)bench;
    const struct attention_step *one = context;
    return clf__attention_step_forward(one->y, one->q, one->k, one->v, &one->heads, &one->history);
}

static void attention_step(struct op_bench *bench, const struct attention_step_case *shape)
{
    char text[64];
    snprintf(text, sizeof text, "%d rows, %d positions, %d heads", shape->rows, shape->length, SPEED_HEADS);
    int rows = shape->rows, length = shape->length;
    int32_t *table = integers(bench, (size_t)rows * (size_t)length),
            *cache_rows = integers(bench, (size_t)rows);
    int32_t *positions = integers(bench, (size_t)rows);
    struct attention_step one = {.heads = heads_of(SPEED_HEADS, SPEED_HEAD_WIDTH)};
    if (bench->status == CLF_OK) {
        for (int r = 0; r < rows; r++) {
            cache_rows[r] = r;
            positions[r] = length - 1;
            for (int t = 0; t < length; t++) {
                table[r * length + t] = r;
            }
        }
        one.y = op_floats(bench, rows, COLUMNS);
        one.q = op_floats(bench, rows, COLUMNS);
        one.k = op_floats(bench, rows, COLUMNS);
        one.v = op_floats(bench, rows, COLUMNS);
        one.history = (struct clf__attention_history){
            .keys = op_floats(bench, length * rows, COLUMNS),
            .values = op_floats(bench, length * rows, COLUMNS),
            .table = op_integers(bench, rows, length, table),
            .cache_rows = op_integers(bench, 1, rows, cache_rows),
            .positions = op_integers(bench, 1, rows, positions),
            .cache_rows_total = rows,
        };
    }
    clf__free(table);
    clf__free(cache_rows);
    clf__free(positions);
    bench->repeats = 1;
    op_end(bench, "attention step", text, attend_step, &one);
}

static void usual_attentions(struct op_bench *bench)
{
    for (int i = 0; i < attention_speed_case_count && !bench->stopped; i++) {
        attention(bench, &attention_speed_cases[i], heads_of(SPEED_HEADS, SPEED_HEAD_WIDTH));
    }
    for (int i = 0; i < attention_step_speed_case_count && !bench->stopped; i++) {
        attention_step(bench, &attention_step_speed_cases[i]);
    }
}

void op_attentions(struct op_bench *bench)
{
    const struct op_choice *choice = &bench->choice;
    if (choice->shape_count == 0) {
        usual_attentions(bench);
    }
    for (int i = 0; i < choice->shape_count && !bench->stopped; i++) {
        const int *sizes = choice->shapes[i].sizes;
        attention(bench, &(struct attention_case){sizes[0], sizes[1], 0}, heads_of(sizes[2], sizes[3]));
    }
}
