/* clformer convert */
#include "shared/command.h"

static const char help[] =
    "Usage: clformer convert MODEL -o FOLDER\n"
    "\n"
    "Writes a model with quantized weights, in the layout in which they are stored on the device. An int8\n"
    "model is a quarter of the size of an fp32 model and loads several times faster. Its translations are\n"
    "bit-identical to those of the original model with `--precision int8`. Every supported model format\n"
    "can be converted. The other files of the model are copied. Only clformer can read the new folder.\n"
    "No device is needed.\n"
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
        status = report_wrong_call("convert: requires an output folder; add -o FOLDER");
    }
    if (status >= 0) {
        return status;
    }
    log_to_stderr(&flags);
    clf_status done = clf_convert(flags.output, flags.operands[0], flags.model_options.precision);
    return done == CLF_OK ? EXIT_DONE : report_failure(done);
}
