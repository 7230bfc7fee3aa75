/* Reads pairs from every kind of file, and reports skipped pairs with reasons. */
#include "train/letters.h"

#include <clformer/audio.h>
#include <clformer/log.h>

#include "base/memory.h"
#include "model/config/config.h"
#include "train/dataset.h"

/* Checks the message about the first line of each kind that is skipped. */
static void assert_named(const struct clf__dataset_report *report, int empty, int too_long, int broken)
{
    assert_int_equal(report->named_lines[CLF__EMPTY][0], empty);
    assert_int_equal(report->named_lines[CLF__TOO_LONG][0], too_long);
    assert_int_equal(report->named_lines[CLF__BROKEN][0], broken);
}

/* The framing of each preset, and decoder inputs. */
static void test_batches_of_tokens(void **state)
{
    (void)state;
    static const enum clf__architecture_id architectures[] = {CLF__PAPER, CLF__JADORE};
    for (int i = 0; i < 2; i++) {
        const char *folder = support_temporary_folder();
        struct loaded loaded;
        load_tokenizer(&loaded, architectures[i], folder);
        loaded.options.source_path = write_text(folder, "source", "a b\r\nc\n");
        loaded.options.target_path = write_text(folder, "target", "d\nc b\ta");
        assert_ok(load(&loaded));
        assert_int_equal(loaded.report.lines, 2);
        assert_int_equal(loaded.report.pairs, 2);
        assert_ok(clf__dataset_plan(loaded.dataset, &roomy, 1, -1));
        assert_int_equal(clf__dataset_batches(loaded.dataset), 1);
        struct clf__training_batch batch;
        assert_ok(clf__dataset_batch(loaded.dataset, 0, &batch));
        assert_int_equal(batch.sources.count, 2);
        assert_int_equal(batch.inputs.count, 2);
        assert_ints(batch.inputs.first, 0, 4, 6);
        if (architectures[i] == CLF__PAPER) { /* source ... </s>; <s> ... </s> */
            assert_ints(batch.sources.first, 0, 2, 5);
            assert_ints(batch.sources.ids, 6, 2, 4, 5, 2);
            assert_ints(batch.inputs.ids, 0, 6, 5, 4, 0, 7);
            assert_ints(batch.labels, 6, 5, 4, 2, 7, 2);
        } else { /* <s> ... </s> on both sides: 2 and 3 */
            assert_ints(batch.sources.first, 0, 3, 7);
            assert_ints(batch.sources.ids, 2, 6, 3, 2, 4, 5, 3);
            assert_ints(batch.inputs.ids, 2, 6, 5, 4, 2, 7);
            assert_ints(batch.labels, 6, 5, 4, 3, 7, 3);
        }
        assert_null(batch.sources.frames);
        int64_t sources, labels;
        clf__dataset_batch_tokens(loaded.dataset, 0, &sources, &labels);
        assert_int_equal(sources, batch.sources.first[2]);
        assert_int_equal(labels, 6);
        unload(&loaded);
    }
}

/* Log messages, by line. */
static int logged;
static char last_logged[512];

static void keep_message(clf_log_level level, const char *message, void *user)
{
    (void)user;
    if (level == CLF_LOG_DEBUG) {
        logged++;
        snprintf(last_logged, sizeof last_logged, "%s", message);
    }
}

