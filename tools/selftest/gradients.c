/* Checks of training ops: gradients against central differences of the forward ops, both on the device;
 * dropout masks and the optimizer against references. */
#include <math.h>

#include "math/ops/activation.h"
#include "math/ops/adam.h"
#include "math/ops/attention.h"
#include "math/ops/bias.h"
#include "math/ops/cross_entropy.h"
#include "math/ops/dropout.h"
#include "math/ops/embedding.h"
#include "math/ops/layernorm.h"
#include "math/ops/positions.h"
#include "math/ops/unfold.h"
#include "reference/adam.h"
#include "reference/philox.h"
#include "selftest/selftest.h"

/* The function to differentiate: the sum of dy * y, where forward() computes y from the operands in `op`. */
struct function {
    void (*forward)(struct trial *trial, const void *op);
    const void *op;
    struct clf__tensor y, dy;
    const float *factors; /* values of dy */
    float *read;          /* buffer for y */
};

/* An operand or its gradient: a tensor or a weight. */
struct operand {
    struct clf__tensor tensor;
    struct clf__weight *weight;
};

static double value_of(struct trial *trial, const struct function *function)
{
    function->forward(trial, function->op);
    RUN(trial, clf__tensor_read(function->y, function->read));
    double sum = 0.0;
    for (int i = 0; i < function->y.rows * function->y.columns; i++) {
        sum += (double)function->factors[i] * (double)function->read[i];
    }
    return sum;
}

static void write_operand(struct trial *trial, const struct operand *operand, const float *values)
{
    if (operand->weight) {
        RUN(trial, clf__weight_write(operand->weight, 0, clf__weight_outputs(operand->weight), values));
    } else {
        RUN(trial, clf__tensor_write(operand->tensor, values));
    }
}

static void read_operand(struct trial *trial, const struct operand *operand, float *values)
{
    if (operand->weight) {
        RUN(trial, clf__weight_read(operand->weight, 0, clf__weight_outputs(operand->weight), values));
    } else {
        RUN(trial, clf__tensor_read(operand->tensor, values));
    }
}

/* Returns (f(x + h) - f(x - h)) / 2h for one element, with h rounded to fp32. */
static double slope(struct trial *trial, const struct function *function, const struct operand *x,
                    float *values, int element, double h)
{
    float middle = values[element], above = (float)((double)middle + h), below = (float)((double)middle - h);
    values[element] = above;
    write_operand(trial, x, values);
    double difference = value_of(trial, function);
    values[element] = below;
    write_operand(trial, x, values);
    difference -= value_of(trial, function);
    values[element] = middle;
    return difference / ((double)above - (double)below);
}

static void compare_gradient(struct trial *trial, const struct function *function, struct operand x,
                             struct operand gradient)
{
    if (trial->status != CLF_OK) {
        return;
    }
    const double step = 0.03125;
    int count = x.weight ? clf__weight_outputs(x.weight) * clf__weight_inputs(x.weight)
                         : x.tensor.rows * x.tensor.columns;
    float *values = trial_array(trial, (size_t)count, sizeof *values);
    float *actual = trial_array(trial, (size_t)count, sizeof *actual);
    double *expected = trial_array(trial, (size_t)count, sizeof *expected);
    read_operand(trial, &gradient, actual);
    read_operand(trial, &x, values);
    for (int i = 0; i < count; i++) {
        double near = slope(trial, function, &x, values, i, step);
        double far = slope(trial, function, &x, values, i, 2 * step);
        expected[i] = (4 * near - far) /
                      3; /* Richardson extrapolation: the remaining error is of fourth order in the step */
    }
    write_operand(trial, &x, values);
    trial_compare(trial, trial_floats(trial, 1, count, actual), expected);
}

static struct function function_of(struct trial *trial, void (*forward)(struct trial *, const void *),
                                   const void *op, struct clf__tensor y)
{
    size_t count = (size_t)y.rows * (size_t)y.columns;
    const float *factors = trial_uniform(trial, count, 1.0f);
    return (struct function){forward, op,
                             y,       trial_floats(trial, y.rows, y.columns, factors),
                             factors, trial_array(trial, count, sizeof(float))};
}

static struct clf__tensor uniform_tensor(struct trial *trial, int rows, int columns, float scale)
{
    return trial_floats(trial, rows, columns, trial_uniform(trial, (size_t)rows * (size_t)columns, scale));
}

