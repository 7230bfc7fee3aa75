/* Parses arguments according to the table of flags. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/status.h"
#include "base/suggest.h"
#include "model/config/types.h"
#include "shared/command.h"
#include "shared/flag_table.h"

static const struct {
    double low, high;
} ranges[FLAG_KINDS] = {
    [FLAG_REAL] = {-CLF__LENGTH_PENALTY_LIMIT, CLF__LENGTH_PENALTY_LIMIT},
    [FLAG_FACTOR] = {1e-6, 1e6},
    [FLAG_SHARE] = {0, 1},
};

static int is_taken(const struct flag *flag, int takes)
{
    return flag->takes == 0 || (flag->takes & takes) != 0;
}

enum { HELP_COLUMN = 42, HELP_WIDTH = 100 }; /* column where help texts start, and maximum line width */

static void print_meaning(FILE *file, const char *meaning)
{
    int column = HELP_COLUMN;
    for (const char *word = meaning; *word != '\0';) {
        int length = (int)strcspn(word, " ");
        if (column > HELP_COLUMN && column + 1 + length > HELP_WIDTH) {
            fprintf(file, "\n%*s", (int)HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else if (word != meaning) {
            putc(' ', file);
            column++;
        }
        fprintf(file, "%.*s", length, word);
        column += length;
        word += length + strspn(word + length, " ");
    }
    putc('\n', file);
}

/* Prints the value of a flag, starting at a column, and wraps a long list of choices. Returns the next
 * column. */
static int print_value(FILE *file, int column, const char *value)
{
    enum { INDENT = 10 };
    while (*value != '\0') {
        int length = (int)strcspn(value, "|");
        length += value[length] == '|';
        if (column + length > HELP_WIDTH) {
            fprintf(file, "\n%*s", (int)INDENT, "");
            column = INDENT;
        }
        column += fprintf(file, "%.*s", length, value);
        value += length;
    }
    return column;
}

void help_print_flag(FILE *file, char letter, const char *name, const char *value, const char *meaning)
{
    const char before[] = {'-', letter, ',', '\0'};
    int width = fprintf(file, "  %3s --%s%s", letter != 0 ? before : "", name, value != NULL ? " " : "");
    width = value != NULL ? print_value(file, width, value) : width;
    if (width >= HELP_COLUMN) { /* no room for the help text on this line */
        putc('\n', file);
        width = 0;
    }
    fprintf(file, "%*s", HELP_COLUMN - width, "");
    print_meaning(file, meaning);
}

/* Returns the choices for help and messages. If they begin with "|", the default value 0 has no word. */
static const char *shown_choices(const struct flag *flag)
{
    return flag->choices != NULL && flag->choices[0] == '|' ? flag->choices + 1 : flag->choices;
}

static void print_flags(int takes)
{
    printf("\nFlags:\n");
    for (int i = 0; i < flag_table_size; i++) {
        const struct flag *flag = &flag_table[i];
        if (is_taken(flag, takes)) {
            help_print_flag(stdout, flag->letter, flag->name, shown_choices(flag), flag->help);
        }
    }
    help_print_flag(stdout, 0, "help", NULL, "print this text");
}

static const struct flag *find_flag(const char *argument, size_t length, int takes)
{
    for (int i = 0; i < flag_table_size; i++) {
        const struct flag *flag = &flag_table[i];
        int is_long = argument[1] == '-' && strlen(flag->name) == length - 2 &&
                      memcmp(argument + 2, flag->name, length - 2) == 0;
        int is_short = argument[1] != '-' && length == 2 && flag->letter == argument[1];
        if ((is_long || is_short) && is_taken(flag, takes)) {
            return flag;
        }
    }
    return NULL;
}

static int parse_choice(int *out, const char *choices, const char *value)
{
    size_t length = strlen(value);
    for (int index = 0; choices != NULL; index++) {
        const char *bar = strchr(choices, '|');
        size_t choice_length = bar != NULL ? (size_t)(bar - choices) : strlen(choices);
        if (length > 0 && choice_length == length && strncasecmp(choices, value, length) == 0) {
            *out = index;
            return 1;
        }
        choices = bar != NULL ? bar + 1 : NULL;
    }
    return 0;
}

/* Returns 1 if a numeric flag also accepts the word none. */
static int may_be_none(const struct flag *flag)
{
    return flag->choices != NULL && strcmp(flag->choices, "X|none") == 0;
}

/* Returns -1 on success, or an exit status for an invalid value. */
static int set_flag(struct flags *flags, const struct flag *flag, const char *value)
{
    char *field = (char *)flags + flag->offset;
    char *end = NULL;
    errno = 0;
    if (flag->kind == FLAG_SWITCH) {
        *(int *)field = 1;
    } else if (flag->kind == FLAG_TEXT) {
        memcpy(field, &value, sizeof value);
    } else if (flag->kind == FLAG_LIST) {
        struct flag_values *values = (struct flag_values *)field;
        if (values->count == MOST_FLAG_VALUES) {
            return report_wrong_call("--%s: is given more than %d times", flag->name, MOST_FLAG_VALUES);
        }
        values->items[values->count++] = value;
    } else if (flag->kind == FLAG_COUNT) {
        long count = strtol(value, &end, 10);
        if (end == value || *end != '\0' || errno != 0 || count < 0 || count > INT_MAX) {
            return report_wrong_call("--%s: must be an integer, not \"%s\"", flag->name, value);
        }
        *(int *)field = (int)count;
    } else if (flag->kind >= FLAG_REAL) {
        double real = strtod(value, &end), low = ranges[flag->kind].low, high = ranges[flag->kind].high;
        if (may_be_none(flag) && strcmp(value, "none") == 0) {
            real = FLAG_NONE;
        } else if (end == value || *end != '\0' || !(real >= low && real <= high)) {
            return report_wrong_call("--%s: must be a number from %g to %g%s, not \"%s\"", flag->name, low,
                                     high, may_be_none(flag) ? " or none" : "", value);
        }
        memcpy(field, &real, sizeof real);
    } else if (!parse_choice((int *)field, flag->choices, value)) {
        return report_wrong_call("--%s: must be %s, not \"%s\"", flag->name, shown_choices(flag), value);
    }
    return -1;
}

static void set_defaults(struct flags *flags)
{
    *flags = (struct flags){
        .beam = -1,
        .beam_groups = -1,
        .n_best = -1,
        .alternatives = -1,
        .min_length = -1,
        .max_length = -1,
        .batch_tokens = -1,
        .renormalize = -1,
        .no_repeat_ngram_size = -1,
        .encoder_no_repeat_ngram_size = -1,
        .length_penalty = NAN,
        .coverage_penalty = NAN,
        .diversity_penalty = NAN,
        .repetition_penalty = NAN,
        .encoder_repetition_penalty = NAN,
        .alignment_layer = -1,
        .subtitle_width = -1,
        .reading_speed = NAN,
        .top_k = -1,
        .seed = -1,
        .max_length_factor = NAN,
        .temperature = NAN,
        .top_p = NAN,
        .min_p = NAN,
        .typical_p = NAN,
        .epsilon = NAN,
        .eta = NAN,
        .length_rule = -1,
        .early_stopping = -1,
        .speech_task = -1,
        .timestamps = -1,
        .conditions = -1,
        .raw_rate = -1,
        .best_of = -1,
        .batch = -1,
        .temperature_increment = NAN,
        .compression_ratio_threshold = NAN,
        .patience = NAN,
        .max_initial_timestamp = NAN,
        .no_speech_threshold = NAN,
        .log_probability_threshold = NAN,
        .hallucination_silence_threshold = NAN,
        .vad_threshold = NAN,
        .vad_neg_threshold = NAN,
        .vad_max_speech = NAN,
        .vad_min_speech = -1,
        .vad_min_silence = -1,
        .vad_speech_pad = -1,
        .batch_windows = -1,
        .step = NAN,
        .stage = -1,
        .repeats = -1,
        .port = -1,
        .grace = -1,
        .max_body = -1,
        .max_upload = -1,
        .wyoming = -1,
        .most_requests = -1,
        .most_characters = -1,
        .most_texts = -1,
        .most_queued = -1,
        .wait = -1,
        .time_limit = -1,
    };
    clf_device_options_init(&flags->device_options);
    clf_model_options_init(&flags->model_options);
}

/* Reports an unknown flag and suggests the most similar flag or, for train, recipe key. */
static int report_no_flag(const char *verb, const char *argument, int length, int takes)
{
    struct clf__suggestion nearest = clf__suggest_begin(argument, length);
    for (int i = 0; i < flag_table_size; i++) {
        if (is_taken(&flag_table[i], takes)) {
            clf__suggest_try(&nearest, flag_table[i].name);
        }
    }
    int count = 0;
    const struct clf_recipe_key *keys = (takes & TAKES_TRAIN) ? clf_recipe_keys(&count) : NULL;
    for (int i = 0; i < count; i++) {
        clf__suggest_try(&nearest, keys[i].name);
    }
    return nearest.best != NULL
               ? report_wrong_call(
                     "%.*s: unknown flag of %s; did you mean --%s? `clformer %s --help` lists the flags",
                     length, argument, verb, nearest.best, verb)
               : report_wrong_call("%.*s: unknown flag of %s; `clformer %s --help` lists the flags", length,
                                   argument, verb, verb);
}

/* Parses the flag at argv[*index] with its value in the same argument ("--x=1") or the next one. */
static int parse_flag(struct flags *flags, int *index, int argc, char **argv, int takes)
{
    const char *argument = argv[*index];
    const char *equals = argument[1] == '-' ? strchr(argument, '=') : NULL;
    size_t length = equals != NULL ? (size_t)(equals - argument) : strlen(argument);
    const struct flag *flag = find_flag(argument, length, takes);
    if (flag == NULL) {
        return report_no_flag(argv[0], argument, (int)length, takes);
    }
    const char *value = equals != NULL ? equals + 1 : NULL;
    if (flag->kind == FLAG_SWITCH && value != NULL) {
        return report_wrong_call("--%s: takes no value; remove the value", flag->name);
    }
    if (flag->kind != FLAG_SWITCH && value == NULL) {
        if (*index + 1 >= argc) {
            return report_wrong_call("--%s: requires a value", flag->name);
        }
        value = argv[++*index];
    }
    return set_flag(flags, flag, value);
}

/* The default is fp32 for bench, tune and average, int8 for convert, and the precision of the folder for
 * verbs that run a model. */
static clf_precision default_precision(int takes)
{
    return (takes & TAKES_CONVERT)                  ? CLF_PRECISION_INT8
           : (takes & (TAKES_MODEL | TAKES_MODELS)) ? CLF_PRECISION_AUTO
                                                    : CLF_PRECISION_FP32;
}

int flags_parse(struct flags *flags, int argc, char **argv, int takes, const char *help)
{
    set_defaults(flags);
    flags->model_options.precision = default_precision(takes);
    flags->operands = argv + 1;
    int only_operands = 0;
    for (int i = 1; i < argc; i++) {
        if (only_operands || argv[i][0] != '-' || argv[i][1] == '\0') {
            flags->operands[flags->operand_count++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            only_operands = 1;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            printf("%s", help);
            print_flags(takes);
            return EXIT_DONE;
        } else {
            int status = parse_flag(flags, &i, argc, argv, takes);
            if (status >= 0) {
                return status;
            }
        }
    }
    if (flags->device != NULL && flags->device[0] == '\0') {
        return report_wrong_call(
            "--device: is empty; give an index or a part of a name, as shown by `clformer devices`");
    }
    int lacks_model = (takes & TAKES_MODEL) && (flags->model == NULL || flags->model[0] == '\0');
    if (lacks_model || ((takes & TAKES_MODELS) && flags->models.count == 0)) {
        return report_wrong_call("%s: requires a model; add -m MODEL", argv[0]);
    }
    return -1;
}

int flags_choice(char *word, size_t size, const char *name, int index)
{
    const char *choice = NULL; /* the first flag with this name; it has every choice of the others */
    for (int i = 0; i < flag_table_size && choice == NULL; i++) {
        choice = strcmp(flag_table[i].name, name) == 0 ? flag_table[i].choices : NULL;
    }
    for (; index > 0 && choice != NULL; index--) {
        choice = strchr(choice, '|');
        choice = choice != NULL ? choice + 1 : NULL;
    }
    if (choice == NULL) {
        return 0;
    }
    snprintf(word, size, "%.*s", (int)strcspn(choice, "|"), choice);
    return 1;
}

int flags_operands(const struct flags *flags, int least, int most, const char *wanted)
{
    if (flags->operand_count < least || flags->operand_count > most) {
        return report_wrong_call("%s, not %d argument%s", wanted, flags->operand_count,
                                 flags->operand_count == 1 ? "" : "s");
    }
    return -1;
}

/* Returns the value of a flag as text; formats it in `text` if the value is not a string. */
static const char *value_of(char *text, size_t size, const struct flags *flags, const struct flag *flag)
{
    const char *field = (const char *)flags + flag->offset, *word = NULL;
    double real = NAN;
    int number = -1;
    if (flag->kind == FLAG_TEXT) {
        memcpy(&word, field, sizeof word);
    } else if (flag->kind == FLAG_LIST) {
        const struct flag_values *values = (const struct flag_values *)field;
        size_t used = 0;
        for (int i = 0; i < values->count && used < size; i++) {
            used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? " " : "", values->items[i]);
        }
        word = values->count > 0 ? text : NULL;
    } else if (flag->kind >= FLAG_REAL) {
        memcpy(&real, field, sizeof real);
        snprintf(text, size, "%.17g", real);
        word = isnan(real) ? NULL : text;
    } else {
        memcpy(&number, field, sizeof number);
        snprintf(text, size, "%d", number);
        word = flag->kind == FLAG_SWITCH ? (number != 0 ? "given" : NULL) : number < 0 ? NULL : text;
        for (const char *bar = flag->choices; flag->kind == FLAG_CHOICE && number >= 0 && bar != NULL;
             number--) {
            snprintf(text, size, "%.*s", (int)strcspn(bar, "|"), bar);
            bar = strchr(bar, '|');
            bar = bar != NULL ? bar + 1 : NULL;
        }
    }
    return word != NULL ? word : "not given";
}

clf_status flags_each(const struct flags *flags, int takes, flags_visit *visit, void *user)
{
    for (int i = 0; i < flag_table_size; i++) {
        char value[512];
        if (is_taken(&flag_table[i], takes)) {
            CLF__TRY(visit(user, flag_table[i].name, value_of(value, sizeof value, flags, &flag_table[i])));
        }
    }
    return CLF_OK;
}
