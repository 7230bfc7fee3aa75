/* clformer selftest */
#include "selftest/selftest.h"

#include <math.h>
#include <unistd.h>

#include "runtime/device/caps.h"
#include "shared/command.h"
#include "shared/erase_line.h"
#include "shared/progress.h"

static const char help[] =
    "Usage: clformer selftest [-d DEVICE] [--variant cpu|gpu] [--gemm native|clblast]\n"
    "\n"
    "Runs every kernel of each kernel variant on a device. Results are compared with references in double\n"
    "precision, and gradients with finite differences. If a check fails, selftest prints what to do at\n"
    "the end, and the exit status is 1.\n"
    "\n"
    "Example:\n"
    "  $ clformer selftest -d 0\n";

/* A setting: kernel variant, GEMM backend and attention algorithm. */
struct setting {
    clf_gemm gemm;
    const char *gemm_word;
    clf_attention attention;
    const char *attention_word;
    int uses; /* only checks that use one of these settings run; -1: all checks */
};
static const struct setting settings[] = {
    {CLF_GEMM_NATIVE, "native", CLF_ATTENTION_FUSED, "fused", -1},
    {CLF_GEMM_NATIVE, "native", CLF_ATTENTION_BATCHED, "batched", USES_ATTENTION},
    {CLF_GEMM_CLBLAST, "clblast", CLF_ATTENTION_BATCHED, "batched", USES_GEMM | USES_ATTENTION},
};
enum { SETTINGS = sizeof settings / sizeof *settings, NATIVE_FUSED = 0, NATIVE_BATCHED, CLBLAST_BATCHED };

/* Counts of finished checks and of all checks; a check is counted in every setting in which it runs. */
struct count {
    int done, all;
    struct progress progress;
};

/* Counts of checks and failures of one kernel variant. variant_failed counts checks that depend only on the
 * variant. */
struct outcome {
    int is_offered;
    int ran, failed;
    int variant_failed, precision_failed;
    int gemm_failed[SETTINGS], attention_failed[SETTINGS];
};

static const char *variant_word(clf_variant variant)
{
    return variant == CLF_VARIANT_CPU ? "cpu" : "gpu";
}

static void count_check(struct outcome *outcome, int index, const struct check *check, int failed)
{
    outcome->ran++;
    outcome->failed += failed;
    if (check->uses & USES_PRECISION) {
        outcome->precision_failed += failed;
    } else if (check->uses & USES_GEMM) {
        outcome->gemm_failed[index] += failed;
    } else if (check->uses & USES_ATTENTION) {
        outcome->attention_failed[index] += failed;
    } else {
        outcome->variant_failed += failed;
    }
}

/* Returns check `index` of all checks, NULL after the last. */
static const struct check *check_at(int index)
{
    static const struct check *const parts[] = {selftest_row_checks, selftest_product_checks,
                                                selftest_layer_checks, selftest_gradient_checks};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (const struct check *check = parts[i]; check->name != NULL; check++) {
            if (index-- == 0) {
                return check;
            }
        }
    }
    return NULL;
}

/* Returns 1 if a check runs in a setting. A check is not repeated in settings that do not affect it. */
static int is_run(const struct setting *setting, const struct check *check)
{
    int is_elsewhere = setting->uses >= 0 && (check->uses & setting->uses) == 0;
    return !is_elsewhere && ((check->uses & USES_PRECISION) == 0 || setting->gemm == CLF_GEMM_NATIVE);
}

static void show_progress(const struct count *count, const struct check *check)
{
    if (count->progress.shown) {
        erase_line();
        fprintf(stderr, "check %d of %d: %s", count->done, count->all, check->name);
        fflush(stderr);
    }
}

static void run_check(struct outcome *outcome, struct count *count, struct clf_device *device,
                      clf_variant variant, int index, const struct check *check)
{
    const struct setting *setting = &settings[index];
    struct trial trial;
    count->done++;
    show_progress(count, check);
    int failed = !check_run(&trial, device, check);
    progress_clear(&count->progress);
    if (trial.status == CLF_INTERRUPTED) {
        return;
    }
    printf("%3d/%-3d %-24s %-5s %-8s %-9s", count->done, count->all, check->name, variant_word(variant),
           check->uses ? setting->gemm_word : "",
           check->uses & USES_ATTENTION ? setting->attention_word : "");
    if (trial.status == CLF_OK) {
        printf(" %9.2g %9.2g  %s\n", trial.error, check->tolerance, failed ? "WRONG" : "ok");
    } else {
        printf(" %9s %9.2g  FAILED: %s\n", "", check->tolerance, clf_last_error());
    }
    fflush(stdout);
    count_check(outcome, index, check, failed);
}

/* Returns 1 if the flags allow a setting. */
static int is_wanted(const struct flags *flags, clf_variant variant, const struct setting *setting)
{
    const struct clf_device_options *options = &flags->device_options;
    return (options->variant == CLF_VARIANT_AUTO || options->variant == variant) &&
           (options->gemm == CLF_GEMM_AUTO || options->gemm == setting->gemm) &&
           (options->attention == CLF_ATTENTION_AUTO || options->attention == setting->attention);
}

/* Counts the checks of one kernel variant. */
static int count_variant(const struct flags *flags, clf_variant variant)
{
    int all = 0;
    for (int index = 0; index < SETTINGS; index++) {
        const struct check *check;
        for (int i = 0; is_wanted(flags, variant, &settings[index]) && (check = check_at(i)) != NULL; i++) {
            all += is_run(&settings[index], check);
        }
    }
    return all;
}

