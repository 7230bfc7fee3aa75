/* The embeddings and the projection under each name in transformers, with and without "model.", tied and not.
 * Loading gives the parameters of the fixture. */
#include "model/folder.h"

#include <jansson.h>

#include "base/little_endian.h"
#include "model/config/config.h"
#include "model/parameters.h"

enum { MOST_NAMES = 4 };

/* A change of a fixture's weights. */
struct change {
    const char *fixture;
    const char *from[MOST_NAMES], *to[MOST_NAMES]; /* all of `from` are removed; the first is stored as each
                                                      of `to` */
    int is_bare;                                   /* names lose "model." */
    const char *old, *text;                        /* a change of config.json, or NULL */
    const char *error;                             /* NULL: the parameters are the fixture's */
};

static const char *names_of(const struct change *change, const char *name, int choice)
{
    for (int i = 0; i < MOST_NAMES && change->from[i] != NULL; i++) {
        if (strcmp(change->from[i], name) == 0) {
            return i == 0 && choice < MOST_NAMES ? change->to[choice] : NULL;
        }
    }
    return choice == 0 ? name : NULL;
}

static void write_header(FILE *file, json_t *header)
{
    char *text = json_dumps(header, 0);
    uint8_t size[8];
    clf__write_64(size, strlen(text));
    assert_int_equal(fwrite(size, 1, 8, file), 8);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    free(text);
}

/* A file of a fixture; the caller frees *bytes. */
static void read_file(char **bytes, size_t *size, const char *fixture, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/models/%s/%s", support_fixture(""), fixture, name);
    assert_ok(clf__file_read(bytes, size, path, 1 << 24));
}

static void rewrite_weights(const char *folder, const struct change *change)
{
    char *bytes;
    size_t size, used = 0;
    read_file(&bytes, &size, change->fixture, "model.safetensors");
    size_t start = 8 + (size_t)clf__read_64((const uint8_t *)bytes);
    json_t *header = json_loadb(bytes + 8, start - 8, 0, NULL), *written = json_object(), *entry;
    char *data = support_array(MOST_NAMES * size, 1);
    const char *name, *stored;
    json_object_del(header, "__metadata__");
    json_object_foreach(header, name, entry)
    {
        json_int_t begin = json_integer_value(json_array_get(json_object_get(entry, "data_offsets"), 0));
        json_int_t end = json_integer_value(json_array_get(json_object_get(entry, "data_offsets"), 1));
        for (int i = 0; (stored = names_of(change, name, i)) != NULL; i++) {
            stored += change->is_bare && strncmp(stored, "model.", 6) == 0 ? 6 : 0;
            memcpy(data + used, bytes + start + begin, (size_t)(end - begin));
            json_object_set_new(written, stored,
                                json_pack("{sOsOs[II]}", "dtype", json_object_get(entry, "dtype"), "shape",
                                          json_object_get(entry, "shape"), "data_offsets", (json_int_t)used,
                                          (json_int_t)used + end - begin));
            used += (size_t)(end - begin);
        }
    }
    FILE *file = fopen(folder_path(folder, "model.safetensors"), "wb");
    assert_non_null(file);
    write_header(file, written);
    assert_int_equal(fwrite(data, 1, used, file), used);
    assert_int_equal(fclose(file), 0);
    json_decref(header);
    json_decref(written);
    clf__free(bytes);
}

/* The changed fixture, in the only folder of this process. */
static const char *make_folder(const struct change *change)
{
    static const char *folder;
    char *bytes;
    size_t size;
    folder = folder != NULL ? folder : support_temporary_folder();
    read_file(&bytes, &size, change->fixture, "config.json");
    folder_write(folder, "config.json", bytes, size);
    clf__free(bytes);
    rewrite_weights(folder, change);
    return folder;
}

struct model {
    struct clf__config config;
    struct clf__parameters *parameters;
};

static void check_same(struct model *actual, struct model *expected)
{
    const struct clf__parameter_list *list = clf__parameters_list(actual->parameters);
    assert_int_equal(list->count, clf__parameters_list(expected->parameters)->count);
    for (int i = 0; i < list->count; i++) {
        size_t count = (size_t)list->items[i].rows * (size_t)list->items[i].columns;
        float *a = support_array(count, sizeof *a), *b = support_array(count, sizeof *b);
        assert_ok(clf__parameters_read(actual->parameters, list->items[i].name, a));
        assert_ok(clf__parameters_read(expected->parameters, list->items[i].name, b));
        assert_memory_equal(a, b, count * sizeof *a);
    }
}

