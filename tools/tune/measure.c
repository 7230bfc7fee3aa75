/* Measures candidates in interleaved rounds. */
#include <math.h>
#include <stdlib.h>

#include "base/status.h"
#include "shared/erase_line.h"
#include "tune/tune.h"

/* Minimum speed-up for a candidate to be preferred. */
static const double least_gain = 0.02;
/* Time relative to the first candidate above which a candidate is excluded. */
static const double hopeless = 3;

enum { MOST_RUNS = 1000 };

struct turns {
    const struct tune_work *work;
    struct tune_result *results;
    int count, rounds;
    int runs[TUNE_MOST_CASES]; /* number of runs of a case in a round */
    int is_alike[CLF__TUNABLE_CANDIDATES]
                [TUNE_MOST_CASES]; /* 1: identical to the first candidate for this case */
    double seconds[CLF__TUNABLE_CANDIDATES][TUNE_MOST_CASES][TUNE_MOST_ROUNDS];
};

static int is_measured(const struct tune_result *result)
{
    return !result->is_wrong && !result->is_slow && result->cases > 0;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static clf_status time_case(double *seconds, const struct turns *turns, int candidate, int case_index)
{
    const struct tune_work *work = turns->work;
    if (signals_interrupted(NULL)) {
        return CLF_INTERRUPTED;
    }
    CLF__TRY(work->select(work->context, turns->results[candidate].value));
    double start = seconds_now();
    for (int i = 0; i < turns->runs[case_index]; i++) {
        CLF__TRY(work->run(work->context, case_index));
    }
    *seconds = (seconds_now() - start) / turns->runs[case_index];
    return CLF_OK;
}

/* Runs every case a second time to exclude slow candidates and to plan the rounds. */
static clf_status leave_out_slow(struct turns *turns, const struct tune_patience *patience)
{
    double first[TUNE_MOST_CASES] = {0};
    for (int i = 0; i < turns->count; i++) {
        struct tune_result *result = &turns->results[i];
        double sum = 0;
        for (int case_index = 0; case_index < turns->work->cases && is_measured(result); case_index++) {
            double seconds = 0;
            if (turns->is_alike[i][case_index]) {
                continue;
            }
            CLF__TRY(time_case(&seconds, turns, i, case_index));
            seconds = seconds > 1e-9 ? seconds : 1e-9;
            first[case_index] = i == 0 ? seconds : first[case_index];
            sum += log(seconds / first[case_index]);
        }
        result->is_slow = result->cases > 0 && exp(sum / result->cases) > hopeless;
    }
    for (int case_index = 0; case_index < turns->work->cases; case_index++) {
        double runs = ceil(patience->seconds / first[case_index]);
        turns->runs[case_index] = runs < 1 ? 1 : runs > MOST_RUNS ? MOST_RUNS : (int)runs;
    }
    return CLF_OK;
}

/* Runs every case once, which compiles kernels, and checks the results. */
static clf_status warm_up(struct turns *turns, const struct tune_patience *patience)
{
    const struct tune_work *work = turns->work;
    for (int i = 0; i < turns->count; i++) {
        for (int case_index = 0; case_index < work->cases && !turns->results[i].is_wrong; case_index++) {
            double seconds = 0;
            int is_right = 0;
            if (turns->is_alike[i][case_index]) {
                continue;
            }
            turns->runs[case_index] = 1;
            CLF__TRY(time_case(&seconds, turns, i, case_index));
            CLF__TRY(work->check(work->context, case_index, i == 0, &is_right));
            turns->results[i].is_wrong = !is_right;
        }
    }
    if (turns->results[0].is_wrong) {
        return clf__fail(CLF_DEVICE,
                         "the results of the device are wrong; run `clformer selftest` for details");
    }
    return leave_out_slow(turns, patience);
}

static void show(struct progress *progress, const char *name, int round, int rounds)
{
    if (progress->shown) {
        erase_line();
        fprintf(stderr, "%s: round %d of %d", name, round, rounds);
        fflush(stderr);
    }
}

/* Measures all rounds. Each round begins with a different candidate. */
static clf_status take_turns(struct turns *turns, struct progress *progress, const char *name)
{
    for (int round = 0; round < turns->rounds; round++) {
        show(progress, name, round + 1, turns->rounds);
        for (int case_index = 0; case_index < turns->work->cases; case_index++) {
            for (int i = 0; i < turns->count; i++) {
                int candidate = (round + i) % turns->count;
                if (is_measured(&turns->results[candidate]) && !turns->is_alike[candidate][case_index]) {
                    CLF__TRY(time_case(&turns->seconds[candidate][case_index][round], turns, candidate,
                                       case_index));
                }
            }
        }
    }
    return CLF_OK;
}

static void conclude(struct turns *turns, int candidate)
{
    double ratios[TUNE_MOST_ROUNDS];
    int rounds = turns->rounds, cases = turns->work->cases;
    struct tune_result *result = &turns->results[candidate];
    for (int round = 0; round < rounds; round++) {
        double sum = 0;
        for (int case_index = 0; case_index < cases; case_index++) {
            if (!turns->is_alike[candidate][case_index]) {
                sum +=
                    log(turns->seconds[candidate][case_index][round] / turns->seconds[0][case_index][round]);
            }
        }
        ratios[round] = exp(sum / result->cases);
    }
    qsort(ratios, (size_t)rounds, sizeof *ratios, compare);
    result->ratio = ratios[rounds / 2];
    int quarter = (rounds - 1) / 4;
    result->spread = ratios[rounds - 1 - quarter] - ratios[quarter];
}

/* Adds up the median times. Sorts the times, so all ratios must already have been computed. */
static void add_up(struct turns *turns, int candidate)
{
    for (int case_index = 0; case_index < turns->work->cases; case_index++) {
        double *seconds = turns->seconds[turns->is_alike[candidate][case_index] ? 0 : candidate][case_index];
        qsort(seconds, (size_t)turns->rounds, sizeof *seconds, compare);
        turns->results[candidate].seconds += seconds[turns->rounds / 2];
    }
}

clf_status tune_measure(struct tune_result *results, const struct tune_work *work, const int *candidates,
                        int count, const struct tune_patience *patience, struct progress *progress,
                        const char *name)
{
    struct turns *turns = calloc(1, sizeof *turns);
    if (turns == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for measurements");
    }
    turns->work = work;
    turns->results = results;
    turns->count = count;
    turns->rounds = patience->rounds;
    for (int i = 0; i < count; i++) {
        results[i] = (struct tune_result){.value = candidates[i]};
        for (int case_index = 0; case_index < work->cases; case_index++) {
            int is_alike = i > 0 && work->is_alike != NULL &&
                           work->is_alike(work->context, case_index, candidates[i], candidates[0]);
            turns->is_alike[i][case_index] = is_alike;
            results[i].cases += !is_alike;
        }
    }
    show(progress, name, 0, patience->rounds);
    clf_status status = warm_up(turns, patience);
    if (status == CLF_OK) {
        status = take_turns(turns, progress, name);
    }
    for (int i = 0; i < count && status == CLF_OK; i++) {
        if (is_measured(&results[i])) {
            conclude(turns, i);
        }
    }
    for (int i = 0; i < count && status == CLF_OK; i++) {
        add_up(turns, i);
    }
    free(turns);
    progress_clear(progress);
    return status;
}

int tune_best(const struct tune_result *results, int count)
{
    int best = 0;
    double most = 0; /* gain over all cases */
    for (int i = 1; i < count; i++) {
        int is_sure = is_measured(&results[i]) && 1 - results[i].ratio > least_gain &&
                      1 - results[i].ratio > results[i].spread;
        double gain = is_sure ? -log(results[i].ratio) * results[i].cases : 0;
        if (gain > most) {
            best = i;
            most = gain;
        }
    }
    return best;
}
