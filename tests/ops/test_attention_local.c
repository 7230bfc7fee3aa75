/* Attention within a window and to global tokens is compared with dense attention in double under a mask; a
 * sequence's bits do not depend on the batch. */
#include "math/ops/attention_local.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "reference/attention.h"
#include "reference/gemm.h"
#include "support/attention_problem.h"

struct shape {
    int heads, key_width, value_width;
    int radius, reach;
    int block_size, global_reach; /* block_size 0: no global tokens */
    int sequences, lengths[MOST_SEQUENCES];
    int column_views;
};

/* A batch on the host; every matrix packed. Sequence b has rows first[b] .. and global tokens from globals[2
 * b] on, globals[2 b + 1] of them. */
struct problem {
    struct shape shape;
    int rows, longest, global_rows;
    int32_t ranges[4 * MOST_SEQUENCES], globals[2 * MOST_SEQUENCES];
    const float *q, *k, *v, *global_k, *global_v, *relative, *global_relative;
};

static struct problem make_problem(const struct shape *shape, uint64_t seed)
{
    struct support_random random = {seed};
    struct problem problem = {.shape = *shape};
    for (int b = 0; b < shape->sequences; b++) {
        int length = shape->lengths[b], count = shape->block_size > 0 ? length / shape->block_size : 0;
        memcpy(problem.ranges + 4 * b, (int32_t[4]){problem.rows, length, problem.rows, length},
               4 * sizeof(int32_t));
        memcpy(problem.globals + 2 * b, (int32_t[2]){problem.global_rows, count}, 2 * sizeof(int32_t));
        problem.rows += length;
        problem.global_rows += count;
        problem.longest = length > problem.longest ? length : problem.longest;
    }
    size_t keys = (size_t)(shape->heads * shape->key_width),
           values = (size_t)(shape->heads * shape->value_width), heads = (size_t)shape->heads;
    problem.q = support_uniform_array(&random, (size_t)problem.rows * keys, 1.0f);
    problem.k = support_uniform_array(&random, (size_t)problem.rows * keys, 1.0f);
    problem.v = support_uniform_array(&random, (size_t)problem.rows * values, 1.0f);
    problem.global_k = support_uniform_array(&random, (size_t)(problem.global_rows + 1) * keys, 1.0f);
    problem.global_v = support_uniform_array(&random, (size_t)(problem.global_rows + 1) * values, 1.0f);
    problem.relative = support_uniform_array(&random, heads * (size_t)(2 * shape->reach + 1), 3.0f);
    problem.global_relative =
        support_uniform_array(&random, heads * (size_t)(2 * shape->global_reach + 1), 3.0f);
    return problem;
}

static float bias_at(const float *table, int reach, int head, int distance)
{
    distance = distance < -reach ? -reach : distance > reach ? reach : distance;
    return table[head * (2 * reach + 1) + distance + reach];
}

/* Returns the number that dense attention adds to the score of key j. The sequence's own keys come first,
 * then the global tokens. */
static float mask_at(const struct problem *problem, int b, int head, int i, int j)
{
    const struct shape *shape = &problem->shape;
    int length = shape->lengths[b], count = problem->globals[2 * b + 1];
    if (j < length) {
        return abs(j - i) > shape->radius ? -INFINITY : bias_at(problem->relative, shape->reach, head, j - i);
    }
    int block = i / shape->block_size < count - 1 ? i / shape->block_size : count - 1;
    return bias_at(problem->global_relative, shape->global_reach, head, j - length - block);
}

static void copy_columns(float *target, const float *rows, int first, int count, int stride, int column,
                         int width)
{
    for (int n = 0; n < count; n++) {
        memcpy(target + (size_t)n * (size_t)width, rows + (size_t)(first + n) * (size_t)stride + column,
               (size_t)width * sizeof *target);
    }
}

