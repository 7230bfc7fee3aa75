/* clformer tune */
#include "tune/tune.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/device/caps.h"
#include "selftest/selftest.h"
#include "shared/demo_model.h"

struct tune {
    struct flags flags;
    struct tune_patience patience;
    struct progress progress;
    struct setup setup;         /* the device and model, opened with `current` */
    struct clf__tuning current; /* current settings */
    struct clf__tuning_file file;
    double ratios[CLF__TUNABLE_COUNT]; /* time of the saved value relative to the default; 0: not measured */
    char *path;                        /* path of the tuning file */
    char precision[16], model_name[64];
};

/* Prints one line of the table. */
static void print_line(const struct tune *tune, enum clf__tunable tunable, const char *text)
{
    progress_clear(&tune->progress);
    printf("%-18s %s\n", clf__tunables[tunable].name, text);
    fflush(stdout);
}

/* Sets model_name to the last component of the path, with control characters replaced. */
static void name_model(struct tune *tune)
{
    const char *folder = tune->flags.model, *end = folder + strlen(folder);
    while (end > folder + 1 && end[-1] == '/') {
        end--;
    }
    const char *start = end;
    while (start > folder && start[-1] != '/') {
        start--;
    }
    snprintf(tune->model_name, sizeof tune->model_name, "%.*s", (int)(end - start), start);
    for (char *c = tune->model_name; *c != '\0'; c++) {
        *c = (unsigned char)*c < ' ' ? '?' : *c;
    }
}

/* Prints a candidate that was not chosen: always if its results are wrong, otherwise only with --verbose. */
static void print_rival(const struct tune *tune, enum clf__tunable tunable, const struct tune_result *result)
{
    const char *name = clf__tunables[tunable].name;
    char value[CLF__TUNABLE_TEXT];
    clf__tunable_text(value, tunable, result->value);
    if (result->is_wrong) {
        fprintf(stderr, "clformer: %s = %s gives wrong results and is not used\n", name, value);
    } else if (tune->flags.verbose && result->is_slow) {
        fprintf(stderr, "clformer: %s = %s takes more than three times as long as the default\n", name,
                value);
    } else if (tune->flags.verbose && result->cases > 0) {
        fprintf(stderr, "clformer: %s = %s takes %.3f ± %.3f times as long as the default\n", name, value,
                result->ratio, result->spread / 2);
    }
}

/* Prefix of the notes of results that were measured with --quick. */
static const char quick_mark[] = "quick: ";

/* Saves the best candidate. */
static clf_status keep(struct tune *tune, enum clf__tunable tunable, const struct tune_result *results,
                       int count)
{
    const struct tune_result *best = &results[tune_best(results, count)];
    char value[CLF__TUNABLE_TEXT], standard[CLF__TUNABLE_TEXT], note[160], line[224];
    clf__tunable_text(value, tunable, best->value);
    clf__tunable_text(standard, tunable, results[0].value);
    const char *mark = tune->flags.quick ? quick_mark : "";
    if (best == results) {
        snprintf(note, sizeof note, "%s%.3g ms, fastest of %d; %s, %s", mark, 1e3 * best->seconds, count,
                 tune->precision, tune->model_name);
    } else {
        snprintf(note, sizeof note, "%s%.3g ms instead of %.3g ms with %s; %s, %s", mark, 1e3 * best->seconds,
                 1e3 * results->seconds, standard, tune->precision, tune->model_name);
    }
    snprintf(line, sizeof line, "%-8s %s", value, note);
    print_line(tune, tunable, line);
    for (int i = 1; i < count; i++) {
        print_rival(tune, tunable, &results[i]);
    }
    tune->current.values[tunable] = best->value;
    tune->ratios[tunable] = best == results ? 1 : best->ratio;
    return tune_keep(tune->path, clf_device_describe(tune->setup.device), tunable, best->value, note);
}

static clf_status measure_gemm(struct tune *tune, enum clf__tunable tunable, struct tune_result *results,
                               const int *candidates, int count)
{
    struct tune_gemm *gemm;
    struct tune_work work;
    CLF__TRY(tune_gemm_create(&gemm, tune->setup.model, tunable, tune->flags.quick));
    tune_gemm_work(&work, gemm);
    clf_status status = tune_measure(results, &work, candidates, count, &tune->patience, &tune->progress,
                                     clf__tunables[tunable].name);
    tune_gemm_free(gemm);
    return status;
}

