#include "train/schedule.h"

#include <math.h>

#include "model/config/architectures/architecture.h"

/* factor / sqrt(D) * min(1 / sqrt(t), t / w^1.5) (Vaswani et al. 2017, equation 3) */
static double noam(const struct clf__settings *settings, int d_model, double update)
{
    double warm_up = (double)settings->warm_up;
    double rate = 1 / sqrt(update);
    if (update < warm_up) {
        rate = update * pow(warm_up, -1.5);
    }
    return settings->noam_factor / sqrt(d_model) * rate;
}

double clf__schedule_rate(const struct clf__settings *settings, int d_model, int64_t update)
{
    if (settings->schedule == CLF__NOAM) {
        int counts_done =
            clf__architecture_of((enum clf__architecture_id)settings->preset)->counts_updates_done;
        return noam(settings, d_model, (double)(counts_done && update > 1 ? update - 1 : update));
    }
    /* As in fairseq and transformers, the rate depends on completed updates, so the first update has the
     * initial rate. */
    double done = (double)(update - 1), warm_up = (double)settings->warm_up;
    double initial = settings->initial_learning_rate, peak = settings->learning_rate;
    if (done < warm_up) {
        return initial + (peak - initial) * done / warm_up;
    }
    switch (settings->schedule) {
    case CLF__INVERSE_SQRT:
        return peak * sqrt(fmax(warm_up, 1) / fmax(done, 1));
    case CLF__LINEAR:
        return peak * fmax((double)settings->max_updates - done, 0) /
               ((double)settings->max_updates - warm_up);
    default:
        return peak;
    }
}
