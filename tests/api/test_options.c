/* Options of callers compiled with other versions of the headers: shorter and longer structs. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <clformer/clformer.h>

#include "support/support.h"

#define MODEL "models/marian"

/* The structs of a possible later version. */
struct later_device_options {
    struct clf_device_options now;
    int64_t more;
};
struct later_model_options {
    struct clf_model_options now;
    int64_t more;
};
struct later_translate_options {
    struct clf_translate_options now;
    int64_t more;
};
struct later_hooks {
    struct clf_train_hooks now;
    int64_t more;
};

/* Responses to options of impossible sizes, and to an unknown field. */
struct call {
    clf_status (*make)(void *user, const void *options);
    void *user, *options; /* a later version's, which is 0 beyond `now` */
    size_t now, later;
    const char *initialiser;
};

static void check_refusals(const struct call *call)
{
    const size_t wrong[] = {0, sizeof(size_t), call->now - 1, (size_t)-8};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memcpy(call->options, &wrong[i], sizeof *wrong);
        assert_fails(call->make(call->user, call->options), CLF_BAD_ARGUMENT, call->initialiser);
    }
    memcpy(call->options, &call->later, sizeof call->later);
    ((char *)call->options)[call->later - 1] = 1;
    assert_fails(call->make(call->user, call->options), CLF_BAD_ARGUMENT, "newer version");
    ((char *)call->options)[call->later - 1] = 0;
}

static clf_status open_device(void *user, const void *options)
{
    struct clf_device **device = user;
    return clf_device_open(device, NULL, options);
}

static void test_device(void **state)
{
    (void)state;
    struct later_device_options options;
    clf_device_options_init_sized(&options.now, sizeof options);
    struct clf_device *device;
    options.now.use_program_cache = options.now.use_tuning = 0;
    check_refusals(&(struct call){open_device, &device, &options, sizeof options.now, sizeof options,
                                  "clf_device_options_init()"});
    assert_null(device);
    assert_ok(open_device(&device, &options));
    clf_device_close(device);
    /* An older version's struct that ends before `profile`, whose default is none. */
    const struct clf_kernel_time *times;
    int count;
    options.now.size = offsetof(struct clf_device_options, use_program_cache);
    options.now.profile = 1;
    assert_ok(open_device(&device, &options));
    assert_ok(clf_device_profile(&times, &count, device));
    assert_int_equal(count, 0);
    clf_device_close(device);
}

static clf_status load_model(void *user, const void *options)
{
    struct clf_model **model = user;
    return clf_model_load(model, support_device(CLF_VARIANT_AUTO), support_fixture(MODEL), options);
}

static void test_model(void **state)
{
    (void)state;
    struct later_model_options options;
    clf_model_options_init_sized(&options.now, sizeof options);
    struct clf_model *model;
    options.now.precision = CLF_PRECISION_BF16;
    check_refusals(&(struct call){load_model, &model, &options, sizeof options.now, sizeof options,
                                  "clf_model_options_init()"});
    assert_null(model);
    assert_ok(load_model(&model, &options));
    assert_int_equal(clf_model_describe(model)->precision, CLF_PRECISION_BF16);
    clf_model_free(model);
}

struct translation {
    struct clf_model *model;
    struct clf_translator *translator;
};

static clf_status create_translator(void *user, const void *options)
{
    struct translation *translation = user;
    return clf_translator_create(&translation->translator, translation->model, options);
}

static void test_translator(void **state)
{
    (void)state;
    struct translation translation;
    assert_ok(load_model(&translation.model, NULL));
    struct later_translate_options options;
    memset(&options, 0xff, sizeof options);
    clf_translate_options_init_sized(&options.now, sizeof options, translation.model);
    assert_int_equal(options.now.size, sizeof options);
    assert_int_equal(options.more, 0);
    check_refusals(&(struct call){create_translator, &translation, &options, sizeof options.now,
                                  sizeof options, "clf_translate_options_init"});
    assert_null(translation.translator);
    assert_ok(create_translator(&translation, &options));
    clf_translator_free(translation.translator);
    /* An older version's struct that ends before the suppressed ids: memory after it is neither read nor
       written. */
    size_t older = offsetof(struct clf_translate_options, suppressed);
    memset(&options, 0xff, sizeof options);
    clf_translate_options_init_sized(&options.now, older, translation.model);
    assert_int_equal(options.now.size, older);
    assert_int_equal(options.now.suppressed_count, -1);
    assert_ok(create_translator(&translation, &options));
    clf_translator_free(translation.translator);
    clf_model_free(translation.model);
}

struct later_document_options {
    struct clf_document_options now;
    int64_t more;
};

static clf_status open_document(void *user, const void *options)
{
    return clf_document_open(user, "a", 1, options);
}

static void test_document(void **state)
{
    (void)state;
    struct clf_document *document;
    struct later_document_options options;
    memset(&options, 0xff, sizeof options);
    clf_document_options_init_sized(&options.now, sizeof options);
    assert_int_equal(options.now.size, sizeof options);
    options.now.format = "text";
    check_refusals(&(struct call){open_document, &document, &options, sizeof options.now, sizeof options,
                                  "clf_document_options_init"});
    assert_null(document);
    assert_ok(open_document(&document, &options));
    clf_document_free(document);
}

static clf_status train(void *user, const void *hooks)
{
    return clf_train(support_device(CLF_VARIANT_AUTO), user, "/no/such/folder", hooks);
}

static void count_end(const struct clf_train_times *times, void *user)
{
    int *count = user;
    *count += times->passes == 0.0;
}

static void test_train(void **state)
{
    (void)state;
    struct later_hooks hooks;
    clf_train_hooks_init_sized(&hooks.now, sizeof hooks);
    struct clf_recipe *recipe;
    assert_ok(clf_recipe_create(&recipe));
    check_refusals(
        &(struct call){train, recipe, &hooks, sizeof hooks.now, sizeof hooks, "clf_train_hooks_init()"});
    int count = 0;
    hooks.now.ended = count_end;
    hooks.now.payload = &count;
    assert_fails(train(recipe, &hooks), CLF_BAD_ARGUMENT, "train"); /* the recipe, which names no texts */
    assert_int_equal(count, 1);
    clf_recipe_free(recipe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device),   cmocka_unit_test(test_model), cmocka_unit_test(test_translator),
        cmocka_unit_test(test_document), cmocka_unit_test(test_train),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
