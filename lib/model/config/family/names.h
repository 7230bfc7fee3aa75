/* Tensor names of the original implementations. */
#ifndef CLF_CONFIG_FAMILY_NAMES_H
#define CLF_CONFIG_FAMILY_NAMES_H

#include <stddef.h>

/* A canonical name and the stored name. `@` stands for encoder or decoder, `#` for the layer index, a final
 * `*` for the rest, and `+` in the stored name for the layer number, counted from 1. */
struct clf__name_rule {
    const char *canonical, *stored;
};

struct clf__tensor_names {
    const struct clf__name_rule *rules; /* NULL: canonical names */
    int rule_count;
    const char *const *frozen; /* suffixes of buffers and frozen tables that are not read; ends with NULL */
};

/* The names of BART, used in the folders that clformer writes. */
extern const struct clf__tensor_names clf__names_canonical;
/* The canonical names with an optional `model.`, which transformers omits if it saves a model without its
 * head. */
extern const struct clf__tensor_names clf__names_bare;

/* Writes the stored name for a canonical name, truncated to size. `choice` from 0 selects among alternatives;
 * returns 0 if there are no more. */
int clf__names_stored(const struct clf__tensor_names *names, const char *canonical, int choice, char *stored,
                      size_t size);

int clf__names_are_frozen(const struct clf__tensor_names *names, const char *stored);

#endif
