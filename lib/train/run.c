/* Prepares everything before the first update. */
#include "train/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "model/config/architectures/architecture.h"
#include "model/config/config.h"
#include "model/config/sides.h"
#include "runtime/device/buffer.h"
#include "runtime/device/dry_run.h"
#include "runtime/device/queue.h"
#include "runtime/program/launch.h"
#include "train/checkpoint_files.h"
#include "train/translation.h"

static clf_status load_model(struct clf__run *run)
{
    uint64_t before = clf__device_free_bytes(run->device);
    CLF__TRY(clf__transformer_load(&run->transformer, run->device, run->saved, CLF_PRECISION_FP32));
    run->weight_bytes = before - clf__device_free_bytes(run->device);
    struct clf__tokenizer_options options = clf__tokenizer_options_of(&run->transformer->config);
    CLF__TRY(clf__tokenizer_load(&run->tokenizer, run->saved, &options));
    return clf__model_borrow(&run->model, run->transformer, run->tokenizer, run->output);
}

enum { MAX_LINES_TEXT = 16 * (CLF__NAMED_LINES + 3) };

/* Writes "lines 3, 8 and 12; ", or, if there are more than CLF__NAMED_LINES, the first ones and "and 41
 * more, which -v lists; ". Writes nothing for a single line. */
static void name_lines(char text[MAX_LINES_TEXT], const int *lines, int count)
{
    int named = count < CLF__NAMED_LINES ? count : CLF__NAMED_LINES, used = 0;
    for (int i = 0; i < named && count > 1; i++) {
        const char *before = i == 0 ? "lines" : i == count - 1 ? " and" : ",";
        used += snprintf(text + used, (size_t)(MAX_LINES_TEXT - used), "%s %d", before, lines[i]);
    }
    if (count > named) {
        used += snprintf(text + used, (size_t)(MAX_LINES_TEXT - used), " and %d more, which -v lists",
                         count - named);
    }
    snprintf(text + used, (size_t)(MAX_LINES_TEXT - used), "%s", count > 1 ? "; " : "");
}

static void say_left_out(const struct clf__dataset_report *report, const struct clf__texts *texts)
{
    static const char *const words[CLF__LEFT_OUT_KINDS] = {"empty", "too long", "invalid"};
    int is_pair = texts->count > 1;
    for (int i = 0; i < CLF__LEFT_OUT_KINDS; i++) {
        if (report->left_out[i] > 0) {
            const struct clf__left_out_line *first = &report->first[i];
            char lines[MAX_LINES_TEXT];
            name_lines(lines, report->named_lines[i], report->left_out[i]);
            clf__log(CLF_LOG_WARNING, "%s%s%s: skipped %d of %d lines (%s): %sline %d%s%s: %s",
                     texts->items[0], is_pair ? " and " : "", is_pair ? texts->items[1] : "",
                     report->left_out[i], report->lines, words[i], lines, first->line,
                     first->path ? " of " : "", first->path ? first->path : "", first->reason);
        }
    }
}

/* Maximum bytes of frames kept in memory: nine hours of 80 bands. */
static const int64_t KEPT_BYTES = 1 << 30;

static clf_status load_text(struct clf__dataset **out, struct clf__dataset_report *report,
                            const struct clf__run *run, const struct clf__texts *texts)
{
    const struct clf__config *config = &run->transformer->config;
    struct clf__dataset_options options = {
        .source_path = texts->items[0],
        .target_path = texts->count > 1 ? texts->items[1] : NULL,
        .device = run->device,
        .kept_bytes = KEPT_BYTES,
        .tokens = run->settings.tokens,
        .max_source_length =
            (int)fmin((double)run->settings.max_source_length, clf__config_longest_source(config)),
        .max_target_length =
            (int)fmin((double)run->settings.max_target_length, config->decoder_max_positions),
    };
    CLF__TRY(clf__dataset_load(out, config, run->tokenizer, &options, report));
    say_left_out(report, texts);
    return CLF_OK;
}

clf_status clf__run_stage(struct clf__run *run, double *stage, double *start)
{
    CLF__TRY(clf__device_finish_stage(run->device));
    double now = clf__seconds();
    *stage += now - *start;
    *start = now;
    return CLF_OK;
}

