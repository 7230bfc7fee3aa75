/* What a system's own code calls its tensors. */
#ifndef CLF_MODEL_FORMATS_FORMAT_H
#define CLF_MODEL_FORMATS_FORMAT_H

#include <stddef.h>

#include "model/config.h"

/* A canonical name and the stored one. `#` stands for the layer's index, a `*` at the end for the rest. */
struct clf__name_rule {
    const char *canonical, *stored;
};

struct clf__format {
    const struct clf__name_rule *rules; /* NULL: the canonical names themselves */
    int rule_count;
    const char *const *frozen; /* endings of the names of buffers and frozen tables, which are not read; ends
                                  with NULL */
};

extern const struct clf__format clf__format_canonical; /* the BART family's names: MarianMT and our own */
extern const struct clf__format clf__format_jadore;
extern const struct clf__format clf__format_annotated;
extern const struct clf__format clf__format_speech;

/* The system's own names. */
const struct clf__format *clf__format_of(enum clf__system system);

/* The stored name of a canonical one, cut to size; 0 where the system has none. */
int clf__format_name(const struct clf__format *format, const char *canonical, char *stored, size_t size);

int clf__format_is_frozen(const struct clf__format *format, const char *stored);

#endif