static void test_what_is_left_out(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct loaded loaded;
    load_tokenizer(&loaded, CLF__PAPER, folder);
    loaded.options.source_path =
        write_text(folder, "source", "a\n \n\na a a a a\na a a a a a\nb\n\xff\nd\nd\n");
    loaded.options.target_path =
        write_text(folder, "target", "a\na\n\na a a a a\na\na a a a a a\na\na\xc3\nd\n");
    logged = 0;
    clf_log_set(keep_message, NULL);
    assert_ok(load(&loaded));
    clf_log_set(NULL, NULL);
    assert_int_equal(loaded.report.lines, 9);
    assert_int_equal(loaded.report.pairs, 3); /* five words and the end token just fit */
    assert_ints(loaded.report.left_out, 2, 2, 2);
    assert_named(&loaded.report, 2, 5, 7);
    assert_int_equal(loaded.report.named_lines[CLF__EMPTY][1], 3);
    assert_int_equal(loaded.report.named_lines[CLF__TOO_LONG][1], 6);
    assert_int_equal(logged, 6);
    assert_non_null(strstr(last_logged, "target: line 8 is skipped: invalid UTF-8 at byte offset 1; convert "
                                        "the text, for example with iconv -f WINDOWS-1252 -t UTF-8"));
    const struct clf__left_out_line *first = loaded.report.first;
    assert_ptr_equal(first[CLF__BROKEN].path, loaded.options.source_path);
    assert_string_equal(
        first[CLF__BROKEN].reason,
        "invalid UTF-8 at byte offset 0; convert the text, for example with iconv -f WINDOWS-1252 -t UTF-8");
    assert_int_equal(first[CLF__EMPTY].line, 2);
    assert_null(first[CLF__EMPTY].path);
    assert_int_equal(first[CLF__TOO_LONG].line, 5);
    unload(&loaded);
}

static void test_tables(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct loaded loaded;
    load_tokenizer(&loaded, CLF__PAPER, folder);
    loaded.options.source_path = write_text(folder, "table", "a b\tc\r\na b c\nd\ta\tb\n\tb\nd\td\r\n\n");
    loaded.options.target_path = NULL;
    assert_ok(load(&loaded));
    assert_int_equal(loaded.report.lines, 6);
    assert_int_equal(loaded.report.pairs, 2);
    assert_ints(loaded.report.left_out, 1, 0, 3);
    assert_named(&loaded.report, 4, 0, 2);
    assert_ok(clf__dataset_plan(loaded.dataset, &roomy, 1, -1));
    struct clf__training_batch batch;
    assert_ok(clf__dataset_batch(loaded.dataset, 0, &batch));
    assert_ints(batch.sources.ids, 7, 2, 4, 5, 2);
    assert_ints(batch.labels, 7, 2, 6, 2);
    unload(&loaded);
}

static void test_frames(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct loaded loaded;
    load_tokenizer(&loaded, CLF__SPEECH, folder);
    write_frames(folder, "one.npy", 5, 80);
    write_frames(folder, "two.npy", 3, 80);
    write_frames(folder, "wide.npy", 3, 81);
    write_frames(folder, "long.npy", 7, 80);
    char table[1024];
    snprintf(table, sizeof table,
             "one.npy\ta b\n%s/two.npy\tc\nnone.npy\ta\nwide.npy\ta\nlong.npy\ta\n\ta\none.npy\t\n", folder);
    loaded.options.source_path = write_text(folder, "table", table);
    assert_ok(load(&loaded));
    assert_int_equal(loaded.report.pairs, 2);
    assert_ints(loaded.report.left_out, 2, 1, 2);
    assert_named(&loaded.report, 6, 5, 3);
    assert_ok(clf__dataset_plan(loaded.dataset, &roomy, 1, -1));
    struct clf__training_batch batch;
    assert_ok(clf__dataset_batch(loaded.dataset, 0, &batch));
    assert_null(batch.sources.ids);
    assert_ints(batch.sources.first, 0, 3, 8);
    for (int row = 0; row < 8; row++) {
        for (int column = 0; column < 80; column++) {
            assert_true(batch.sources.frames[80 * row + column] == (float)(row < 3 ? row : row - 3));
        }
    }
    assert_ints(batch.labels, 6, 2, 4, 5, 2);
    /* A file that changes during a run. */
    write_frames(folder, "one.npy", 4, 80);
    assert_fails(clf__dataset_batch(loaded.dataset, 0, &batch), CLF_FILE, "has 4 frames, but had 5");
    unload(&loaded);
}