/* Compares a text's checksum with the checksum in the state, or stores it in a state without one. */
static clf_status keep_checksum(char kept[CLF__CHECKSUM_TEXT], uint64_t checksum,
                                const struct clf__texts *texts, const char *output)
{
    char text[CLF__CHECKSUM_TEXT];
    snprintf(text, sizeof text, "%016" PRIx64, checksum);
    if (kept[0] != '\0' && strcmp(kept, text) != 0) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "%s%s%s: differs from the text with which %s was started; use the same text or another folder",
            texts->items[0], texts->count > 1 ? " and " : "", texts->count > 1 ? texts->items[1] : "",
            output);
    }
    memcpy(kept, text, sizeof text);
    return CLF_OK;
}

/* Fails if the text of a resumed run has changed: the position in the text would be wrong, and validations
 * could not be compared. */
static clf_status keep_data(struct clf__run *run)
{
    struct clf__train_state *state = &run->state;
    const struct clf__dataset_report *report = &run->train_report;
    if (state->pairs > 0 && (state->pairs != report->pairs || state->lines != report->lines)) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "%s: has %d pairs in %d lines, but %s was started with %d pairs in %d lines; use "
                         "the same text or another folder",
                         run->settings.train.items[0], report->pairs, report->lines, run->output,
                         state->pairs, state->lines);
    }
    state->pairs = report->pairs;
    state->lines = report->lines;
    CLF__TRY(keep_checksum(state->train_checksum, report->checksum, &run->settings.train, run->output));
    return run->valid ? keep_checksum(state->valid_checksum, run->valid_report.checksum, &run->settings.valid,
                                      run->output)
                      : CLF_OK;
}

static clf_status load_data(struct clf__run *run)
{
    double start = clf__seconds();
    CLF__TRY(load_text(&run->train, &run->train_report, run, &run->settings.train));
    if (run->settings.valid.count > 0) {
        CLF__TRY(load_text(&run->valid, &run->valid_report, run, &run->settings.valid));
    }
    run->batching = (struct clf__batching){
        .tokens = (int)run->settings.batch_tokens,
        .count_padding = run->settings.count_padding,
        .max_pairs = (int)run->settings.max_pairs,
    };
    CLF__TRY(keep_data(run));
    return clf__run_stage(run, &run->times.data, &start);
}

static struct clf__training_limits limits_of(const struct clf__run *run)
{
    struct clf__training_limits limits, valid;
    clf__dataset_limits(&limits, run->train, &run->batching);
    if (run->valid) {
        clf__dataset_limits(&valid, run->valid, &run->batching);
        limits.sequences = clf__max_int(limits.sequences, valid.sequences);
        limits.source_tokens = clf__max_int(limits.source_tokens, valid.source_tokens);
        limits.target_tokens = clf__max_int(limits.target_tokens, valid.target_tokens);
        limits.source_length = clf__max_int(limits.source_length, valid.source_length);
        limits.target_length = clf__max_int(limits.target_length, valid.target_length);
    }
    return limits;
}

/* Cross-entropy spreads the smoothing over all other classes; KL excludes padding, as in The Annotated
 * Transformer. */
static struct clf__smoothing smoothing_of(struct clf__run *run)
{
    const struct clf__config *config = &run->transformer->config;
    int is_kl = run->settings.loss == CLF__LOSS_KL;
    double smoothing = run->settings.label_smoothing;
    int others = config->target_vocabulary - (is_kl ? 2 : 1);
    double share = others > 0 ? smoothing / others : 0;
    if (is_kl && share > 0) {
        run->entropy = -(1 - smoothing) * log(1 - smoothing) - smoothing * log(share);
    }
    return (struct clf__smoothing){(float)smoothing, (float)share, is_kl ? config->pad_id : -1};
}

/* Measures the peak device memory of training and of translations in validation, without the weights. Fails
 * with CLF_DEVICE_MEMORY if the device has less. */
static clf_status measure(uint64_t *bytes, struct clf__run *run, const struct clf__training_limits *limits,
                          const struct clf__training_options *options)
{
    struct clf__dry_run dry_run;
    clf__dry_run_begin(&dry_run, run->device);
    clf_status status = clf__training_create(&run->training, run->transformer, limits, options);
    if (status == CLF_OK && run->valid) {
        status = clf__translated_dry_run(run);
    }
    clf__training_free(run->training);
    run->training = NULL;
    *bytes = clf__dry_run_end(&dry_run);
    return status;
}

