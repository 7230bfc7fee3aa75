/* Drawing what a window's samples say. */
#include <math.h>

#include "base/random.h"
#include "search/internal.h"
#include "search/passage.h"

uint64_t clf__draws_key(uint64_t seed, int64_t window, int attempt)
{
    return clf__random_key(clf__random_key(seed, (uint64_t)window), (uint64_t)attempt);
}

double clf__draws_unit(uint64_t key, int count, int sample)
{
    uint32_t words[4];
    const uint32_t counter[4] = {(uint32_t)count, (uint32_t)sample, 0, CLF__RANDOM_SAMPLES};
    clf__philox(words, counter, key);
    return clf__random_unit(words[0], words[1]);
}

double clf__draws_weigh(float *weights, const float *logits, const int32_t *ranges, int first,
                        const int32_t *banned, int count, double largest, double temperature)
{
    double sum = 0;
    int next = 0;
    for (int r = first; r < CLF__PASSAGE_RANGES; r++) {
        for (int32_t id = ranges[2 * r]; id < ranges[2 * r + 1]; id++) {
            while (next < count && banned[next] < id) {
                next++;
            }
            int is_banned = next < count && banned[next] == id;
            double below = ((double)logits[id] - largest) / temperature;
            weights[id] = is_banned || isnan(below) ? 0.0F : expf((float)below);
            sum += (double)weights[id];
        }
    }
    return sum;
}

int32_t clf__draws_take(const float *weights, const int32_t *ranges, int first, double place)
{
    int32_t last = -1;
    for (int r = first; r < CLF__PASSAGE_RANGES; r++) {
        for (int32_t id = ranges[2 * r]; id < ranges[2 * r + 1]; id++) {
            if (weights[id] > 0.0F) {
                last = id; /* that of the end, should rounding leave a rest */
                if (place < (double)weights[id]) {
                    return id;
                }
                place -= (double)weights[id];
            }
        }
    }
    return last;
}
