/* The temporary folder exists while a model is being loaded. The process holds a lock on the folder, which
 * the system releases when the process ends; later calls remove unlocked folders. */
#include "model/formats/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/ownership.h"
#include "model/formats/format.h"
#include "model/weights/zip.h"

/* Prefix of temporary folders, and a file in them that marks them as created by clformer. */
#define FOLDER_NAME "clformer-package-"
#define MARK_NAME   ".clformer-temporary"
static const char mark[] =
    "Created by clformer to unpack a package; clformer removes this folder and all of its content.\n";
enum { UNIQUE = 6, MOST_TIMES_LARGER = 100 };

/* --- Files in the package --- */

struct package {
    const struct clf__file *file;
    struct clf__zip zip;
    const char *top; /* prefix of the package's names in the archive */
    size_t top_length;
};

static int is_unsafe(const char *name)
{
    size_t length;
    for (const char *part = name; *part != '\0'; part += length + (part[length] == '/')) {
        length = strcspn(part, "/");
        if (length == 2 && strncmp(part, "..", 2) == 0) {
            return 1;
        }
    }
    return *name == '/' || strchr(name, '\\') != NULL;
}

static clf_status check_entry(const struct clf__file *file, const struct clf__zip_entry *entry)
{
    const char *what = is_unsafe(entry->name)                      ? "has a path outside the package"
                       : (entry->mode & S_IFMT) == (mode_t)S_IFLNK ? "is a link"
                       : entry->is_encrypted                       ? "is encrypted"
                                                                   : NULL;
    return what == NULL
               ? CLF_OK
               : clf__fail(
                     CLF_FORMAT,
                     "%s: \"%.200s\" in the package %s, which is not allowed; download the package again",
                     file->path, entry->name, what);
}

/* Finds the folder of metadata.json: the only folder in the archive, or the root. */
static clf_status find_top(struct package *package)
{
    static const char wanted[] = "metadata.json";
    int count = 0;
    for (int i = 0; i < package->zip.count; i++) {
        const char *name = package->zip.entries[i].name, *stroke = strchr(name, '/');
        CLF__TRY(check_entry(package->file, &package->zip.entries[i]));
        if (strcmp(stroke != NULL ? stroke + 1 : name, wanted) == 0) {
            package->top = name;
            package->top_length = stroke != NULL ? (size_t)(stroke + 1 - name) : 0;
            count++;
        }
    }
    return count == 1 ? CLF_OK
                      : clf__fail(CLF_FORMAT,
                                  "%s: not an Argos Translate package (%s metadata.json in the zip archive); "
                                  "use such a package or a model folder",
                                  package->file->path, count == 0 ? "no" : "more than one");
}

/* Returns the name of an entry relative to the package; NULL if the file is not needed. */
static const char *wanted_name(const struct package *package, const struct clf__zip_entry *entry)
{
    static const char *const files[] = {"metadata.json", "sentencepiece.model", "bpe.model"};
    static const char below[] = "model/", list[] = "nonbreaking_prefix.";
    const char *name = entry->name + package->top_length;
    if (strncmp(entry->name, package->top, package->top_length) != 0) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (strcmp(name, files[i]) == 0) {
            return name;
        }
    }
    for (size_t i = 0; i < 2; i++) { /* only at the top level */
        const char *start = i == 0 ? below : list;
        size_t length = strlen(start);
        if (strncmp(name, start, length) == 0 && name[length] != '\0' && strchr(name + length, '/') == NULL) {
            return name;
        }
    }
    return NULL;
}

/* Checks that the declared sizes are plausible and that the files fit on the disk. */
static clf_status check_room(const struct package *package, const char *folder)
{
    struct statvfs about;
    uint64_t bytes = 0, most = package->file->size * MOST_TIMES_LARGER;
    for (int i = 0; i < package->zip.count; i++) {
        const struct clf__zip_entry *entry = &package->zip.entries[i];
        if (wanted_name(package, entry) == NULL) {
            continue;
        }
        if (entry->size > most - bytes) {
            return clf__fail(CLF_FORMAT,
                             "%s: the unpacked files would be more than %d times as large as the package, "
                             "unlike in any model; download the package again",
                             package->file->path, MOST_TIMES_LARGER);
        }
        bytes += entry->size;
    }
    if (statvfs(folder, &about) != 0) {
        return clf__file_fail(folder, "examined");
    }
    uint64_t room = (uint64_t)about.f_bavail * about.f_frsize;
    return bytes <= room ? CLF_OK
                         : clf__fail(CLF_FILE,
                                     "%s: the unpacked files need %llu MB, but %s has only %llu MB left; set "
                                     "TMPDIR to a folder with more space",
                                     package->file->path, (unsigned long long)(bytes >> 20) + 1, folder,
                                     (unsigned long long)(room >> 20));
}

