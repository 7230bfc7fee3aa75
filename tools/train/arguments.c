#include "train/arguments.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: clformer train [--preset NAME] --train FILE [FILE] [--valid FILE [FILE]] -o FOLDER [FLAGS]\n"
    "       clformer train --log FILE --html FILE\n"
    "\n"
    "Trains a model from parallel text: two files with one sentence per line, or one file with a tab\n"
    "between source and target. FOLDER becomes a model for `clformer translate`: config.json,\n"
    "model.safetensors and the tokenizer files. recipe.json in it records all options, and\n"
    "checkpoints/ the state of the run. Ctrl-C saves a checkpoint; the same command resumes an\n"
    "interrupted run from its last checkpoint. The defaults of the options are the values of the preset.\n"
    "\n"
    "Example:\n"
    "  $ clformer train --preset paper --train train.en train.de --valid valid.en valid.de -o model\n"
    "  $ clformer translate -m model < test.en\n"
    "  $ clformer train --size tiny --train pairs.tsv --valid valid.tsv --vocabulary 4000 \\\n"
    "        --batch-tokens 2048 --config dropout=0.3 --max-updates 20000 --log model.log \\\n"
    "        --html model.html -o model\n"
    "  $ clformer train --size tiny --minutes 10 --train pairs.tsv --valid valid.tsv \\\n"
    "        --vocabulary 4000 --batch-tokens 1024 --learning-rate 0.002 --warm-up 200 \\\n"
    "        --config dropout=0 -o model\n"
    "  $ clformer train --from model --train more.tsv --valid valid.tsv -o tuned\n"
    "  $ clformer train --recipe model/recipe.json --seed 2 -o model2\n"
    "\n"
    "A log has one JSON object per update, with the keys update, loss, learning_rate and others. A\n"
    "validation adds another object with the same update and the key \"validation\". --json prints the same\n"
    "objects. The second form writes the page from an existing log, also during a run; `clformer curves`\n"
    "compares several logs.\n";

static void print_keys(FILE *file)
{
    int count;
    const struct clf_recipe_key *keys = clf_recipe_keys(&count);
    for (int i = 0; i < count; i++) {
        if (i == 0 || strcmp(keys[i].group, keys[i - 1].group) != 0) {
            fprintf(file, "\nRecipe, %s:\n", keys[i].group);
        }
        help_print_flag(file, 0, keys[i].name, keys[i].value, keys[i].meaning);
    }
}

/* Returns the help text, which the caller frees; NULL if out of memory. */
static char *make_help(void)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    if (file != NULL) {
        fputs(help, file);
        print_keys(file);
        if (fclose(file) != 0) {
            free(text);
            return NULL;
        }
    }
    return text;
}

static const struct clf_recipe_key *find_key(const char *argument)
{
    int count;
    const struct clf_recipe_key *keys = clf_recipe_keys(&count);
    size_t length = strcspn(argument, "=");
    for (int i = 0; i < count; i++) {
        if (length == strlen(keys[i].name) + 2 && memcmp(argument, "--", 2) == 0 &&
            memcmp(argument + 2, keys[i].name, length - 2) == 0) {
            return &keys[i];
        }
    }
    return NULL;
}

/* Returns the maximum number of words of a key: "FILE [FILE]" is one or two. */
static int most_words(const struct clf_recipe_key *key)
{
    int count = 0;
    for (const char *word = key->value; word != NULL; word = strchr(word + 1, ' ')) {
        count++;
    }
    return count;
}

/* Returns 1 if a word that should be a path is a flag. A file named -x is given as ./-x or --train=-x. */
static int is_flag(const struct clf_recipe_key *key, const char *word)
{
    int names_file = strncmp(key->value, "FILE", 4) == 0 || strcmp(key->value, "FOLDER") == 0;
    return names_file && word[0] == '-' && word[1] != '\0';
}