/* Cached and recomputed frames are equal bit for bit; files that are not recordings are skipped. */
static void test_recordings(void **state)
{
    (void)state;
    if (!clf_audio_reads_files()) {
        skip();
    }
    const char *folder = support_temporary_folder();
    float *frames[2];
    write_tone(folder, "one.wav", 5 * 160 + 70, 20);
    write_tone(folder, "two.wav", 3 * 160, 20);
    write_tone(folder, "long.wav", 7 * 160, 20);
    write_tone(folder, "short.wav", 159, 20);
    write_text(folder, "text.wav", "this is no recording");
    for (int keeps = 0; keeps < 2; keeps++) {
        struct loaded loaded;
        load_tokenizer(&loaded, CLF__SPEECH, folder);
        loaded.options.source_path =
            write_text(folder, "table",
                       "one.wav\ta b\ntwo.wav\tc\nlong.wav\ta\nshort.wav\ta\ntext.wav\ta\nnone.wav\ta\n");
        loaded.options.device = support_device(CLF_VARIANT_AUTO);
        loaded.options.kept_bytes = keeps ? 1 << 20 : 0;
        assert_ok(load(&loaded));
        assert_int_equal(loaded.report.pairs, 2);
        assert_ints(loaded.report.left_out, 1, 1, 2);
        assert_named(&loaded.report, 4, 3, 5);
        assert_ok(clf__dataset_plan(loaded.dataset, &roomy, 1, -1));
        struct clf__training_batch batch;
        assert_ok(clf__dataset_batch(loaded.dataset, 0, &batch));
        assert_ints(batch.sources.first, 0, 3, 8);
        frames[keeps] = support_array(8 * 80, sizeof(float));
        memcpy(frames[keeps], batch.sources.frames, 8 * 80 * sizeof(float));
        if (!keeps) { /* a file that changes during a run */
            write_tone(folder, "two.wav", 4 * 160, 20);
            assert_fails(clf__dataset_batch(loaded.dataset, 0, &batch), CLF_FILE, "has 4 frames, but had 3");
            write_tone(folder, "two.wav", 3 * 160, 20);
        }
        unload(&loaded);
    }
    assert_memory_equal(frames[0], frames[1], 8 * 80 * sizeof(float));
    assert_true(frames[0][0] != frames[0][40]);
}

static void test_files_that_cannot_be(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct loaded loaded;
    load_tokenizer(&loaded, CLF__PAPER, folder);
    loaded.options.source_path = write_text(folder, "two", "a\nb");
    loaded.options.target_path = write_text(folder, "three", "a\nb\nc\n");
    assert_fails(load(&loaded), CLF_FORMAT, "has 2 lines, but ");
    assert_non_null(strstr(clf_last_error(), "three has 3"));
    assert_null(loaded.dataset);
    loaded.options.target_path = path_in(folder, "none");
    assert_fails(load(&loaded), CLF_FILE, "none");
    loaded.options.source_path = write_text(folder, "empty", "");
    loaded.options.target_path = loaded.options.source_path;
    assert_fails(load(&loaded), CLF_FORMAT, "no usable pairs: there are no lines");
    loaded.options.source_path = loaded.options.target_path = write_text(folder, "blank", "\n\n");
    assert_fails(load(&loaded), CLF_FORMAT, "of 2 lines, 2 are empty, 0 too long and 0 invalid");
    unload(&loaded);
}

