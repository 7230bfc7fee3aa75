/* Small texts in temporary folders for training tests. */
#ifndef CLF_TESTS_TRAIN_FILES_H
#define CLF_TESTS_TRAIN_FILES_H

#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "train/recipe.h"

/* <folder>/<name>; freed by support_free_all(). */
static inline char *path_in(const char *folder, const char *name)
{
    char *path = support_array(strlen(folder) + strlen(name) + 2, 1);
    sprintf(path, "%s/%s", folder, name);
    return path;
}

static inline char *write_bytes(const char *folder, const char *name, const void *bytes, size_t size)
{
    char *path = path_in(folder, name);
    assert_ok(clf__file_write(path, bytes, size));
    return path;
}

static inline char *write_text(const char *folder, const char *name, const char *text)
{
    return write_bytes(folder, name, text, strlen(text));
}

/* Writes a float32 matrix in numpy.save() format; each value is its row number. */
static inline char *write_frames(const char *folder, const char *name, int rows, int columns)
{
    char header[128];
    int used =
        sprintf(header, "\x93NUMPY%c%c%c%c{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", 1,
                0, 118, 0, rows, columns);
    memset(header + used, ' ', sizeof header - (size_t)used);
    size_t values = (size_t)rows * (size_t)columns;
    char *bytes = support_array(sizeof header + values * sizeof(float), 1);
    memcpy(bytes, header, sizeof header);
    for (size_t i = 0; i < values; i++) {
        float value = (float)(i / (size_t)columns);
        memcpy(bytes + sizeof header + i * sizeof value, &value, sizeof value);
    }
    return write_bytes(folder, name, bytes, sizeof header + values * sizeof(float));
}

/* Writes a 16-bit WAV file at CLF_AUDIO_RATE: a tone with half periods of `half_wave` samples. */
static inline char *write_tone(const char *folder, const char *name, int samples, int half_wave)
{
    enum { HEADER = 44 };
    uint32_t data = 2 * (uint32_t)samples, whole = data + HEADER - 8;
    char *bytes = support_array(HEADER + data, 1);
    memcpy(bytes, "RIFF....WAVEfmt \x10\0\0\0\1\0\1\0\x80\x3e\0\0\0\x7d\0\0\2\0\x10\0data....", HEADER);
    memcpy(bytes + 4, &whole, sizeof whole);
    memcpy(bytes + 40, &data, sizeof data);
    for (int i = 0; i < samples; i++) {
        int16_t sample = (int16_t)(8000 * ((i / half_wave) % 2) - 4000 + i % 7 * 100);
        memcpy(bytes + HEADER + 2 * i, &sample, sizeof sample);
    }
    return write_bytes(folder, name, bytes, HEADER + data);
}

/* Returns the files of a recipe's `train`; target NULL: one file. Valid until the next call. */
static inline struct clf__texts train_on(const char *source, const char *target)
{
    static const char *paths[2];
    paths[0] = source;
    paths[1] = target;
    return (struct clf__texts){paths, target ? 2 : 1};
}

/* Uses one file as both sides. */
static inline struct clf__texts train_twice(const char *path)
{
    return train_on(path, path);
}

#endif