static clf_status open_training(struct clf__run *run)
{
    const struct clf__config *config = &run->transformer->config;
    struct clf__training_limits limits = limits_of(run);
    struct clf__training_options options = {
        .gemm_precision =
            run->settings.precision == CLF__TRAINING_BF16 ? CLF__PRECISION_BF16 : CLF__PRECISION_FP32,
        .seed = (uint64_t)run->settings.seed,
        .smoothing = smoothing_of(run),
        .keeps_padding = clf__architecture_of(config->architecture)->keeps_tied_pad_row &&
                         config->share_target_output && config->pad_id >= 0,
        .communicator = run->communicator,
        .shards_moments = run->settings.shard_optimizer,
    };
    const struct clf__gradient_sums_options sums = {
        .most = run->settings.micro_batches,
        .is_any_order = run->settings.fast_reduce,
        .is_bf16 = run->settings.reduce_precision == CLF__TRAINING_BF16,
    };
    uint64_t device_bytes, before = clf__device_free_bytes(run->device);
    CLF__TRY(clf__transformer_ensure_positions(run->transformer, limits.source_length, limits.target_length));
    if (run->valid) {
        CLF__TRY(clf__translated_reach(run));
    }
    run->weight_bytes += before - clf__device_free_bytes(run->device);
    CLF__TRY(measure(&device_bytes, run, &limits, &options));
    CLF__TRY(clf__training_create(&run->training, run->transformer, &limits, &options));
    if (run->state.update > 0) {
        CLF__TRY(clf__checkpoint_files_restore(run->training, run->saved));
    }
    CLF__TRY(clf__gradient_sums_create(&run->sums, run->training, &sums));
    CLF__TRY(clf__run_check_ranks(run));
    run->first_update = run->state.update + 1;
    if (run->hooks.started) {
        const struct clf__dataset_report *report = &run->train_report;
        struct clf_train_start start = {
            .size = sizeof start,
            .parameters = run->transformer->parameter_count,
            .pairs = report->pairs,
            .lines = report->lines,
            .left_out_empty = report->left_out[CLF__EMPTY],
            .left_out_long = report->left_out[CLF__TOO_LONG],
            .left_out_broken = report->left_out[CLF__BROKEN],
            .validation_pairs = run->valid_report.pairs,
            .checkpoint = run->saved,
            .first_update = run->state.update + 1,
            .max_updates = run->settings.max_updates,
            .device_bytes = run->weight_bytes + device_bytes,
            .host_bytes = clf__gradient_sums_bytes(run->sums),
            .ranks = run->communicator->size,
        };
        run->hooks.started(&start, run->hooks.payload);
    }
    return CLF_OK;
}

