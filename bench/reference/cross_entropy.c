#include "reference/cross_entropy.h"

#include <math.h>

static double wanted(int v, int label, const struct clf__smoothing *smoothing)
{
    if (v == label) {
        return 1.0 - (double)smoothing->smoothing;
    }
    return v == smoothing->hidden_class ? 0.0 : (double)smoothing->share;
}

void reference_cross_entropy(double *losses, double *dlogits, const float *logits, const int32_t *labels,
                             int rows, int columns, const struct clf__smoothing *smoothing, double scale)
{
    for (int r = 0; r < rows; r++, losses += 2, dlogits += columns, logits += columns) {
        double largest = -INFINITY, sum = 0.0, wanted_sum = 0.0;
        int counts = labels[r] >= 0 && labels[r] < columns;
        losses[0] = losses[1] = 0.0;
        for (int v = 0; v < columns; v++) {
            largest = fmax(largest, (double)logits[v]);
            wanted_sum += wanted(v, labels[r], smoothing);
            dlogits[v] = 0.0;
        }
        for (int v = 0; v < columns; v++) {
            sum += isinf(largest) ? 0.0 : exp((double)logits[v] - largest);
        }
        for (int v = 0; v < columns && counts; v++) {
            double logarithm = isinf(logits[v]) ? -INFINITY : (double)logits[v] - largest - log(sum);
            double q = wanted(v, labels[r], smoothing);
            losses[0] -= q > 0.0 ? q * logarithm : 0.0;
            dlogits[v] = scale * (exp(logarithm) * wanted_sum - q);
        }
        if (counts) {
            double label_logit = (double)logits[labels[r]];
            losses[1] = isinf(label_logit) ? INFINITY : log(sum) - (label_logit - largest);
        }
    }
}
