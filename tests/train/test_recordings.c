/* Training from recordings: an interrupted and resumed run equals an uninterrupted one bit for bit. */
#include "support/digits.h"
#include "train/files.h"

#include <clformer/audio.h>

#include "support/process.h"

enum { RECORDINGS = 12, UPDATES = 7, HOP = 160 };

/* Tones of several pitches and lengths, with transcripts. */
static const char *write_recordings(const char *folder)
{
    char table[RECORDINGS * 32] = "";
    for (int i = 0; i < RECORDINGS; i++) {
        const char *name = process_format("tone-%d.wav", i);
        write_tone(folder, name, (20 + 7 * i) * HOP + i, 10 + 5 * (i % 4));
        strcat(table, process_format("%s\t%s%d\n", name, i % 4 < 2 ? "low " : "high ", i % 4));
    }
    return write_text(folder, "table.tsv", table);
}

static void set_recipe(const char *preset, const char *table)
{
    static const char *const small[] = {
        "d_model=16",         "encoder_layers=1",          "decoder_layers=1",   "encoder_attention_heads=2",
        "encoder_ffn_dim=24", "decoder_attention_heads=2", "decoder_ffn_dim=24", "dropout=0.1"};
    clf_recipe_free(task.recipe);
    assert_ok(clf_recipe_create(&task.recipe));
    digits_set(task.recipe, "preset", preset);
    digits_set(task.recipe, "train", table);
    digits_set(task.recipe, "valid", table);
    assert_ok(clf_recipe_set(task.recipe, "config", small, sizeof small / sizeof *small));
    digits_set(task.recipe, "batch-tokens", "200");
    digits_set(task.recipe, "max-updates", process_format("%d", UPDATES));
    digits_set(task.recipe, "validate-every", "3");
    digits_set(task.recipe, "save-every", "2");
    digits_set(task.recipe, "learning-rate", "0.01");
    digits_set(task.recipe, "warm-up", "2");
}

static void assert_same_models(const char *one, const char *other)
{
    size_t sizes[2];
    const char *bytes[] = {process_read(one, "model.safetensors", &sizes[0]),
                           process_read(other, "model.safetensors", &sizes[1])};
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
}

static void test_going_on(void **state)
{
    (void)state;
    static const char *const presets[] = {"speech", "whisper"};
    if (!clf_audio_reads_files()) {
        skip();
    }
    const char *table = write_recordings(task.data);
    for (int i = 0; i < 2; i++) {
        const char *whole = digits_output(), *stopped = digits_output();
        set_recipe(presets[i], table);
        assert_ok(digits_train(whole, &task.logs[0]));
        assert_int_equal(task.logs[0].count, UPDATES);
        task.logs[1].interrupt_after = 3;
        assert_fails(digits_train(stopped, &task.logs[1]), CLF_INTERRUPTED, "after update 3");
        task.logs[1].interrupt_after = 2; /* of this run */
        assert_fails(digits_train(stopped, &task.logs[1]), CLF_INTERRUPTED, "after update 5");
        assert_ok(digits_train(stopped, &task.logs[1]));
        assert_int_equal(task.logs[1].start.first_update, 6);
        digits_assert_same_updates(&task.logs[1], &task.logs[0], 6);
        assert_same_models(whole, stopped);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_going_on, digits_setup, digits_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