static clf_status measure_steps(struct tune *tune, enum clf__tunable tunable, struct tune_result *results,
                                const int *candidates, int count)
{
    struct tune_steps steps = {.tunable = tunable};
    struct tune_work work;
    CLF__TRY(tune_session_create(&steps.session, tune->setup.model, 0, tune->flags.quick));
    tune_steps_work(&work, &steps);
    clf_status status = tune_measure(results, &work, candidates, count, &tune->patience, &tune->progress,
                                     clf__tunables[tunable].name);
    tune_steps_free(&steps);
    tune_session_free(steps.session);
    return status;
}

/* Maximum difference, relative to the norm, between the logits of two choices; they differ because of
 * rounding. */
static const double tolerances[CLF__PRECISIONS] = {1e-4, 1e-2, 5e-2, 1e-1};

static clf_status measure_batches(struct tune *tune, enum clf__tunable tunable, struct tune_result *results,
                                  const int *candidates, int count)
{
    struct tune_batches batches = {.tolerance =
                                       tolerances[clf__precision_of(tune->flags.model_options.precision)]};
    struct tune_work work;
    CLF__TRY(tune_session_create(&batches.session, tune->setup.model, !tune->flags.quick, tune->flags.quick));
    tune_batches_work(&work, &batches);
    clf_status status = tune_measure(results, &work, candidates, count, &tune->patience, &tune->progress,
                                     clf__tunables[tunable].name);
    tune_batches_free(&batches);
    tune_session_free(batches.session);
    return status;
}

/* Reports named parameters that are not measured. */
static void print_unmeasured(const struct tune *tune, enum clf__tunable tunable)
{
    const char *name = clf__tunables[tunable].name, *fixed = tune_fixed_by(&tune->flags, tunable);
    if (tune->flags.operand_count == 0 || tune->flags.quiet) {
        return;
    }
    progress_clear(&tune->progress);
    if (fixed != NULL) {
        fprintf(stderr, "clformer: %s: not measured, because it is fixed by %s\n", name, fixed);
    } else {
        fprintf(stderr, "clformer: %s: not measured, because this device does not use it with these flags\n",
                name);
    }
}

static clf_status tune_number(struct tune *tune, enum clf__tunable tunable)
{
    if (!tune_makes_a_difference(tune->setup.device, &tune->flags, tunable)) {
        print_unmeasured(tune, tunable);
        return CLF_OK;
    }
    int candidates[CLF__TUNABLE_CANDIDATES];
    int count = tune_candidates(candidates, tunable);
    struct tune_result results[CLF__TUNABLE_CANDIDATES];
    clf_status status =
        tunable >= CLF__TUNABLE_STEP_ROWS      ? measure_steps(tune, tunable, results, candidates, count)
        : tunable == CLF__TUNABLE_BATCH_TOKENS ? measure_batches(tune, tunable, results, candidates, count)
                                               : measure_gemm(tune, tunable, results, candidates, count);
    if (status == CLF_OK) {
        status = keep(tune, tunable, results, count);
    }
    clf__device_set_tunable(tune->setup.device, tunable, tune->current.values[tunable]);
    return status;
}

/* Opens the device and the model according to flags, with the current tuning and without profiling. Returns
 * an exit status. */
static int open_setup(const struct tune *tune, struct setup *setup, const struct clf__tuning *tuning)
{
    struct flags flags = tune->flags;
    flags.verbose = 0;
    flags.device_options.use_tuning = 0;
    (void)clf__tuning_choose(&flags.device_options,
                             tuning); /* if it fails, opening the device fails as well */
    int status = setup_open(setup, &flags);
    log_to_stderr(&tune->flags);
    for (int i = CLF__TUNABLE_CHOICES; i < CLF__TUNABLE_COUNT && status == EXIT_DONE; i++) {
        clf__device_set_tunable(setup->device, (enum clf__tunable)i, tuning->values[i]);
    }
    return status;
}

/* Runs the checks of the self-test that the parameter affects; returns 1 if they pass. */
static int passes_selftest(struct clf_device *device, enum clf__tunable tunable)
{
    static const int all = ~0;
    int uses = tunable == CLF__TUNABLE_VARIANT     ? all
               : tunable == CLF__TUNABLE_ATTENTION ? USES_ATTENTION
                                                   : USES_GEMM | USES_ATTENTION;
    static const struct check *const parts[] = {selftest_row_checks, selftest_product_checks};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (const struct check *check = parts[i]; check->name != NULL; check++) {
            struct trial trial;
            if ((uses == all || (check->uses & uses) != 0) && !check_run(&trial, device, check)) {
                return 0;
            }
        }
    }
    return 1;
}

