#include "config/family/family.h"

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