static void check_change(const struct change *change)
{
    struct model actual, expected;
    const char *folder = make_folder(change);
    if (change->old) {
        folder_patch(folder, "config.json", NULL, change->old, change->text);
    }
    assert_ok(clf__config_load(&actual.config, folder));
    clf_status status = clf__parameters_load(&actual.parameters, &actual.config, folder);
    if (change->error) {
        assert_int_equal(status, CLF_FORMAT);
        if (strstr(clf_last_error(), change->error) == NULL) {
            fail_msg("%s: %s", change->fixture, clf_last_error());
        }
    } else {
        support_assert_ok(status, change->to[0] != NULL ? change->to[0] : change->fixture, __FILE__,
                          __LINE__);
        char path[4096];
        snprintf(path, sizeof path, "%s/models/%s", support_fixture(""), change->fixture);
        assert_ok(clf__config_load(&expected.config, path));
        assert_ok(clf__parameters_load(&expected.parameters, &expected.config, path));
        assert_int_equal(actual.config.share_target_output, expected.config.share_target_output);
        check_same(&actual, &expected);
        clf__parameters_free(expected.parameters);
        clf__config_free(&expected.config);
        clf__parameters_free(actual.parameters);
    }
    clf__config_free(&actual.config);
    support_free_all();
}

#define SHARED  "model.shared.weight"
#define ENCODER "model.encoder.embed_tokens.weight"
#define DECODER "model.decoder.embed_tokens.weight"
#define HEAD    "lm_head.weight"

static void test_bart(void **state)
{
    (void)state;
    static const char *const fixtures[] = {"bart", "marian", "m2m100", "pegasus", "mbart"};
    static const char *const aliases[][MOST_NAMES] = {
        {SHARED},           {ENCODER},       {DECODER},         {HEAD},
        {ENCODER, DECODER}, {DECODER, HEAD}, {SHARED, DECODER}, {SHARED, ENCODER, DECODER, HEAD}};
    for (size_t f = 0; f < sizeof fixtures / sizeof *fixtures; f++) {
        for (size_t a = 0; a < sizeof aliases / sizeof *aliases; a++) {
            for (int is_bare = 0; is_bare < 2; is_bare++) {
                struct change change = {.fixture = fixtures[f], .from = {SHARED}, .is_bare = is_bare};
                memcpy(change.to, aliases[a], sizeof change.to);
                check_change(&change);
            }
        }
        struct change none = {.fixture = fixtures[f], .from = {SHARED}, .error = "\"" SHARED "\" is missing"};
        check_change(&none);
    }
}

