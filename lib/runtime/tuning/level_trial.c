#include "runtime/tuning/level_trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* The first word of a line with rates. */
static const char measured[] = "measured ";

double clf__level_trial_gain(const struct clf__level_trial *trial, enum clf__trial_precision precision)
{
    double plain = trial->plain_rates[precision];
    return trial->failure[0] == '\0' && plain > 0.0 ? trial->rates[precision] / plain : 0.0;
}

int clf__level_trial_is_used(const struct clf__level_trial *trial)
{
    return clf__level_trial_gain(trial, CLF__TRIAL_FP16) >= CLF__LEAST_GAIN;
}

int clf__level_trial_serves_int8(const struct clf__level_trial *trial)
{
    return clf__level_trial_gain(trial, CLF__TRIAL_INT8) > 1.0;
}

void clf__level_trial_describe(char text[CLF__LEVEL_TRIAL_TEXT], const struct clf__level_trial *trial)
{
    if (trial->failure[0] != '\0') {
        snprintf(text, CLF__LEVEL_TRIAL_TEXT, "not used: %s", trial->failure);
        return;
    }
    snprintf(text, CLF__LEVEL_TRIAL_TEXT, "GEMM %.2f times as fast in fp16, %.2f times in int8; %s",
             clf__level_trial_gain(trial, CLF__TRIAL_FP16), clf__level_trial_gain(trial, CLF__TRIAL_INT8),
             !clf__level_trial_is_used(trial)      ? "not used, because fp16 requires 1.5 times"
             : clf__level_trial_serves_int8(trial) ? "used"
                                                   : "used except in int8");
}

void clf__level_trial_fail(struct clf__level_trial *trial, int is_lasting, const char *failure)
{
    trial->is_lasting = is_lasting;
    clf__trial_copy_failure(trial->failure, failure);
}

clf_status clf__level_trial_format(char **out, const struct clf__level_trial *trial)
{
    if (trial->failure[0] != '\0') {
        return clf__trial_format_failure(out, trial->failure, trial->is_lasting);
    }
    return clf__format(out, "%s%.6g %.6g %.6g %.6g\n", measured, trial->plain_rates[CLF__TRIAL_FP16],
                       trial->rates[CLF__TRIAL_FP16], trial->plain_rates[CLF__TRIAL_INT8],
                       trial->rates[CLF__TRIAL_INT8]);
}

static int parse_rates(struct clf__level_trial *trial, const char *line)
{
    double *plain = trial->plain_rates, *own = trial->rates;
    int end = 0;
    int count = sscanf(line, "%lf %lf %lf %lf%n", &plain[CLF__TRIAL_FP16], &own[CLF__TRIAL_FP16],
                       &plain[CLF__TRIAL_INT8], &own[CLF__TRIAL_INT8], &end);
    int is_valid = count == 4 && line[end] == '\n';
    for (int i = 0; i < CLF__TRIAL_PRECISIONS && is_valid; i++) {
        is_valid = isfinite(plain[i]) && isfinite(own[i]) && plain[i] > 0.0 && own[i] > 0.0;
    }
    return is_valid;
}

int clf__level_trial_parse(struct clf__level_trial *trial, const char *text)
{
    const char *line = clf__trial_last_line(text);
    if (line != NULL && strncmp(line, measured, strlen(measured)) == 0) {
        trial->failure[0] = '\0';
        trial->is_lasting = 1;
        return parse_rates(trial, line + strlen(measured));
    }
    return line != NULL && clf__trial_parse_failure(trial->failure, &trial->is_lasting, line);
}
