/* Limits the size of the program cache. */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "runtime/program/cache.h"

static const time_t day = 24 * 60 * 60;

struct entry {
    char *path;
    uint64_t size;
    struct timespec used; /* modification time, updated by every read */
};

/* Returns the rest of a name after "NAME-0123456789abcdef.bin" or "NAME-0123456789abcdef.list"; NULL for the
 * name of a file that clformer does not write. */
static const char *after_program(const char *name)
{
    enum { DIGITS = 16 };
    for (const char *dash = strchr(name, '-'); dash != NULL; dash = strchr(dash + 1, '-')) {
        const char *ending = dash + 1 + DIGITS;
        if (strspn(dash + 1, "0123456789abcdef") != DIGITS) {
            continue;
        }
        if (strncmp(ending, ".bin", 4) == 0) {
            return ending + 4;
        }
        if (strncmp(ending, ".list", 5) == 0) {
            return ending + 5;
        }
    }
    return NULL;
}

static int is_program(const char *name)
{
    const char *rest = after_program(name);
    return rest != NULL && *rest == '\0';
}

/* Returns whether this is a temporary file "NAME.bin.PID-COUNT.tmp", or ".list.", of a process that no
 * longer exists (see clf__temporary_path()). PIDs are reused, so any file older than a day counts as well.
 * A process in another container or on another machine that loses its file merely recompiles. */
static int is_stray(const char *name, const struct stat *about)
{
    const char *rest = after_program(name);
    if (rest == NULL || *rest != '.' || !isdigit((unsigned char)rest[1])) {
        return 0;
    }
    char *end = NULL;
    long process = strtol(rest + 1, &end, 10);
    size_t count = *end == '-' ? strspn(end + 1, "0123456789") : 0;
    if (process <= 0 || count == 0 || strcmp(end + 1 + count, ".tmp") != 0) {
        return 0;
    }
    return (kill((pid_t)process, 0) != 0 && errno == ESRCH) || about->st_mtime < time(NULL) - day;
}

static int by_use(const void *left, const void *right)
{
    const struct timespec *a = &((const struct entry *)left)->used, *b = &((const struct entry *)right)->used;
    if (a->tv_sec != b->tv_sec) {
        return a->tv_sec < b->tv_sec ? -1 : 1;
    }
    return a->tv_nsec < b->tv_nsec ? -1 : a->tv_nsec > b->tv_nsec;
}

/* Removes temporary files of killed processes, and collects the programs in `entries`. */
static clf_status look_through(struct entry *entries, int *count, const char *folder,
                               const struct clf__names *names)
{
    for (int i = 0; i < names->count; i++) {
        struct stat about;
        char *path = NULL;
        CLF__TRY(clf__path_join(&path, folder, names->items[i]));
        if (lstat(path, &about) == 0 && S_ISREG(about.st_mode)) {
            if (is_stray(names->items[i], &about)) {
                unlink(path);
            } else if (is_program(names->items[i])) {
                entries[(*count)++] = (struct entry){path, (uint64_t)about.st_size, about.st_mtim};
                continue;
            }
        }
        clf__free(path);
    }
    return CLF_OK;
}

clf_status clf__program_cache_limit(const char *folder, uint64_t most_bytes)
{
    struct clf__names names;
    CLF__TRY(clf__folder_list(&names, folder));
    struct entry *entries = NULL;
    int count = 0;
    clf_status status = clf__allocate(&entries, (size_t)names.count + 1, sizeof *entries);
    if (status == CLF_OK) {
        status = look_through(entries, &count, folder, &names);
    }
    uint64_t bytes = 0;
    for (int i = 0; i < count; i++) {
        bytes += entries[i].size;
    }
    if (count > 0) {
        qsort(entries, (size_t)count, sizeof *entries, by_use);
    }
    for (int i = 0; i < count; i++) {
        if (bytes > most_bytes && unlink(entries[i].path) == 0) {
            bytes -= entries[i].size;
        }
        clf__free(entries[i].path);
    }
    clf__free(entries);
    clf__names_free(&names);
    return status;
}