/* One head of one sequence by dense attention. */
static void expect_head(double *expected, const struct problem *problem, int b, int head)
{
    const struct shape *shape = &problem->shape;
    int width = shape->key_width, value_width = shape->value_width, first = problem->ranges[4 * b];
    int key_stride = shape->heads * width, value_stride = shape->heads * value_width;
    int length = shape->lengths[b], count = problem->globals[2 * b + 1], keys = length + count;
    float *q = support_array((size_t)(length * width), sizeof *q);
    float *k = support_array((size_t)(keys * width), sizeof *k);
    float *v = support_array((size_t)(keys * value_width), sizeof *v);
    float *mask = support_array((size_t)length * (size_t)keys, sizeof *mask);
    double *y = support_array((size_t)(length * value_width), sizeof *y);
    copy_columns(q, problem->q, first, length, key_stride, head * width, width);
    copy_columns(k, problem->k, first, length, key_stride, head * width, width);
    copy_columns(k + length * width, problem->global_k, problem->globals[2 * b], count, key_stride,
                 head * width, width);
    copy_columns(v, problem->v, first, length, value_stride, head * value_width, value_width);
    copy_columns(v + length * value_width, problem->global_v, problem->globals[2 * b], count, value_stride,
                 head * value_width, value_width);
    for (int i = 0; i < length; i++) {
        for (int j = 0; j < keys; j++) {
            mask[i * keys + j] = mask_at(problem, b, head, i, j);
        }
    }
    struct reference_attention dense = {.heads = 1,
                                        .key_width = width,
                                        .value_width = value_width,
                                        .scale = 0.5,
                                        .sequences = 1,
                                        .max_queries = length,
                                        .max_keys = keys,
                                        .ranges = (int32_t[4]){0, length, 0, keys},
                                        .additive = mask};
    reference_attention_forward(y, NULL, q, k, v, &dense);
    for (int i = 0; i < length; i++) {
        memcpy(expected + (size_t)(first + i) * (size_t)value_stride + head * value_width,
               y + (size_t)i * (size_t)value_width, (size_t)value_width * sizeof *y);
    }
}

/* The tensors of a problem on a device. */
struct operands {
    struct clf__tensor y, q, k, v;
    struct clf__global_tokens globals;
    struct clf__attention_window window;
    struct clf__attention_call call;
};

static void send(struct operands *out, struct clf_device *device, const struct problem *problem)
{
    const struct shape *shape = &problem->shape;
    int keys = shape->heads * shape->key_width, values = shape->heads * shape->value_width;
    int views = shape->column_views;
    *out = (struct operands){
        .y = support_attention_operand(device, views, problem->rows, values, NULL),
        .q = support_attention_operand(device, views, problem->rows, keys, problem->q),
        .k = support_attention_operand(device, views, problem->rows, keys, problem->k),
        .v = support_attention_operand(device, views, problem->rows, values, problem->v),
        .window = {.radius = shape->radius},
        .call = {.heads = {shape->heads, shape->key_width, shape->value_width, 0.5f},
                 .ranges = {support_tensor(device, CLF__I32, shape->sequences, 4, problem->ranges),
                            shape->sequences, problem->longest, problem->longest, 0, 0},
                 .mask = CLF__MASK_NONE},
    };
    out->call.mask.relative =
        support_tensor(device, CLF__F32, shape->heads, 2 * shape->reach + 1, problem->relative);
    out->call.window = &out->window;
    if (problem->global_rows > 0) {
        int rows = problem->global_rows, width = 2 * shape->global_reach + 1;
        out->globals = (struct clf__global_tokens){
            .keys = support_attention_operand(device, views, rows, keys, problem->global_k),
            .values = support_attention_operand(device, views, rows, values, problem->global_v),
            .table = support_tensor(device, CLF__I32, shape->sequences, 2, problem->globals),
            .relative = support_tensor(device, CLF__F32, shape->heads, width, problem->global_relative),
            .block_size = shape->block_size,
            .most = problem->longest / shape->block_size,
        };
        out->window.globals = &out->globals;
    }
}

static float *run(struct clf_device *device, const struct problem *problem)
{
    struct operands operands;
    send(&operands, device, problem);
    assert_ok(clf__attention_local_forward(operands.y, operands.q, operands.k, operands.v, &operands.call));
    return support_read(operands.y);
}

