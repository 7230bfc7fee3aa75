/* Makes PoCL compile for an AVX2 processor whatever this one has: preloaded (LD_PRELOAD), it answers for LLVM
 * when PoCL asks which processor it runs on. The kernels then run at their full speed, which an emulator is
 * far from.
 *
 * The two functions are C++ members of LLVM 15, by their mangled names: what Debian 12's PoCL calls. Where
 * PoCL calls others nothing happens, so whoever preloads this has to look at the name of the device: it
 * contains "haswell". */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define CPU_NAME        _ZN4llvm3sys14getHostCPUNameEv
#define CPU_FEATURES    _ZN4llvm3sys18getHostCPUFeaturesERNS_9StringMapIbNS_15MallocAllocatorEEE
#define REMOVE_KEY      "_ZN4llvm13StringMapImpl9RemoveKeyENS_9StringRefE"
#define STRING(name)    STRING_OF(name)
#define STRING_OF(name) #name

struct string_ref { /* llvm::StringRef */
    const char *data;
    size_t length;
};

struct string_ref CPU_NAME(void);
bool CPU_FEATURES(void *features);

struct string_ref CPU_NAME(void) {
    return (struct string_ref){"haswell", strlen("haswell")};
}

/* LLVM's own answer, without what PoCL takes for a processor with AVX-512. */
bool CPU_FEATURES(void *features)
{
    static const char *const hidden[] = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};
    bool (*find)(void *) = NULL;
    void *(*remove)(void *, struct string_ref) = NULL;
    void *llvm = dlopen("libLLVM-15.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (llvm == NULL) {
        return false;
    }
    *(void **)&find = dlsym(llvm, STRING(CPU_FEATURES));
    *(void **)&remove = dlsym(llvm, REMOVE_KEY);
    bool is_found = find && remove && find(features);
    for (size_t i = 0; is_found && i < sizeof hidden / sizeof *hidden; i++) {
        remove(features, (struct string_ref){hidden[i], strlen(hidden[i])});
    }
    return is_found;
}
