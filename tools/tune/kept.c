/* Writes the file of tuning results. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/ownership.h"
#include "tune/tune.h"

clf_status tune_check_place(const char *path)
{
    char *folder = NULL, *made = NULL;
    CLF__TRY(clf__copy_string(&folder, path));
    *strrchr(folder, '/') = '\0';
    clf_status status = clf__owned_folder_create(&made, folder);
    clf__free(made);
    clf__free(folder);
    CLF__TRY(status);
    struct clf__file_writer writer;
    CLF__TRY(clf__file_writer_open(&writer, path));
    status = clf__file_writer_write(&writer, "\n", 1);
    clf__file_writer_close(&writer, CLF_INTERRUPTED); /* leaves no temporary file */
    return status;
}

clf_status tune_keep(const char *path, const struct clf_device_info *info, enum clf__tunable tunable,
                     int value, const char *note)
{
    struct clf__tuning_file file;
    CLF__TRY(clf__tuning_read(&file, path));
    clf_status status = clf__tuning_set(&file, tunable, value, note);
    if (status == CLF_OK) {
        status = clf__tuning_write(path, info, &file);
    }
    clf__tuning_file_free(&file);
    return status;
}
