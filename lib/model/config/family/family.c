#include "model/config/family/family.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
#define FAMILY_DECLARE(name, word) extern const struct clf__family clf__family_##word;
CLF__SYSTEM_LIST(FAMILY_DECLARE)

#define FAMILY_ROW(name, word) {&clf__family_##word, #word},
static const struct {
    const struct clf__family *family;
    const char *word;
} rows[] = {CLF__SYSTEM_LIST(FAMILY_ROW)};
/* clang-format on */

const struct clf__family *clf__family_of(enum clf__system system)
{
    return rows[system].family;
}

const char *clf__system_word(enum clf__system system)
{
    return rows[system].word;
}

int clf__system_is_preset(enum clf__system system)
{
#define FAMILY_NUMBER(name, word) CLF__##name,
    static const enum clf__system presets[] = {CLF__PRESET_LIST(FAMILY_NUMBER)};
    return (size_t)system < sizeof presets / sizeof *presets; /* the list starts with the presets */
}

static const struct clf__family_key *find_key(const struct clf__family *family, const char *ours)
{
    for (const struct clf__family_key *key = family->keys; key != NULL && key->ours != NULL; key++) {
        if (strcmp(key->ours, ours) == 0) {
            return key;
        }
    }
    return NULL;
}

const char *clf__family_key_name(const struct clf__family *family, const char *ours, int *is_optional)
{
    const struct clf__family_key *key = find_key(family, ours);
    if (is_optional) {
        *is_optional = key != NULL && key->is_optional;
    }
    return key ? key->theirs : ours;
}

int clf__family_has_key(const struct clf__family *family, const char *ours)
{
    return find_key(family, ours) != NULL;
}

void clf__family_list_types(char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof rows / sizeof *rows && used < size; i++) {
        const char *type = rows[i].family->hugging_face;
        if (type) {
            used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", type);
        }
    }
}

int clf__family_find(enum clf__system *out, const char *word)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].word, word) == 0) {
            *out = (enum clf__system)i;
            return 1;
        }
    }
    return 0;
}

int clf__family_find_type(enum clf__system *out, const char *model_type)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *type = rows[i].family->hugging_face;
        if (type && strcmp(type, model_type) == 0) {
            *out = (enum clf__system)i;
            return 1;
        }
    }
    return 0;
}

/* Returns 1 if the class name is the model_type (compared by letters and digits) plus the suffix of an
 * encoder-decoder class. */
static int is_class_of(const char *architecture, const char *model_type)
{
    static const char *const endings[] = {"ForConditionalGeneration", "MTModel", "Model", "WithLMHeadModel"};
    for (; *model_type; model_type++) {
        if (isalnum((unsigned char)*model_type)) {
            if (tolower((unsigned char)*architecture) != *model_type) {
                return 0;
            }
            architecture++;
        }
    }
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (strcmp(architecture, endings[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

int clf__family_find_class(enum clf__system *out, const char *architecture)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *type = rows[i].family->hugging_face;
        if (type && is_class_of(architecture, type)) {
            *out = (enum clf__system)i;
            return 1;
        }
    }
    return 0;
}
