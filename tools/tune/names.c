/* The names of what `clformer tune` measures: which a call wants, and the help that lists them. */
#include "tune/tune.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: clformer tune [-m MODEL] [-d DEVICE] [--precision P] [NAME...]\n\n"
    "Measures, at the sizes of this model, which form, providers and block sizes are fastest on a device, "
    "and\n"
    "keeps them for it as text in $XDG_CACHE_HOME/clformer/tuning: the other verbs take them from then on. "
    "A\n"
    "candidate stays only where it computes what the reference does and is faster by more than the times "
    "vary.\n"
    "What is kept is not measured again, with whatever model and precision it was (--again does), so that "
    "an\n"
    "interrupted call can simply be repeated; what --quick kept is, by a call without it.\n"
    "Flags that say how to compute, and $CLFORMER_TUNING=off, are stronger than what is kept.\n\n"
    "Without -m the model is the demo's. NAMEs choose what is measured:\n";

static const char example[] = "\nExample:\n"
                              "  $ clformer tune -m base --precision int8\n"
                              "  $ clformer tune -m base --precision int8 --again step_rows_int8\n"
                              "  $ clformer devices          # says whether a device is tuned\n";

/* Of all knobs but this one: what is fast with int8 is slow with bf16, and a device is opened before it is
 * known which of them comes. A file can hold it all the same. */
static int is_tuned(enum clf__knob knob)
{
    return knob != CLF__KNOB_INSTRUCTIONS;
}

int tune_is_wanted(const struct flags *flags, enum clf__knob knob)
{
    int is_named = flags->operand_count == 0;
    for (int i = 0; i < flags->operand_count; i++) {
        is_named |= strcmp(flags->operands[i], clf__knobs[knob].name) == 0;
    }
    return is_tuned(knob) && is_named;
}

int tune_check_names(const struct flags *flags)
{
    for (int i = 0; i < flags->operand_count; i++) {
        int found = 0;
        for (int j = 0; j < CLF__KNOB_COUNT; j++) {
            found |= is_tuned((enum clf__knob)j) && strcmp(flags->operands[i], clf__knobs[j].name) == 0;
        }
        if (!found) {
            return report_wrong_call("there is nothing named \"%s\" to tune; `clformer tune --help` lists "
                                     "the names",
                                     flags->operands[i]);
        }
    }
    return -1;
}

const char *tune_help(void)
{
    static char text[sizeof help + sizeof example + CLF__KNOB_COUNT * (sizeof clf__knobs[0].name + 2)];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", help), line = 0;
    for (int i = 0; i < CLF__KNOB_COUNT; i++) {
        if (!is_tuned((enum clf__knob)i)) {
            continue;
        }
        const char *name = clf__knobs[i].name, *space = line == 0 ? "  " : " ";
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", space, name);
        line += strlen(name) + 1;
        if (line > 80 || i + 1 == CLF__KNOB_COUNT) {
            used += (size_t)snprintf(text + used, sizeof text - used, "\n");
            line = 0;
        }
    }
    snprintf(text + used, sizeof text - used, "%s", example);
    return text;
}
