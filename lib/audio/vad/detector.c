/* The built-in detector finds chunks of voiced speech: they are louder than the noise floor nearby, harmonic,
 * and neither continue nor begin a steady tone. The probability of speech depends on the share of voiced
 * chunks in the half second around a chunk, which bridges consonants and short pauses. */
#include "audio/vad/detector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audio/vad/silero.h"
#include "audio/vad/voiced.h"
#include "base/memory.h"
#include "base/minmax.h"

enum {
    BLOCK = 32,                    /* chunks with the same noise floor */
    NEARBY = CLF__DETECTOR_BEFORE, /* chunks on either side from which the floor is computed */
    FLOOR_SHARE = 10,              /* the noise floor is the tenth percentile of these chunks */
    AROUND = 7,                    /* chunks on either side in which voiced chunks are counted */
    CERTAIN = 6,                   /* number of voiced chunks at which the probability is 1 */
};

static const float LEAST_FLOOR = -70, LOUDER = 6; /* decibels */

struct clf__detector {
    const struct clf__silero *network; /* NULL: built-in */
    struct clf__silero_state state;
    struct clf__voiced voiced;
    float *values; /* (count) probabilities; built-in: energies in decibels */
    char *kinds;   /* (count) built-in: properties of the chunks */
    int count, capacity;
};

clf_status clf__detector_create(struct clf__detector **out, const struct clf__silero *network)
{
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    (*out)->network = network;
    clf__voiced_init(&(*out)->voiced);
    return CLF_OK;
}

void clf__detector_free(struct clf__detector *detector)
{
    if (detector != NULL) {
        clf__free(detector->values);
        clf__free(detector->kinds);
        clf__free(detector);
    }
}

clf_status clf__detector_add(struct clf__detector *detector, const float *samples)
{
    int capacity = detector->capacity;
    CLF__TRY(clf__grow(&detector->values, detector->count, &capacity, sizeof *detector->values));
    if (capacity != detector->capacity) {
        CLF__TRY(clf__resize(&detector->kinds, (size_t)capacity, sizeof *detector->kinds));
        detector->capacity = capacity;
    }
    float *value = &detector->values[detector->count];
    if (detector->network != NULL) {
        CLF__TRY(clf__silero_run(value, detector->network, &detector->state, samples));
    } else {
        detector->kinds[detector->count] = (char)clf__voiced_add(value, &detector->voiced, samples);
    }
    detector->count++;
    return CLF_OK;
}

static int compare(const void *a, const void *b)
{
    float left = *(const float *)a, right = *(const float *)b;
    return (left > right) - (left < right);
}

/* Returns the noise floor around a block of chunks. */
static float find_floor(const struct clf__detector *detector, int block)
{
    float nearby[2 * NEARBY + BLOCK];
    int first = clf__max_int(block - NEARBY, 0);
    int count = clf__min_int(block + BLOCK + NEARBY, detector->count) - first;
    memcpy(nearby, detector->values + first, (size_t)count * sizeof *nearby);
    qsort(nearby, (size_t)count, sizeof *nearby, compare);
    return fmaxf(nearby[count / FLOOR_SHARE], LEAST_FLOOR);
}

/* Finds whether each chunk is voiced speech. */
static void find_voiced(char *voiced, const struct clf__detector *detector)
{
    const char *kinds = detector->kinds;
    for (int block = 0; block < detector->count; block += BLOCK) {
        float floor = find_floor(detector, block);
        for (int i = block; i < block + BLOCK && i < detector->count; i++) {
            int next = i + CLF__VOICED_LAG < detector->count ? kinds[i + CLF__VOICED_LAG] : 0;
            int is_steady = (kinds[i] | next) & CLF__VOICED_STEADY;
            voiced[i] =
                (char)(kinds[i] & CLF__VOICED_HARMONIC && !is_steady && detector->values[i] > floor + LOUDER);
        }
    }
}

clf_status clf__detector_probe(float *probabilities, const struct clf__detector *detector)
{
    int sum = 0, count = detector->count;
    char *voiced;
    if (count == 0) {
        return CLF_OK;
    }
    if (detector->network != NULL) {
        memcpy(probabilities, detector->values, (size_t)count * sizeof *probabilities);
        return CLF_OK;
    }
    CLF__TRY(clf__allocate(&voiced, (size_t)count, sizeof *voiced));
    find_voiced(voiced, detector);
    for (int i = -AROUND; i < count; i++) {
        sum += i + AROUND < count ? voiced[i + AROUND] : 0;
        sum -= i > AROUND ? voiced[i - AROUND - 1] : 0;
        if (i >= 0) {
            probabilities[i] = fminf((float)sum / CERTAIN, 1);
        }
    }
    clf__free(voiced);
    return CLF_OK;
}

void clf__detector_forget(struct clf__detector *detector, int count)
{
    size_t left = (size_t)(detector->count - count);
    detector->count -= count;
    memmove(detector->values, detector->values + count, left * sizeof *detector->values);
    if (detector->network == NULL) {
        memmove(detector->kinds, detector->kinds + count, left * sizeof *detector->kinds);
    }
}

clf_status clf__detector_finish(float **out, const struct clf__detector *detector)
{
    CLF__TRY(clf__allocate(out, (size_t)detector->count, sizeof **out));
    clf_status status = clf__detector_probe(*out, detector);
    if (status != CLF_OK) {
        clf__free(*out);
        *out = NULL;
    }
    return status;
}
