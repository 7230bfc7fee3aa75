/* `clformer train` on a small task: files and output, bad calls, resuming. */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <clformer/recipe.h>

#include "support/process.h"

/* A very small model: pairs of letters and their reversals. */
#define SMALL                                                                                                \
    "--tokens --vocabulary 0 --size tiny --config d_model=16 --config encoder_layers=1 --config "            \
    "decoder_layers=1 --config encoder_ffn_dim=32 --config decoder_ffn_dim=32 --batch-tokens 64 --warm-up "  \
    "4 "                                                                                                     \
    "--learning-rate 0.01 --validate-every 5 --save-every 3 --keep-last 9 "

static void write_pairs(const char *folder, const char *name, int count)
{
    char *text = support_array((size_t)count * 32 + 1, 1);
    size_t size = 0;
    for (int i = 0; i < count; i++) {
        char a = (char)('a' + i % 7), b = (char)('a' + i * 5 % 7), c = (char)('a' + i / 3 % 7);
        size += (size_t)sprintf(text + size, "%c %c %c\t%c %c %c\n", a, b, c, c, b, a);
    }
    process_write(folder, name, text, size);
}

/* "train" on the task in `folder`, to <folder>/<model>. */
static const char *call(const char *folder, const char *model, const char *more)
{
    return process_format("train " SMALL "--train %s/pairs --valid %s/valid -o %s/%s %s", folder, folder,
                          folder, model, more);
}

static const char *make_task(void)
{
    const char *folder = support_temporary_folder();
    write_pairs(folder, "pairs", 60);
    write_pairs(folder, "valid", 6);
    return folder;
}

/* Returns the objects of the lines of a log as an array; the caller releases it. */
static json_t *read_log(const char *text)
{
    json_t *lines = json_array();
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        json_t *object = json_loadb(line, strcspn(line, "\n"), 0, NULL);
        assert_non_null(object);
        json_array_append_new(lines, object);
    }
    return lines;
}

static json_t *read_log_of(const char *folder, const char *name)
{
    size_t size;
    return read_log(process_read(folder, name, &size));
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void check_log(const json_t *lines, int updates)
{
    static const char *const keys[] = {"epoch",         "loss",          "nll",
                                       "learning_rate", "gradient_norm", "source_tokens",
                                       "target_tokens", "seconds",       "skipped"};
    int validations = 0;
    size_t index;
    json_t *line;
    json_array_foreach(lines, index, line)
    {
        const json_t *validation = json_object_get(line, "validation");
        validations += validation != NULL;
        assert_int_equal((int)number(line, "update"), (int)index + 1 - validations);
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            number(line, keys[i]);
        }
        assert_int_equal(json_object_get(line, "start") != NULL, index == 0);
        if (validation != NULL) {
            assert_true(number(validation, "perplexity") > 1);
            assert_true(number(validation, "bleu") >= 0);
            assert_int_equal(json_array_size(json_object_get(validation, "samples")), 3);
        }
    }
    assert_int_equal((int)json_array_size(lines), updates + validations);
    assert_int_equal(validations, updates / 5);
}

static void test_run(void **state)
{
    (void)state;
    const char *folder = make_task();
    struct process_result result = run_clformer(
        NULL, call(folder, "model",
                   process_format("--max-updates 10 --log %s/log --html %s/page --json", folder, folder)));
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.errors, "60 pairs of 60 lines, 6 pairs for validation; "));
    assert_non_null(strstr(result.errors, "update 10, epoch "));
    assert_non_null(strstr(result.errors, "done after update 10"));
    assert_int_equal(process_count(result.errors, "\033"), 0); /* no progress line without a terminal */
    size_t size;
    assert_string_equal(process_read(folder, "log", &size), result.output);
    json_t *lines = read_log(result.output);
    check_log(lines, 10);
    const json_t *start = json_object_get(json_array_get(lines, 0), "start");
    assert_int_equal((int)number(start, "pairs"), 60);
    assert_int_equal((int)number(json_object_get(start, "recipe"), "warm-up"), 4);
    json_decref(lines);
    assert_int_equal(process_count(process_read(folder, "page", &size), "\"updates_a_point\":1,"), 1);
    result = run_clformer(NULL, process_format("train --log %s/log --html -", folder));
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.output, "\"updates_a_point\":1,"));
    result = run_clformer("a b c\n", process_format("translate -m %s/model --tokens", folder));
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.output, "\n"), 1);
}

