#include "audio/npy.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/little_endian.h"
#include "base/memory.h"

/* Format: "\x93NUMPY", version, header length, then a Python dictionary as text (NumPy Enhancement Proposal
 * 1). */
static const char magic[] = "\x93NUMPY";
enum { MAGIC_BYTES = 6, PREFIX_BYTES = 10, LONG_PREFIX_BYTES = 12, MOST_VERSION = 3, MOST_HEADER = 1 << 20 };

struct header {
    char *text;
    uint64_t data_offset;
};

static clf_status read_header(struct header *out, const struct clf__file *file, const char *path)
{
    uint8_t bytes[LONG_PREFIX_BYTES] = {0};
    size_t there = file->size < sizeof bytes ? (size_t)file->size : sizeof bytes;
    CLF__TRY(clf__file_read_at(file, 0, bytes, there));
    if (there < PREFIX_BYTES || memcmp(bytes, magic, MAGIC_BYTES) != 0) {
        return clf__fail(CLF_FORMAT, "%s: not a .npy file; save the frames with numpy.save", path);
    }
    if (bytes[6] < 1 || bytes[6] > MOST_VERSION) {
        return clf__fail(CLF_FORMAT,
                         "%s: version %d of the .npy format is not supported, only 1 to %d; save the frames "
                         "with numpy.save",
                         path, bytes[6], MOST_VERSION);
    }
    int is_long = bytes[6] >= 2;
    size_t prefix = is_long ? LONG_PREFIX_BYTES : PREFIX_BYTES;
    size_t length = is_long ? clf__read_32(bytes + 8) : clf__read_16(bytes + 8);
    if (prefix > there || length > file->size - prefix) {
        return clf__fail(CLF_FORMAT, "%s: the header is truncated; save the file again", path);
    }
    if (length > MOST_HEADER) {
        return clf__fail(CLF_FORMAT,
                         "%s: the header has %zu bytes, more than %d; save the frames with numpy.save", path,
                         length, MOST_HEADER);
    }
    out->data_offset = prefix + length;
    CLF__TRY(clf__allocate(&out->text, length + 1, 1));
    return clf__file_read_at(file, prefix, out->text, length);
}

/* Returns the value after 'key': in the header, or NULL. */
static const char *find_value(const char *header, const char *key)
{
    const char *found = strstr(header, key);
    found = found != NULL ? strchr(found, ':') : NULL;
    return found != NULL ? found + 1 + strspn(found + 1, " ") : NULL;
}

static clf_status check_header(int *rows, const char *header, const char *path, int columns)
{
    const char *type = find_value(header, "'descr'");
    if (type == NULL || strncmp(type, "'<f4'", 5) != 0) {
        return clf__fail(CLF_FORMAT,
                         "%s: the values are not little-endian float32; save array.astype('float32')", path);
    }
    const char *order = find_value(header, "'fortran_order'");
    if (order == NULL || strncmp(order, "False", 5) != 0) {
        return clf__fail(CLF_FORMAT, "%s: the array is in Fortran order; save numpy.ascontiguousarray(array)",
                         path);
    }
    const char *shape = find_value(header, "'shape'");
    char *end = NULL;
    long long first = shape != NULL && *shape == '(' ? strtoll(shape + 1, &end, 10) : -1;
    long long second = end != NULL && *end == ',' ? strtoll(end + 1, &end, 10) : -1;
    if (end == NULL || *end != ')' || second != columns) {
        return clf__fail(CLF_FORMAT,
                         "%s: the array does not have the shape (frames, %d); save the frames of this model",
                         path, columns);
    }
    if (first < 1) {
        return clf__fail(CLF_FORMAT, "%s: the array has %lld frames; save at least one", path, first);
    }
    if (first > INT_MAX / columns) {
        return clf__fail(CLF_FORMAT, "%s: the array has more than %d frames; divide the recording", path,
                         INT_MAX / columns);
    }
    *rows = (int)first;
    return CLF_OK;
}

/* Rejects NaN and infinity: a single one would spoil the result of the whole line. */
static clf_status check_values(const float *values, size_t count, const char *path, int columns)
{
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            return clf__fail(CLF_FORMAT, "%s: frame %zu contains NaN or infinity; save finite values", path,
                             i / (size_t)columns + 1);
        }
    }
    return CLF_OK;
}

static clf_status read_values(float **values, int *rows, const struct clf__file *file, const char *path,
                              int columns)
{
    struct header header = {.text = NULL};
    clf_status status = read_header(&header, file, path);
    if (status == CLF_OK) {
        status = check_header(rows, header.text, path, columns);
    }
    clf__free(header.text);
    CLF__TRY(status);
    size_t count = (size_t)*rows * (size_t)columns;
    uint64_t there = file->size - header.data_offset;
    if (there < count * sizeof **values) {
        return clf__fail(
            CLF_FORMAT,
            "%s: %llu bytes of values, but the shape requires %zu; the file is truncated, save it again",
            path, (unsigned long long)there, count * sizeof **values);
    }
    CLF__TRY(clf__allocate(values, count, sizeof **values));
    status = clf__file_read_at(file, header.data_offset, *values, count * sizeof **values);
    if (status == CLF_OK) {
        status = check_values(*values, count, path, columns);
    }
    if (status != CLF_OK) {
        clf__free(*values);
        *values = NULL;
    }
    return status;
}

clf_status clf__npy_read(float **values, int *rows, const char *path, int columns)
{
    struct clf__file file;
    CLF__TRY(clf__file_open(&file, path));
    clf_status status = read_values(values, rows, &file, path, columns);
    clf__file_close(&file);
    return status;
}
