/* A complete model: configuration, encoder, decoder. */
#ifndef CLF_MODEL_TRANSFORMER_H
#define CLF_MODEL_TRANSFORMER_H

#include "model/config/types.h"
#include "model/tree.h"

struct clf__transformer {
    struct clf_device *device;
    enum clf__precision precision;
    struct clf__config config;
    struct clf__stack encoder, decoder;
    int64_t parameter_count; /* shared parameters count once */
    uint64_t weight_bytes;   /* size of all weights on the device */
};

/* Reads the configuration of a folder; weights are loaded separately. */
clf_status clf__transformer_configure(struct clf__transformer **out, struct clf_device *device,
                                      const char *folder, clf_precision precision);
/* Loads the weights; `folder` is the folder of the configuration. */
clf_status clf__transformer_load_weights(struct clf__transformer *transformer, const char *folder);
/* Reads the configuration and loads the weights. */
clf_status clf__transformer_load(struct clf__transformer **out, struct clf_device *device, const char *folder,
                                 clf_precision precision);
/* Enlarges the position tables for sources and targets of these lengths in tokens. Must not be called in a
 * dry run. */
clf_status clf__transformer_ensure_positions(struct clf__transformer *transformer, int source_length,
                                             int target_length);
struct clf__stacks clf__transformer_stacks(struct clf__transformer *transformer);
void clf__transformer_free(struct clf__transformer *transformer);

#endif
