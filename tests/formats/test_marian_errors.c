/* Unsupported Marian folders are rejected with messages that name the unsupported feature. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clformer/clformer.h>

#include "base/file.h"
#include "support/support.h"

static char *folder_of(const char *name)
{
    char path[256], *copy;
    snprintf(path, sizeof path, "formats/marian/%s", name);
    const char *found = support_fixture(path);
    copy = support_array(strlen(found) + 1, 1);
    return strcpy(copy, found);
}

/* A copy of a folder in a new one. */
static char *copy_other(const char *name, const char *without)
{
    static const char *const files[] = {"config.yml",     "model.xx.intgemm.bin", "vocab.xx.spm",
                                        "lex.xx.s2t.bin", "model.xx.npz",         "vocab.yml",
                                        "lex.xx.s2t"};
    char *folder = support_array(512, 1), from[512], to[512];
    const char *source = folder_of(name);
    snprintf(folder, 512, "%s", support_temporary_folder());
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(from, sizeof from, "%s/%s", source, files[i]);
        if (strcmp(files[i], without) != 0 && clf__file_exists(from)) {
            snprintf(to, sizeof to, "%s/%s", folder, files[i]);
            assert_ok(clf__file_copy(to, from));
        }
    }
    return folder;
}

static char *copy_folder(const char *without)
{
    return copy_other("ssru-fork", without);
}

/* Replaces the first `from` in a copy's file with bytes of equal length. */
static char *change_in(char *folder, const char *name, const char *from, const char *to)
{
    char path[600], *bytes;
    size_t size, length = strlen(from);
    assert_int_equal(length, strlen(to));
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(clf__file_read(&bytes, &size, path, 1 << 20));
    size_t at = 0;
    while (at + length <= size && memcmp(bytes + at, from, length) != 0) {
        at++;
    }
    assert_true(at + length <= size);
    memcpy(bytes + at, to, length);
    assert_ok(clf__file_write(path, bytes, size));
    free(bytes);
    return folder;
}

static char *change(const char *name, const char *from, const char *to)
{
    return change_in(copy_folder(""), name, from, to);
}

static void check_refused(const char *folder, clf_status status, const char *part)
{
    struct clf_model *model;
    assert_fails(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), folder, NULL), status, part);
}

/* numpy.savez_compressed(): the message's command saves the file again without compression. */
static void test_refused_compression(void **state)
{
    (void)state;
    enum { STORED = 0, DEFLATED = 8, ENTRY = 46 }; /* an entry of the list of files */
    const char *folder = copy_other("self-npz", "");
    char *path = support_array(600, 1);
    unsigned char entry[ENTRY];
    snprintf(path, 600, "%s/model.xx.npz", folder);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    long at = 0;
    do { /* the first one */
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        assert_int_equal(fread(entry, 1, ENTRY, file), ENTRY);
        at++;
    } while (memcmp(entry, "PK\1\2", 4) != 0);
    assert_int_equal(entry[10], STORED);
    assert_int_equal(fseek(file, at - 1 + 10, SEEK_SET), 0);
    assert_int_equal(fputc(DEFLATED, file), DEFLATED);
    assert_int_equal(fclose(file), 0);
    check_refused(folder, CLF_FORMAT, "model.xx.npz: the archive contains compressed files; save it without");
    check_refused(folder, CLF_FORMAT, "numpy.savez(sys.argv[1], **numpy.load(sys.argv[1]))' '");
}

