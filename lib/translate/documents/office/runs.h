/* Paragraphs of runs, as in Word and PowerPoint: a run has properties and text. A segment is the text of a
 * paragraph; runs with other properties than most of the text, and elements such as links, are marks. */
#ifndef CLF_DOCUMENTS_RUNS_H
#define CLF_DOCUMENTS_RUNS_H

#include <stdint.h>

#include "translate/documents/office/container.h"

/* What an element of a paragraph or run is. */
enum clf__run_role {
    CLF__RUN_KEPT, /* a mark without content; paragraphs in it, such as those of a text box, are translated */
    CLF__RUN_DELETED,    /* a mark without content, whose text is kept */
    CLF__RUN_ORDERED,    /* a mark without content, which stays in order with others of its kind, such as a
                            bookmark */
    CLF__RUN_SEPARATOR,  /* a mark without content that separates words, such as a line break */
    CLF__RUN_RUN,        /* a run */
    CLF__RUN_TEXT,       /* the text of a run */
    CLF__RUN_PROPERTIES, /* the properties of a run */
    CLF__RUN_GROUP,      /* contains runs, such as a link */
    CLF__RUN_GROUP_IN,   /* contains an element with the runs: clf__run_language.content */
    CLF__RUN_FIELD,      /* a part of a field: its begin, code, separator or end */
    CLF__RUN_IGNORED, /* is dropped when the paragraph is translated, such as a mark of the spell checker */
    CLF__RUN_OUTSIDE, /* properties of a paragraph or group */
};

/* The elements of a language; names are without prefix. */
struct clf__run_language {
    const char *prefix;       /* the usual one */
    const char *addresses[2]; /* of the name space */
    const char *paragraph;
    const char *content; /* of an element with the role CLF__RUN_GROUP_IN; NULL: none */
    /* Returns the role of an element of a paragraph or run. */
    enum clf__run_role (*role)(const char *name, size_t size, int is_in_run);
    /* Names of the attributes and elements of properties that do not divide a sentence, each after a space.
     */
    const char *ignored;
    int keeps_spaces; /* text with spaces at its ends needs xml:space="preserve" */
};
extern const struct clf__run_language clf__run_word, clf__run_drawing;

/* Adds the paragraphs of all parts. */
clf_status clf__runs_collect(struct clf_document *document, const struct clf__run_language *language);
/* Writes bytes [from, to) of the container's text with their translations; for clf__container_write(). */
clf_status clf__runs_write(struct clf__output *out, const struct clf_document *document, const char *bytes,
                           size_t from, size_t to);
/* Frees document->state. */
void clf__runs_close(struct clf_document *document);

/* --- Between reading and writing. --- */

/* How a mark is written. */
enum clf__run_kind {
    CLF__RUN_IS_RUN,    /* a run with other properties */
    CLF__RUN_IS_GROUP,  /* an element around runs */
    CLF__RUN_IS_IN_RUN, /* content of a run */
    CLF__RUN_IS_BESIDE, /* between runs */
};
struct clf__run_mark {
    enum clf__run_kind kind;
    int is_separator, is_ordered;
    struct clf__xml_range
        properties; /* of the run, of most runs in a group, or of the run around its content */
    uint64_t look;  /* hash of the properties that divide a sentence; 0: none */
    struct clf__xml_range run, text;       /* of a segment: names of its elements, with their prefix */
    int has_space_before, has_space_after; /* of a segment: white space is before and after its text */
};

/* container->more: the marks of all segments. The kind of a segment is the index of its own properties, which
 * its marks follow. */
struct clf__runs {
    const struct clf__run_language *language;
    struct clf__run_mark *marks; /* (count) */
    int count, capacity;
};

/* --- Parts of the reader. --- */

/* A part of a paragraph. */
enum clf__atom_kind {
    CLF__ATOM_TEXT,
    CLF__ATOM_MARK, /* without content */
    CLF__ATOM_OPEN, /* tags of a group */
    CLF__ATOM_CLOSE,
    CLF__ATOM_FIELD,
    CLF__ATOM_DIVIDER, /* ends a sentence */
    CLF__ATOM_NOTHING,
};
struct clf__atom {
    enum clf__atom_kind kind;
    size_t start, end; /* bytes of the text, element or tag */
    struct clf__run_mark mark;
    struct clf__xml_range run; /* bytes of the run that contains it; outside a run, of the atom */
    struct clf__xml_range run_name, text_name;
    int partner;  /* index of the other tag of a group; -1: none */
    int dividers; /* the end of a group: dividers before the group */
    char field;   /* 'b', 'c', 's', 'e': begin, code, separator, end */
    int has_text; /* text other than white space */
};

/* The atoms of a paragraph. */
struct clf__atoms {
    struct clf__atom *items; /* (count) */
    int count, capacity;
    int line; /* number of the paragraph */
};

/* Turns fields into groups or marks, and parts of incomplete fields and groups into dividers. Returns 0 if
 * the paragraph is too complicated to be translated. */
int clf__atoms_fold(struct clf__atoms *atoms);
/* Adds the sentences between dividers. */
clf_status clf__atoms_add(struct clf_document *document, const struct clf__atoms *atoms);

#endif