/* --verbose reports the time of each stage. */
static void test_stages(void **state)
{
    (void)state;
    const char *folder = make_task();
    struct process_result result =
        run_clformer(NULL, call(folder, "model", "--max-updates 6 --validate-every 3 -v"));
    assert_int_equal(result.status, 0);
    static const char *const stages[] = {"clformer: data ", "forward and backward passes ", "optimizer ",
                                         "validation ", "checkpoints "};
    const char *line = strstr(result.errors, "clformer: data ");
    assert_non_null(line);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        const char *stage = strstr(line, stages[i]);
        assert_non_null(stage);
        double seconds = strtod(stage + strlen(stages[i]), NULL);
        assert_true(seconds < 600 && (i == 0 || seconds > 0)); /* reading these few lines may round to 0 */
    }
    assert_int_equal(process_count(result.errors, " s on the device; peak "), 1);
}

/* With standard output closed, the output of --json must not go to the log. */
static void test_closed_output(void **state)
{
    (void)state;
    const char *folder = make_task();
    struct process process = {.closed = {0, 1, 0}};
    struct process_result result = process_run(
        &process, call(folder, "model",
                       process_format("--max-updates 3 --validate-every 3 --log %s/log --json", folder)));
    assert_int_equal(result.status, 1);
    assert_int_equal(process_count(result.errors, "standard output: cannot be written: Bad file descriptor"),
                     1);
    size_t size;
    assert_int_equal(process_count(process_read(folder, "log", &size), "\"start\""), 1);
}

/* The lines of a log by update, the last of each. */
enum { MOST_UPDATES = 4096 };
struct updates {
    json_t *lines;
    const json_t *by_update[MOST_UPDATES + 1];
    int last;
};

static struct updates *read_updates(const char *folder, const char *name)
{
    struct updates *updates = support_array(1, sizeof *updates);
    updates->lines = read_log_of(folder, name);
    size_t index;
    json_t *line;
    json_array_foreach(updates->lines, index, line)
    {
        updates->last = (int)number(line, "update");
        assert_in_range(updates->last, 1, MOST_UPDATES);
        updates->by_update[updates->last] = line;
    }
    return updates;
}

/* Ended, stopped by a signal, ended again: the losses equal an uninterrupted run's bit for bit. */
static void test_goes_on(void **state)
{
    (void)state;
    const char *folder = make_task();
    const char *arguments = call(folder, "model", process_format("--log %s/log --patience 0", folder));
    struct process_result result = run_clformer(NULL, process_format("%s --max-updates 4", arguments));
    assert_int_equal(result.status, 0);
    static const int signals[] = {SIGHUP, SIGINT}; /* closing the terminal stops it like Ctrl-C */
    for (int i = 0; i < 2; i++) {
        struct process stopped = {.signal_when_started = signals[i]};
        result = process_run(&stopped, process_format("%s --max-updates 0", arguments));
        assert_int_equal(result.status, 128 + signals[i]);
        assert_non_null(strstr(result.errors, i == 0 ? "resuming at update 5\n" : "resuming at update "));
        assert_non_null(strstr(result.errors, "run the same command to resume"));
        char *checkpoint = strstr(process_format("%s", result.errors), "command to resume from ") +
                           strlen("command to resume from ");
        char *end = strstr(checkpoint, ", which can also be used as a model\n");
        assert_non_null(end);
        *end = '\0';
        struct process_result translated =
            run_clformer("0 1\n", process_format("translate -m %s", checkpoint));
        assert_int_equal(translated.status, 0);
    }
    struct updates *parts = read_updates(folder, "log");
    int done = parts->last, wanted = done + 7;
    json_decref(parts->lines);
    result = run_clformer(NULL, process_format("%s --max-updates %d", arguments, wanted));
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.errors, process_format("resuming at update %d\n", done + 1)));
    const char *whole = call(folder, "whole", process_format("--log %s/whole.log --patience 0 -q", folder));
    result = run_clformer(NULL, process_format("%s --max-updates %d", whole, wanted));
    assert_output(result, "");
    parts = read_updates(folder, "log");
    struct updates *all = read_updates(folder, "whole.log");
    assert_int_equal(parts->last, wanted);
    assert_int_equal(all->last, wanted);
    for (int i = 1; i <= wanted; i++) {
        assert_true(number(parts->by_update[i], "loss") == number(all->by_update[i], "loss"));
        assert_true(number(parts->by_update[i], "gradient_norm") ==
                    number(all->by_update[i], "gradient_norm"));
    }
    json_decref(parts->lines);
    json_decref(all->lines);
}

