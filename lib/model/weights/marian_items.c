/* Reads Marian's container (src/common/binary.cpp in marian-dev) and numpy.savez() archives (NumPy
 * Enhancement Proposal 1). */
#include "model/weights/marian_items.h"

#include <stdlib.h>
#include <string.h>

#include "base/little_endian.h"
#include "base/memory.h"
#include "model/weights/zip.h"

/* The file begins with the version and the number of items. An item's header holds the lengths of its name,
 * shape and data, and its type. */
enum { HEAD_BYTES = 16, ITEM_BYTES = 32, MOST_ITEMS = 1 << 16, MOST_NAME = 256, MOST_PADDING = 4096 };
enum { ENCRYPTED_VERSION = 2 };

static clf_status damaged(const struct clf__file *file, const char *what)
{
    return clf__fail(CLF_FORMAT, "%s: not a Marian model, or damaged (%s); download the file again",
                     file->path, what);
}

static clf_status read_part(uint8_t **out, const struct clf__file *file, uint64_t offset, uint64_t size)
{
    *out = NULL;
    if (offset > file->size || size > file->size - offset) {
        return damaged(file, "the file is truncated");
    }
    CLF__TRY(clf__allocate(out, (size_t)size + 1, 1));
    clf_status status = clf__file_read_at(file, offset, *out, (size_t)size);
    if (status != CLF_OK) {
        clf__free(*out);
        *out = NULL;
    }
    return status;
}

/* --- Marian's container --- */

/* Sums of the lengths in the items' headers. */
struct lengths {
    uint64_t names, shapes;
};

static clf_status read_heads(struct clf__marian_items *out, struct lengths *lengths, const uint8_t *heads,
                             const struct clf__file *file)
{
    for (int i = 0; i < out->count; i++) {
        const uint8_t *head = heads + (size_t)i * ITEM_BYTES;
        uint64_t name = clf__read_64(head), shape = clf__read_64(head + 16);
        struct clf__marian_item *item = &out->items[i];
        item->type = clf__read_64(head + 8);
        item->size = clf__read_64(head + 24);
        if (name == 0 || name > MOST_NAME || shape > CLF__TENSOR_DIMENSIONS || item->size > file->size) {
            return damaged(file, "the header of an item is invalid");
        }
        item->dimensions = (int)shape;
        item->offset = name; /* holds the length of the name until the names are read */
        lengths->names += name;
        lengths->shapes += 4 * shape;
    }
    return CLF_OK;
}

static clf_status read_names(struct clf__marian_items *out, const uint8_t *bytes,
                             const struct clf__file *file)
{
    char *name = out->names;
    for (int i = 0; i < out->count; i++) {
        size_t length = (size_t)out->items[i].offset;
        memcpy(name, bytes, length);
        if (memchr(name, '\0', length) != name + length - 1) {
            return damaged(file, "the name of an item is invalid");
        }
        out->items[i].name = name;
        name += length;
        bytes += length;
    }
    return CLF_OK;
}

static clf_status read_shapes(struct clf__marian_items *out, const uint8_t *bytes,
                              const struct clf__file *file)
{
    for (int i = 0; i < out->count; i++) {
        for (int k = 0; k < out->items[i].dimensions; k++, bytes += 4) {
            out->items[i].shape[k] = (int32_t)clf__read_32(bytes);
            if (out->items[i].shape[k] < 0) {
                return damaged(file, "the shape of an item is invalid");
            }
        }
    }
    return CLF_OK;
}

/* Computes the offsets of the items, which are stored without gaps up to the end of the file. */
static clf_status place_items(struct clf__marian_items *out, uint64_t at, const struct clf__file *file)
{
    uint8_t *padding;
    CLF__TRY(read_part(&padding, file, at, 8));
    uint64_t skipped = clf__read_64(padding);
    clf__free(padding);
    if (skipped > MOST_PADDING) {
        return damaged(file, "the padding before the data is invalid");
    }
    at += 8 + skipped;
    for (int i = 0; i < out->count; i++) {
        struct clf__marian_item *item = &out->items[i];
        if (at > file->size || item->size > file->size - at) {
            return damaged(file, "the file is truncated");
        }
        item->offset = at;
        at += item->size;
    }
    return at == file->size ? CLF_OK : damaged(file, "data follows the last item");
}

