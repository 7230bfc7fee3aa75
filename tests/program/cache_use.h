/* A program on a device, and the folder in which it is cached. */
#ifndef CLF_TESTS_PROGRAM_CACHE_USE_H
#define CLF_TESTS_PROGRAM_CACHE_USE_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include <clformer/log.h>

#include "runtime/device/buffer.h"
#include "runtime/program/ahead.h"
#include "runtime/program/launch.h"
#include "runtime/program/testing.h"
#include "support/cache_home.h"
#include "support/support.h"

static const char source[] = "__kernel void one(__global float *y) { y[0] = 1.0f + ADDED; }\n"
                             "__kernel void two(__global float *y) { y[0] = 2.0f + ADDED; }\n";

static int warnings, notices;
static char last_warning[1024];
static char folder[256]; /* $XDG_CACHE_HOME/clformer */

static inline void count_warnings(clf_log_level level, const char *message, void *user)
{
    (void)user;
    if (level == CLF_LOG_WARNING) {
        warnings++;
        snprintf(last_warning, sizeof last_warning, "%s", message);
    }
    notices += level == CLF_LOG_NOTICE;
}

static inline int start(void **state)
{
    (void)state;
    const char *home = support_temporary_folder();
    set_cache_home(home);
    snprintf(folder, sizeof folder, "%s/clformer", home);
    warnings = 0;
    clf_log_set(count_warnings, NULL);
    return 0;
}

static inline int finish(void **state)
{
    clf_log_set(NULL, NULL);
    return support_teardown(state);
}

struct use {
    int ahead; /* programs loaded before a kernel was requested, besides the probe */
    int built, loaded, warnings, notices;
};
static const char *work; /* loaded ahead for this work, unless it is NULL */

/* Opens the device, runs a kernel of the test's program, closes the device; the answer must be right whatever
 * the cache contains. */
static inline struct use use_device(const char *kernel, int added)
{
    struct clf_device *device;
    struct clf__buffer *y;
    struct use use;
    char defines[32];
    float value = 0;
    warnings = notices = 0;
    assert_ok(clf_device_open(&device, NULL, NULL));
    assert_ok(clf__program_add_source(device, "cached", source));
    assert_ok(clf__buffer_create(&y, device, sizeof value, "the output"));
    clf__program_counts(device, &use.built, &use.loaded);
    use.ahead = -(use.built + use.loaded);
    if (work) {
        clf__programs_ahead_begin(device, work);
    }
    clf__program_counts(device, &use.built, &use.loaded);
    use.ahead += use.built + use.loaded;
    snprintf(defines, sizeof defines, "-DADDED=%d", added);
    struct clf__argument arguments[] = {CLF__BUFFER(y)};
    struct clf__launch launch = {.program = "cached",
                                 CLF__ON_BOTH(kernel, {1}, {1}),
                                 .defines = defines,
                                 .arguments = arguments,
                                 .argument_count = 1};
    assert_ok(clf__launch(device, &launch));
    assert_ok(clf__buffer_read(y, 0, sizeof value, &value));
    assert_true(value == (strcmp(kernel, "one") == 0 ? 1.0f : 2.0f) + (float)added);
    clf__program_counts(device, &use.built, &use.loaded);
    clf__buffer_free(y);
    clf_device_close(device);
    use.warnings = warnings;
    use.notices = notices;
    return use;
}

static inline void assert_use(struct use use, int built, int loaded, int warned)
{
    if (use.built != built || use.loaded != loaded || use.warnings != warned) {
        fail_msg("%d built, %d loaded, %d warnings (%s); wanted %d, %d, %d", use.built, use.loaded,
                 use.warnings, last_warning, built, loaded, warned);
    }
}

/* The path of the only file of the folder with this prefix. */
static inline const char *find_file(const char *prefix)
{
    static char path[600];
    int found = 0;
    DIR *stream = opendir(folder);
    assert_non_null(stream);
    for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream)) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            found++;
        }
    }
    closedir(stream);
    assert_int_equal(found, 1);
    return path;
}

static inline char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = support_array(*size, 1);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static inline void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

#endif
