/* Creates, lists and removes folders. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

static clf_status create_folder(const char *path, mode_t mode)
{
    char *partial = NULL;
    CLF__TRY(clf__copy_string(&partial, path));
    clf_status status = CLF_OK;
    size_t length = strlen(path);
    for (size_t i = 1; i <= length && status == CLF_OK; i++) {
        if (path[i] != '/' && path[i] != '\0') {
            continue;
        }
        partial[i] = '\0';
        /* Another process may create the folder at the same time, so only its existence matters. */
        if (mkdir(partial, mode) != 0) {
            int reason = errno;
            if (!clf__folder_exists(partial)) {
                errno = reason;
                status = reason == EEXIST
                             ? clf__fail(CLF_FILE, "%s: is not a folder; remove it or choose another path",
                                         partial)
                             : clf__file_fail(partial, "created");
            }
        }
        partial[i] = path[i];
    }
    if (length == 0) {
        status = clf__fail(CLF_FILE, "the path of the folder is empty; name a folder");
    }
    clf__free(partial);
    return status;
}

size_t clf__folder_missing(const char *path)
{
    char part[PATH_MAX];
    size_t length = strlen(path);
    for (size_t i = 1; i <= length && length < sizeof part; i++) {
        if (path[i] == '/' || path[i] == '\0') {
            snprintf(part, sizeof part, "%.*s", (int)i, path);
            if (!clf__folder_exists(part)) {
                return i;
            }
        }
    }
    return 0;
}

void clf__folder_remove_empty(const char *path, size_t missing)
{
    char part[PATH_MAX];
    for (size_t i = strlen(path); missing > 0 && i >= missing && i < sizeof part; i--) {
        if (path[i] == '/' || path[i] == '\0') {
            snprintf(part, sizeof part, "%.*s", (int)i, path);
            rmdir(part); /* fails if the folder is not empty */
        }
    }
}

clf_status clf__folder_create(const char *path)
{
    return create_folder(path, 0777);
}

clf_status clf__folder_create_owned(const char *path)
{
    return create_folder(path, 0700);
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

clf_status clf__names_add(struct clf__names *names, const char *name)
{
    CLF__TRY(clf__resize(&names->items, (size_t)names->count + 1, sizeof *names->items));
    CLF__TRY(clf__copy_string(&names->items[names->count], name));
    names->count++;
    return CLF_OK;
}

clf_status clf__folder_list(struct clf__names *out, const char *path)
{
    *out = (struct clf__names){0};
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return clf__file_fail(path, "opened");
    }
    clf_status status = CLF_OK;
    for (struct dirent *entry = readdir(folder); entry != NULL && status == CLF_OK; entry = readdir(folder)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            status = clf__names_add(out, entry->d_name);
        }
    }
    closedir(folder);
    if (status != CLF_OK) {
        clf__names_free(out);
    } else if (out->count > 0) {
        qsort(out->items, (size_t)out->count, sizeof *out->items, by_name);
    }
    return status;
}

void clf__names_free(struct clf__names *names)
{
    for (int i = 0; i < names->count; i++) {
        clf__free(names->items[i]);
    }
    clf__free(names->items);
    *names = (struct clf__names){0};
}

static int is_folder_itself(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

clf_status clf__folder_remove(const char *path)
{
    if (!is_folder_itself(path)) {
        return unlink(path) == 0 || errno == ENOENT ? CLF_OK : clf__file_fail(path, "removed");
    }
    struct clf__names names;
    CLF__TRY(clf__folder_list(&names, path));
    clf_status status = CLF_OK;
    for (int i = 0; i < names.count && status == CLF_OK; i++) {
        char *inside = NULL;
        status = clf__path_join(&inside, path, names.items[i]);
        if (status == CLF_OK) {
            status = clf__folder_remove(inside);
        }
        clf__free(inside);
    }
    clf__names_free(&names);
    if (status == CLF_OK && rmdir(path) != 0) {
        status = clf__file_fail(path, "removed");
    }
    return status;
}

clf_status clf__folder_discard(const char *path, clf_status status)
{
    struct clf__failure first = clf__failure_keep(status);
    clf__folder_remove(path);
    return clf__failure_again(&first);
}
