/* Folders with only config.json and generation_config.json, for configuration tests. */
#ifndef CLF_TESTS_MODEL_CONFIG_FOLDER_H
#define CLF_TESTS_MODEL_CONFIG_FOLDER_H

#include "model/folder.h"

#include "model/config/config.h"

static const char *const marian_config =
    "\"model_type\": \"marian\", \"vocab_size\": 40, \"d_model\": 24, "
    "\"encoder_attention_heads\": 4, \"decoder_attention_heads\": 3, "
    "\"pad_token_id\": 39, \"decoder_start_token_id\": 39, \"eos_token_id\": 0";

/* Writes a folder whose files contain the given members, the same one in every call; generation NULL: no
 * generation_config.json. */
static inline const char *write_config(const char *members, const char *more, const char *generation)
{
    static const char *folder;
    static char text[8192];
    if (!folder) {
        folder = support_temporary_folder();
    }
    snprintf(text, sizeof text, "{%s%s%s}", members, more[0] ? ", " : "", more);
    folder_write_text(folder, "config.json", text);
    unlink(folder_path(folder, "generation_config.json"));
    if (generation) {
        snprintf(text, sizeof text, "{%s}", generation);
        folder_write_text(folder, "generation_config.json", text);
    }
    return folder;
}

static inline struct clf__config load_config(const char *members, const char *more, const char *generation)
{
    struct clf__config config;
    assert_ok(clf__config_load(&config, write_config(members, more, generation)));
    return config;
}

static inline void expect_bad_config(const char *members, const char *more, const char *generation,
                                     clf_status status, const char *part)
{
    struct clf__config config;
    assert_fails(clf__config_load(&config, write_config(members, more, generation)), status, part);
    assert_non_null(strstr(clf_last_error(), "config.json"));
    assert_null(config.generation.bad_words);
}

#endif
