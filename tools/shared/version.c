/* tools/CMakeLists.txt defines the CLF_ macros of this file except CLF_COMMIT. */
#include <stdio.h>
#include <sys/utsname.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include <clformer/document.h>
#include <clformer/ranks.h>
#include <clformer/version.h>

#include "commit.h"
#include "shared/version.h"

static void print_system(void)
{
    struct utsname system;
    if (uname(&system) == 0) {
        printf("system: %s %s, %s", system.sysname, system.release, system.machine);
#ifdef __GLIBC__
        printf(", glibc %s", gnu_get_libc_version());
#endif
        printf("\n");
    }
}

static void print_documents(void)
{
    const struct clf_document_format *format;
    for (int i = 0; (format = clf_document_format_at(i)) != NULL; i++) {
        printf("%s%s", i == 0 ? "documents: " : ", ", format->name);
    }
    printf("\n");
}

void print_version(void)
{
    const char *mpi = clf_ranks_library();
    int has_commit = *CLF_COMMIT != '\0';
    printf("clformer %s\n", CLF_VERSION_STRING);
    printf("build: %s%s%s\n", CLF_BUILD_KIND, has_commit ? ", commit " : "", CLF_COMMIT);
    print_system();
    printf("libraries: %s\n", CLF_LIBRARY_VERSIONS);
    printf("Argos Translate packages: %s\n", CLF_PACKAGES);
    printf("audio formats: %s\n", CLF_AUDIO_FORMATS);
    print_documents();
    printf("MPI: %s\n", mpi != NULL ? mpi : "no (built without MPI)");
    printf("server: %s\n", CLF_SERVER_PARTS);
}
