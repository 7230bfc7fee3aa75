/* Folders without a complete model, and model types that are rejected by name. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "model/config/config.h"

static void write(const char *folder, const char *name, const char *text)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(clf__file_write(path, text, strlen(text)));
}

static void check_refused(const char *folder, clf_status status, const char *part)
{
    struct clf__config config;
    assert_fails(clf__config_load(&config, folder), status, part);
}

static void test_adapters(void **state)
{
    (void)state;
    static const char *const weights[] = {"adapter_model.safetensors", "adapter_model.bin"};
    static const char base[] = "{\"peft_type\": \"LORA\", \"base_model_name_or_path\": \"facebook/nllb\"}";
    for (int i = 0; i < 2; i++) {
        for (int is_beside = 0; is_beside < 2; is_beside++) {
            const char *folder = support_temporary_folder();
            if (is_beside) {
                write(folder, "config.json", "{\"model_type\": \"marian\"}");
                write(folder, "model.safetensors", "");
            }
            write(folder, weights[i], "");
            check_refused(folder, CLF_UNSUPPORTED, weights[i]);
            assert_non_null(strstr(clf_last_error(), "merge_and_unload()"));
            write(folder, "adapter_config.json", base);
            check_refused(folder, CLF_UNSUPPORTED,
                          "adapter_config.json: an adapter (LORA of \"facebook/nllb\"), which is not "
                          "supported; merge it");
        }
    }
}

static void test_archives(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    write(folder, "canary-1b-v2.nemo", "");
    check_refused(folder, CLF_UNSUPPORTED, "canary-1b-v2.nemo: an NVIDIA NeMo archive (Canary");
    char path[400];
    snprintf(path, sizeof path, "%s/canary-1b-v2.nemo", folder);
    check_refused(path, CLF_UNSUPPORTED, "canary-1b-v2.nemo: an NVIDIA NeMo archive (Canary");
}

static void test_kinds(void **state)
{
    (void)state;
    static const char *const types[] = {"led",      "prophetnet", "IndicTrans", "t5gemma",
                                        "t5gemma2", "canary",     "moonshine",  "moonshine_streaming"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *folder = support_temporary_folder();
        char text[100], part[100];
        snprintf(text, sizeof text, "{\"model_type\": \"%s\"}", types[i]);
        snprintf(part, sizeof part, "\"model_type\" is \"%s\", a",
                 types[i]); /* "an encoder-decoder that ..." */
        write(folder, "config.json", text);
        check_refused(folder, CLF_UNSUPPORTED, part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_adapters, support_teardown),
        cmocka_unit_test_teardown(test_archives, support_teardown),
        cmocka_unit_test_teardown(test_kinds, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