/* --- The temporary folder --- */

/* Locks a folder; returns -1 if another process holds the lock or removed it. */
static int lock_folder(const char *path, int flags)
{
    struct stat about, named;
    int lock = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (lock >= 0 && (flock(lock, LOCK_EX | flags) != 0 || fstat(lock, &about) != 0 ||
                      lstat(path, &named) != 0 || about.st_ino != named.st_ino)) {
        close(lock);
        lock = -1;
    }
    return lock;
}

/* Returns 1 for a folder created by clformer. */
static int is_marked(const char *folder)
{
    char *path = NULL, *text = NULL;
    size_t size = 0;
    if (clf__path_join(&path, folder, MARK_NAME) != CLF_OK) {
        return 0;
    }
    int is_read = clf__file_exists(path) && clf__owned_file_read(&text, &size, path, sizeof mark) == CLF_OK;
    int is_own = is_read && size == sizeof mark - 1 && memcmp(text, mark, size) == 0;
    clf__free(text);
    clf__free(path);
    return is_own;
}

static clf_status write_mark(const char *folder)
{
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, folder, MARK_NAME));
    clf_status status = clf__file_write_owned(path, mark, sizeof mark - 1);
    clf__free(path);
    return status;
}

/* Removes folders left by killed processes of this user, ignoring failures. A folder without the mark may
 * belong to another program. */
static void remove_left(const char *above)
{
    struct clf__names names;
    if (clf__folder_list(&names, above) != CLF_OK) {
        return;
    }
    for (int i = 0; i < names.count; i++) {
        char *path = NULL;
        struct stat about;
        if (strncmp(names.items[i], FOLDER_NAME, strlen(FOLDER_NAME)) != 0 ||
            clf__path_join(&path, above, names.items[i]) != CLF_OK) {
            continue;
        }
        int is_own = lstat(path, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid();
        int lock = is_own && is_marked(path) ? lock_folder(path, LOCK_NB) : -1;
        if (lock >= 0) {
            clf__folder_remove(path);
            close(lock);
        }
        clf__free(path);
    }
    clf__names_free(&names);
}

static clf_status make_folder(struct clf__unpacked *out, const char *above)
{
    out->lock = -1;
    while (out->lock < 0) { /* repeats if another process's remove_left() has removed the folder */
        CLF__TRY(clf__format(&out->made, "%s/" FOLDER_NAME "%.*s", above, UNIQUE, "XXXXXX"));
        if (mkdtemp(out->made) == NULL) {
            clf_status status = clf__file_fail(out->made, "created");
            clf__free(out->made);
            out->made = NULL;
            return status;
        }
        out->lock = lock_folder(out->made, 0);
        if (out->lock < 0) {
            clf_status status = clf__folder_exists(out->made) ? clf__file_fail(out->made, "locked") : CLF_OK;
            status = clf__folder_discard(out->made, status);
            clf__free(out->made);
            out->made = NULL;
            CLF__TRY(status);
        }
    }
    return CLF_OK;
}

/* --- Unpacking --- */

struct target {
    const char *path;
    int descriptor;
};

/* A clf__file_block callback. */
static clf_status write_block(void *user, const uint8_t *bytes, size_t size)
{
    const struct target *target = user;
    while (size > 0) {
        ssize_t done = write(target->descriptor, bytes, size);
        if (done < 0 && errno != EINTR) {
            return clf__file_fail(target->path, "written");
        }
        bytes += done > 0 ? (size_t)done : 0;
        size -= done > 0 ? (size_t)done : 0;
    }
    return CLF_OK;
}

static clf_status unpack_file(const struct package *package, const struct clf__zip_entry *entry,
                              const char *path)
{
    struct target target = {.path = path};
    target.descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (target.descriptor < 0) {
        return clf__file_fail(path, "created");
    }
    clf_status status = clf__zip_each_block(package->file, entry, write_block, &target);
    if (close(target.descriptor) != 0 && status == CLF_OK) {
        status = clf__file_fail(path, "written");
    }
    return status;
}

static clf_status unpack_files(const struct package *package, const char *folder)
{
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, folder, "model"));
    clf_status status = clf__folder_create_owned(path);
    clf__free(path);
    for (int i = 0; i < package->zip.count && status == CLF_OK; i++) {
        const char *name = wanted_name(package, &package->zip.entries[i]);
        if (name != NULL) {
            CLF__TRY(clf__path_join(&path, folder, name));
            status = unpack_file(package, &package->zip.entries[i], path);
            clf__free(path);
        }
    }
    return status;
}

