/* The temperatures for decoding windows. */
#include <math.h>

#include "transcribe/internal.h"

enum { DEFAULT_TEMPERATURES = 6, MOST_SAMPLES = 64 };

static const double DEFAULT_STEP = 0.2, HIGHEST = 100.0;

int clf__temperature_count(const struct clf_transcribe_options *options)
{
    return options->temperatures != NULL ? options->temperature_count : DEFAULT_TEMPERATURES;
}

double clf__temperature(const struct clf_transcribe_options *options, int number)
{
    return options->temperatures != NULL ? options->temperatures[number] : number * DEFAULT_STEP;
}

clf_status clf__temperatures_check(const struct clf_transcribe_options *options)
{
    if (options->temperatures != NULL && options->temperature_count < 1) {
        return clf__fail(CLF_BAD_ARGUMENT, "temperatures: %d were given; pass one or more",
                         options->temperature_count);
    }
    for (int i = 0; i < clf__temperature_count(options); i++) {
        double temperature = clf__temperature(options, i);
        if (!(temperature >= 0 && temperature <= HIGHEST)) {
            return clf__fail(CLF_BAD_ARGUMENT, "temperature: %g is out of range; use 0 to %g", temperature,
                             HIGHEST);
        }
    }
    if (options->best_of < 1 || options->best_of > MOST_SAMPLES) {
        return clf__fail(CLF_BAD_ARGUMENT, "best of: %d is out of range; use 1 to %d", options->best_of,
                         MOST_SAMPLES);
    }
    if (!isnan(options->compression_ratio_threshold) && !clf__compression_is_known()) {
        return clf__fail(
            CLF_UNSUPPORTED,
            "compression ratio threshold: clformer was built without zlib; remove the threshold");
    }
    return CLF_OK;
}