/* Sets the key at argv[*index] from its words and advances *index to the last of them. Returns -1 on success,
 * or an exit status for invalid usage. */
static int set_key(struct clf_recipe *recipe, const struct clf_recipe_key *key, int *index, int argc,
                   char **argv)
{
    const char *equals = strchr(argv[*index], '=');
    const char *words[8];
    int count = 0, most = most_words(key);
    if (equals != NULL && argv[*index] + 2 + strlen(key->name) == equals) {
        words[count++] = equals + 1;
        most = count;
    } else if (most > 0 && (*index + 1 >= argc || is_flag(key, argv[*index + 1]))) {
        return report_wrong_call("--%s: requires a value", key->name);
    }
    for (; count < most && count < (int)(sizeof words / sizeof *words) && *index + 1 < argc; count++) {
        const char *word = argv[*index + 1];
        if (count > 0 && word[0] == '-' && word[1] != '\0') {
            break; /* the next flag */
        }
        words[count] = word;
        ++*index;
    }
    clf_status status = clf_recipe_set(recipe, key->name, words, count);
    return status == CLF_OK ? -1 : report_failure(status);
}

/* Parses the recipe's flags and copies the others to `rest`. */
static int take_keys(struct clf_recipe *recipe, int argc, char **argv, char **rest, int *rest_count)
{
    int only_operands = 0;
    *rest_count = 0;
    for (int i = 0; i < argc; i++) {
        const struct clf_recipe_key *key = i > 0 && !only_operands ? find_key(argv[i]) : NULL;
        only_operands |= strcmp(argv[i], "--") == 0;
        if (key == NULL) {
            rest[(*rest_count)++] = argv[i];
            continue;
        }
        int status = set_key(recipe, key, &i, argc, argv);
        if (status >= 0) {
            return status;
        }
    }
    return -1;
}

/* Checks the command's own flags in the same way as clf_recipe_set() checks those of the recipe. */
static int check_values(const struct flags *flags)
{
    const struct {
        const char *name, *value;
    } texts[] = {{"log", flags->log}, {"html", flags->html}, {"recipe", flags->recipe}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i].value != NULL && texts[i].value[0] == '\0') {
            return report_wrong_call("--%s: is empty; give a file", texts[i].name);
        }
    }
    return -1;
}

static int parse(struct flags *flags, struct clf_recipe *recipe, int *chooses, int argc, char **argv,
                 char **rest)
{
    int rest_count;
    int status = take_keys(recipe, argc, argv, rest, &rest_count);
    char *text = status < 0 ? make_help() : NULL;
    if (status < 0 && text == NULL) {
        fprintf(stderr, "clformer: out of memory\n");
        return EXIT_FAILED;
    }
    if (status < 0) {
        status = flags_parse(flags, rest_count, rest, TAKES_FOLDER | TAKES_TRAIN | TAKES_DEVICE | TAKES_JSON,
                             text);
    }
    free(text);
    if (status < 0) {
        status = flags_operands(flags, 0, 0, "train takes only flags");
    }
    if (status < 0) {
        status = check_values(flags);
    }
    *chooses = rest_count < argc || flags->recipe != NULL;
    if (status >= 0 || flags->recipe == NULL) {
        return status;
    }
    clf_status loaded = clf_recipe_load(recipe, flags->recipe);
    if (loaded != CLF_OK) {
        return report_failure(loaded);
    }
    return take_keys(recipe, argc, argv, rest,
                     &rest_count); /* a second time, because flags override the file */
}

int train_arguments(struct flags *flags, struct clf_recipe *recipe, int *chooses, int argc, char **argv)
{
    char **rest = malloc((size_t)argc * sizeof *rest);
    if (rest == NULL) {
        fprintf(stderr, "clformer: out of memory\n");
        return EXIT_FAILED;
    }
    int status = parse(flags, recipe, chooses, argc, argv, rest);
    flags->operands = NULL; /* the operands were checked */
    free(rest);
    return status;
}