static clf_status unpack(struct clf__unpacked *out, struct package *package)
{
    const char *above = clf__environment_temporary_folder();
    CLF__TRY(find_top(package));
    remove_left(above);
    CLF__TRY(check_room(package, above));
    CLF__TRY(make_folder(out, above));
    out->folder = out->made;
    CLF__TRY(write_mark(out->made));
    return unpack_files(package, out->made);
}

static clf_status unpack_package(struct clf__unpacked *out, const char *path)
{
    struct clf__file file = {0};
    struct package package = {.file = &file};
    if (!clf__zip_can_unpack()) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: an Argos Translate package, but clformer was built without zlib; unpack it "
                         "(`unzip`) and use the folder in it",
                         path);
    }
    CLF__TRY(clf__file_open(&file, path));
    clf_status status = clf__zip_open_any(&package.zip, &file);
    if (status == CLF_OK) {
        status = unpack(out, &package);
        clf__zip_close(&package.zip);
    }
    clf__file_close(&file);
    return status;
}

/* Recognises a package by name, or as a zip archive that is not a file of another format. */
static clf_status is_package(int *out, const char *path)
{
    static const uint8_t magic[] = {'P', 'K', 3, 4};
    uint8_t start[sizeof magic];
    struct clf__file file = {0};
    *out = 0;
    if (!clf__file_exists(path) || clf__ends_with(path, CLF__OPENAI_ENDING)) {
        return CLF_OK;
    }
    if (clf__ends_with(path, ".argosmodel") || clf__ends_with(path, ".zip")) {
        *out = 1;
        return CLF_OK;
    }
    CLF__TRY(clf__file_open(&file, path));
    clf_status status = file.size < sizeof magic ? CLF_OK : clf__file_read_at(&file, 0, start, sizeof magic);
    *out = status == CLF_OK && file.size >= sizeof magic && memcmp(start, magic, sizeof magic) == 0;
    clf__file_close(&file);
    if (*out) { /* pytorch_model.bin is a zip archive too */
        const char *stroke = strrchr(path, '/');
        char *beside = NULL;
        CLF__TRY(
            clf__format(&beside, "%.*sconfig.json", stroke != NULL ? (int)(stroke + 1 - path) : 0, path));
        *out = !clf__file_exists(beside);
        clf__free(beside);
    }
    return status;
}

clf_status clf__unpack(struct clf__unpacked *out, const char *path)
{
    int is_one;
    *out = (struct clf__unpacked){.folder = path, .lock = -1};
    CLF__TRY(is_package(&is_one, path));
    clf_status status = is_one ? unpack_package(out, path) : CLF_OK;
    return status == CLF_OK ? CLF_OK : clf__unpacked_close(out, path, status);
}

clf_status clf__unpacked_rename_error(const struct clf__unpacked *unpacked, const char *path,
                                      clf_status status)
{
    const char *made = unpacked->made;
    if (status == CLF_OK || made == NULL || strncmp(clf_last_error(), path, strlen(path)) == 0) {
        return status;
    }
    struct clf__failure failure = clf__failure_keep(status);
    size_t length = strlen(made);
    return strncmp(failure.sentence, made, length) == 0
               ? clf__fail(status, "%s%s", path, failure.sentence + length)
               : clf__fail_in(status, "%s", path);
}

clf_status clf__unpacked_close(struct clf__unpacked *unpacked, const char *path, clf_status status)
{
    if (unpacked->made != NULL) {
        status = clf__folder_discard(unpacked->made, clf__unpacked_rename_error(unpacked, path, status));
        close(unpacked->lock);
        clf__free(unpacked->made);
    }
    *unpacked = (struct clf__unpacked){.lock = -1};
    return status;
}