/* Opens the device with each setting, and runs the checks. Returns an exit status. */
static int run_variant(struct outcome *outcome, struct count *count, const struct flags *flags,
                       clf_variant variant)
{
    for (int index = 0; index < SETTINGS && !signals_interrupted(NULL); index++) {
        if (!is_wanted(flags, variant, &settings[index])) {
            continue;
        }
        struct clf_device_options options = flags->device_options;
        options.variant = variant;
        options.gemm = settings[index].gemm;
        options.attention = settings[index].attention;
        struct clf_device *device;
        clf_status status = clf_device_open(&device, flags->device, &options);
        if (status == CLF_UNSUPPORTED) {
            printf("%7s %-24s %-5s %-8s %-9s not supported: %s\n", "", "all", variant_word(variant), "", "",
                   clf_last_error());
            count->all -= count_variant(flags, variant) - outcome->ran;
            return EXIT_DONE;
        }
        if (status != CLF_OK) {
            return report_failure(status);
        }
        outcome->is_offered = 1;
        const struct check *check;
        for (int i = 0; (check = check_at(i)) != NULL && !signals_interrupted(NULL); i++) {
            if (is_run(&settings[index], check)) {
                run_check(outcome, count, device, variant, index, check);
            }
        }
        clf_device_close(device);
    }
    return EXIT_DONE;
}

/* Writes the flags of a setting without failures. Returns 0 if there is no such setting. */
static int find_flags(char *flags, size_t size, const struct outcome *outcomes)
{
    for (int variant = CLF_VARIANT_CPU; variant <= CLF_VARIANT_GPU; variant++) {
        const struct outcome *outcome = &outcomes[variant];
        if (!outcome->is_offered || outcome->variant_failed > 0) {
            continue;
        }
        for (int i = 0; i < SETTINGS; i++) {
            int products = settings[i].gemm == CLF_GEMM_NATIVE ? NATIVE_FUSED : CLBLAST_BATCHED;
            if (outcome->gemm_failed[products] == 0 && outcome->attention_failed[i] == 0) {
                snprintf(flags, size, "--variant %s --gemm %s --attention %s",
                         variant_word((clf_variant)variant), settings[i].gemm_word,
                         settings[i].attention_word);
                return 1;
            }
        }
    }
    return 0;
}

static int conclude(const struct outcome *outcomes)
{
    int ran = outcomes[CLF_VARIANT_CPU].ran + outcomes[CLF_VARIANT_GPU].ran;
    int failed = outcomes[CLF_VARIANT_CPU].failed + outcomes[CLF_VARIANT_GPU].failed;
    int rounded = outcomes[CLF_VARIANT_CPU].precision_failed + outcomes[CLF_VARIANT_GPU].precision_failed;
    char flags[128];
    if (ran == 0) {
        printf("\nNo check was run: the device supports none of the requested settings.\n");
        return EXIT_FAILED;
    }
    if (failed == 0) {
        printf("\nAll %d checks passed: the device computes correct results.\n", ran);
        return EXIT_DONE;
    }
    printf("\n%d of %d checks failed. ", failed, ran);
    if (rounded > 0) {
        printf("Do not use the precisions that failed on this device: use --precision fp32, or run `clformer "
               "selftest --instructions portable` and, if it passes, add that flag to the other verbs. ");
    }
    if (failed == rounded) {
        printf("All other checks passed. ");
    } else if (find_flags(flags, sizeof flags, outcomes)) {
        printf("All checks%s passed with `%s`; add these flags to the other verbs on this device. ",
               rounded > 0 ? " in fp32" : "", flags);
    } else {
        printf("Choose another device with -d (`clformer devices` lists the devices), or install another "
               "driver for this device. ");
    }
    printf("Please open an issue with this table and the output of `clformer devices`.\n");
    return EXIT_FAILED;
}

static int run(const struct flags *flags)
{
    struct outcome outcomes[CLF_VARIANT_GPU + 1] = {{0}};
    struct clf_device *device;
    clf_status status = clf_device_open(&device, flags->device, NULL);
    if (status != CLF_OK) {
        return report_failure(status);
    }
    const struct clf_device_info *info = clf_device_describe(device);
    printf("Device %d \"%s\", driver %s; its default kernel variant is %s\n\n", info->index, info->name,
           info->driver, variant_word(clf__device_caps(device)->variant));
    clf_device_close(device);
    struct count count = {.progress = {.shown = !flags->quiet && isatty(STDERR_FILENO)}};
    count.all = count_variant(flags, CLF_VARIANT_CPU) + count_variant(flags, CLF_VARIANT_GPU);
    printf("%7s %-24s %-5s %-8s %-9s %9s %9s\n", "check", "op", "variant", "gemm", "attention", "error",
           "tolerance");
    for (int variant = CLF_VARIANT_CPU; variant <= CLF_VARIANT_GPU; variant++) {
        int result = run_variant(&outcomes[variant], &count, flags, (clf_variant)variant);
        if (result != EXIT_DONE) {
            return result;
        }
    }
    if (signals_interrupted(NULL)) {
        printf("\n%d of %d checks were run.\n", count.done, count.all);
        fflush(stdout);
        return report_interrupted();
    }
    return conclude(outcomes);
}

int verb_selftest(int argc, char **argv)
{
    struct flags flags;
    int status = flags_parse(&flags, argc, argv, TAKES_DEVICE, help);
    if (status < 0) {
        status = flags_operands(&flags, 0, 0, "selftest takes only flags");
    }
    if (status < 0 && flags.device_options.gemm == CLF_GEMM_CLBLAST &&
        flags.device_options.attention == CLF_ATTENTION_FUSED) {
        status = report_wrong_call(
            "--attention fused: selftest checks it only with --gemm native; change one of the flags");
    }
    if (status >= 0) {
        return status;
    }
    log_to_stderr(&flags);
    return run(&flags);
}
