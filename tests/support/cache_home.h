/* Sets the folder of clformer's kernel cache, which most tests disable. PoCL keeps its own cache: compiling
 * every kernel again would be slow, and PoCL leaks memory when it compiles. */
#ifndef CLF_TESTS_SUPPORT_CACHE_HOME_H
#define CLF_TESTS_SUPPORT_CACHE_HOME_H

#include <stdio.h>
#include <stdlib.h>

static inline void set_cache_home(const char *folder)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (getenv("POCL_CACHE_DIR") == NULL && (cache || home)) {
        char path[4096];
        snprintf(path, sizeof path, "%s%s/pocl/kcache", cache ? cache : home, cache ? "" : "/.cache");
        setenv("POCL_CACHE_DIR", path, 1);
    }
    setenv("XDG_CACHE_HOME", folder, 1);
    unsetenv("CLFORMER_CACHE_BYTES");
}

#endif