static struct clf__tensor zero_tensor(struct trial *trial, int rows, int columns)
{
    return trial_floats(trial, rows, columns,
                        trial_array(trial, (size_t)rows * (size_t)columns, sizeof(float)));
}

static struct operand tensor_operand(struct clf__tensor tensor)
{
    return (struct operand){.tensor = tensor};
}

/* ---- norms ---- */

struct norm {
    struct clf__tensor y, x, gamma, beta;
    enum clf__norm_kind kind;
};
static const float eps = 0.1f;

static void norm_forward(struct trial *trial, const void *op)
{
    const struct norm *n = op;
    RUN(trial, clf__layernorm_forward(n->y, CLF__NO_TENSOR, n->x, n->gamma, n->beta, n->kind, eps));
}

static void norms(struct trial *trial)
{
    enum { R = 3, C = 19 };
    for (int kind = CLF__NORM_LAYER; kind <= CLF__NORM_STD; kind++) {
        struct norm n = {zero_tensor(trial, R, C), uniform_tensor(trial, R, C, 2.0f),
                         uniform_tensor(trial, 1, C, 1.5f), uniform_tensor(trial, 1, C, 1.0f),
                         (enum clf__norm_kind)kind};
        struct function function = function_of(trial, norm_forward, &n, n.y);
        struct clf__tensor dx = trial_floats(trial, R, C, NULL), dgamma = zero_tensor(trial, 1, C);
        struct clf__tensor dbeta = zero_tensor(trial, 1, C);
        struct clf__tensor scratch = zero_tensor(trial, 1, (int)clf__layernorm_backward_scratch(R, C));
        RUN(trial,
            clf__layernorm_backward(dx, dgamma, dbeta, function.dy, n.x, n.gamma, n.kind, eps, scratch));
        compare_gradient(trial, &function, tensor_operand(n.x), tensor_operand(dx));
        compare_gradient(trial, &function, tensor_operand(n.gamma), tensor_operand(dgamma));
        compare_gradient(trial, &function, tensor_operand(n.beta), tensor_operand(dbeta));
        trial_release(trial);
    }
}

/* ---- activations ---- */

struct gate {
    struct clf__tensor y, x, gate;
    enum clf__activation kind;
};

static void activation_forward(struct trial *trial, const void *op)
{
    const struct gate *g = op;
    RUN(trial, clf__activation_forward(g->y, g->x, g->kind));
}

static void gate_forward(struct trial *trial, const void *op)
{
    const struct gate *g = op;
    RUN(trial, clf__gate_forward(g->y, g->x, g->gate, g->kind));
}

static void activations(struct trial *trial)
{
    enum { R = 2, C = 19 };
    for (int kind = CLF__RELU; kind <= CLF__SILU; kind++) {
        float *x = trial_uniform(trial, R * C, 4.0f);
        for (int i = 0; i < R * C; i++) {
            x[i] += x[i] < 0.0f ? -0.1f : 0.1f; /* away from the kink of ReLU */
        }
        struct gate g = {zero_tensor(trial, R, C), trial_floats(trial, R, C, x),
                         uniform_tensor(trial, R, C, 1.0f), (enum clf__activation)kind};
        struct function function = function_of(trial, activation_forward, &g, g.y);
        struct clf__tensor dx = trial_floats(trial, R, C, NULL);
        struct clf__tensor dgate = trial_floats(trial, R, C, NULL);
        RUN(trial, clf__activation_backward(dx, function.dy, g.x, g.kind));
        compare_gradient(trial, &function, tensor_operand(g.x), tensor_operand(dx));
        function.forward = gate_forward;
        RUN(trial, clf__gate_backward(dx, dgate, function.dy, g.x, g.gate, g.kind));
        compare_gradient(trial, &function, tensor_operand(g.x), tensor_operand(dx));
        compare_gradient(trial, &function, tensor_operand(g.gate), tensor_operand(dgate));
        trial_release(trial);
    }
}

/* ---- products ---- */

struct product {
    struct clf__tensor y, x, bias;
    struct clf__weight *weight;
};

static void product_forward(struct trial *trial, const void *op)
{
    const struct product *p = op;
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    epilogue.bias = p->bias.buffer;
    RUN(trial, clf__gemm_weight(clf__tensor_matrix(p->y), clf__tensor_matrix(p->x), p->x.rows, p->weight,
                                &epilogue));
}

