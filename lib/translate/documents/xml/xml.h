/* XML with the byte positions of tags and texts.
 *
 * libxml2 parses a document once and refuses it if it is not well-formed (clf__xml_check()); it reads nothing
 * outside the document. The positions that libxml2 reports are lines, and xmlByteConsumed() is not exact near
 * entities, so the tokenizer below finds the bytes to replace. It relies on the check: it reads tokens of
 * well-formed XML in linear time, and stays within the document for any other text. */
#ifndef CLF_DOCUMENTS_XML_H
#define CLF_DOCUMENTS_XML_H

#include <stddef.h>

#include "base/status.h"
#include "translate/documents/inlines.h"
#include "translate/documents/output.h"

/* Checks that bytes are a well-formed XML document in UTF-8, of at most 256 nested elements. No DTD, entity
 * or network address is loaded, and no entity is expanded.
 *
 * @param is_decoded 1: the bytes were converted to UTF-8 from the encoding that the XML declaration names.
 * @return CLF_FORMAT naming the line and the mistake; CLF_TEXT for another encoding; CLF_OUT_OF_MEMORY. */
clf_status clf__xml_check(const char *bytes, size_t size, int is_decoded);

enum clf__xml_kind {
    CLF__XML_TEXT,      /* with references to characters, such as &#233; and &amp; */
    CLF__XML_REFERENCE, /* &name; except the five predefined ones: an entity that the document or a DTD
                           declares */
    CLF__XML_START,     /* <name ...> */
    CLF__XML_END,       /* </name> */
    CLF__XML_EMPTY,     /* <name .../> */
    CLF__XML_CDATA,     /* <![CDATA[...]]> */
    CLF__XML_OTHER,     /* comment, processing instruction, XML declaration, document type */
};

struct clf__xml_token {
    enum clf__xml_kind kind;
    size_t start, end;      /* bytes of the token */
    size_t name, name_size; /* a tag: position and size of the name, with its prefix */
    int line;               /* line of the first byte, from 1 */
};

struct clf__xml_tokens {
    const char *bytes; /* borrowed */
    size_t size, at;
    int line; /* line at `at`; initialise with 1 */
};

/* Begins at the start of a document. */
struct clf__xml_tokens clf__xml_begin(const char *bytes, size_t size);
/* Reads the next token; returns 0 at the end. */
int clf__xml_next(struct clf__xml_token *out, struct clf__xml_tokens *tokens);
/* After a start tag: continues after its end tag. Returns the position after the end tag; an empty element is
 * already complete. */
size_t clf__xml_skip(struct clf__xml_tokens *tokens, const struct clf__xml_token *start);

int clf__xml_is_tag(const struct clf__xml_token *token); /* START, END or EMPTY */
/* Returns whether a tag has a name: "w:p", or "p" for any prefix. */
int clf__xml_is_named(const struct clf__xml_token *tag, const char *bytes, const char *name);

/* A part of the document. */
struct clf__xml_range {
    size_t start, end;
};
/* Reads the next attribute of a start tag or empty element; returns 0 at the end.
 *
 * @param at position in the tag; begins with 0.
 * @param value receives the bytes between the quotation marks. */
int clf__xml_next_attribute(struct clf__xml_range *name, struct clf__xml_range *value, const char *bytes,
                            const struct clf__xml_token *tag, size_t *at);
/* Finds an attribute of a start tag or empty element by its name with prefix; returns 0 if there is none. */
int clf__xml_attribute(struct clf__xml_range *value, const char *bytes, const struct clf__xml_token *tag,
                       const char *name);
/* Returns whether an attribute has a value without references. */
int clf__xml_has_value(const char *bytes, const struct clf__xml_token *tag, const char *name,
                       const char *value);

/* Returns the text between "<![CDATA[" and "]]>" of a CDATA token. */
struct clf__xml_range clf__xml_cdata(const struct clf__xml_token *token);
/* Adds text to an output, with references to characters and the predefined entities decoded. */
void clf__xml_decode(struct clf__output *out, const char *bytes, size_t size);
/* Adds text with &, < and > as references, without characters that XML does not allow. */
void clf__xml_escape(struct clf__output *out, const char *text, size_t size);
/* Adds the content of a CDATA section: "]]>" is divided over two sections. */
void clf__xml_escape_cdata(struct clf__output *out, const char *text, size_t size);

/* Adds bytes [start, end) of a TEXT token to a text, with references decoded. */
void clf__xml_add_text(struct clf__inlines *inlines, const char *bytes, size_t start, size_t end);

#endif
