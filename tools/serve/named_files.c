#include "serve/named_files.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "translate/documents/format.h"

clf_status named_files_split(size_t *name_size, const char **path, const char *flag, const char *value)
{
    const char *equals = strchr(value, '=');
    if (equals == NULL || equals == value) {
        return clf__fail(CLF_BAD_ARGUMENT, "--%s %s: has no name; write NAME=FILE", flag, value);
    }
    *name_size = (size_t)(equals - value);
    *path = equals + 1;
    return CLF_OK;
}

static const struct named_file *find(const struct named_files *files, const char *name, size_t size)
{
    for (int i = 0; i < files->count; i++) {
        const struct named_file *file = &files->items[i];
        if (file->name_size == size && memcmp(file->name, name, size) == 0) {
            return file;
        }
    }
    return NULL;
}

clf_status named_files_load(struct named_files *out, const char *flag, const struct flag_values *values)
{
    for (int i = 0; i < values->count; i++) {
        struct named_file *file = &out->items[out->count];
        const char *path = NULL;
        CLF__TRY(named_files_split(&file->name_size, &path, flag, values->items[i]));
        file->name = values->items[i];
        if (find(out, file->name, file->name_size) != NULL) {
            return clf__fail(CLF_BAD_ARGUMENT, "--%s %s: another file is called %.*s; choose another name",
                             flag, file->name, (int)file->name_size, file->name);
        }
        CLF__TRY(clf__file_read(&file->bytes, &file->size, path, CLF__DOCUMENT_MOST_BYTES));
        out->count++;
    }
    return CLF_OK;
}

void named_files_free(struct named_files *files)
{
    for (int i = 0; i < files->count; i++) {
        clf__free(files->items[i].bytes);
    }
    files->count = 0;
}

const struct named_file *named_files_find(const struct named_files *files, const char *name)
{
    return find(files, name, strlen(name));
}
