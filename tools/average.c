/* clformer average */
#include <limits.h>

#include "shared/command.h"

static const char help[] =
    "Usage: clformer average -o FOLDER MODEL...\n"
    "\n"
    "Writes a model whose weights are the mean of several models' weights. The mean of the last\n"
    "checkpoints of a run is often better than each of them. All models must have the same\n"
    "configuration. FOLDER must not exist; it also receives the other files of the first model. With one\n"
    "model, average writes it in another precision. Needs no device.\n"
    "\n"
    "Example:\n"
    "  $ ls model/checkpoints\n"
    "  $ clformer average -o mean model/checkpoints/update-*[0-9]\n"
    "  $ clformer translate -m mean < test.en\n"
    "  $ clformer average --precision fp16 -o half-the-size mean\n";

int verb_average(int argc, char **argv)
{
    struct flags flags;
    int status = flags_parse(&flags, argc, argv, TAKES_FOLDER | TAKES_AVERAGE, help);
    if (status < 0) {
        status = flags_operands(&flags, 1, INT_MAX, "average requires the folders of one or more models");
    }
    if (status < 0 && (flags.output == NULL || flags.output[0] == '\0')) {
        status = report_wrong_call("average requires a folder for the model; add -o FOLDER");
    }
    if (status >= 0) {
        return status;
    }
    log_to_stderr(&flags);
    clf_status done = clf_average(flags.output, (const char *const *)flags.operands, flags.operand_count,
                                  flags.model_options.precision);
    return done == CLF_OK ? EXIT_DONE : report_failure(done);
}
