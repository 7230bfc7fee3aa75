#include "reference/draw.h"

#include <math.h>

#include "base/random.h"
#include "reference/philox.h"

double reference_draw_value(const struct clf__draw *draw, float logit, int32_t id)
{
    const uint32_t counter[4] = {(uint32_t)id / 4, (uint32_t)draw->sample, (uint32_t)draw->count,
                                 CLF__RANDOM_SAMPLES};
    uint32_t words[4];
    reference_philox(words, counter, (uint64_t)draw->key_high << 32 | draw->key_low);
    double exponential = -log1p(-((double)words[id % 4] + 0.5) / 4294967296.0);
    return (double)logit / (double)draw->temperature - log(exponential);
}

int32_t reference_draw(double *value, const struct clf__draw *draw, const float *logits, int32_t first,
                       int32_t end)
{
    int32_t best = -1;
    *value = -INFINITY;
    for (int32_t id = first; id < end; id++) {
        double own = reference_draw_value(draw, logits[id], id);
        if (own > *value) { /* false if own is NaN */
            *value = own;
            best = id;
        }
    }
    return best;
}
