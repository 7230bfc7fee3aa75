#include "model/new_folder.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"

/* Returns the additional content that the format stores in the weights file, and the precision for loading
 * the file. */
static clf_status describe(struct clf__beside *beside, const struct clf__format *format,
                           const struct clf__new_folder *folder)
{
    const char *precision = folder->weights.precision;
    *beside = (struct clf__beside){.metadata = NULL};
    if (format->describe == NULL) {
        return CLF_OK;
    }
    CLF__TRY(format->describe(beside, folder->from));
    int is_set = precision == NULL ||
                 json_object_set_new(beside->metadata, CLF__PRECISION_KEY, json_string(precision)) == 0;
    return is_set ? CLF_OK
                  : clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to write the configuration");
}

static clf_status write_folder(const char *target, const struct clf__new_folder *folder)
{
    const struct clf__format *format;
    struct clf__beside beside;
    char *path = NULL;
    CLF__TRY(clf__format_of(&format, folder->from));
    CLF__TRY(clf__folder_create(target));
    CLF__TRY(format->copy_files(target, folder->from, &folder->weights));
    CLF__TRY(clf__path_join(&path, target, format->weights));
    clf_status status = describe(&beside, format, folder);
    if (status == CLF_OK) {
        status = folder->write(folder->user, path, &beside);
    }
    clf__beside_free(&beside);
    clf__free(path);
    return status;
}

/* Writes to a temporary folder and renames it, so that the output appears only when it is complete. */
static clf_status write_beside(const char *output, const struct clf__new_folder *folder)
{
    char *temporary = NULL;
    size_t missing = clf__folder_missing(output);
    CLF__TRY(clf__temporary_path(&temporary, output));
    clf_status status = write_folder(temporary, folder);
    if (status == CLF_OK) {
        status = clf__folder_rename(temporary, output);
    }
    if (status != CLF_OK) {
        status = clf__folder_discard(temporary, status);
        clf__folder_remove_empty(output, missing); /* also removes parent folders that were created */
    }
    if (status == CLF_INTERRUPTED) {
        status = clf__fail(status, "interrupted; %s was not written", output);
    }
    clf__free(temporary);
    return status;
}

clf_status clf__new_folder_write(const char *output, const struct clf__new_folder *folder)
{
    size_t length = strlen(output);
    while (length > 1 && output[length - 1] == '/') {
        length--;
    }
    char *plain =
        NULL; /* without trailing slashes, because the temporary folder must not be inside `output` */
    CLF__TRY(clf__copy_bytes(&plain, output, length));
    clf_status status = write_beside(plain, folder);
    clf__free(plain);
    return status;
}

clf_status clf__new_folder_check(const char *output)
{
    return clf__folder_exists(output) || clf__file_exists(output)
               ? clf__fail(CLF_FILE, "%s: already exists; use another name", output)
               : CLF_OK;
}
