/* clformer convert */
#include "shared/command.h"

static const char help[] =
    "Usage: clformer convert MODEL -o FOLDER\n\n"
    "Writes a model with its weights as they lie once they are loaded: in int8 a quarter of the size of\n"
    "fp32, and read several times sooner. Translations are those of `--precision` on the original, bit\n"
    "for bit. Every model that loads is taken. The folder is for clformer; it gets the model's other\n"
    "files too. Needs no device.\n\n"
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
        status = report_wrong_call("convert needs a folder for the model: -o FOLDER");
    }
    if (status >= 0) {
        return status;
    }
    log_to_stderr(&flags);
    clf_status done = clf_convert(flags.output, flags.operands[0], flags.model_options.precision);
    return done == CLF_OK ? EXIT_DONE : report_failure(done);
}
