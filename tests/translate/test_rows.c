/* A model with a different number of rows than tokens: rows without a token are never generated, and a token
 * without a row fails its line. */
#include <string.h>

#include <jansson.h>

#include <clformer/clformer.h>

#include "support/support.h"

#include "model/folder.h"

/* A copy of tests/fixtures/models/bart, whose vocabulary is the words w0, w1, ..., with `count` words. */
static const char *make_folder(int *rows, int count)
{
    const char *folder = folder_copy("bart");
    json_t *words = json_load_file(folder_path(folder, "vocab.json"), 0, NULL), *id;
    const char *word;
    void *next;
    char made[16];
    *rows = (int)json_object_size(words);
    json_object_foreach_safe(words, next, word, id)
    {
        if (json_integer_value(id) >= count) {
            json_object_del(words, word);
        }
    }
    for (int i = *rows; i < count; i++) {
        snprintf(made, sizeof made, "w%d", i);
        json_object_set_new(words, made, json_integer(i));
    }
    char *text = json_dumps(words, 0);
    folder_write_text(folder, "vocab.json", text);
    free(text);
    json_decref(words);
    return folder;
}

static struct clf_translation *translate(struct clf_translator **translator, struct clf_model **model,
                                         const char *folder, const struct clf_line *lines, int count)
{
    struct clf_translate_options options;
    struct clf_translation *translations;
    assert_ok(clf_model_load(model, support_device(CLF_VARIANT_AUTO), folder, NULL));
    clf_translate_options_init(&options, *model);
    options.max_length = 12;
    assert_ok(clf_translator_create(translator, *model, &options));
    assert_ok(clf_translate(&translations, *translator, lines, count));
    return translations;
}

static void done(struct clf_translation *translations, int count, struct clf_translator *translator,
                 struct clf_model *model)
{
    clf_translations_free(translations, count);
    clf_translator_free(translator);
    clf_model_free(model);
    support_free_all();
}

static int32_t highest_id(const struct clf_translation *translations, int count)
{
    int32_t highest = -1;
    for (int i = 0; i < count; i++) {
        assert_int_equal(translations[i].status, CLF_OK);
        for (int k = 0; k < translations[i].hypotheses[0].count; k++) {
            int32_t id = translations[i].hypotheses[0].ids[k];
            highest = id > highest ? id : highest;
        }
    }
    return highest;
}

static void test_rows_without_a_token(void **state)
{
    (void)state;
    static const struct clf_line lines[] = {{"w5 w6 w7", 8}, {"w9", 2}, {"w4 w4 w8 w5", 11}};
    struct clf_translator *translator;
    struct clf_model *model;
    int rows;
    struct clf_translation *all = translate(&translator, &model, make_folder(&rows, 0x10000), lines, 3);
    int32_t highest = highest_id(all, 3);
    done(all, 3, translator, model);
    assert_true(highest > 10);
    struct clf_translation *fewer = translate(&translator, &model, make_folder(&rows, highest), lines, 3);
    assert_true(highest_id(fewer, 3) < highest);
    done(fewer, 3, translator, model);
}

static void test_tokens_without_a_row(void **state)
{
    (void)state;
    static const struct clf_line lines[] = {{"w5 w6", 5}, {"w5 w65535", 9}, {"w7", 2}};
    struct clf_translator *translator;
    struct clf_model *model;
    int rows;
    struct clf_translation *all = translate(&translator, &model, make_folder(&rows, 0x10000), lines, 3);
    assert_int_equal(all[0].status, CLF_OK);
    assert_int_equal(all[1].status, CLF_TEXT);
    assert_non_null(strstr(all[1].problem, "the token \"w65535\" has the id 65535, but the model has only"));
    assert_int_equal(all[2].status, CLF_OK);
    done(all, 3, translator, model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_rows_without_a_token, support_teardown),
        cmocka_unit_test_teardown(test_tokens_without_a_row, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
