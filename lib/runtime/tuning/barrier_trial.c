#include "runtime/tuning/barrier_trial.h"

#include <string.h>

#include "base/memory.h"

static const char passed[] = "passed\n";

int clf__barrier_trial_is_used(const struct clf__barrier_trial *trial)
{
    return trial->is_tried && trial->failure[0] == '\0';
}

const char *clf__barrier_trial_describe(const struct clf__barrier_trial *trial)
{
    return !trial->is_tried ? "not tried" : trial->failure[0] == '\0' ? "used" : trial->failure;
}

clf_status clf__barrier_trial_format(char **out, const struct clf__barrier_trial *trial)
{
    return trial->failure[0] == '\0' ? clf__copy_string(out, passed)
                                     : clf__trial_format_failure(out, trial->failure, trial->is_lasting);
}

int clf__barrier_trial_parse(struct clf__barrier_trial *trial, const char *text)
{
    const char *line = clf__trial_last_line(text);
    if (line != NULL && strcmp(line, passed) == 0) {
        trial->failure[0] = '\0';
        trial->is_lasting = 1;
        return 1;
    }
    return line != NULL && clf__trial_parse_failure(trial->failure, &trial->is_lasting, line);
}