/* The first line contains the model's configuration, which with --from no choice does. */
static void test_the_log_has_the_configuration(void **state)
{
    (void)state;
    const char *folder = make_task();
    struct process_result result = run_clformer(NULL, call(folder, "model", "--max-updates 1 -q"));
    assert_int_equal(result.status, 0);
    result =
        run_clformer(NULL, process_format("train --from %s/model --train %s/pairs --tokens --max-updates 2 "
                                          "--config dropout=0.25 -o %s/further --json -q",
                                          folder, folder, folder));
    assert_int_equal(result.status, 0);
    json_t *lines = read_log(result.output);
    const json_t *start = json_object_get(json_array_get(lines, 0), "start");
    const json_t *config = json_object_get(start, "config"), *recipe = json_object_get(start, "recipe");
    assert_int_equal((int)number(config, "d_model"), 16);
    assert_int_equal((int)number(config, "encoder_layers"), 1);
    assert_true(number(config, "dropout") == 0.25);
    assert_string_equal(json_string_value(json_object_get(recipe, "preset")), "marian");
    assert_null(json_object_get(recipe, "size"));
    json_decref(lines);
}

/* The page of a run shows only that run, whatever else the log contains. */
static void test_a_log_of_two_runs(void **state)
{
    (void)state;
    const char *folder = make_task();
    const char *more = process_format("--log %s/log --html %s/page -q --max-updates", folder, folder);
    struct process_result result = run_clformer(NULL, call(folder, "one", process_format("%s 6", more)));
    assert_output(result, "");
    result = run_clformer(NULL, call(folder, "two", process_format("%s 2", more)));
    assert_output(result, "");
    size_t size;
    assert_non_null(strstr(process_read(folder, "page", &size), "\"update\":[1.0,2.0]"));
    result = run_clformer(NULL, call(folder, "two", process_format("%s 3", more)));
    assert_output(result, "");
    const char *page = process_read(folder, "page", &size);
    assert_non_null(strstr(page, "\"update\":[1.0,2.0,3.0]"));
    assert_int_equal(process_count(page, "\"updates_a_point\":1,"), 1);
    result = run_clformer(NULL, process_format("curves %s/log -o -", folder));
    assert_int_equal(process_count(result.output, "\"updates_a_point\":1,"), 2);
}

/* A page without a log reports what is missing, and the complete page is kept. */
static void test_a_page_without_a_log(void **state)
{
    (void)state;
    const char *folder = make_task();
    const char *more = process_format("--html %s/page --max-updates", folder);
    struct process_result result = run_clformer(NULL, call(folder, "model", process_format("%s 2", more)));
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.errors, "begins at update"), 0);
    size_t size;
    const char *first = process_read(folder, "page", &size);
    result = run_clformer(NULL, call(folder, "model", process_format("%s 3", more)));
    assert_int_equal(result.status, 0);
    assert_non_null(
        strstr(result.errors,
               process_format("page: begins at update 3, because there is no --log with the earlier updates; "
                              "the existing page was renamed to %s/page.2\n",
                              folder)));
    assert_string_equal(process_read(folder, "page.2", &size), first);
    const char *third = process_read(folder, "page", &size);
    assert_non_null(strstr(third, "\"update\":[3.0]"));
    /* No foreign file is overwritten, whatever its name. */
    process_write(folder, "page.3", "a letter", 8);
    assert_int_equal(symlink("nowhere", process_format("%s/page.3.2", folder)), 0);
    result = run_clformer(NULL, call(folder, "model", process_format("%s 4", more)));
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.errors, process_format("was renamed to %s/page.3.3\n", folder)));
    assert_string_equal(process_read(folder, "page.3", &size), "a letter");
    assert_string_equal(process_read(folder, "page.3.3", &size), third);
}

