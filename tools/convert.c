/* clformer convert */
#include "shared/command.h"

static const char help[] =
    "Usage: clformer convert MODEL -o FOLDER\n"
    "\n"
    "Writes a model with its weights in the form in which they are loaded: in int8 a quarter of the size\n"
    "of fp32, and several times faster to load. Translations are bit-identical to those with\n"
    "`--precision` on the original. Accepts every supported model format. The new folder is for clformer;\n"
    "it also receives the other files of the model. Needs no device.\n"
    "\n"
    "Example:\n"
    "  $ clformer convert nllb-200-distilled-600M -o nllb-int8\n"
    "  $ clformer translate -m nllb-int8 -s en -t pt < english.txt\n";

int verb_convert(int argc, char **argv)
{
    struct flags flags;
    int status = flags_parse(&flags, argc, argv, TAKES_FOLDER | TAKES_CONVERT, help);
    if (status < 0) {
        status = flags_operands(&flags, 1, 1, "convert takes one model");
    }
    if (status < 0 && (flags.output == NULL || flags.output[0] == '\0')) {
        status = report_wrong_call("convert requires a folder for the model; add -o FOLDER");
    }
    if (status >= 0) {
        return status;
    }
    log_to_stderr(&flags);
    clf_status done = clf_convert(flags.output, flags.operands[0], flags.model_options.precision);
    return done == CLF_OK ? EXIT_DONE : report_failure(done);
}
