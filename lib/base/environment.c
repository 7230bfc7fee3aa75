#include "base/environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

const char *clf__environment_value(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

extern char **environ;

char *const *clf__environment_all(void)
{
    return environ;
}

clf_status clf__environment_uses_tuning(int *out)
{
    const char *value = clf__environment_value("CLFORMER_TUNING");
    *out = value == NULL || strcmp(value, "on") == 0;
    return *out || strcmp(value, "off") == 0
               ? CLF_OK
               : clf__fail(CLF_BAD_ARGUMENT, "CLFORMER_TUNING: unknown value \"%s\"; use on or off", value);
}

static const struct {
    unsigned bit;
    const char *word;
} features[] = {
#define FEATURE(name, bit, word) {1u << (bit), (word)},
    CLF__FEATURE_LIST(FEATURE)
#undef FEATURE
};
enum { FEATURES = sizeof features / sizeof *features };

static clf_status fail_feature(const char *value, const char *word, size_t length)
{
    char known[256] = "";
    for (size_t i = 0, used = 0; i < FEATURES && used < sizeof known; i++) {
        used +=
            (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", features[i].word);
    }
    return clf__fail(CLF_BAD_ARGUMENT,
                     "CLFORMER_WITHOUT: \"%s\" contains the unknown feature \"%.*s\"; choose from: %s", value,
                     (int)length, word, known);
}

clf_status clf__environment_without(unsigned *out)
{
    const char *value = clf__environment_value("CLFORMER_WITHOUT");
    *out = 0;
    for (const char *word = value; word != NULL;) {
        size_t length = strcspn(word, ","), found = 0;
        while (found < FEATURES &&
               (strlen(features[found].word) != length || strncmp(features[found].word, word, length) != 0)) {
            found++;
        }
        if (found == FEATURES) {
            return fail_feature(value, word, length);
        }
        *out |= features[found].bit;
        word = word[length] == ',' ? word + length + 1 : NULL;
    }
    return CLF_OK;
}

clf_status clf__environment_cache_folder(char **out)
{
    *out = NULL;
    /* The XDG Base Directory Specification says to ignore relative paths. */
    const char *cache = clf__environment_value("XDG_CACHE_HOME");
    if (cache && *cache == '/') {
        return clf__format(out, "%s/clformer", cache);
    }
    const char *home = clf__environment_value("HOME");
    if (home) {
        return clf__format(out, "%s/.cache/clformer", home);
    }
    return clf__fail(CLF_FILE, "cache folder: neither XDG_CACHE_HOME nor HOME is set; set one of them");
}

const char *clf__environment_temporary_folder(void)
{
    const char *folder = clf__environment_value("TMPDIR");
    return folder != NULL ? folder : "/tmp";
}

const char *clf__environment_abbreviations_folder(void)
{
    return clf__environment_value("CLFORMER_ABBREVIATIONS");
}

clf_status clf__environment_cache_bytes(uint64_t *out)
{
    const char *value = clf__environment_value("CLFORMER_CACHE_BYTES");
    *out = (uint64_t)256 << 20;
    if (value == NULL) {
        return CLF_OK;
    }
    errno = 0;
    unsigned long long bytes = strtoull(value, NULL, 10);
    if (strspn(value, "0123456789") != strlen(value) || errno != 0) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "CLFORMER_CACHE_BYTES: \"%s\" is not a number of bytes; use a number such as "
                         "268435456, or 0 to disable the cache",
                         value);
    }
    *out = bytes;
    return CLF_OK;
}