static void test_recipe(void **state)
{
    (void)state;
    const char *folder = make_task();
    static const char recipe[] = "{\"max-updates\": 2, \"seed\": 5}";
    process_write(folder, "recipe", recipe, sizeof recipe - 1);
    struct process_result result = run_clformer(
        NULL,
        call(folder, "model", process_format("--recipe %s/recipe --seed 6 --log %s/log -q", folder, folder)));
    assert_output(result, "");
    json_t *lines = read_log_of(folder, "log");
    const json_t *taken = json_object_get(json_object_get(json_array_get(lines, 0), "start"), "recipe");
    assert_int_equal((int)number(taken, "seed"), 6);
    assert_int_equal((int)number(taken, "max-updates"), 2);
    json_decref(lines);
    static const char vocabulary[] = "{\"<unk>\": 0, \"a\": 1}";
    process_write(folder, "vocab.json", vocabulary, sizeof vocabulary - 1);
    result = run_clformer(NULL, call(folder, "other", process_format("--log %s/vocab.json", folder)));
    assert_refused(result, 1, "it exists and is not a log");
    size_t size;
    const char *left = process_read(folder, "vocab.json", &size);
    assert_int_equal(size, sizeof vocabulary - 1);
    assert_memory_equal(left, vocabulary, size);
    process_write(folder, "log", "a text\n", 7);
    result = run_clformer(NULL, call(folder, "other", process_format("--log %s/log", folder)));
    assert_refused(result, 1, "it exists and is not a log");
    result = run_clformer(NULL, call(folder, "model", "--seed 7 --max-updates 2"));
    assert_refused(result, 2, "seed");
}

static void refuse(const char *arguments, int status, const char *part)
{
    struct process_result result = run_clformer(NULL, arguments);
    assert_refused(result, status, part);
}

/* A dangling link in the folder of --from is an error, as it should be a file. */
static void test_from_with_a_link_to_nowhere(void **state)
{
    (void)state;
    const char *folder = make_task(), *from = process_model_copy(support_fixture("models/marian"));
    const char *link = process_format("%s/tokenizer_config.json", from);
    unlink(link);
    assert_int_equal(symlink("nowhere", link), 0);
    refuse(process_format("train --from %s --tokens --train %s/pairs -o %s/tuned --max-updates 1", from,
                          folder, folder),
           1, "tokenizer_config.json");
}

/* A page replaces only a page, and its sources are kept. */
static void test_a_page_over_something_else(void **state)
{
    (void)state;
    const char *folder = make_task();
    size_t size;
    const char *pairs = process_read(folder, "pairs", &size);
    refuse(call(folder, "model", process_format("--html %s/pairs", folder)), 1,
           "pairs: exists and is not an HTML page");
    assert_string_equal(process_read(folder, "pairs", &size), pairs);
    refuse(call(folder, "model", process_format("--log %s/one --html %s/one", folder, folder)), 2,
           "--log and --html name the same file");
    assert_int_equal(access(process_format("%s/one", folder), F_OK), -1); /* a wrong call leaves nothing */
    static const char log[] = "{\"update\":1,\"loss\":5}\n";
    process_write(folder, "log", log, sizeof log - 1);
    refuse(process_format("train --log %s/log --html %s/log", folder, folder), 2,
           "--log and --html name the same file");
    refuse(process_format("curves %s/log -o %s/log", folder, folder), 1, "exists and is not an HTML page");
    assert_string_equal(process_read(folder, "log", &size), log);
}

