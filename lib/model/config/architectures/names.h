/* Tensor names of the original implementations. */
#ifndef CLF_CONFIG_ARCHITECTURES_NAMES_H
#define CLF_CONFIG_ARCHITECTURES_NAMES_H

#include <stddef.h>

/* A canonical name and the stored name, with wildcards: `@` is encoder or decoder, `#` the layer index, `+`
 * (only in the stored name) the layer number counted from 1, and a final `*` the rest of the name. If several
 * rules match a canonical name, the first one whose tensor is in the file applies. A canonical name without a
 * matching rule is not found; {"*", "*"} at the end keeps all other names. */
struct clf__name_rule {
    const char *canonical, *stored;
};

struct clf__tensor_names {
    const struct clf__name_rule *rules; /* NULL: canonical names */
    int rule_count;
    /* Suffixes of tensors that are not read (buffers, constant tables); ends with NULL. NULL: none */
    const char *const *frozen;
};

/* BART's names, used in folders that clformer writes */
extern const struct clf__tensor_names clf__names_canonical;
/* The same names, with or without `model.`: transformers omits the prefix when it saves a model without its
 * head */
extern const struct clf__tensor_names clf__names_bare;

/* Writes the stored name of a tensor, truncated to `size`. `choice` (from 0) selects among alternative names;
 * returns 0 if there are no more. */
int clf__names_stored(const struct clf__tensor_names *names, const char *canonical, int choice, char *stored,
                      size_t size);

int clf__names_are_frozen(const struct clf__tensor_names *names, const char *stored);

#endif
