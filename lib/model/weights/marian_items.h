/* Positions of the items in a Marian file of either container format. */
#ifndef CLF_WEIGHTS_MARIAN_ITEMS_H
#define CLF_WEIGHTS_MARIAN_ITEMS_H

#include "base/file.h"
#include "model/weights/stored_tensor.h"

/* Element types. Types above 0x1000 are specific to Marian; their low byte is the element size. */
enum clf__marian_type {
    CLF__MARIAN_INT8 = 0x101,
    CLF__MARIAN_FLOAT16 = 0x402,
    CLF__MARIAN_FLOAT32 = 0x404,
    CLF__MARIAN_FLOAT64 = 0x408,
    /* Quantized matrices, stored transposed and followed by one scale. The FORK types belong to the fork used
       by Bergamot and Firefox. */
    CLF__MARIAN_FORK_INTGEMM8 = 0x4101,
    CLF__MARIAN_FORK_INTGEMM16 = 0x4102,
    CLF__MARIAN_INTGEMM8 = 0x10001,
    CLF__MARIAN_INTGEMM16 = 0x10002,
};

struct clf__marian_item {
    const char *name; /* name in `names` */
    uint64_t type;
    int dimensions;
    int64_t shape[CLF__TENSOR_DIMENSIONS];
    uint64_t offset, size; /* position of the data in the file, including padding */
};

struct clf__marian_items {
    char *names; /* the names of all items, NUL-terminated */
    struct clf__marian_item *items;
    int count;
};

/* Reads the positions of all items of an open file and checks that they are inside the file. A file that
 * starts like a zip archive is read as a NumPy archive, any other file as a container. */
clf_status clf__marian_items_read(struct clf__marian_items *out, const struct clf__file *file);
void clf__marian_items_free(struct clf__marian_items *items);

/* Returns NULL if there is no such item. */
const struct clf__marian_item *clf__marian_items_find(const struct clf__marian_items *items,
                                                      const char *name);

#endif