static clf_status fill_container(struct clf__marian_items *out, const uint8_t *heads,
                                 const struct clf__file *file)
{
    struct lengths lengths = {0};
    CLF__TRY(read_heads(out, &lengths, heads, file));
    uint64_t at = HEAD_BYTES + (uint64_t)out->count * ITEM_BYTES;
    uint8_t *bytes;
    CLF__TRY(read_part(&bytes, file, at, lengths.names + lengths.shapes));
    clf_status status = clf__allocate(&out->names, (size_t)lengths.names + 1, 1);
    if (status == CLF_OK) {
        status = read_names(out, bytes, file);
    }
    if (status == CLF_OK) {
        status = read_shapes(out, bytes + lengths.names, file);
    }
    clf__free(bytes);
    CLF__TRY(status);
    return place_items(out, at + lengths.names + lengths.shapes, file);
}

static clf_status read_container(struct clf__marian_items *out, const struct clf__file *file)
{
    uint8_t head[HEAD_BYTES];
    if (file->size < HEAD_BYTES) {
        return damaged(file, "the file is too short");
    }
    CLF__TRY(clf__file_read_at(file, 0, head, sizeof head));
    uint64_t version = clf__read_64(head), count = clf__read_64(head + 8);
    if (version == ENCRYPTED_VERSION) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: the model is encrypted, which is not supported; use an unencrypted model",
                         file->path);
    }
    if (version != 1 || count == 0 || count > MOST_ITEMS) {
        return damaged(file, "the file header is invalid");
    }
    uint8_t *heads;
    CLF__TRY(read_part(&heads, file, HEAD_BYTES, count * ITEM_BYTES));
    clf_status status = clf__allocate(&out->items, (size_t)count, sizeof *out->items);
    if (status == CLF_OK) {
        out->count = (int)count;
        status = fill_container(out, heads, file);
    }
    clf__free(heads);
    return status;
}

/* --- NumPy archives --- */

/* Sizes of the part before the header's text. */
enum { NPY_PREFIX = 10, NPY_LONG_PREFIX = 12, MOST_NPY_HEADER = 1 << 12 };

/* Returns the position after `key` in the header's dictionary, or NULL. */
static const char *npy_value(const char *header, const char *key)
{
    const char *found = strstr(header, key);
    found = found != NULL ? strchr(found, ':') : NULL;
    return found != NULL ? found + 1 + strspn(found + 1, " ") : NULL;
}

static const struct npy_type {
    const char *word;
    uint64_t type;
} npy_types[] = {
    {"'<f4'", CLF__MARIAN_FLOAT32}, {"'<f2'", CLF__MARIAN_FLOAT16}, {"'<f8'", CLF__MARIAN_FLOAT64},
    {"'|i1'", CLF__MARIAN_INT8},    {"'<i1'", CLF__MARIAN_INT8},
};

static clf_status npy_shape(struct clf__marian_item *item, const char *shape, const struct clf__file *file)
{
    const char *at = shape != NULL && *shape == '(' ? shape + 1 : NULL;
    while (at != NULL && *at != ')') {
        char *end;
        long long extent = strtoll(at, &end, 10);
        if (end == at || extent < 0 || extent > INT32_MAX || item->dimensions == CLF__TENSOR_DIMENSIONS) {
            at = NULL;
            break;
        }
        item->shape[item->dimensions++] = extent;
        at = end + strspn(end, ", ");
    }
    return at != NULL ? CLF_OK : damaged(file, "the shape of an array is invalid");
}

