#include "serve/temporary.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"

enum { PATH_BYTES = 4096, BLOCK = 3 << 12 };

int temporary_create(void)
{
    char path[PATH_BYTES];
    const char *folder = clf__environment_temporary_folder();
    int size = snprintf(path, sizeof path, "%s/clformer-XXXXXX", folder);
    int file = -1;
    errno = ENAMETOOLONG;
    if (size > 0 && (size_t)size < sizeof path) {
        file = mkstemp(path);
    }
    if (file < 0) {
        fprintf(stderr, "clformer: a recording cannot be stored in %s: %s; set TMPDIR to a writable folder\n",
                folder, strerror(errno));
        return -1;
    }
    unlink(path);
    return file;
}

int temporary_write(int file, const void *bytes, size_t size)
{
    const char *rest = bytes;
    while (size > 0) {
        ssize_t written = write(file, rest, size);
        if (written < 0 && errno != EINTR) {
            fprintf(stderr,
                    "clformer: a recording cannot be stored in %s: %s; set TMPDIR to a folder with "
                    "more space\n",
                    clf__environment_temporary_folder(), strerror(errno));
            return 0;
        }
        rest += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return 1;
}

/* Returns the value of a base64 digit, -1 for white space, -2 for "=", -3 for another character. */
static int digit_of(char character)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *digit = character != '\0' ? strchr(digits, character) : NULL;
    if (digit != NULL) {
        return (int)(digit - digits);
    }
    if (character != '\0' && strchr(" \t\r\n", character) != NULL) {
        return -1;
    }
    return character == '=' ? -2 : -3;
}

int temporary_write_base64(int file, const char *text, size_t size)
{
    uint8_t block[BLOCK];
    size_t filled = 0;
    uint32_t bits = 0;
    int count = 0, padding = 0;
    for (size_t i = 0; i < size; i++) {
        int digit = digit_of(text[i]);
        padding += digit == -2;
        if (digit == -3 || (digit >= 0 && padding > 0)) {
            return -1;
        }
        if (digit < 0) {
            continue;
        }
        bits = bits << 6 | (uint32_t)digit;
        count += 6;
        if (count >= 8) {
            count -= 8;
            block[filled++] = (uint8_t)(bits >> count);
        }
        if (filled == sizeof block) {
            if (!temporary_write(file, block, filled)) {
                return 0;
            }
            filled = 0;
        }
    }
    return count >= 6 ? -1 : temporary_write(file, block, filled);
}