static int is_there(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

/* A failed run leaves neither the model's folder, even if log and page are in it, nor the log; existing files
   stay. */
static void test_a_failed_run_leaves_nothing(void **state)
{
    (void)state;
    static const char *const calls[] = {
        "--train /no/such/text",                             /* no data */
        "--train %s/pairs --max-source-length 1",            /* no usable pair */
        "--train %s/pairs -d nosuchdevice",                  /* no device */
        "--train %s/pairs --average 3",                      /* a contradictory recipe */
        "--train %s/pairs --config d_model=65536",           /* no memory */
        "--train %s/pairs --html %s/pairs --log %s/new.log", /* no page */
    };
    const char *folder = make_task(), *model = process_format("%s/model", folder);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const char *choices = process_format(calls[i], folder, folder, folder);
        struct process_result result = run_clformer(
            NULL, process_format("train --tokens --vocabulary 0 -o %s --log %s/log --html %s/page %s", model,
                                 model, model, choices));
        assert_true(result.status != 0);
        assert_false(is_there(model));
        assert_false(is_there(process_format("%s/new.log", folder)));
    }
    assert_int_equal(mkdir(model, 0777), 0);
    process_write(model, "log", "", 0);
    struct process_result result =
        run_clformer(NULL, process_format("train --tokens --vocabulary 0 -o %s --log %s/log --train %s/pairs "
                                          "--max-source-length 1",
                                          model, model, folder));
    assert_int_equal(result.status, 1);
    assert_true(is_there(process_format("%s/log", model)));
    assert_false(is_there(process_format("%s/checkpoints", model)));
    assert_false(is_there(process_format("%s/recipe.json", model)));
}

static void test_bad_calls(void **state)
{
    (void)state;
    refuse("train", 2, "-o FOLDER");
    refuse("train --html page", 2, "-o FOLDER");
    refuse("train --train a b --log log --html page", 2, "-o FOLDER");
    refuse("train -o model --html -", 2, "--html: train updates the page repeatedly");
    refuse("train -o model --nosuch", 2, "--nosuch: unknown flag of train");
    refuse("train -o model --seed", 2, "--seed: requires a value");
    refuse("train --train -o model", 2, "--train: requires a value");
    refuse("train --train a --valid --quiet -o model", 2, "--valid: requires a value");
    refuse("train --from --quiet -o model", 2, "--from: requires a value");
    refuse("train -o model --log=", 2, "--log: is empty");
    refuse("train -o model --html=", 2, "--html: is empty");
    refuse("train -o model --recipe=", 2, "--recipe: is empty");
    refuse("train -o model --seed x", 2, "seed");
    refuse("train -o model --preset gpt", 2, "gpt");
    refuse("train -o model --train a b c", 2, "1 argument");
    refuse("train -o model --tokens=perhaps", 2, "perhaps");
    refuse("train -o model --config d_model", 2, "d_model");
    refuse("train -o model --recipe /no/such/recipe", 1, "/no/such/recipe");
    const char *folder = support_temporary_folder();
    refuse(process_format("train -o %s/model", folder), 2, "train");
    refuse(process_format("train -o %s/model --train /no/such/text", folder), 1, "/no/such/text");
    refuse(process_format("train -o %s/model --train /no/such/text -d nosuchdevice", folder), 1,
           "nosuchdevice");
    refuse(process_format("train -o %s/model --train /no/such/text --html /no/such/page", folder), 1,
           "/no/such/page");
}

/* Every choice of a recipe is a flag with a help text. */
static void test_help(void **state)
{
    (void)state;
    struct process_result result = run_clformer(NULL, "train --seed 3 --help");
    assert_int_equal(result.status, 0);
    int count;
    const struct clf_recipe_key *keys = clf_recipe_keys(&count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(process_count(result.output, process_format("\n      --%s ", keys[i].name)), 1);
    }
    assert_non_null(strstr(result.output, "$ clformer train --preset paper"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_run, support_teardown),
        cmocka_unit_test_teardown(test_stages, support_teardown),
        cmocka_unit_test_teardown(test_closed_output, support_teardown),
        cmocka_unit_test_teardown(test_goes_on, support_teardown),
        cmocka_unit_test_teardown(test_a_log_of_two_runs, support_teardown),
        cmocka_unit_test_teardown(test_a_page_without_a_log, support_teardown),
        cmocka_unit_test_teardown(test_recipe, support_teardown),
        cmocka_unit_test_teardown(test_the_log_has_the_configuration, support_teardown),
        cmocka_unit_test_teardown(test_from_with_a_link_to_nowhere, support_teardown),
        cmocka_unit_test_teardown(test_a_page_over_something_else, support_teardown),
        cmocka_unit_test_teardown(test_a_failed_run_leaves_nothing, support_teardown),
        cmocka_unit_test_teardown(test_bad_calls, support_teardown),
        cmocka_unit_test_teardown(test_help, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
