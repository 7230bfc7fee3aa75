#include "shared/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/command.h"

static void report(const char *path, const char *problem)
{
    fprintf(stderr, "clformer: %s: cannot be read: %s\n", path, problem);
}

/* Returns the reason why a file must not be read, such as an endless device (/dev/zero), or NULL. */
static const char *find_problem(int descriptor)
{
    struct stat about, null;
    if (fstat(descriptor, &about) != 0) {
        return strerror(errno);
    }
    if (S_ISDIR(about.st_mode)) {
        return "it is a folder";
    }
    int is_device = S_ISBLK(about.st_mode) || (S_ISCHR(about.st_mode) && !isatty(descriptor));
    int is_null = is_device && stat("/dev/null", &null) == 0 && about.st_rdev == null.st_rdev;
    return is_device && !is_null ? "it is a device" : NULL;
}

/* Removes O_NONBLOCK, which only open() needs. Returns -1 with errno on failure. */
static int make_blocking(int descriptor)
{
    int flags = descriptor >= 0 ? fcntl(descriptor, F_GETFL) : -1;
    if (flags >= 0 && fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) == 0) {
        return descriptor;
    }
    if (descriptor >= 0) {
        int reason = errno;
        close(descriptor);
        errno = reason;
    }
    return -1;
}

int input_open_descriptor(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const char *problem = descriptor < 0 ? strerror(errno) : find_problem(descriptor);
    if (problem == NULL && (descriptor = make_blocking(descriptor)) < 0) {
        problem = strerror(errno);
    }
    if (problem != NULL) {
        report(path, problem);
        if (descriptor >= 0) {
            close(descriptor);
        }
        return -1;
    }
    return descriptor;
}

static FILE *open_stream(int descriptor, const char *mode)
{
    FILE *file = descriptor >= 0 ? fdopen(descriptor, mode) : NULL;
    if (file == NULL && descriptor >= 0) {
        int reason = errno;
        close(descriptor);
        errno = reason;
    }
    return file;
}

FILE *input_open(const char *path)
{
    int descriptor = input_open_descriptor(path);
    FILE *file = open_stream(descriptor, "r");
    if (file == NULL && descriptor >= 0) {
        report(path, strerror(errno));
    }
    return file;
}

FILE *input_open_sink(const char *path)
{
    int descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return open_stream(make_blocking(descriptor), "a");
}

static int grow(char **text, size_t *capacity)
{
    size_t larger = *capacity > 0 ? 2 * *capacity : 4096;
    char *grown = realloc(*text, larger);
    if (grown == NULL) {
        return 0;
    }
    *text = grown;
    *capacity = larger;
    return 1;
}

int input_read_all(char **text, size_t *size, const char *path, size_t most)
{
    int is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "standard input" : path;
    FILE *file = is_stdin ? stdin : input_open(path);
    size_t capacity = 0, count = 1;
    *text = NULL;
    *size = 0;
    if (file == NULL) {
        return EXIT_FAILED;
    }
    char problem[64] = "";
    while (*problem == '\0' && count > 0) {
        if (*size == capacity && !grow(text, &capacity)) {
            snprintf(problem, sizeof problem, "out of memory");
            break;
        }
        count = fread(*text + *size, 1, capacity - *size, file);
        *size += count;
        if (*size > most) {
            snprintf(problem, sizeof problem, "it has more than %zu bytes", most);
        } else if (ferror(file)) {
            snprintf(problem, sizeof problem, "%s", strerror(errno));
        }
    }
    if (!is_stdin) {
        fclose(file);
    }
    if (*problem != '\0') {
        report(name, problem);
        free(*text);
        *text = NULL;
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

long long input_read_line(char **text, size_t *capacity, FILE *file, size_t most)
{
    size_t size = 0;
    for (int byte = 0; byte != '\n' && (byte = getc_unlocked(file)) != EOF;) {
        if (size == most) {
            return INPUT_TOO_LONG;
        }
        if (size + 1 >= *capacity && !grow(text, capacity)) {
            return INPUT_NO_MEMORY;
        }
        (*text)[size++] = (char)byte;
        (*text)[size] = '\0';
    }
    return (long long)size;
}