static struct clf__weight *uniform_weight(struct trial *trial, int outputs, int inputs, float scale)
{
    struct clf__weight *weight = trial_zero_weight(trial, outputs, inputs);
    float *values = trial_uniform(trial, (size_t)outputs * (size_t)inputs, scale);
    RUN(trial, clf__weight_write(weight, 0, outputs, values));
    return weight;
}

static void products(struct trial *trial)
{
    enum { R = 5, OUT = 19, IN = 7 };
    const struct clf__matrix none = {.buffer = NULL};
    struct product p = {zero_tensor(trial, R, OUT), uniform_tensor(trial, R, IN, 1.0f),
                        uniform_tensor(trial, 1, OUT, 1.0f), uniform_weight(trial, OUT, IN, 1.0f)};
    struct clf__weight *dweight = uniform_weight(trial, OUT, IN, 0.0f);
    struct function function = function_of(trial, product_forward, &p, p.y);
    struct clf__tensor dx = trial_floats(trial, R, IN, NULL), dbias = zero_tensor(trial, 1, OUT);
    struct clf__tensor scratch = zero_tensor(trial, 1, (int)clf__bias_backward_scratch(R, OUT));
    RUN(trial, clf__gemm_input_gradient(clf__tensor_matrix(dx), clf__tensor_matrix(function.dy), R, p.weight,
                                        1.0f, none));
    RUN(trial, clf__gemm_weight_gradient(dweight, clf__tensor_matrix(function.dy), clf__tensor_matrix(p.x), R,
                                         1.0f));
    RUN(trial, clf__bias_backward(dbias, function.dy, 1.0f, scratch));
    compare_gradient(trial, &function, tensor_operand(p.x), tensor_operand(dx));
    compare_gradient(trial, &function, (struct operand){.weight = p.weight},
                     (struct operand){.weight = dweight});
    compare_gradient(trial, &function, tensor_operand(p.bias), tensor_operand(dbias));
}

/* ---- embeddings and positions ---- */

struct lookup {
    struct clf__tensor y, ids, table;
    struct clf__weight *weight;
};

static void embedding_forward(struct trial *trial, const void *op)
{
    const struct lookup *l = op;
    RUN(trial, clf__embedding_forward(l->y, l->ids, l->weight, 0.5f, CLF__NO_TENSOR, CLF__NO_TENSOR));
    RUN(trial, clf__positions_forward(l->y, l->y, l->table, l->ids));
}

/* Checks word embeddings and learned positions with the same values. */
static void embeddings(struct trial *trial)
{
    enum { N = 6, V = 5, C = 17 };
    static const int32_t ids[N] = {3, 0, 3, 1, 3, 0};
    int32_t distinct[N], first[N + 1], order[N];
    int count = 0;
    struct lookup l = {.y = zero_tensor(trial, N, C),
                       .ids = trial_tensor(trial, CLF__I32, 1, N, ids),
                       .table = uniform_tensor(trial, V, C, 1.0f),
                       .weight = uniform_weight(trial, V, C, 1.0f)};
    struct clf__weight *dweight = uniform_weight(trial, V, C, 0.0f);
    struct function function = function_of(trial, embedding_forward, &l, l.y);
    struct clf__tensor dtable = zero_tensor(trial, V, C);
    RUN(trial, clf__gather_ids(distinct, first, order, &count, ids, N));
    struct clf__id_groups id_groups = {trial_tensor(trial, CLF__I32, 1, count, distinct),
                                       trial_tensor(trial, CLF__I32, 1, count + 1, first),
                                       trial_tensor(trial, CLF__I32, 1, N, order)};
    RUN(trial, clf__embedding_backward(dweight, function.dy, &id_groups, 0.5f));
    RUN(trial, clf__positions_backward(dtable, function.dy, &id_groups));
    compare_gradient(trial, &function, (struct operand){.weight = l.weight},
                     (struct operand){.weight = dweight});
    compare_gradient(trial, &function, tensor_operand(l.table), tensor_operand(dtable));
}

/* ---- attention ---- */

struct look {
    struct clf__tensor y, q, k, v;
    struct clf__attention_call call;
};

static void attention_forward(struct trial *trial, const void *op)
{
    const struct look *l = op;
    RUN(trial, clf__attention_forward(l->y, l->q, l->k, l->v, &l->call));
}

