/* Replaces the streams stderr and stdout, which only glibc permits. With other C libraries, only log messages
 * are escaped, by the library. */
#define _GNU_SOURCE /* fopencookie() */
#include "shared/terminal_guard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef __GLIBC__

#include "base/escape.h"
#include "base/utf8.h"

enum { CHUNK = 1024, MOST_KEPT = 3, LONGEST = 6 /* maximum size of an escaped byte */ };

struct guard {
    int descriptor;
    char kept[MOST_KEPT]; /* beginning of an incomplete character */
    size_t kept_size;
};

static int write_all(int descriptor, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t put = write(descriptor, bytes, size);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            return 0;
        }
        bytes += put;
        size -= (size_t)put;
    }
    return 1;
}

/* Escapes and writes at most CHUNK bytes. */
static int write_chunk(struct guard *guard, const char *bytes, size_t size)
{
    char text[MOST_KEPT + CHUNK], shown[LONGEST * sizeof text + 1];
    memcpy(text, guard->kept, guard->kept_size);
    memcpy(text + guard->kept_size, bytes, size);
    size += guard->kept_size;
    size_t whole = clf__utf8_cut(text, size);
    guard->kept_size = size - whole;
    memcpy(guard->kept, text + whole, guard->kept_size);
    return write_all(guard->descriptor, shown, clf__escape(shown, sizeof shown, text, whole));
}

static ssize_t write_visible(void *cookie, const char *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        size_t chunk = size - done < CHUNK ? size - done : CHUNK;
        if (!write_chunk(cookie, bytes + done, chunk)) {
            return 0; /* means an error for fopencookie() */
        }
        done += chunk;
    }
    return (ssize_t)size;
}

static int begins_with(const char *bytes, size_t size, const char *start)
{
    return size >= strlen(start) && memcmp(bytes, start, strlen(start)) == 0;
}

/* Returns 1 for messages from libmpg123, which libsndfile uses. They do not name the file; the decoder
 * reports the same problems with the file name. */
static int is_of_mpg123(const char *bytes, size_t size)
{
    static const char name[] = "libmpg123";
    while (size > 0 && *bytes == '\n') {
        bytes++;
        size--;
    }
    if (begins_with(bytes, size, "Note: ") || begins_with(bytes, size, "Warning: ")) {
        return 1;
    }
    for (size_t i = 0; size > 0 && *bytes == '[' && i + sizeof name <= size && bytes[i] != ']'; i++) {
        if (memcmp(bytes + i, name, sizeof name - 1) == 0) {
            return 1;
        }
    }
    return 0;
}

static ssize_t write_errors(void *cookie, const char *bytes, size_t size)
{
    return is_of_mpg123(bytes, size) ? (ssize_t)size : write_visible(cookie, bytes, size);
}

static FILE *open_guard(struct guard *guard, int descriptor, int buffering)
{
    *guard = (struct guard){.descriptor = descriptor};
    cookie_write_function_t *function = descriptor == STDERR_FILENO ? write_errors : write_visible;
    FILE *file = fopencookie(guard, "w", (cookie_io_functions_t){.write = function});
    if (file != NULL) {
        setvbuf(file, NULL, buffering, BUFSIZ);
    }
    return file;
}

int terminal_guard(void)
{
    static struct guard errors, output;
    FILE *file = open_guard(&errors, STDERR_FILENO, _IONBF);
    if (file == NULL) {
        return 0;
    }
    stderr = file;
    if (isatty(STDOUT_FILENO)) {
        file = open_guard(&output, STDOUT_FILENO, _IOLBF);
        if (file == NULL) {
            return 0;
        }
        stdout = file;
    }
    return 1;
}

#else

int terminal_guard(void)
{
    return 1;
}

#endif
