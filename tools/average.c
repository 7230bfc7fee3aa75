/* clformer average */
#include <limits.h>

#include "shared/command.h"

static const char help[] =
    "Usage: clformer average -o FOLDER MODEL...\n"
    "\n"
    "Writes a model whose weights are the mean of the weights of several models. The average of the last\n"
    "checkpoints of a run is often better than any of them. All models must have the same\n"
    "configuration. FOLDER must not exist. The other files of the first model are copied to it. With\n"
    "--precision, a single model can be written in fp16 or bf16. No device is needed.\n"
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
        status = flags_operands(&flags, 1, INT_MAX, "average requires one or more model folders");
    }
    if (status < 0 && (flags.output == NULL || flags.output[0] == '\0')) {
        status = report_wrong_call("average: requires an output folder; add -o FOLDER");
    }
    if (status >= 0) {
        return status;
    }
    log_to_stderr(&flags);
    clf_status done = clf_average(flags.output, (const char *const *)flags.operands, flags.operand_count,
                                  flags.model_options.precision);
    return done == CLF_OK ? EXIT_DONE : report_failure(done);
}