static void test_bart_untied(void **state)
{
    (void)state;
    const char *three = "marian-shared-untied", *two = "marian-untied";
    const struct change changes[] = {
        {.fixture = three, .is_bare = 1},
        {.fixture = three, .from = {SHARED}, .is_bare = 0},
        {.fixture = three, .from = {HEAD}, .error = "\"lm_head.weight\" is missing"},
        {.fixture = three, .from = {ENCODER, DECODER, SHARED}, .error = ENCODER "\" is missing"},
        {.fixture = two, .is_bare = 1},
        {.fixture = two, .from = {DECODER}, .error = DECODER "\" is missing"},
        {.fixture = "bart",
         .from = {SHARED},
         .to = {SHARED},
         .old = "\"tie_word_embeddings\": true",
         .text = "\"tie_word_embeddings\":false",
         .error = "\"lm_head.weight\" is missing"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        check_change(&changes[i]);
    }
}

/* Embeddings that are not tied to the projection are one matrix if the file has only one. */
static void test_one_embedding(void **state)
{
    (void)state;
    static const char *const kept[] = {SHARED, ENCODER, DECODER};
    for (int i = 0; i < 6; i++) {
        struct model model;
        struct change change = {.fixture = "marian-shared-untied", .to = {kept[i % 3]}, .is_bare = i / 3};
        change.from[0] = kept[i % 3];
        change.from[1] = kept[(i + 1) % 3];
        change.from[2] = kept[(i + 2) % 3];
        const char *folder = make_folder(&change);
        assert_ok(clf__config_load(&model.config, folder));
        assert_ok(clf__parameters_load(&model.parameters, &model.config, folder));
        const char *stored = kept[i % 3] + (change.is_bare ? 6 : 0);
        assert_string_equal(clf__parameters_stored(model.parameters, ENCODER)->name, stored);
        assert_string_equal(clf__parameters_stored(model.parameters, DECODER)->name, stored);
        clf__parameters_free(model.parameters);
        clf__config_free(&model.config);
    }
}

static void test_t5(void **state)
{
    (void)state;
    const char *shared = "shared.weight", *encoder = "encoder.embed_tokens.weight",
               *decoder = "decoder.embed_tokens.weight";
    const struct change changes[] = {
        {.fixture = "t5", .from = {shared}, .to = {encoder}},
        {.fixture = "t5", .from = {shared}, .to = {decoder}},
        {.fixture = "t5", .from = {shared}, .to = {HEAD}},
        {.fixture = "t5", .from = {shared}, .to = {shared, encoder, decoder, HEAD}},
        {.fixture = "mt5-tied", .from = {shared}, .to = {HEAD, decoder}},
        {.fixture = "mt5", .from = {shared}, .to = {encoder}},
        {.fixture = "mt5", .from = {shared}, .to = {decoder}}, /* MADLAD-400 */
        {.fixture = "mt5", .from = {shared}, .to = {encoder, decoder}},
        {.fixture = "t5-gated", .from = {shared}, .to = {decoder}},
        {.fixture = "t5-unscaled", .from = {shared}, .to = {decoder}},
        {.fixture = "umt5", .from = {shared}, .to = {decoder, shared}},
        /* An untied projection does not replace the embedding. */
        {.fixture = "mt5", .from = {shared}, .error = "\"shared.weight\" is missing"},
        {.fixture = "t5-gated", .from = {shared}, .error = "\"shared.weight\" is missing"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        check_change(&changes[i]);
    }
}

static void test_whisper(void **state)
{
    (void)state;
    const struct change changes[] = {
        {.fixture = "whisper", .from = {DECODER}, .to = {"proj_out.weight"}},
        {.fixture = "whisper", .from = {DECODER}, .to = {DECODER, "proj_out.weight"}},
        {.fixture = "whisper", .from = {DECODER}, .to = {DECODER}, .is_bare = 1},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        check_change(&changes[i]);
    }
}

/* transformers up to 4 ties the projection to the decoder's embedding whatever config.json states. */
static void test_fsmt(void **state)
{
    (void)state;
    const char *output = "model.decoder.output_projection.weight";
    const struct change changes[] = {
        {.fixture = "fsmt-odd", .from = {DECODER}, .to = {output}},
        {.fixture = "fsmt-odd", .from = {DECODER}, .to = {ENCODER, DECODER, output}},
        {.fixture = "fsmt-odd", .from = {DECODER}, .to = {SHARED, HEAD}}, /* as convert writes it */
        {.fixture = "fsmt-odd", .is_bare = 1},
        {.fixture = "fsmt-odd", .from = {DECODER}, .error = "\"model.shared.weight\" is missing"},
        {.fixture = "fsmt-float16", .is_bare = 1},
        {.fixture = "fsmt-float16", .from = {output}, .to = {HEAD}},
        {.fixture = "fsmt-float16", .from = {ENCODER}, .error = ENCODER "\" is missing"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        check_change(&changes[i]);
    }
    struct model model;
    const char *folder = make_folder(&(struct change){.fixture = "fsmt-float16", .from = {output}});
    assert_ok(clf__config_load(&model.config, folder));
    assert_ok(clf__parameters_load(&model.parameters, &model.config, folder));
    assert_true(model.config.share_target_output && !model.config.share_source_target);
    clf__parameters_free(model.parameters);
    clf__config_free(&model.config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_bart, support_teardown),
        cmocka_unit_test_teardown(test_bart_untied, support_teardown),
        cmocka_unit_test_teardown(test_one_embedding, support_teardown),
        cmocka_unit_test_teardown(test_t5, support_teardown),
        cmocka_unit_test_teardown(test_whisper, support_teardown),
        cmocka_unit_test_teardown(test_fsmt, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
