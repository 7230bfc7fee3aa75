/* What a system's own code calls its tensors. */
#ifndef CLF_CONFIG_FAMILY_NAMES_H
#define CLF_CONFIG_FAMILY_NAMES_H

#include <stddef.h>

/* A canonical name and the stored one. `@` stands for encoder or decoder, `#` for the layer's index, a `*` at
 * the end for the rest, and a `+` in the stored one for the layer's number from 1 on. */
struct clf__name_rule {
    const char *canonical, *stored;
};

struct clf__tensor_names {
    const struct clf__name_rule *rules; /* NULL: the canonical names themselves */
    int rule_count;
    const char *const *frozen; /* endings of the names of buffers and frozen tables, which are not read; ends
                                  with NULL */
};

/* The BART family's names, as in the folders that clformer writes. */
extern const struct clf__tensor_names clf__names_canonical;
/* The same with or without `model.`, which transformers leaves out of a model that it saves without its head.
 */
extern const struct clf__tensor_names clf__names_bare;

/* The stored name of a canonical one, cut to size: where a system has several, the first, second ... by
 * `choice` from 0; 0 where there is no more. */
int clf__names_stored(const struct clf__tensor_names *names, const char *canonical, int choice, char *stored,
                      size_t size);

int clf__names_are_frozen(const struct clf__tensor_names *names, const char *stored);

#endif
