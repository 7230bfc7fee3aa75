/* The names of the settings that `clformer tune` measures: their selection, and the help text that lists
 * them. */
#include "tune/tune.h"

#include <stdio.h>
#include <string.h>

#include "base/environment.h"

static const char help[] =
    "Usage: clformer tune [-m MODEL] [-d DEVICE] [--precision P] [NAME...]\n"
    "\n"
    "Finds the fastest kernel variants, GEMM backends and block sizes of a device for the shapes of a\n"
    "model, and saves them as text in $XDG_CACHE_HOME/clformer/tuning, where the other verbs read them. A\n"
    "candidate is saved only if its results match the reference and the gain exceeds the variation of the\n"
    "times. Saved results apply to all models and precisions and are not measured again, so an\n"
    "interrupted run continues if the command is repeated. --again measures them again; without --quick,\n"
    "results of --quick are also measured again. At the end, tune prints the gain of each setting and the\n"
    "total gain. Flags that select an algorithm, and $CLFORMER_TUNING=off, override saved results.\n"
    "\n"
    "Without -m, the demo model is used. Each NAME is a setting to measure (default: all):\n";

static const char example[] = "\nExample:\n"
                              "  $ clformer tune -m base --precision int8\n"
                              "  $ clformer tune -m base --precision int8 --again step_rows_int8\n"
                              "  $ clformer devices          # shows whether a device is tuned\n";

/* All parameters except two, which a tuning file may still contain: the fastest instruction level depends on
 * the precision, which is not known when a device is opened, and the effect of pipelined steps on the work of
 * the host. */
static int is_tuned(enum clf__tunable tunable)
{
    return tunable != CLF__TUNABLE_INSTRUCTIONS && tunable != CLF__TUNABLE_PIPELINED_STEPS;
}

int tune_is_wanted(const struct flags *flags, enum clf__tunable tunable)
{
    int is_named = flags->operand_count == 0;
    for (int i = 0; i < flags->operand_count; i++) {
        is_named |= strcmp(flags->operands[i], clf__tunables[tunable].name) == 0;
    }
    return is_tuned(tunable) && is_named;
}

/* Returns the variable if it is set to a value other than auto, or NULL. */
static const char *chooses(const char *variable)
{
    const char *word = clf__environment_value(variable + strlen("$"));
    return word != NULL && strcmp(word, "auto") != 0 ? variable : NULL;
}

const char *tune_fixed_by(const struct flags *flags, enum clf__tunable tunable)
{
    const struct clf_device_options *options = &flags->device_options;
    switch (tunable) {
    case CLF__TUNABLE_VARIANT:
        return options->variant != CLF_VARIANT_AUTO ? "--variant" : chooses("$CLFORMER_VARIANT");
    case CLF__TUNABLE_GEMM:
        return options->gemm != CLF_GEMM_AUTO ? "--gemm" : chooses("$CLFORMER_GEMM");
    case CLF__TUNABLE_ATTENTION:
        return options->attention != CLF_ATTENTION_AUTO ? "--attention" : chooses("$CLFORMER_ATTENTION");
    default:
        return NULL;
    }
}

/* Returns the precision that a parameter applies to, or -1. */
static int precision_of(enum clf__tunable tunable)
{
    return tunable >= CLF__TUNABLE_STEP_ROWS ? CLF_PRECISION_FP32 + (int)(tunable - CLF__TUNABLE_STEP_ROWS)
           : tunable >= CLF__TUNABLE_SKINNY_ROWS
               ? CLF_PRECISION_FP32 + (int)(tunable - CLF__TUNABLE_SKINNY_ROWS)
               : -1;
}

/* Fails if a named parameter cannot be measured with the flags. Returns -1 on success, or an exit status. */
static int check_flags(const struct flags *flags, enum clf__tunable tunable)
{
    const char *name = clf__tunables[tunable].name, *fixed = tune_fixed_by(flags, tunable);
    if (fixed != NULL && fixed[0] == '-') {
        return report_wrong_call("%s: fixed by %s; remove the flag or the name", name, fixed);
    }
    int precision = precision_of(tunable);
    char word[16];
    if (precision >= 0 && precision != (int)flags->model_options.precision &&
        flags_choice(word, sizeof word, "precision", precision)) {
        return report_wrong_call("%s: can be measured only with --precision %s; add this flag", name, word);
    }
    return -1;
}

static int find_name(const char *name)
{
    for (int tunable = 0; tunable < CLF__TUNABLE_COUNT; tunable++) {
        if (is_tuned((enum clf__tunable)tunable) && strcmp(name, clf__tunables[tunable].name) == 0) {
            return tunable;
        }
    }
    return -1;
}

int tune_check_names(const struct flags *flags)
{
    int status = -1;
    for (int i = 0; i < flags->operand_count && status < 0; i++) {
        int tunable = find_name(flags->operands[i]);
        status = tunable >= 0
                     ? check_flags(flags, (enum clf__tunable)tunable)
                     : report_wrong_call("%s: unknown setting; `clformer tune --help` lists the names",
                                         flags->operands[i]);
    }
    return status;
}

const char *tune_help(void)
{
    static char text[sizeof help + sizeof example + CLF__TUNABLE_COUNT * (sizeof clf__tunables[0].name + 2)];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", help), line = 0;
    for (int i = 0; i < CLF__TUNABLE_COUNT; i++) {
        if (!is_tuned((enum clf__tunable)i)) {
            continue;
        }
        const char *name = clf__tunables[i].name, *space = line == 0 ? "  " : " ";
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", space, name);
        line += strlen(name) + 1;
        if (line > 80 || i + 1 == CLF__TUNABLE_COUNT) {
            used += (size_t)snprintf(text + used, sizeof text - used, "\n");
            line = 0;
        }
    }
    snprintf(text + used, sizeof text - used, "%s", example);
    return text;
}
