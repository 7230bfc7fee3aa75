/* Passes a fuzzer's bytes as files: in one folder per process, created once and removed at exit, in memory if
 * /dev/shm exists. Overwritten files keep their pages; on a disk, files would cost far more than the
 * parser. */
#ifndef CLF_FUZZ_FILES_H
#define CLF_FUZZ_FILES_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_check(int holds)
{
    if (!holds) {
        abort();
    }
}

static char fuzz_folder_path[32];

static inline void fuzz_remove_folder(void)
{
    clf__folder_remove(fuzz_folder_path);
}

/* The folder of this process. */
static inline const char *fuzz_folder(void)
{
    if (fuzz_folder_path[0] == '\0') {
        snprintf(fuzz_folder_path, sizeof fuzz_folder_path, "%s/clf_fuzz.XXXXXX",
                 access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
        fuzz_check(mkdtemp(fuzz_folder_path) != NULL && atexit(fuzz_remove_folder) == 0);
    }
    return fuzz_folder_path;
}

/* The path of a file in that folder, valid until the next call. */
static inline const char *fuzz_path(const char *name)
{
    static char path[96];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    return path;
}

/* Creates a file with only these bytes; returns its path, valid until the next call. */
static inline const char *fuzz_file(const char *name, const uint8_t *data, size_t size)
{
    const char *path = fuzz_path(name);
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    fuzz_check(file >= 0 && (size == 0 || write(file, data, size) == (ssize_t)size) &&
               ftruncate(file, (off_t)size) == 0 && close(file) == 0);
    return path;
}

/* For files that the next input may not have. */
static inline void fuzz_remove_file(const char *name)
{
    unlink(fuzz_path(name));
}

#endif
