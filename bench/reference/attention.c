#include "reference/attention.h"

#include <math.h>
#include <stdlib.h>

#include "reference/philox.h"

double reference_attention_mask(const struct reference_attention *problem, int b, int h, int i, int j)
{
    const int32_t *range = problem->ranges + 4 * b;
    int queries = range[1], keys = range[3];
    if (i >= queries || j >= keys || (problem->causal && j > i + keys - queries) ||
        (problem->hidden && problem->hidden[range[2] + j])) {
        return -INFINITY;
    }
    double sum = 0;
    if (problem->relative) {
        int distance = j - i;
        distance = distance < -problem->reach ? -problem->reach : distance;
        distance = distance > problem->reach ? problem->reach : distance;
        sum += problem->relative[h * (2 * problem->reach + 1) + distance + problem->reach];
    }
    if (problem->additive) {
        sum += problem->additive[((size_t)b * problem->max_queries + i) * problem->max_keys + j];
    }
    return sum;
}

/* Computes weights[j], the softmax over the keys of sequence b; all are zero if every score is -inf. */
static void weigh(double *weights, const float *query, const float *k,
                  const struct reference_attention *problem, int b, int h, int i)
{
    const int32_t *range = problem->ranges + 4 * b;
    int width = problem->key_width, stride = problem->heads * width;
    double maximum = -INFINITY, total = 0;
    for (int j = 0; j < range[3]; j++) {
        const float *key = k + (size_t)(range[2] + j) * stride + h * width;
        double score = 0;
        for (int d = 0; d < width; d++) {
            score += (double)query[d] * key[d];
        }
        weights[j] = problem->scale * score + reference_attention_mask(problem, b, h, i, j);
        maximum = fmax(maximum, weights[j]);
    }
    for (int j = 0; j < range[3]; j++) {
        weights[j] = maximum == -INFINITY ? 0 : exp(weights[j] - maximum);
        total += weights[j];
    }
    for (int j = 0; j < range[3] && total > 0; j++) {
        weights[j] /= total;
    }
}

/* Returns the dropout factor of the weight of key j for a query row and a head. */
static double kept(const struct reference_attention *problem, size_t row, int h, int j)
{
    uint32_t mask_row = (uint32_t)row * (uint32_t)problem->heads + (uint32_t)h;
    return reference_dropout_factor(mask_row, (uint32_t)j, problem->dropout_seed, problem->dropout_step,
                                    problem->dropout_site, problem->dropout);
}

void reference_attention_forward(double *y, double *maps, const float *q, const float *k, const float *v,
                                 const struct reference_attention *problem)
{
    int heads = problem->heads, key_width = problem->key_width, value_width = problem->value_width;
    double *weights = calloc((size_t)problem->max_keys + 1, sizeof *weights);
    for (int n = 0; n < problem->sequences * heads * problem->max_queries; n++) {
        int i = n % problem->max_queries, h = n / problem->max_queries % heads;
        int b = n / problem->max_queries / heads;
        const int32_t *range = problem->ranges + 4 * b;
        for (int j = 0; maps && j < problem->max_keys; j++) {
            maps[(size_t)n * problem->max_keys + j] = 0;
        }
        if (i >= range[1]) {
            continue;
        }
        size_t row = (size_t)(range[0] + i);
        weigh(weights, q + row * heads * key_width + h * key_width, k, problem, b, h, i);
        for (int j = 0; maps && j < range[3]; j++) {
            maps[(size_t)n * problem->max_keys + j] = weights[j];
        }
        for (int d = 0; d < value_width; d++) {
            double sum = 0;
            for (int j = 0; j < range[3]; j++) {
                double value = v[(size_t)(range[2] + j) * heads * value_width + h * value_width + d];
                sum += weights[j] * kept(problem, row, h, j) * value;
            }
            y[row * heads * value_width + h * value_width + d] = sum;
        }
    }
    free(weights);
}

/* Adds the gradients of one query. dscores is scratch memory (keys). */
static void differentiate_query(double *dq, double *dk, double *dv, double *drelative, const float *dy,
                                const float *q, const float *k, const float *v, const double *weights,
                                double *dscores, const struct reference_attention *problem, int b, int h,
                                int i)
{
    const int32_t *range = problem->ranges + 4 * b;
    int key_width = problem->key_width, value_width = problem->value_width, reach = problem->reach;
    size_t key_stride = (size_t)(problem->heads * key_width), row = (size_t)(range[0] + i);
    size_t value_stride = (size_t)(problem->heads * value_width);
    size_t query = row * key_stride + (size_t)(h * key_width);
    size_t output = row * value_stride + (size_t)(h * value_width);
    double delta = 0;
    for (int j = 0; j < range[3]; j++) {
        size_t value = (size_t)(range[2] + j) * value_stride + (size_t)(h * value_width);
        double factor = kept(problem, row, h, j), dweight = 0;
        for (int c = 0; c < value_width; c++) {
            dweight += factor * (double)dy[output + (size_t)c] * v[value + (size_t)c];
            dv[value + (size_t)c] += weights[j] * factor * dy[output + (size_t)c];
        }
        dscores[j] = dweight;
        delta += weights[j] * dweight;
    }
    for (int j = 0; j < range[3]; j++) {
        size_t key = (size_t)(range[2] + j) * key_stride + (size_t)(h * key_width);
        double dscore = weights[j] * (dscores[j] - delta);
        for (int d = 0; d < key_width; d++) {
            dq[query + (size_t)d] += problem->scale * dscore * k[key + (size_t)d];
            dk[key + (size_t)d] += problem->scale * dscore * q[query + (size_t)d];
        }
        if (drelative) {
            int distance = j - i < -reach ? -reach : j - i > reach ? reach : j - i;
            drelative[h * (2 * reach + 1) + distance + reach] += dscore;
        }
    }
}

static void clear(double *gradient, int first, int rows, int columns)
{
    for (size_t n = 0; n < (size_t)rows * (size_t)columns; n++) {
        gradient[(size_t)first * (size_t)columns + n] = 0;
    }
}

void reference_attention_backward(double *dq, double *dk, double *dv, double *drelative, const float *dy,
                                  const float *q, const float *k, const float *v,
                                  const struct reference_attention *problem)
{
    int heads = problem->heads;
    double *weights = calloc((size_t)problem->max_keys + 1, sizeof *weights);
    double *dscores = calloc((size_t)problem->max_keys + 1, sizeof *dscores);
    if (drelative) {
        clear(drelative, 0, heads, 2 * problem->reach + 1);
    }
    for (int b = 0; b < problem->sequences; b++) {
        const int32_t *range = problem->ranges + 4 * b;
        clear(dq, range[0], range[1], heads * problem->key_width);
        clear(dk, range[2], range[3], heads * problem->key_width);
        clear(dv, range[2], range[3], heads * problem->value_width);
        for (int n = 0; n < heads * range[1]; n++) {
            int i = n / heads, h = n % heads;
            const float *query =
                q + ((size_t)(range[0] + i) * (size_t)heads + (size_t)h) * (size_t)problem->key_width;
            weigh(weights, query, k, problem, b, h, i);
            differentiate_query(dq, dk, dv, drelative, dy, q, k, v, weights, dscores, problem, b, h, i);
        }
    }
    free(weights);
    free(dscores);
}