/* Checks two causal sequences with dropout of the attention weights. */
static void attention(struct trial *trial)
{
    enum {
        HEADS = 1,
        WIDTH = 24,
        C = HEADS * WIDTH,
        R = 6
    }; /* kernels for this width were compiled by other checks */
    static const int32_t ranges[] = {0, 4, 0, 4, 4, 2, 4, 2};
    struct look l = {.y = zero_tensor(trial, R, C),
                     .q = uniform_tensor(trial, R, C, 1.0f),
                     .k = uniform_tensor(trial, R, C, 1.0f),
                     .v = uniform_tensor(trial, R, C, 1.0f),
                     .call = {.heads = {HEADS, WIDTH, WIDTH, 0.5f},
                              .ranges = {.table = trial_tensor(trial, CLF__I32, 2, 4, ranges),
                                         .sequences = 2,
                                         .max_queries = 4,
                                         .max_keys = 4},
                              .mask = CLF__MASK_NONE,
                              .dropout = {.rate = 0.2f, .seed = 5, .step = 1, .site = 2}}};
    l.call.mask.causal = 1;
    struct function function = function_of(trial, attention_forward, &l, l.y);
    size_t scratch = clf__attention_backward_scratch(&l.call.heads, R, 2, 0);
    struct clf__attention_gradients gradients = {.query = trial_floats(trial, R, C, NULL),
                                                 .key = trial_floats(trial, R, C, NULL),
                                                 .value = trial_floats(trial, R, C, NULL),
                                                 .scratch = zero_tensor(trial, 1, (int)scratch)};
    attention_forward(trial, &l);
    RUN(trial, clf__attention_backward(&gradients, function.dy, l.q, l.k, l.v, l.y, &l.call));
    compare_gradient(trial, &function, tensor_operand(l.q), tensor_operand(gradients.query));
    compare_gradient(trial, &function, tensor_operand(l.k), tensor_operand(gradients.key));
    compare_gradient(trial, &function, tensor_operand(l.v), tensor_operand(gradients.value));
}

/* ---- the loss ---- */

struct loss {
    struct clf__tensor losses, logits, labels;
};
static const struct clf__smoothing smoothing = {0.1f, 0.1f / 17, 4};

static void loss_forward(struct trial *trial, const void *op)
{
    const struct loss *l = op;
    const struct clf__tensor none = {.buffer = NULL};
    RUN(trial, clf__cross_entropy(l->losses, none, l->logits, l->labels, &smoothing, 0.5f));
}

static void loss(struct trial *trial)
{
    enum { R = 4, V = 19 };
    static const int32_t labels[R] = {0, V - 1, -1, 7};
    static const float dlosses[2 * R] = {0.5f, 0, 0.5f, 0, 0.5f, 0, 0.5f, 0};
    struct loss l = {zero_tensor(trial, R, 2), uniform_tensor(trial, R, V, 3.0f),
                     trial_tensor(trial, CLF__I32, 1, R, labels)};
    struct function function = function_of(trial, loss_forward, &l, l.losses);
    function.factors = dlosses;
    struct clf__tensor dlogits = trial_floats(trial, R, V, NULL);
    RUN(trial, clf__cross_entropy(l.losses, dlogits, l.logits, l.labels, &smoothing, 0.5f));
    compare_gradient(trial, &function, tensor_operand(l.logits), tensor_operand(dlogits));
}

/* ---- ops with a reference ---- */

static void dropout(struct trial *trial)
{
    enum { R = 5, C = 333 };
    const struct clf__dropout some = {.rate = 0.3f, .seed = 0x123456789abcdef0ULL, .step = 77, .site = 5};
    const struct clf__tensor none = {.buffer = NULL};
    float *x = trial_uniform(trial, R * C, 1.0f);
    double *expected = trial_array(trial, R * C, sizeof *expected);
    for (int i = 0; i < R * C; i++) {
        expected[i] = (double)x[i] * reference_dropout_factor((uint32_t)(i / C), (uint32_t)(i % C), some.seed,
                                                              some.step, some.site, some.rate);
    }
    struct clf__tensor in = trial_floats(trial, R, C, x), y = trial_floats(trial, R, C, NULL);
    RUN(trial, clf__dropout_forward(y, in, none, &some));
    trial_compare(trial, y, expected);
    RUN(trial, clf__dropout_backward(in, in, &some));
    trial_compare(trial, in, expected);
}

