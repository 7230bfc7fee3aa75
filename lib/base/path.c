/* Queries about the file that a path names. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"

clf_status clf__file_fail(const char *path, const char *verb)
{
    char reason[128];
    if (strerror_r(errno, reason, sizeof reason) != 0) {
        snprintf(reason, sizeof reason, "error %d", errno);
    }
    return clf__fail(CLF_FILE, "%s: cannot be %s: %s", path, verb, reason);
}

int clf__file_exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

int clf__file_is_missing(const char *path)
{
    struct stat about;
    return lstat(path, &about) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

clf_status clf__file_exists_in(int *out, const char *folder, const char *name)
{
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, folder, name));
    *out = clf__file_exists(path);
    clf__free(path);
    return CLF_OK;
}

int clf__folder_exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Returns whether both paths name the same file; *kind receives its type. */
static int is_one(mode_t *kind, const char *path, const char *other)
{
    struct stat about, others;
    int are_found = stat(path, &about) == 0 && stat(other, &others) == 0;
    *kind = are_found ? about.st_mode : 0;
    return are_found && about.st_dev == others.st_dev && about.st_ino == others.st_ino;
}

int clf__folder_is(const char *path, const char *other)
{
    mode_t kind;
    return is_one(&kind, path, other) && S_ISDIR(kind);
}

int clf__file_is(const char *path, const char *other)
{
    mode_t kind;
    return is_one(&kind, path, other) && S_ISREG(kind);
}

clf_status clf__path_join(char **out, const char *folder, const char *name)
{
    size_t length = strlen(folder);
    int has_slash = length > 0 && folder[length - 1] == '/';
    return clf__format(out, "%s%s%s", folder, length == 0 || has_slash ? "" : "/", name);
}