static clf_status read_npy_header(struct clf__marian_item *item, const char *header,
                                  const struct clf__file *file)
{
    const char *type = npy_value(header, "'descr'"), *order = npy_value(header, "'fortran_order'");
    item->type = 0;
    for (size_t i = 0; type != NULL && i < sizeof npy_types / sizeof *npy_types; i++) {
        if (strncmp(type, npy_types[i].word, strlen(npy_types[i].word)) == 0) {
            item->type = npy_types[i].type;
        }
    }
    if (order == NULL || strncmp(order, "False", strlen("False")) != 0) {
        return clf__fail(
            CLF_UNSUPPORTED,
            "%s: array \"%.200s\" is in Fortran order, which is not supported; save the array in C order",
            file->path, item->name);
    }
    return npy_shape(item, npy_value(header, "'shape'"), file);
}

static clf_status read_npy(struct clf__marian_item *item, const struct clf__zip_entry *entry,
                           const struct clf__file *file)
{
    uint8_t *bytes;
    uint64_t most = entry->size < MOST_NPY_HEADER ? entry->size : MOST_NPY_HEADER;
    if (most < NPY_LONG_PREFIX) {
        return damaged(file, "an array is too short");
    }
    CLF__TRY(read_part(&bytes, file, entry->offset, most));
    int is_long = bytes[6] >= 2;
    uint64_t prefix = is_long ? NPY_LONG_PREFIX : NPY_PREFIX;
    uint64_t length = is_long ? clf__read_32(bytes + 8) : clf__read_16(bytes + 8);
    clf_status status = CLF_OK;
    if (memcmp(bytes, "\x93NUMPY", 6) != 0 || length > most - prefix) {
        status = damaged(file, "the header of an array is invalid");
    } else {
        bytes[prefix + length] = '\0';
        item->offset = entry->offset + prefix + length;
        item->size = entry->size - prefix - length;
        status = read_npy_header(item, (const char *)bytes + prefix, file);
    }
    clf__free(bytes);
    return status;
}

static clf_status fill_archive(struct clf__marian_items *out, const struct clf__zip *zip,
                               const struct clf__file *file)
{
    size_t bytes = 1;
    for (int i = 0; i < zip->count; i++) {
        bytes += strlen(zip->entries[i].name) + 1;
    }
    CLF__TRY(clf__allocate(&out->names, bytes, 1));
    CLF__TRY(clf__allocate(&out->items, (size_t)zip->count, sizeof *out->items));
    char *name = out->names;
    for (int i = 0; i < zip->count; i++) {
        struct clf__marian_item *item = &out->items[out->count++];
        size_t length = strlen(zip->entries[i].name);
        memcpy(name, zip->entries[i].name, length + 1);
        if (length > 4 && strcmp(name + length - 4, ".npy") == 0) {
            name[length - 4] = '\0';
        }
        item->name = name;
        name += length + 1;
        CLF__TRY(read_npy(item, &zip->entries[i], file));
    }
    return CLF_OK;
}

static clf_status read_archive(struct clf__marian_items *out, const struct clf__file *file)
{
    struct clf__zip zip = {0};
    CLF__TRY(clf__zip_open(&zip, file));
    clf_status status = fill_archive(out, &zip, file);
    clf__zip_close(&zip);
    return status;
}

clf_status clf__marian_items_read(struct clf__marian_items *out, const struct clf__file *file)
{
    uint8_t head[2] = {0};
    *out = (struct clf__marian_items){0};
    if (file->size >= sizeof head) {
        CLF__TRY(clf__file_read_at(file, 0, head, sizeof head));
    }
    int is_archive = memcmp(head, "PK", sizeof head) == 0;
    clf_status status = is_archive ? read_archive(out, file) : read_container(out, file);
    if (status != CLF_OK) {
        clf__marian_items_free(out);
    }
    return status;
}

void clf__marian_items_free(struct clf__marian_items *items)
{
    clf__free(items->names);
    clf__free(items->items);
    *items = (struct clf__marian_items){0};
}

const struct clf__marian_item *clf__marian_items_find(const struct clf__marian_items *items, const char *name)
{
    for (int i = 0; i < items->count; i++) {
        if (strcmp(items->items[i].name, name) == 0) {
            return &items->items[i];
        }
    }
    return NULL;
}
