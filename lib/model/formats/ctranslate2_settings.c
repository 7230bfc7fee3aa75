/* Settings in model.bin: the variables that are not weights. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/formats/ctranslate2.h"

enum { NAME_BYTES = 160 };

const char *const clf__ctranslate2_sides[2] = {"encoder", "decoder"};

/* Settings that are read below or have no effect here. */
static const char *const known_settings[] = {"num_heads",
                                             "pre_norm",
                                             "activation",
                                             "scale_embeddings",
                                             "multiply_by_sqrt_depth",
                                             "start_from_zero_embedding",
                                             "queries_scale",
                                             "scale_outputs",
                                             "relative_attention_max_distance",
                                             "alignment_layer",
                                             "alignment_heads",
                                             "embeddings_merge",
                                             "alibi_use_positive_positions",
                                             "scale_alibi"};
/* Settings that must be 0. */
static const char *const refused_settings[] = {"alibi", "multi_query_attention"};
/* Strings and flags in files before version 6 (ctranslate2_text.c). */
static const char *const text_settings[] = {"unk_token",
                                            "bos_token",
                                            "eos_token",
                                            "with_source_bos",
                                            "with_source_eos",
                                            "with_target_bos",
                                            "user_decoder_start_tokens"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

int clf__ctranslate2_is_listed(const char *word, const char *const *list, size_t count)
{
    size_t i = 0;
    while (i < count && strcmp(list[i], word) != 0) {
        i++;
    }
    return i < count;
}

static clf_status check_setting(const struct clf__stored_tensor *setting)
{
    const char *slash = strrchr(setting->name, '/'), *word = slash != NULL ? slash + 1 : setting->name;
    int is_refused = clf__ctranslate2_is_listed(word, refused_settings, COUNT(refused_settings));
    if (clf__ctranslate2_is_listed(word, known_settings, COUNT(known_settings)) ||
        clf__ctranslate2_is_listed(word, text_settings, COUNT(text_settings))) {
        return CLF_OK;
    }
    float value = 1.0f;
    if (is_refused && setting->dimensions == 0) {
        CLF__TRY(clf__stored_tensor_read(setting, &value));
    }
    return is_refused && value == 0.0f
               ? CLF_OK
               : clf__fail(CLF_UNSUPPORTED,
                           "%s: \"%.100s\" is set, which is not supported; use the original model",
                           setting->file, setting->name);
}

clf_status clf__ctranslate2_check_settings(const struct clf__weights *weights)
{
    for (int i = 0; i < clf__weights_count(weights); i++) {
        const struct clf__stored_tensor *tensor = clf__weights_at(weights, i);
        if (clf__ctranslate2_is_setting(tensor)) {
            CLF__TRY(check_setting(tensor));
        }
    }
    return CLF_OK;
}

const struct clf__stored_tensor *clf__ctranslate2_find_setting(const struct clf__weights *weights, int side,
                                                               const char *word)
{
    char name[2 * NAME_BYTES];
    snprintf(name, sizeof name, "%s/%s", clf__ctranslate2_sides[side], word);
    const struct clf__stored_tensor *setting = clf__weights_find(weights, name);
    setting = setting != NULL ? setting : clf__weights_find(weights, word);
    return setting != NULL && setting->dimensions == 0 ? setting : NULL;
}

clf_status clf__ctranslate2_read_number(const struct clf__stored_tensor *setting, float *out)
{
    CLF__TRY(clf__stored_tensor_read(setting, out));
    return isfinite(*out)
               ? CLF_OK
               : clf__fail(CLF_FORMAT, "%s: \"%.100s\" is %g; download the file or convert the model again",
                           setting->file, setting->name, (double)*out);
}

clf_status clf__ctranslate2_read_setting(const struct clf__weights *weights, int side, const char *word,
                                         float fallback, float *out)
{
    const struct clf__stored_tensor *setting = clf__ctranslate2_find_setting(weights, side, word);
    *out = fallback;
    return setting != NULL ? clf__ctranslate2_read_number(setting, out) : CLF_OK;
}

clf_status clf__ctranslate2_read_int(const struct clf__weights *weights, int side, const char *word, int low,
                                     int high, int *out)
{
    float value;
    CLF__TRY(clf__ctranslate2_read_setting(weights, side, word, (float)*out, &value));
    if (value < (float)low || value > (float)high || value != truncf(value)) {
        return clf__fail(CLF_FORMAT, "%s: \"%s/%s\" is %g, not in %d to %d; download the file again",
                         clf__weights_path(weights), clf__ctranslate2_sides[side], word, (double)value, low,
                         high);
    }
    *out = (int)value;
    return CLF_OK;
}
