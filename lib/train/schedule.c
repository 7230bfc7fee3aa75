#include "train/schedule.h"

#include <math.h>

#include "config/family/family.h"

struct clf__schedule clf__schedule_of(const struct clf__settings *settings, int d_model)
{
    return (struct clf__schedule){
        .kind = (enum clf__schedule_kind)settings->schedule,
        .peak = settings->learning_rate,
        .initial = settings->initial_learning_rate,
        .factor = settings->noam_factor,
        .warm_up = settings->warm_up,
        .last = settings->max_updates,
        .d_model = d_model,
        .counts_done = clf__family_of((enum clf__system)settings->preset)->counts_updates_done,
    };
}

/* factor / sqrt(D) * min(1 / sqrt(t), t / w^1.5) (Vaswani et al. 2017, equation 3) */
static double noam(const struct clf__schedule *schedule, double update)
{
    double warm_up = (double)schedule->warm_up;
    double rate = 1 / sqrt(update);
    if (update < warm_up) {
        rate = update * pow(warm_up, -1.5);
    }
    return schedule->factor / sqrt(schedule->d_model) * rate;
}

double clf__schedule_rate(const struct clf__schedule *schedule, int64_t update)
{
    if (schedule->kind == CLF__NOAM) {
        return noam(schedule, (double)(schedule->counts_done && update > 1 ? update - 1 : update));
    }
    /* As in fairseq and transformers the rate follows the updates that are done, so the first update has the
     * initial one. */
    double done = (double)(update - 1), warm_up = (double)schedule->warm_up;
    if (done < warm_up) {
        return schedule->initial + (schedule->peak - schedule->initial) * done / warm_up;
    }
    switch (schedule->kind) {
    case CLF__INVERSE_SQRT:
        return schedule->peak * sqrt(fmax(warm_up, 1) / fmax(done, 1));
    case CLF__LINEAR:
        return schedule->peak * fmax((double)schedule->last - done, 0) / ((double)schedule->last - warm_up);
    default:
        return schedule->peak;
    }
}