/* Every allocation fails once: an error message, no leak, and the next attempt succeeds. */
static void test_no_memory(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    for (int frames = 0; frames < 2; frames++) {
        struct loaded loaded;
        load_tokenizer(&loaded, frames ? CLF__SPEECH : CLF__PAPER, folder);
        loaded.options.source_path =
            write_text(folder, "table", frames ? "x.npy\ta b\nx.npy\ta" : "a b\tc\na\td");
        write_frames(folder, "x.npy", 2, 80);
        clf_status status = CLF_OUT_OF_MEMORY;
        for (uint64_t n = 1; status != CLF_OK; n++) {
            assert_true(n < 100);
            clf__memory_fail_at(n);
            status = load(&loaded);
            if (status == CLF_OK) {
                status = clf__dataset_plan(loaded.dataset, &roomy, 1, 0);
                struct clf__training_batch batch;
                if (status == CLF_OK) {
                    status = clf__dataset_batch(loaded.dataset, 0, &batch);
                } else {
                    assert_int_equal(clf__dataset_batches(loaded.dataset), 0);
                }
            }
            clf__memory_fail_at(0);
            assert_true(status == CLF_OK || status == CLF_OUT_OF_MEMORY);
            clf__dataset_free(loaded.dataset);
            loaded.dataset = NULL;
        }
        unload(&loaded);
    }
}

/* A byte order mark is not part of the first token, and a NUL byte is not white space. */
static void test_bytes_that_are_no_text(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct loaded loaded;
    struct clf__training_batch batch;
    load_tokenizer(&loaded, CLF__PAPER, folder);
    static const char source[] = "\xEF\xBB\xBF"
                                 "a b\na\0b\n",
                      target[] = "\xEF\xBB\xBF"
                                 "c\nc\n";
    loaded.options.source_path = write_bytes(folder, "source", source, sizeof source - 1);
    loaded.options.target_path = write_bytes(folder, "target", target, sizeof target - 1);
    assert_ok(load(&loaded));
    assert_int_equal(loaded.report.pairs, 1);
    assert_named(&loaded.report, 0, 0, 2);
    assert_ok(clf__dataset_plan(loaded.dataset, &roomy, 1, 1));
    assert_ok(clf__dataset_batch(loaded.dataset, 0, &batch));
    assert_ints(batch.sources.ids, 4, 5, 2);
    assert_ints(batch.labels, 6, 2);
    unload(&loaded);
}

static void test_no_pair_has_a_reason(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct loaded loaded;
    load_tokenizer(&loaded, CLF__SPEECH, folder);
    loaded.options.source_path = write_text(folder, "table", "one.npy\ta b\ntwo.npy\tc\n");
    assert_fails(load(&loaded), CLF_FORMAT, "of 2 lines, 0 are empty, 0 too long and 2 invalid; line 1 of ");
    assert_non_null(strstr(clf_last_error(), "one.npy: cannot be opened"));
    loaded.options.source_path = write_text(folder, "table", "");
    assert_fails(load(&loaded), CLF_FORMAT, "table: no usable pairs: there are no lines");
    unload(&loaded);
    /* The file at fault is named. */
    load_tokenizer(&loaded, CLF__PAPER, folder);
    loaded.options.source_path = write_text(folder, "source", "a\n\n");
    loaded.options.target_path = write_bytes(folder, "target", "\0\n\n", 3);
    assert_fails(load(&loaded), CLF_FORMAT, "target: no usable pairs: of 2 lines, 1 are empty, ");
    assert_non_null(strstr(clf_last_error(), "target: the line contains a NUL byte"));
    unload(&loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_batches_of_tokens, support_teardown),
        cmocka_unit_test_teardown(test_what_is_left_out, support_teardown),
        cmocka_unit_test_teardown(test_tables, support_teardown),
        cmocka_unit_test_teardown(test_frames, support_teardown),
        cmocka_unit_test_teardown(test_recordings, support_teardown),
        cmocka_unit_test_teardown(test_files_that_cannot_be, support_teardown),
        cmocka_unit_test_teardown(test_no_memory, support_teardown),
        cmocka_unit_test_teardown(test_bytes_that_are_no_text, support_teardown),
        cmocka_unit_test_teardown(test_no_pair_has_a_reason, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
