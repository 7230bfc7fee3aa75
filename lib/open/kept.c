#include "open/kept.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/ownership.h"

static const size_t largest_file = 1 << 16;

static clf_status find_path(char **path, const char *folder, const char *word, const char *key)
{
    return clf__format(path, "%s/%s-%016" PRIx64 ".txt", folder, word, clf__checksum(key, strlen(key)));
}

clf_status clf__kept_read(char **out, char **path, const char *folder, const char *word, const char *key)
{
    char *text = NULL;
    size_t size = 0, length = strlen(key);
    *out = NULL;
    CLF__TRY(find_path(path, folder, word, key));
    clf_status status = clf__owned_file_read(&text, &size, *path, largest_file);
    if (status == CLF_OK && strlen(text) == size && strncmp(text, key, length) == 0) {
        status = clf__copy_string(out, text + length);
    }
    clf__free(text);
    return status == CLF_OUT_OF_MEMORY ? status : CLF_OK;
}

clf_status clf__kept_write(const char *folder, const char *word, const char *key, const char *text)
{
    char *path = NULL, *whole = NULL;
    clf_status status = find_path(&path, folder, word, key);
    if (status == CLF_OK) {
        status = clf__format(&whole, "%s%s", key, text);
    }
    if (status == CLF_OK) {
        status = clf__owned_file_write(path, whole, strlen(whole));
    }
    clf__free(whole);
    clf__free(path);
    return status;
}
