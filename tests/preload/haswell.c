/* Preloaded (LD_PRELOAD), makes PoCL compile for an AVX2 processor by answering for LLVM when PoCL queries
 * the processor; unlike emulation, kernels run at full speed. Replaces two mangled C++ members of LLVM 15
 * (Debian 12); with another version nothing happens, so check that the device name contains "haswell". */
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

/* LLVM's answer without the features by which PoCL recognises AVX-512. */
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
