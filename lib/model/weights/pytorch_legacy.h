/* torch.save() files before torch 1.6: pickles (magic number, version, system information, state dict,
 * storage keys), then the element count (64 bits) and the elements of each storage in the order of the keys.
 */
#ifndef CLF_WEIGHTS_PYTORCH_LEGACY_H
#define CLF_WEIGHTS_PYTORCH_LEGACY_H

#include "base/file.h"
#include "model/weights/pickle_machine.h"

struct clf__legacy_storage {
    struct clf__pickled_text key;
    const struct clf__element_type *type;
    int64_t elements;
    uint64_t offset; /* file offset of the first element; 0: the file does not list this storage */
    int order;       /* position in the pickle */
};

struct clf__legacy {
    const struct clf__file *file;
    uint64_t at;                          /* position of the next pickle or storage */
    uint8_t *pickle;                      /* the state dict's pickle; keys and names point into these bytes */
    struct clf__pickle_machine machine;   /* state of the machine after running `pickle` */
    struct clf__legacy_storage *storages; /* sorted by key */
    int count;
};

/* Sets *out to 1 if the file starts like a torch.save() file before torch 1.6. */
clf_status clf__legacy_check(int *out, const struct clf__file *file);
/* Reads the pickles and finds the storages without reading their elements. Returns CLF_FORMAT with the
 * tensor's name if a storage exceeds the file or differs in size from the state dict. */
clf_status clf__legacy_open(struct clf__legacy *out, const struct clf__file *file);
void clf__legacy_close(struct clf__legacy *legacy);
/* Returns NULL if the file does not contain the storage. */
const struct clf__legacy_storage *clf__legacy_find(const struct clf__legacy *legacy,
                                                   const struct clf__pickled_text *key);

#endif
