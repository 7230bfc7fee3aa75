/* Model folders for tests: files written by hand, fixtures copied and damaged. */
#ifndef CLF_TESTS_MODEL_FOLDER_H
#define CLF_TESTS_MODEL_FOLDER_H

#include "support/support.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <clformer/log.h>

#include "base/file.h"
#include "base/memory.h"

static inline const char *folder_path(const char *folder, const char *name)
{
    static char path[8192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static inline void folder_write(const char *folder, const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(folder_path(folder, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline void folder_write_text(const char *folder, const char *name, const char *text)
{
    folder_write(folder, name, text, strlen(text));
}

/* A new folder with the files of tests/fixtures/models/<fixture>. */
static inline const char *folder_copy(const char *fixture)
{
    char source[4096];
    snprintf(source, sizeof source, "%s/models/%s", support_fixture(""), fixture);
    const char *folder = support_temporary_folder();
    DIR *files = opendir(source);
    assert_non_null(files);
    for (struct dirent *entry = readdir(files); entry; entry = readdir(files)) {
        if (entry->d_name[0] != '.') {
            char *bytes;
            size_t size;
            assert_ok(clf__file_read(&bytes, &size, folder_path(source, entry->d_name), 1 << 24));
            folder_write(folder, entry->d_name, bytes, size);
            clf__free(bytes);
        }
    }
    closedir(files);
    return folder;
}

/* Replaces the first `old` after the first `after` (NULL: the file's start) by `text` of equal length. */
static inline void folder_patch(const char *folder, const char *name, const char *after, const char *old,
                                const char *text)
{
    char *bytes;
    size_t size, at = 0;
    assert_int_equal(strlen(old), strlen(text));
    assert_ok(clf__file_read(&bytes, &size, folder_path(folder, name), 1 << 24));
    while (after && at + strlen(after) < size && memcmp(bytes + at, after, strlen(after)) != 0) {
        at++;
    }
    while (at + strlen(old) <= size && memcmp(bytes + at, old, strlen(old)) != 0) {
        at++;
    }
    assert_true(at + strlen(old) <= size);
    memcpy(bytes + at, text, strlen(text));
    folder_write(folder, name, bytes, size);
    clf__free(bytes);
}

/* Messages that the library logged since folder_log_start(). */
static char folder_logged[4096];

static inline void folder_log(clf_log_level level, const char *message, void *user)
{
    (void)user, (void)level;
    size_t used = strlen(folder_logged);
    snprintf(folder_logged + used, sizeof folder_logged - used, "%s\n", message);
}

static inline void folder_log_start(void)
{
    folder_logged[0] = '\0';
    clf_log_set(folder_log, NULL);
}

static inline void folder_log_stop(void)
{
    clf_log_set(NULL, NULL);
}

/* Runs an expression with the 1st, 2nd, ... allocation failing, until none fails; `undo` follows a
 * success. */
#define FOR_EACH_FAILING_ALLOCATION(expression, undo)                                                        \
    do {                                                                                                     \
        uint64_t folder_turn = 0;                                                                            \
        clf_status folder_status;                                                                            \
        do {                                                                                                 \
            clf__memory_fail_at(++folder_turn);                                                              \
            folder_status = (expression);                                                                    \
            clf__memory_fail_at(0);                                                                          \
            if (folder_status != CLF_OK) {                                                                   \
                assert_int_equal(folder_status, CLF_OUT_OF_MEMORY);                                          \
            }                                                                                                \
        } while (folder_status != CLF_OK);                                                                   \
        undo;                                                                                                \
        assert_true(folder_turn > 1);                                                                        \
    } while (0)

#endif
