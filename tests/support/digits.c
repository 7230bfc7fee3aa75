#include "support/digits.h"

#include <stdio.h>
#include <string.h>

#include <clformer/log.h>

#include "base/file.h"
#include "support/process.h"

static FILE *open_side(const char *folder, const char *name, const char *side)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, side);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    return file;
}

void digits_write(const char *folder, const char *name, int lines, int longest, uint64_t seed)
{
    struct support_random random = {seed};
    FILE *source = open_side(folder, name, "source"), *target = open_side(folder, name, "target");
    for (int line = 0; line < lines; line++) {
        int digits[64], count = 1 + support_integer(&random, longest);
        assert_true(count <= 64);
        for (int i = 0; i < count; i++) {
            digits[i] = support_integer(&random, 10);
        }
        for (int i = 0; i < count; i++) {
            const char *end = i + 1 < count ? " " : "\n";
            fprintf(source, "%d%s", digits[i], end);
            fprintf(target, "%d%s", digits[count - 1 - i], end);
        }
    }
    assert_int_equal(fclose(source), 0);
    assert_int_equal(fclose(target), 0);
}

void digits_set(struct clf_recipe *recipe, const char *name, const char *value)
{
    assert_ok(clf_recipe_set(recipe, name, &value, 1));
}

static void set_files(struct clf_recipe *recipe, const char *key, const char *folder)
{
    char paths[2][512];
    snprintf(paths[0], sizeof paths[0], "%s/%s.source", folder, key);
    snprintf(paths[1], sizeof paths[1], "%s/%s.target", folder, key);
    const char *const files[] = {paths[0], paths[1]};
    assert_ok(clf_recipe_set(recipe, key, files, 2));
}

struct clf_recipe *digits_recipe(const char *folder)
{
    static const char *const small[] = {"d_model=32",         "encoder_layers=1",
                                        "decoder_layers=1",   "encoder_attention_heads=2",
                                        "encoder_ffn_dim=64", "decoder_attention_heads=2",
                                        "decoder_ffn_dim=64", "max_position_embeddings=64"};
    struct clf_recipe *recipe;
    assert_ok(clf_recipe_create(&recipe));
    set_files(recipe, "train", folder);
    set_files(recipe, "valid", folder);
    assert_ok(clf_recipe_set(recipe, "tokens", NULL, 0));
    assert_ok(clf_recipe_set(recipe, "config", small, sizeof small / sizeof *small));
    digits_set(recipe, "max-source-length", "40");
    digits_set(recipe, "max-target-length", "40");
    return recipe;
}

static void take_start(const struct clf_train_start *start, void *user)
{
    ((struct digits_log *)user)->start = *start;
}

static void take_update(const struct clf_train_update *update, void *user)
{
    struct digits_log *log = user;
    assert_true(log->count < DIGITS_UPDATES);
    log->updates[log->count++] = *update;
}

static void take_validation(const struct clf_train_validation *validation, void *user)
{
    struct digits_log *log = user;
    assert_true(log->validation_count < DIGITS_VALIDATIONS);
    log->validations[log->validation_count++] = *validation;
}

static int is_interrupted(void *user)
{
    const struct digits_log *log = user;
    return log->interrupt_after > 0 && log->count >= log->interrupt_after;
}

struct clf_train_hooks digits_hooks(struct digits_log *log)
{
    return (struct clf_train_hooks){sizeof(struct clf_train_hooks),
                                    take_start,
                                    take_update,
                                    take_validation,
                                    NULL,
                                    is_interrupted,
                                    log,
                                    NULL};
}

struct digits_task task;

static void take_message(clf_log_level level, const char *message, void *user)
{
    (void)user;
    if (level <= CLF_LOG_NOTICE) {
        char *text = level == CLF_LOG_WARNING ? task.warnings : task.notices;
        size_t used = strlen(text);
        snprintf(text + used, sizeof task.warnings - used, "%s\n", message);
    }
}

int digits_setup(void **state)
{
    (void)state;
    clf_log_set(take_message, NULL);
    task.warnings[0] = task.notices[0] = '\0';
    if (!task.data) {
        task.data = support_temporary_folder();
        digits_write(task.data, "train", 60, 8, 1);
        digits_write(task.data, "valid", 10, 8, 2);
    }
    task.recipe = digits_recipe(task.data);
    digits_set(task.recipe, "batch-tokens", "60");
    digits_set(task.recipe, "max-updates", "12");
    digits_set(task.recipe, "save-every", "4");
    digits_set(task.recipe, "validate-every", "6");
    digits_set(task.recipe, "learning-rate", "0.01");
    digits_set(task.recipe, "warm-up", "2");
    task.logs = support_array(2, sizeof *task.logs);
    return 0;
}

int digits_teardown(void **state)
{
    clf_recipe_free(task.recipe);
    task.recipe = NULL;
    clf_log_set(NULL, NULL);
    return support_teardown(state);
}

struct clf_device *digits_device(void)
{
    return support_device_with((clf_variant)support_first_variant(), CLF_GEMM_NATIVE, CLF_ATTENTION_AUTO);
}

const char *digits_output(void)
{
    static int outputs;
    return process_format("%s/output-%d", task.data, ++outputs);
}

clf_status digits_train(const char *output, struct digits_log *log)
{
    int interrupt_after = log->interrupt_after;
    memset(log, 0, sizeof *log);
    log->interrupt_after = interrupt_after;
    struct clf_train_hooks hooks = digits_hooks(log);
    clf_status status = clf_train(digits_device(), task.recipe, output, &hooks);
    log->interrupt_after = 0;
    return status;
}

int digits_has_file(const char *folder, const char *name)
{
    return clf__file_exists(process_format("%s/%s", folder, name));
}

int digits_has_checkpoint(const char *output, int update)
{
    return clf__folder_exists(process_format("%s/checkpoints/update-%08d", output, update));
}

void digits_assert_same_updates(const struct digits_log *log, const struct digits_log *whole, int first)
{
    assert_int_equal(log->count, whole->count - first + 1);
    for (int i = 0; i < log->count; i++) {
        const struct clf_train_update *a = &log->updates[i], *b = &whole->updates[first - 1 + i];
        assert_int_equal(a->update, b->update);
        assert_int_equal(a->epoch, b->epoch);
        if (memcmp(&a->loss, &b->loss, sizeof a->loss) != 0 ||
            memcmp(&a->gradient_norm, &b->gradient_norm, sizeof a->gradient_norm) != 0) {
            fail_msg("update %d: loss %.17g, norm %.17g, not %.17g and %.17g", (int)a->update, a->loss,
                     a->gradient_norm, b->loss, b->gradient_norm);
        }
    }
}
