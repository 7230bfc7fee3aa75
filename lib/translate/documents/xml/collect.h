/* Collects the sentences of XML: the text of a paragraph is a segment, whose inline elements are marks. */
#ifndef CLF_DOCUMENTS_XML_COLLECT_H
#define CLF_DOCUMENTS_XML_COLLECT_H

#include "translate/documents/format.h"
#include "translate/documents/xml/xml.h"

/* The role of an element in the sentence around it. */
enum clf__xml_role {
    CLF__XML_OUTER,  /* the sentence ends; the text of the element is not translated, its children may be */
    CLF__XML_BLOCK,  /* the sentence ends; the text of the element is translated */
    CLF__XML_LINES,  /* like a block, and each line is a separate sentence */
    CLF__XML_INLINE, /* is part of the sentence, unless it contains a block */
    CLF__XML_SEPARATOR, /* is a mark without content that separates words, such as a line break */
    CLF__XML_KEPT,      /* is a mark without content; its content is not translated */
    CLF__XML_ORDERED,   /* like KEPT, and stays after earlier ordered marks, such as the end of a bookmark */
    CLF__XML_NESTED,    /* is a mark without content; the sentences in it, such as those of a footnote, are
                           translated */
    CLF__XML_APART,     /* the sentence ends; the content is not translated */
};

/* An element whose role is needed. */
struct clf__xml_element {
    const struct clf__xml_token *tag; /* START or EMPTY */
    int is_in_text;                   /* text at this place is translated */
    int is_beside_text; /* the parent contains text, apart from white space, outside its elements */
    int is_only_child;  /* the parent contains no other element */
    enum clf__xml_role parent;
};

struct clf__xml_collector {
    struct clf_document *document;
    const char *bytes; /* to which positions of segments refer */
    enum clf__xml_role (*role)(void *user, const char *bytes, const struct clf__xml_element *element);
    /* Decodes an entity: *out receives its text, which the caller frees, or NULL for a mark without content.
     * NULL: all entities are marks. */
    clf_status (*entity)(char **out, const char *bytes, const struct clf__xml_token *reference);
    void *user;
    int is_in_text;        /* text outside any element with a role is translated */
    int has_placeholders;  /* placeholders such as %s are marks */
    int counts_paragraphs; /* the line of a segment is its number, not its line in the XML */
    int skipped;           /* receives the number of texts with too many marks, which are not translated */
};

/* Segments of this kind are in a CDATA section. */
enum { CLF__XML_IN_CDATA = 1 };

/* Adds the sentences of well-formed XML, from tokens->at to tokens->size. Call clf__segments_sort() after the
 * last call. */
clf_status clf__xml_collect(struct clf__xml_collector *collector, struct clf__xml_tokens tokens);

/* Writes bytes [from, to) of `bytes` with the translations of the segments in them. */
clf_status clf__xml_write(struct clf__output *out, const struct clf_document *document, const char *bytes,
                          size_t from, size_t to);
/* Warns of texts that are not translated because of too many marks. */
clf_status clf__xml_warn_skipped(struct clf_document *document, int skipped);

#endif