/* Measures `model`, whose device uses choice 0, against `other`, whose device uses choice `value`. */
static clf_status measure_models(struct tune *tune, struct clf_model *model, struct clf_model *other,
                                 int value, const char *name, struct tune_result results[2])
{
    const int candidates[2] = {0, value};
    struct tune_choices choices = {.values = {0, value},
                                   .count = 2,
                                   .tolerance =
                                       tolerances[clf__precision_of(tune->flags.model_options.precision)]};
    struct tune_work work;
    clf_status status = tune_session_create(&choices.sessions[0], model, 0, tune->flags.quick);
    if (status == CLF_OK) {
        status = tune_session_create(&choices.sessions[1], other, 0, tune->flags.quick);
    }
    if (status == CLF_OK) {
        tune_choices_work(&work, &choices);
        status = tune_measure(results, &work, candidates, 2, &tune->patience, &tune->progress, name);
    }
    tune_choices_free(&choices);
    return status;
}

static clf_status measure_choice(struct tune *tune, enum clf__tunable tunable, const struct setup *other,
                                 int value, struct tune_result results[2])
{
    clf_status status =
        measure_models(tune, tune->setup.model, other->model, value, clf__tunables[tunable].name, results);
    if (status == CLF_OK && tune_best(results, 2) == 1) {
        results[1].is_wrong = !passes_selftest(other->device, tunable);
        status = signals_interrupted(NULL) ? CLF_INTERRUPTED : CLF_OK;
    }
    return status;
}

static clf_status tune_choice(struct tune *tune, enum clf__tunable tunable)
{
    int value = tune_alternative(tune->setup.device, &tune->flags, tunable);
    if (tune_fixed_by(&tune->flags, tunable) != NULL || value == 0) {
        print_unmeasured(tune, tunable);
        return CLF_OK;
    }
    struct clf__tuning tuning = tune->current;
    tuning.values[tunable] = value;
    struct setup other;
    char word[CLF__TUNABLE_TEXT];
    clf__tunable_text(word, tunable, value);
    if (open_setup(tune, &other, &tuning) != EXIT_DONE) { /* open_setup() has reported the failure */
        if (signals_interrupted(NULL)) {
            return CLF_INTERRUPTED;
        }
        fprintf(stderr, "clformer: %s = %s was not measured\n", clf__tunables[tunable].name, word);
        return CLF_OK;
    }
    struct tune_result results[2];
    clf_status status = measure_choice(tune, tunable, &other, value, results);
    if (status == CLF_OK) {
        status = keep(tune, tunable, results, 2);
    }
    struct setup loser = other;
    if (status == CLF_OK && tune_best(results, 2) == 1) {
        loser = tune->setup;
        tune->setup = other;
        if (tunable == CLF__TUNABLE_GEMM && value == CLF_GEMM_CLBLAST) {
            fprintf(stderr, "clformer: with CLBlast, the last digits of the scores of a line depend on its "
                            "batch; use --gemm native to avoid this\n");
        }
    }
    setup_close(&loser);
    return status;
}

/* Returns 1 if the file already has a result for a selected parameter. */
static int is_kept(const struct tune *tune, enum clf__tunable tunable)
{
    const char *note = tune->file.notes[tunable];
    int was_quick = note != NULL && strncmp(note, quick_mark, sizeof quick_mark - 1) == 0;
    int is_again = tune->flags.again || (was_quick && !tune->flags.quick);
    return tune->file.is_set[tunable] && !is_again;
}

/* Prints a saved result with its note: model and precision. */
static void print_kept(const struct tune *tune, enum clf__tunable tunable)
{
    char value[CLF__TUNABLE_TEXT];
    clf__tunable_text(value, tunable, tune->file.tuning.values[tunable]);
    const char *note = tune->file.notes[tunable];
    progress_clear(&tune->progress);
    printf("%-18s %-8s already saved%s%s\n", clf__tunables[tunable].name, value, note != NULL ? ": " : "",
           note != NULL ? note : "");
}

static clf_status tune_all(struct tune *tune)
{
    int kept = 0;
    for (enum clf__tunable tunable = 0; tunable < CLF__TUNABLE_COUNT; tunable++) {
        if (!tune_is_wanted(&tune->flags, tunable)) {
            continue;
        }
        if (is_kept(tune, tunable)) {
            print_kept(tune, tunable);
            kept++;
            continue;
        }
        CLF__TRY(tunable < CLF__TUNABLE_CHOICES ? tune_choice(tune, tunable) : tune_number(tune, tunable));
    }
    if (kept > 0 && !tune->flags.quiet) {
        fprintf(stderr, "clformer: saved results were not measured again; use --again to measure them\n");
    }
    return CLF_OK;
}