static void test_refused_options(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *part;
    } cases[] = {
        {"type: transformer\n", "type: transformes\n", "\"type\" is \"transformes\""},
        {"dec-cell: ssru\n", "dec-cell: gru \n", "\"dec-cell\" is \"gru\""},
        {"autoreg: rnn\n", "autoreg: r2n\n", "\"transformer-decoder-autoreg\" is \"r2n\""},
        {"layer-normalization: false\n", "layer-normalization:  true\n", "\"layer-normalization\""},
        {"ffn-depth: 2\n", "ffn-depth: 3\n", "\"transformer-ffn-depth\" is \"3\""},
        {"activation: relu\n", "activation: gelu\n", "\"transformer-ffn-activation\" is \"gelu\""},
        {"postprocess: dan\n", "postprocess: dhn\n", "\"dhn\""},
        {"lemma-dim-emb: 0\n", "lemma-dim-emb: 8\n", "\"lemma-dim-emb\" is \"8\""},
        {"ulr: false\n", "ulr:  true\n", "\"ulr\" is \"true\""},
        {"tied-layers: \n  []\n", "tied-layers:  [1] \n", "\"transformer-tied-layers\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_refused(change("model.xx.intgemm.bin", cases[i].from, cases[i].to), CLF_UNSUPPORTED,
                      cases[i].part);
    }
    check_refused(change("model.xx.intgemm.bin", "dec-depth: 2\n", "dec-depth: x\n"), CLF_FORMAT,
                  "\"dec-depth\"");
    check_refused(change("model.xx.intgemm.bin", "dim-vocabs:\n  - 48\n", "dim-vocabs:\n  - 4x\n"),
                  CLF_FORMAT, "contains \"4x\", which is not a vocabulary size");
    check_refused(change("model.xx.intgemm.bin", "dim-emb: 16\n", "dim-emb: 15\n"), CLF_FORMAT,
                  "not a multiple");
    check_refused(change("model.xx.intgemm.bin", "dec-depth: 2\n", "dec-depth: 3\n"), CLF_FORMAT,
                  "\"decoder_l3_rnn_Wf\" is missing");
    check_refused(change("model.xx.intgemm.bin", "enc-depth: 2\n", "enc-depth: 1\n"), CLF_FORMAT,
                  "encoder_l2_");
}

static void test_refused_average(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *part;
        clf_status status;
    } cases[] = {
        {"aan-depth: 3\n", "aan-depth: 5\n", "\"transformer-aan-depth\" is \"5\", not a number from 1 to 4",
         CLF_FORMAT},
        {"aan-depth: 3\n", "aan-depth: 4\n", "\"decoder_l1_aan_W3\" is missing", CLF_FORMAT},
        {"aan-depth: 3\n", "aan-depth: 2\n", "decoder_l1_aan_", CLF_FORMAT},
        {"dim-aan: 16\n", "dim-aan: 17\n", "decoder_l1_aan_", CLF_FORMAT},
        {"aan-activation: relu\n", "aan-activation: gelu\n", "\"transformer-aan-activation\" is \"gelu\"",
         CLF_UNSUPPORTED},
        {"aan-nogate: true\n", "aan-nogate: none\n", "\"decoder_l1_aan_Wi\" is missing", CLF_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *folder = copy_other("average-first", "");
        check_refused(change_in(folder, "model.xx.intgemm.bin", cases[i].from, cases[i].to), cases[i].status,
                      cases[i].part);
    }
}

static void test_refused_configurations(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *part;
    } cases[] = {
        {"beam-size: 1\n", "beam-size: x\n", "\"beam-size\" in the folder's configuration is \"x\""},
        {"beam-size: 1\n", "beam-size: 0\n", "\"beam-size\" in the folder's configuration is \"0\""},
        {"normalize: 1.0\n", "normalize: nan\n", "\"normalize\" in the folder's configuration is \"nan\""},
        {"factor: 2.5\n", "factor: 2,5\n", "\"max-length-factor\" in the folder's configuration is \"2,5\""},
        {"penalty: 0\n", "penalty: y\n", "\"word-penalty\" in the folder's configuration is \"y\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_refused(change("config.yml", cases[i].from, cases[i].to), CLF_FORMAT, cases[i].part);
    }
}