/* Returns the problem of sequence b alone. */
static struct problem cut(const struct problem *problem, int b)
{
    struct problem one = *problem;
    const struct shape *shape = &problem->shape;
    size_t first = (size_t)problem->ranges[4 * b], global = (size_t)problem->globals[2 * b];
    size_t keys = (size_t)(shape->heads * shape->key_width),
           values = (size_t)(shape->heads * shape->value_width);
    one.shape.sequences = 1;
    one.rows = one.longest = one.shape.lengths[0] = shape->lengths[b];
    one.global_rows = problem->globals[2 * b + 1];
    memcpy(one.ranges, (int32_t[4]){0, one.rows, 0, one.rows}, 4 * sizeof(int32_t));
    memcpy(one.globals, (int32_t[2]){0, one.global_rows}, 2 * sizeof(int32_t));
    one.q += first * keys;
    one.k += first * keys;
    one.v += first * values;
    one.global_k += global * keys;
    one.global_v += global * values;
    return one;
}

static void check(const struct shape *shape)
{
    static uint64_t seed = 1;
    struct problem problem = make_problem(shape, seed++);
    size_t width = (size_t)(shape->heads * shape->value_width), count = (size_t)problem.rows * width;
    double *expected = support_array(count, sizeof *expected);
    for (int n = 0; n < shape->sequences * shape->heads; n++) {
        expect_head(expected, &problem, n / shape->heads, n % shape->heads);
    }
    FOR_EACH_VARIANT(device)
    {
        const float *together = run(device, &problem);
        assert_close(together, expected, count, 2e-6);
        for (int b = 0; b < shape->sequences && shape->sequences > 1; b++) {
            struct problem one = cut(&problem, b);
            if (one.rows > 0) {
                assert_memory_equal(run(device, &one), together + (size_t)problem.ranges[4 * b] * width,
                                    (size_t)one.rows * width * sizeof(float));
            }
        }
    }
    support_free_all();
}

/* Around the edges of windows, blocks and tiles of 64 keys and 32 queries. */
static void test_lengths(void **state)
{
    (void)state;
    static const int lengths[] = {1, 4, 5, 6, 15, 16, 17, 31, 33, 63, 64, 65, 80, 128, 129, 200};
    enum { COUNT = sizeof lengths / sizeof *lengths };
    for (int i = 0; i < COUNT; i += support_small() ? 5 : 1) {
        struct shape shape = {.heads = 2,
                              .key_width = 20,
                              .value_width = 36,
                              .radius = i % 2 ? 4 : 70,
                              .reach = 6,
                              .block_size = i % 3 * 4,
                              .global_reach = 3,
                              .sequences = 4,
                              .lengths = {lengths[i], lengths[COUNT - 1 - i], 0, lengths[(i + 7) % COUNT]},
                              .column_views = i % 4 == 1};
        check(&shape);
    }
}

/* More global tokens than a tile holds, and a window as wide as the sequence. */
static void test_sizes(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        {3, 7, 5, 1, 2, 1, 20, 2, {70, 131}, 0},
        {2, 20, 36, 127, 128, 16, 128, 2, {300, 40}, 0},
        {1, 64, 80, 1000, 40, 3, 5, 2, {97, 2}, 1},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i += support_small() ? 2 : 1) {
        check(&shapes[i]);
    }
}

/* y in 16 bits is y rounded, with nothing written beside it. */
static void test_16_bits(void **state)
{
    (void)state;
    static const struct shape shape = {2, 20, 36, 4, 6, 4, 3, 2, {33, 6}, 0};
    struct problem problem = make_problem(&shape, 71);
    int columns = shape.heads * shape.value_width;
    FOR_EACH_VARIANT(device)
    {
        const float *expected = run(device, &problem);
        struct operands operands;
        send(&operands, device, &problem);
        assert_true(clf__attention_writes(CLF__BF16, device, &operands.call));
        struct clf__tensor y = clf__tensor_as(operands.y, CLF__BF16);
        assert_ok(clf__attention_local_forward(y, operands.q, operands.k, operands.v, &operands.call));
        const uint16_t *all = (const uint16_t *)support_read(operands.y);
        for (int i = 0; i < problem.rows * columns; i++) {
            float found = clf__float_of_bf16(all[i / columns * y.stride + i % columns]);
            assert_true(found == reference_round(CLF__PRECISION_BF16, expected[i]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_lengths, support_teardown),
        cmocka_unit_test_teardown(test_sizes, support_teardown),
        cmocka_unit_test_teardown(test_16_bits, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