/* Checks three Adam steps, and the sum of squares of the last gradient. */
static void optimizer(struct trial *trial)
{
    enum { N = 40001 };
    float *start = trial_uniform(trial, N, 1.0f), *dw = trial_uniform(trial, N, 0.1f);
    double *w = trial_array(trial, N, sizeof *w), *m = trial_array(trial, N, sizeof *m);
    double *v = trial_array(trial, N, sizeof *v), squares = 0.0, sum = 0.0;
    for (int i = 0; i < N; i++) {
        w[i] = (double)start[i];
        squares += (double)dw[i] * (double)dw[i];
    }
    struct clf__tensor weights = trial_floats(trial, 1, N, start), gradients = zero_tensor(trial, 1, N);
    struct clf__tensor first = zero_tensor(trial, 1, N), second = zero_tensor(trial, 1, N);
    int count = clf__sum_squares_parts(N);
    struct clf__tensor parts = trial_floats(trial, 1, count, NULL);
    float *sums = trial_array(trial, (size_t)count, sizeof *sums);
    for (int t = 1; t <= 3; t++) {
        struct clf__adam adam = {.rate = 1e-2,
                                 .beta1 = 0.9,
                                 .beta2 = 0.98,
                                 .epsilon = 1e-9,
                                 .correction1 = 1.0 - pow(0.9, t),
                                 .correction2 = 1.0 - pow(0.98, t),
                                 .decay = 0.1,
                                 .gradient_scale = 0.5};
        reference_adam(w, m, v, dw, N, &adam);
        RUN(trial, clf__tensor_write(gradients, dw));
        RUN(trial, clf__sum_squares(parts, gradients));
        RUN(trial, clf__adam_update(weights, first, second, gradients, &adam));
    }
    RUN(trial, clf__tensor_read(parts, sums));
    for (int i = 0; i < count; i++) {
        sum += (double)sums[i];
    }
    float relative = (float)(sum / squares);
    const double one = 1.0;
    trial_compare(trial, trial_floats(trial, 1, 1, &relative), &one);
    trial_compare(trial, weights, w);
    trial_compare(trial, first, m);
    trial_compare(trial, second, v);
}

/* ---- convolutions ---- */

struct unfold {
    struct clf__tensor y, x;
    int width, step;
};

static void unfold_forward(struct trial *trial, const void *op)
{
    const struct unfold *u = op;
    RUN(trial, clf__unfold_forward(u->y, u->x, u->width, u->step));
}

/* With an odd number of rows, the last output row of a convolution extends beyond the end of the input. */
static void convolutions(struct trial *trial)
{
    enum { R = 7, C = 19, W = 3 };
    for (int step = 1; step <= 2; step++) {
        int rows = (R + step - 1) / step;
        struct unfold u = {zero_tensor(trial, rows, W * C), uniform_tensor(trial, R, C, 1.0f), W, step};
        struct function function = function_of(trial, unfold_forward, &u, u.y);
        struct clf__tensor dx = trial_floats(trial, R, C, NULL);
        RUN(trial, clf__unfold_backward(dx, function.dy, W, step));
        compare_gradient(trial, &function, tensor_operand(u.x), tensor_operand(dx));
        trial_release(trial);
    }
}

/* The finite differences have an error of about 1e-5. */
const struct check selftest_gradient_checks[] = {
    {"gradients: norms", 0, CLF__PRECISION_FP32, 1e-3, norms},
    {"gradients: activations", 0, CLF__PRECISION_FP32, 1e-3, activations},
    {"gradients: matrix product", USES_GEMM, CLF__PRECISION_FP32, 1e-3, products},
    {"gradients: embeddings", USES_GEMM, CLF__PRECISION_FP32, 1e-3, embeddings},
    {"gradients: attention", 0, CLF__PRECISION_FP32, 1e-3, attention},
    {"gradients: convolutions", 0, CLF__PRECISION_FP32, 1e-3, convolutions},
    {"gradients: loss", 0, CLF__PRECISION_FP32, 1e-3, loss},
    {"dropout", 0, CLF__PRECISION_FP32, 1e-6, dropout},
    {"optimizer", 0, CLF__PRECISION_FP32, 1e-6, optimizer},
    {.name = NULL},
};
