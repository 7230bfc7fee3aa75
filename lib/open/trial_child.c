#include "open/trial_child.h"

#include <stdio.h>

#include "base/child.h"
#include "base/environment.h"
#include "base/log.h"

/* Long enough for the compilers of slow machines. */
static double limit = 120.0;

void clf__trial_limit(double seconds)
{
    limit = seconds;
}

clf_status clf__trial_in_child(int *has_run, const struct clf__trial_child *child)
{
    char output[2048], failure[128];
    struct clf__child_end end;
    const char *command = clf__environment_value("CLFORMER_PROBE");
    const char *const arguments[] = {command, child->flag, child->index, child->operand, NULL};
    *has_run = 0;
    if (command == NULL) {
        return CLF_OK;
    }
    clf_status status = clf__child_run(&end, output, sizeof output, arguments, limit);
    if (status == CLF_INTERRUPTED) {
        return status;
    }
    if (status != CLF_OK) {
        clf__log(CLF_LOG_WARNING, "CLFORMER_PROBE: %s", clf_last_error());
        return CLF_OK;
    }
    *has_run = 1;
    if (end.timed_out) {
        snprintf(failure, sizeof failure, "their trial took more than %.3g seconds", limit);
        child->record_crash(child->trial, failure);
    } else if (end.signal != 0) {
        snprintf(failure, sizeof failure, "their trial crashed (signal %d)", end.signal);
        child->record_crash(child->trial, failure);
    } else if (!child->parse(child->trial, output)) {
        clf__log(
            CLF_LOG_WARNING,
            "CLFORMER_PROBE: %s printed no result of a trial (exit status %d); the program must be clformer",
            command, end.status);
        *has_run = 0;
    }
    return CLF_OK;
}
