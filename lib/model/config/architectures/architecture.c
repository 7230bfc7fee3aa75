#include "model/config/architectures/architecture.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
#define ARCHITECTURE_DECLARE(name, word) extern const struct clf__architecture clf__architecture_##word;
CLF__ARCHITECTURE_LIST(ARCHITECTURE_DECLARE)

#define ARCHITECTURE_ROW(name, word) {&clf__architecture_##word, #word},
static const struct {
    const struct clf__architecture *architecture;
    const char *word;
} rows[] = {CLF__ARCHITECTURE_LIST(ARCHITECTURE_ROW)};
/* clang-format on */

const struct clf__architecture *clf__architecture_of(enum clf__architecture_id id)
{
    return rows[id].architecture;
}

const char *clf__architecture_word(enum clf__architecture_id id)
{
    return rows[id].word;
}

int clf__architecture_is_preset(enum clf__architecture_id id)
{
#define ARCHITECTURE_NUMBER(name, word) CLF__##name,
    static const enum clf__architecture_id presets[] = {CLF__PRESET_LIST(ARCHITECTURE_NUMBER)};
    return (size_t)id < sizeof presets / sizeof *presets; /* the list starts with the presets */
}

static const struct clf__architecture_key *find_key(const struct clf__architecture *architecture,
                                                    const char *ours)
{
    for (const struct clf__architecture_key *key = architecture->keys; key != NULL && key->ours != NULL;
         key++) {
        if (strcmp(key->ours, ours) == 0) {
            return key;
        }
    }
    return NULL;
}

const char *clf__architecture_key_name(const struct clf__architecture *architecture, const char *ours,
                                       int *is_optional)
{
    const struct clf__architecture_key *key = find_key(architecture, ours);
    if (is_optional) {
        *is_optional = key != NULL && key->is_optional;
    }
    return key ? key->theirs : ours;
}

int clf__architecture_has_key(const struct clf__architecture *architecture, const char *ours)
{
    return find_key(architecture, ours) != NULL;
}

void clf__architecture_list_types(char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof rows / sizeof *rows && used < size; i++) {
        const char *type = rows[i].architecture->hugging_face;
        if (type) {
            used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", type);
        }
    }
}

int clf__architecture_find(enum clf__architecture_id *out, const char *word)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].word, word) == 0) {
            *out = (enum clf__architecture_id)i;
            return 1;
        }
    }
    return 0;
}

int clf__architecture_find_type(enum clf__architecture_id *out, const char *model_type)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *type = rows[i].architecture->hugging_face;
        if (type && strcmp(type, model_type) == 0) {
            *out = (enum clf__architecture_id)i;
            return 1;
        }
    }
    return 0;
}

/* Returns 1 if the class name is the model_type (compared by letters and digits) plus the suffix of an
 * encoder-decoder class. */
static int is_class_of(const char *class_name, const char *model_type)
{
    static const char *const endings[] = {"ForConditionalGeneration", "MTModel", "Model", "WithLMHeadModel"};
    for (; *model_type; model_type++) {
        if (isalnum((unsigned char)*model_type)) {
            if (tolower((unsigned char)*class_name) != *model_type) {
                return 0;
            }
            class_name++;
        }
    }
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (strcmp(class_name, endings[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

int clf__architecture_find_class(enum clf__architecture_id *out, const char *class_name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *type = rows[i].architecture->hugging_face;
        if (type && is_class_of(class_name, type)) {
            *out = (enum clf__architecture_id)i;
            return 1;
        }
    }
    return 0;
}
