/* torch.save() files before torch 1.6: pickles (magic number, version, system information, state dict,
 * storage keys), then for each key a 64-bit element count and the elements. */
#ifndef CLF_WEIGHTS_PYTORCH_LEGACY_H
#define CLF_WEIGHTS_PYTORCH_LEGACY_H

#include "base/file.h"
#include "model/weights/pickle_machine.h"

struct clf__legacy_storage {
    struct clf__pickled_text key;
    const struct clf__element_type *type;
    int64_t elements;
    uint64_t offset; /* first element in the file; 0: the file does not list this storage */
    int order;       /* position in the pickle */
};

struct clf__legacy {
    const struct clf__file *file;
    uint64_t at;                          /* position of the next pickle or storage */
    uint8_t *pickle;                      /* bytes of the state dict; keys and names point into them */
    struct clf__pickle_machine machine;   /* state of the machine after running `pickle` */
    struct clf__legacy_storage *storages; /* sorted by key */
    int count;
};

/* Sets *out to 1 if the file starts like a torch.save() file before torch 1.6. */
clf_status clf__legacy_check(int *out, const struct clf__file *file);
/* Reads the pickles and the position of each storage, but no elements. Returns CLF_FORMAT with the tensor's
 * name if a storage exceeds the file or differs in size from the state dict. */
clf_status clf__legacy_open(struct clf__legacy *out, const struct clf__file *file);
void clf__legacy_close(struct clf__legacy *legacy);
/* Returns NULL if the file does not hold the storage. */
const struct clf__legacy_storage *clf__legacy_find(const struct clf__legacy *legacy,
                                                   const struct clf__pickled_text *key);

#endif
