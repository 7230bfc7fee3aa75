#include "model/config/word.h"

#include <stdio.h>
#include <string.h>

clf_status clf__config_read_word(const struct clf__json *json, const char *name,
                                 const struct clf__key_word *words, int *out)
{
    const char *text = NULL;
    CLF__TRY(clf__json_string(json, name, &text));
    if (text == NULL) {
        return CLF_OK;
    }
    char known[256] = "";
    for (const struct clf__key_word *word = words; word->word != NULL; word++) {
        if (strcmp(word->word, text) == 0) {
            *out = word->value;
            return CLF_OK;
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", word > words ? ", " : "", word->word);
    }
    return clf__fail(CLF_UNSUPPORTED, "%s: \"%s\" is \"%.64s\"; supported: %s", json->path, name, text,
                     known);
}