/* Measures the model with the current tuning and untuned, in interleaved rounds. */
static clf_status measure_total(struct tune *tune)
{
    struct clf__tuning standard = clf__tuning_standard();
    struct setup untuned;
    struct tune_result results[2];
    if (clf__tuning_is_standard(&tune->current)) {
        return CLF_OK;
    }
    if (open_setup(tune, &untuned, &standard) != EXIT_DONE) {
        if (signals_interrupted(NULL)) {
            return CLF_INTERRUPTED;
        }
        fprintf(stderr, "clformer: the total gain was not measured\n");
        return CLF_OK;
    }
    clf_status status = measure_models(tune, untuned.model, tune->setup.model, 1, "total", results);
    setup_close(&untuned);
    CLF__TRY(status);
    if (results[1].is_wrong) {
        return clf__fail(
            CLF_DEVICE,
            "%s: the results of the model are wrong with all saved settings together; delete this file",
            tune->path);
    }
    char text[TUNE_GAINS_TEXT];
    tune_describe_total(text, sizeof text, results);
    printf("%s\n", text);
    return CLF_OK;
}

/* Prints the gains if anything was measured. */
static clf_status print_gains(struct tune *tune)
{
    char text[TUNE_GAINS_TEXT];
    tune_describe_gains(text, sizeof text, tune->ratios);
    if (*text == '\0') {
        return CLF_OK;
    }
    progress_clear(&tune->progress);
    printf("\n%s\n", text);
    fflush(stdout);
    return measure_total(tune);
}

/* Reads earlier results and opens a device with them; settings to be measured again start at the default.
 * Returns an exit status. */
static int begin(struct tune *tune)
{
    struct clf_device *device;
    struct clf_device_options options = tune->flags.device_options;
    options.use_tuning = 0;
    log_to_stderr(&tune->flags);
    clf_status status = clf_device_open(&device, tune->flags.device, &options);
    if (status == CLF_OK) {
        status = clf__tuning_path(&tune->path, clf_device_describe(device));
        clf_device_close(device);
    }
    if (status == CLF_OK) {
        status = tune_check_place(tune->path);
    }
    if (status == CLF_OK) {
        status = clf__tuning_read(&tune->file, tune->path);
    }
    if (status != CLF_OK) {
        return report_failure(status);
    }
    tune->current = tune->file.tuning;
    for (enum clf__tunable tunable = 0; tunable < CLF__TUNABLE_COUNT; tunable++) {
        if (tune_is_wanted(&tune->flags, tunable) && !is_kept(tune, tunable)) {
            tune->current.values[tunable] = clf__tunables[tunable].standard;
        }
    }
    return open_setup(tune, &tune->setup, &tune->current);
}

static int run(struct tune *tune)
{
    int result = begin(tune);
    if (result != EXIT_DONE) {
        return result;
    }
    const struct clf_device_info *info = clf_device_describe(tune->setup.device);
    printf("device %d \"%s\", driver %s; results are saved in %s\n", info->index, info->name, info->driver,
           tune->path);
    clf_status status = tune_all(tune);
    if (status == CLF_OK) {
        status = print_gains(tune);
    }
    if (status == CLF_OK) {
        return EXIT_DONE;
    }
    progress_clear(&tune->progress);
    if (!signals_interrupted(NULL)) {
        return report_failure(status);
    }
    result = report_interrupted();
    fprintf(stderr, "clformer: the results so far are saved; repeat the command to continue\n");
    return result;
}

int verb_tune(int argc, char **argv)
{
    struct tune tune = {.path = NULL};
    char *demo = NULL;
    int status = flags_parse(&tune.flags, argc, argv, TAKES_TUNE | TAKES_DEVICE, tune_help());
    if (status < 0) {
        status = tune_check_names(&tune.flags);
    }
    if (status >= 0) {
        return status;
    }
    if (tune.flags.model == NULL) {
        tune.flags.model = demo = demo_model_find();
    }
    if (tune.flags.model == NULL) {
        return report_no_demo_model();
    }
    name_model(&tune);
    tune.patience = tune.flags.quick ? (struct tune_patience){3, 0.001} : (struct tune_patience){9, 0.02};
    flags_choice(tune.precision, sizeof tune.precision, "precision", (int)tune.flags.model_options.precision);
    tune.progress = (struct progress){.shown = !tune.flags.quiet && isatty(STDERR_FILENO)};
    status = run(&tune);
    setup_close(&tune.setup);
    clf__tuning_file_free(&tune.file);
    clf__free(tune.path);
    free(demo);
    return status;
}