static void test_refused_files(void **state)
{
    (void)state;
    check_refused(copy_folder("vocab.xx.spm"), CLF_FILE, "vocab.xx.spm");
    check_refused(copy_folder("model.xx.intgemm.bin"), CLF_FILE, "model.xx.intgemm.bin");
    check_refused(change("config.yml", "models:\n", "models x"), CLF_FORMAT, "config.yml");
    check_refused(change("config.yml", "vocabs:\n", "vocabz:\n"), CLF_FORMAT, "\"vocabs\"");
    /* Tiled for one processor, encrypted, and truncated. */
    check_refused(change("model.xx.intgemm.bin", "\x01\x41", "\x02\x11"), CLF_UNSUPPORTED, "0x1102");
    char *folder = copy_folder(""), path[600], *bytes;
    size_t size;
    snprintf(path, sizeof path, "%s/model.xx.intgemm.bin", folder);
    assert_ok(clf__file_read(&bytes, &size, path, 1 << 20));
    bytes[0] = 2;
    assert_ok(clf__file_write(path, bytes, size));
    check_refused(folder, CLF_UNSUPPORTED, "is encrypted");
    bytes[0] = 1;
    for (size_t left = 0; left < size; left += left < 2000 ? 97 : 5003) {
        assert_ok(clf__file_write(path, bytes, left));
        check_refused(folder, CLF_FORMAT, "download the file again");
    }
    free(bytes);
}

/* The shortlist is opened when a translator is created. */
static void test_missing_shortlist(void **state)
{
    (void)state;
    struct clf_model *model;
    struct clf_translator *translator;
    struct clf_translate_options options;
    assert_ok(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), copy_folder("lex.xx.s2t.bin"), NULL));
    assert_fails(clf_translator_create(&translator, model, NULL), CLF_FILE, "lex.xx.s2t.bin");
    clf_translate_options_init(&options, model);
    options.shortlist = "none";
    assert_ok(clf_translator_create(&translator, model, &options));
    clf_translator_free(translator);
    clf_model_free(model);
}

static void check_shortlist_refused(const char *folder, const char *part)
{
    struct clf_model *model;
    struct clf_translator *translator;
    assert_ok(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), folder, NULL));
    assert_fails(clf_translator_create(&translator, model, NULL), CLF_FORMAT, part);
    clf_model_free(model);
}

/* Pruning options of a text shortlist in the configuration; and a shortlist found by its name. */
static void test_text_shortlist(void **state)
{
    (void)state;
    static const struct {
        const char *file, *from, *to, *part;
    } cases[] = {
        {"config.yml", "s2t, 6, 3, 0.02]", "s2t, x, 3, 0.02]", "\"x\" (value 2) is not"},
        {"config.yml", "s2t, 6, 3, 0.02]", "s2t, 6,-3, 0.02]", "\"-3\" (value 3) is not"},
        {"config.yml", "s2t, 6, 3, 0.02]", "s2t, 6, 3, 1.02]", "\"1.02\" (value 4) is not"},
        {"lex.xx.s2t", "w38 w33 1e-05", "w38 w33_1e-05", "lex.xx.s2t: line 2 has fewer than three fields"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *folder = copy_other("average-gates", "");
        check_shortlist_refused(change_in(folder, cases[i].file, cases[i].from, cases[i].to), cases[i].part);
    }
    char *folder = copy_other("average-gates", "config.yml");
    check_shortlist_refused(change_in(folder, "lex.xx.s2t", "w38 w33", "w38_w33"), "line 2 has fewer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_refused_options, support_teardown),
        cmocka_unit_test_teardown(test_refused_average, support_teardown),
        cmocka_unit_test_teardown(test_refused_configurations, support_teardown),
        cmocka_unit_test_teardown(test_refused_files, support_teardown),
        cmocka_unit_test_teardown(test_refused_compression, support_teardown),
        cmocka_unit_test_teardown(test_missing_shortlist, support_teardown),
        cmocka_unit_test_teardown(test_text_shortlist, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
