/* YAML of strings: libyaml finds the scalars, and this reader finds their lines. */
#ifndef CLF_DOCUMENTS_YAML_H
#define CLF_DOCUMENTS_YAML_H

#include "translate/documents/inlines.h"

enum clf__yaml_style {
    CLF__YAML_PLAIN,
    CLF__YAML_SINGLE_QUOTED,
    CLF__YAML_DOUBLE_QUOTED,
    CLF__YAML_BLOCK, /* literal (|) and folded (>) */
};

/* document->state. */
struct clf__yaml {
    struct clf__yaml_segment {
        enum clf__yaml_style style;
        int is_in_flow; /* in [...] or {...} */
    } * segments;       /* (count) */
    int count, capacity;
    int skipped; /* scalars that cannot be a segment */
};

/* A scalar in the document, without its tag and anchor. */
struct clf__yaml_scalar {
    size_t start, end;
    int line;
    enum clf__yaml_style style;
    int is_in_flow;
    int is_folded; /* a block whose line breaks are spaces */
};
/* Adds the segments of a scalar. */
clf_status clf__yaml_read_scalar(struct clf_document *document, struct clf__inlines *inlines,
                                 const struct clf__yaml_scalar *scalar);

/* Returns whether a plain scalar is a string: not null, a truth value, a number or a date. */
int clf__yaml_is_string(const char *text, size_t size);

clf_status clf__yaml_write(struct clf__output *out, struct clf_document *document);

#endif
