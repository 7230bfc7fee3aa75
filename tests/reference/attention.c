#include "reference/attention.h"

#include <math.h>
#include <stdlib.h>

double reference_attention_mask(const struct reference_attention *problem, int b, int h, int i, int j)
{
    const int32_t *span = problem->spans + 4 * b;
    int queries = span[1], keys = span[3];
    if (i >= queries || j >= keys || (problem->causal && j > i + keys - queries) ||
        (problem->hidden && problem->hidden[span[2] + j])) {
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

/* weights[j] = softmax over the keys of sequence b; all zero where every score is -inf. */
static void weigh(double *weights, const float *query, const float *k,
                  const struct reference_attention *problem, int b, int h, int i)
{
    const int32_t *span = problem->spans + 4 * b;
    int width = problem->key_width, stride = problem->heads * width;
    double maximum = -INFINITY, total = 0;
    for (int j = 0; j < span[3]; j++) {
        const float *key = k + (size_t)(span[2] + j) * stride + h * width;
        double score = 0;
        for (int d = 0; d < width; d++) {
            score += (double)query[d] * key[d];
        }
        weights[j] = problem->scale * score + reference_attention_mask(problem, b, h, i, j);
        maximum = fmax(maximum, weights[j]);
    }
    for (int j = 0; j < span[3]; j++) {
        weights[j] = maximum == -INFINITY ? 0 : exp(weights[j] - maximum);
        total += weights[j];
    }
    for (int j = 0; j < span[3] && total > 0; j++) {
        weights[j] /= total;
    }
}

void reference_attention_forward(double *y, double *maps, const float *q, const float *k, const float *v,
                                 const struct reference_attention *problem)
{
    int heads = problem->heads, key_width = problem->key_width, value_width = problem->value_width;
    double *weights = calloc((size_t)problem->max_keys + 1, sizeof *weights);
    for (int n = 0; n < problem->sequences * heads * problem->max_queries; n++) {
        int i = n % problem->max_queries, h = n / problem->max_queries % heads;
        int b = n / problem->max_queries / heads;
        const int32_t *span = problem->spans + 4 * b;
        for (int j = 0; maps && j < problem->max_keys; j++) {
            maps[(size_t)n * problem->max_keys + j] = 0;
        }
        if (i >= span[1]) {
            continue;
        }
        size_t row = (size_t)(span[0] + i);
        weigh(weights, q + row * heads * key_width + h * key_width, k, problem, b, h, i);
        for (int j = 0; maps && j < span[3]; j++) {
            maps[(size_t)n * problem->max_keys + j] = weights[j];
        }
        for (int d = 0; d < value_width; d++) {
            double sum = 0;
            for (int j = 0; j < span[3]; j++) {
                sum += weights[j] * v[(size_t)(span[2] + j) * heads * value_width + h * value_width + d];
            }
            y[row * heads * value_width + h * value_width + d] = sum;
        }
    }
    free(weights);
}