static int64_t smaller_limit(int64_t a, int64_t b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

/* Estimates the total updates from the time limit; 0: no time limit, or no update to measure yet. */
static int64_t expected_by_minutes(const struct clf__run *run)
{
    double seconds = clf__seconds() - run->begun, left = 60 * run->settings.minutes - seconds;
    int64_t updates = run->state.update - run->first_update + 1;
    if (run->settings.minutes == 0 || run->first_update == 0 || updates <= 0) {
        return 0;
    }
    return run->state.update + (int64_t)(left > 0 ? left * (double)updates / seconds : 0);
}

int64_t clf__run_expected_updates(const struct clf__run *run)
{
    const struct clf__settings *settings = &run->settings;
    const struct clf__train_state *state = &run->state;
    int64_t updates = smaller_limit(settings->max_updates, expected_by_minutes(run));
    if (settings->max_epochs == 0) {
        return updates;
    }
    int64_t batches = clf__dataset_batches(run->train);
    int64_t accumulate = settings->accumulate * settings->micro_batches;
    int64_t each = (batches + accumulate - 1) / accumulate;
    int64_t epochs =
        settings->max_epochs - state->epoch; /* epochs after the current one; -1 past the last epoch */
    int64_t left = epochs < 0 ? 0 : (batches - state->batch + accumulate - 1) / accumulate + epochs * each;
    return smaller_limit(state->update + left, updates);
}

/* Warns if the run ends during warm-up: the default suits the 100,000 updates of the paper, and a short
 * run would learn very little. */
static void warn_of_warm_up(const struct clf__run *run)
{
    const struct clf__settings *settings = &run->settings;
    int64_t updates = clf__run_expected_updates(run);
    if (run->state.update == 0 && updates > 0 && updates < settings->warm_up) {
        int by_updates = settings->max_updates == updates;
        clf__log(CLF_LOG_WARNING,
                 "warm-up: is %lld updates, but the run has only %s%lld (%s), so the learning rate never "
                 "reaches its maximum; use a shorter warm-up",
                 (long long)settings->warm_up, by_updates ? "" : "about ", (long long)updates,
                 by_updates ? "max-updates" : "max-epochs");
    }
}

/* Runs checks that only a new run needs; a resumed run was checked at its start. */
static clf_status check_new(const struct clf__run *run)
{
    int is_begun;
    CLF__TRY(clf__file_exists_in(&is_begun, run->output, "recipe.json"));
    if (!is_begun) {
        CLF__TRY(clf__recipe_check_used(&run->settings, run->recipe));
    }
    return clf__run_check_config(&run->settings);
}

/* Takes the preset of a resumed run from its recipe. A failed start left no update, so another recipe is
 * allowed. */
static clf_status take_preset(const struct clf__run *run)
{
    int has_updates, is_begun;
    char *path = NULL;
    CLF__TRY(clf__checkpoints_have_updates(&has_updates, run->output));
    CLF__TRY(clf__file_exists_in(&is_begun, run->output, "recipe.json"));
    if (!has_updates || !is_begun) {
        return clf__recipe_take_preset(run->recipe);
    }
    CLF__TRY(clf__path_join(&path, run->output, "recipe.json"));
    clf_status status = clf__recipe_take_preset_begun(run->recipe, path);
    clf__free(path);
    return status;
}

static clf_status take_recipe(struct clf__run *run)
{
    const struct clf__communicator *ranks = run->communicator;
    CLF__TRY(take_preset(run));
    CLF__TRY(clf__recipe_settings(&run->settings, run->recipe));
    if (run->settings.micro_batches % ranks->size != 0) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "micro-batches: %lld cannot be divided evenly among %d ranks; use a multiple of %d "
                         "(micro-batches determines the size of an update and belongs to the recipe)",
                         (long long)run->settings.micro_batches, ranks->size, ranks->size);
    }
    return CLF_OK;
}

static clf_status find_first(struct clf__run *run)
{
    CLF__TRY(take_recipe(run));
    CLF__TRY(check_new(run));
    CLF__TRY(clf__run_check_files(run));
    return clf__run_find_checkpoint(run);
}

/* Finds the start of the run: rank 0 creates the folder, and the other ranks read it. */
static clf_status find_start(struct clf__run *run)
{
    const struct clf__communicator *ranks = run->communicator;
    if (ranks->rank == 0) {
        CLF__TRY(find_first(run));
    }
    int64_t update = run->saved_update;
    CLF__TRY(ranks->broadcast(ranks, &update, sizeof update));
    if (ranks->rank == 0) {
        return CLF_OK;
    }
    CLF__TRY(take_recipe(run));
    CLF__TRY(clf__run_check_files(run));
    return clf__run_follow_checkpoint(run, update);
}

clf_status clf__run_open(struct clf__run *run, struct clf_device *device, const struct clf_recipe *recipe,
                         const char *output)
{
    run->device = device;
    run->output = output;
    CLF__TRY(clf__recipe_copy(&run->recipe, recipe));
    CLF__TRY(find_start(run));
    CLF__TRY(load_model(run));
    CLF__TRY(load_data(run));
    CLF__TRY(clf__dataset_plan(run->train, &run->batching, (uint64_t)run->settings.seed, run->state.epoch));
    warn_of_warm_up(run);
    return open_training(run);
}

void clf__run_close(struct clf__run *run)
{
    clf__gradient_sums_free(run->sums);
    clf__training_free(run->training);
    clf__dataset_free(run->train);
    clf__dataset_free(run->valid);
    clf_model_free(run->model);
    clf__tokenizer_free(run->tokenizer);
    clf__transformer_free(run->transformer);
    clf__train_state_free(&run->state);
    clf__checkpoints_close(&run->checkpoints);
    clf__free(run->saved);
    clf__free(run->made.folders);
    clf__free(run->made.recipe);
    clf_recipe_free(run->recipe);
}
