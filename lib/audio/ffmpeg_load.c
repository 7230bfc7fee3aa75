#include <stdio.h> /* needed without FFmpeg too: C requires a declaration in every file */

#ifdef CLF_HAS_FFMPEG

#include "audio/ffmpeg_load.h"

#include <dlfcn.h>
#include <string.h>

struct function {
    const char *name;
    size_t offset; /* offset of the function's pointer in struct clf__ffmpeg_functions */
};

#define FUNCTION(name) {#name, offsetof(struct clf__ffmpeg_functions, name)},
static const struct function avformat_functions[] = {CLF__AVFORMAT_FUNCTIONS(FUNCTION){NULL, 0}};
static const struct function avcodec_functions[] = {CLF__AVCODEC_FUNCTIONS(FUNCTION){NULL, 0}};
static const struct function swresample_functions[] = {CLF__SWRESAMPLE_FUNCTIONS(FUNCTION){NULL, 0}};
static const struct function avutil_functions[] = {CLF__AVUTIL_FUNCTIONS(FUNCTION){NULL, 0}};
#undef FUNCTION

/* libavformat is first because its package depends on the packages of the others. */
static const struct {
    const char *name;
    int major;
    const struct function *functions;
} libraries[] = {
    {"libavformat", LIBAVFORMAT_VERSION_MAJOR, avformat_functions},
    {"libavcodec", LIBAVCODEC_VERSION_MAJOR, avcodec_functions},
    {"libswresample", LIBSWRESAMPLE_VERSION_MAJOR, swresample_functions},
    {"libavutil", LIBAVUTIL_VERSION_MAJOR, avutil_functions},
};

static int find_functions(struct clf__ffmpeg_functions *out, void *library, const struct function *function)
{
    for (; function->name != NULL; function++) {
        void *symbol = dlsym(library, function->name);
        if (symbol == NULL) {
            return 0;
        }
        memcpy((char *)out + function->offset, &symbol, sizeof symbol);
    }
    return 1;
}

int clf__ffmpeg_load(struct clf__ffmpeg_functions *functions, char *reason, size_t size)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        char soname[64];
        snprintf(soname, sizeof soname, "%s.so.%d", libraries[i].name, libraries[i].major);
        void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL || !find_functions(functions, library, libraries[i].functions)) {
            snprintf(reason, size, "%s; Debian package %s%d", dlerror(), libraries[i].name,
                     libraries[i].major);
            return 0;
        }
    }
    return 1;
}

#endif
