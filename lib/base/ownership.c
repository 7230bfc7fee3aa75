#include "base/ownership.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

/* Many systems give each user a private group with the same name, and make files group-writable. */
static int is_group_of_its_own(uid_t owner, gid_t group_id)
{
    struct passwd user, *found_user = NULL;
    struct group group, *found_group = NULL;
    char user_text[4096], group_text[4096]; /* a member list that does not fit must include other users */
    if (getpwuid_r(owner, &user, user_text, sizeof user_text, &found_user) != 0 || found_user == NULL ||
        getgrgid_r(group_id, &group, group_text, sizeof group_text, &found_group) != 0 ||
        found_group == NULL || user.pw_gid != group_id || strcmp(user.pw_name, group.gr_name) != 0) {
        return 0;
    }
    for (char **member = group.gr_mem; *member; member++) {
        if (strcmp(*member, user.pw_name) != 0) {
            return 0;
        }
    }
    return 1;
}

static int others_may_write(const struct stat *about)
{
    return (about->st_mode & S_IWOTH) ||
           ((about->st_mode & S_IWGRP) && !is_group_of_its_own(about->st_uid, about->st_gid));
}

/* Checks the owner and permissions of a file or folder; less strictly for a parent folder (is_on_the_way). */
static clf_status check_owner(const char *path, const struct stat *about, int is_on_the_way)
{
    if (about->st_uid != geteuid() && !(is_on_the_way && about->st_uid == 0)) {
        return clf__fail(
            CLF_FILE,
            "%s: belongs to user %ld instead of user %ld and is not trusted; remove it or change its owner",
            path, (long)about->st_uid, (long)geteuid());
    }
    /* In a sticky folder, such as /tmp, nobody can rename files of another user. */
    if (!(is_on_the_way && (about->st_mode & S_ISVTX)) && others_may_write(about)) {
        return clf__fail(
            CLF_FILE, "%s: is writable by other users (mode %04o) and is not trusted; run chmod go-w on it",
            path, (unsigned)about->st_mode & 07777);
    }
    return CLF_OK;
}

/* Checks every folder from the root down. Other users cannot rename entries of a folder that passes, so
 * the checked path stays valid and is as safe as a file descriptor. */
static clf_status check_way(const char *real)
{
    char *partial = NULL;
    CLF__TRY(clf__copy_string(&partial, real));
    clf_status status = CLF_OK;
    size_t length = strlen(real);
    struct stat about;
    for (size_t i = 0; i <= length && status == CLF_OK; i++) {
        if (i > 0 && real[i] != '/' && real[i] != '\0') {
            continue;
        }
        partial[i] = '\0';
        const char *folder = i > 0 ? partial : "/";
        if (lstat(folder, &about) != 0) {
            if (errno == ENOENT) {
                break;
            }
            status = clf__file_fail(partial, "opened");
        } else if (!S_ISDIR(about.st_mode)) {
            status = clf__fail(CLF_FILE, "%s: is not a folder", folder);
        } else {
            status = check_owner(folder, &about, i < length);
        }
        partial[i] = real[i];
    }
    clf__free(partial);
    return status;
}

/* Resolves links in the existing part of a path. */
static clf_status resolve(char **out, const char *path)
{
    char *whole = NULL, *existing = NULL;
    CLF__TRY(clf__format(&whole, "%s%s", *path == '/' ? "" : "./", path));
    clf_status status = clf__copy_string(&existing, whole);
    char *real = NULL;
    while (status == CLF_OK && real == NULL) {
        real = realpath(*existing != '\0' ? existing : "/", NULL);
        char *slash = strrchr(existing, '/');
        if (real == NULL && errno == ENOENT && slash != NULL) {
            *slash = '\0';
        } else if (real == NULL) {
            status = clf__file_fail(existing, "opened");
        }
    }
    if (status == CLF_OK) {
        const char *missing = whole + strlen(existing);
        status = clf__format(out, "%s%s", real[1] == '\0' && *missing == '/' ? "" : real, missing);
    }
    free(real);
    clf__free(existing);
    clf__free(whole);
    return status;
}

clf_status clf__owned_folder_find(char **out, const char *path)
{
    *out = NULL;
    CLF__TRY(resolve(out, path));
    clf_status status = check_way(*out);
    if (status != CLF_OK) {
        clf__free(*out);
        *out = NULL;
    }
    return status;
}

clf_status clf__owned_folder_create(char **out, const char *path)
{
    char *real = NULL;
    *out = NULL;
    CLF__TRY(clf__owned_folder_find(&real, path));
    clf_status status = clf__folder_create_owned(real);
    clf__free(real);
    /* Another process may have created the folder first, so it is checked again. */
    return status == CLF_OK ? clf__owned_folder_find(out, path) : status;
}

/* Checks or creates the folder of a file, and returns the resolved path of the file. */
static clf_status find_file(char **out, const char *path, int is_created)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *folder = NULL, *real = NULL;
    CLF__TRY(clf__copy_bytes(&folder, slash ? path : ".", slash ? (size_t)(slash - path) + 1 : 1));
    clf_status status =
        is_created ? clf__owned_folder_create(&real, folder) : clf__owned_folder_find(&real, folder);
    if (status == CLF_OK) {
        status = clf__path_join(out, real, name);
    }
    clf__free(real);
    clf__free(folder);
    return status;
}

static clf_status open_owned(struct clf__file *out, const char *path)
{
    CLF__TRY(clf__file_open_as_is(out, path, O_NOFOLLOW));
    struct stat about;
    clf_status status =
        fstat(out->descriptor, &about) != 0 ? clf__file_fail(path, "opened") : check_owner(path, &about, 0);
    if (status != CLF_OK) {
        clf__file_close(out);
    }
    return status;
}

clf_status clf__owned_file_read(char **out, size_t *size, const char *path, size_t max_bytes)
{
    char *real = NULL;
    struct clf__file file = {.path = NULL};
    *out = NULL;
    *size = 0;
    CLF__TRY(find_file(&real, path, 0));
    clf_status status = open_owned(&file, real);
    if (status == CLF_OK) {
        status = clf__file_read_open(out, size, &file, max_bytes);
    }
    clf__file_close(&file);
    clf__free(real);
    return status;
}

clf_status clf__owned_file_write(const char *path, const void *bytes, size_t size)
{
    char *real = NULL;
    CLF__TRY(find_file(&real, path, 1));
    clf_status status = clf__file_write_owned(real, bytes, size);
    clf__free(real);
    return status;
}
