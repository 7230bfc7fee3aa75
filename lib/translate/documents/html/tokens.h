/* A tokenizer for HTML that reports the byte position of each token.
 *
 * It follows the tokenization of the HTML standard (html.spec.whatwg.org, section 13.2.5), without decoding.
 * Existing parsers report no usable positions for broken HTML: Gumbo joins the texts around an ignored tag,
 * and libxml2 shifts its positions when it changes the encoding. Both build a tree, which takes quadratic
 * time for deeply nested elements; this tokenizer takes linear time and a constant amount of memory.
 */
#ifndef CLF_DOCUMENTS_HTML_TOKENS_H
#define CLF_DOCUMENTS_HTML_TOKENS_H

#include <stddef.h>

enum clf__html_kind {
    CLF__HTML_TEXT,
    CLF__HTML_START_TAG,
    CLF__HTML_END_TAG,
    CLF__HTML_OTHER /* comment, doctype, CDATA, unclosed tag */
};

struct clf__html_token {
    enum clf__html_kind kind;
    size_t start, end; /* the bytes of the token */
    /* For a tag: */
    size_t name, name_size; /* position and size of the name, in the letter case of the document */
    int is_self_closing;    /* ends with "/>" */
    int is_notranslate;     /* has translate="no" or the class notranslate */
};

struct clf__html_tokens {
    const char *bytes; /* borrowed */
    size_t size, at;
    /* Set by the caller after a start tag, as the tree construction of the standard does: */
    int has_cdata;        /* CDATA sections are allowed: the element is in SVG or MathML */
    size_t raw, raw_size; /* name of an element whose content is text up to its end tag; raw_size 0: none */
};

/* Reads the next token; returns 0 at the end of the document. Adjacent tokens are never both text. */
int clf__html_next(struct clf__html_token *out, struct clf__html_tokens *tokens);

int clf__html_is_space(char byte);

struct clf__html_attribute {
    size_t name, name_size;
    size_t value, value_size; /* 0 bytes without a value */
};
/* Reads an attribute at a position in a tag that is neither white space, "/" nor ">"; returns its end. */
size_t clf__html_attribute(struct clf__html_attribute *out, const struct clf__html_tokens *tokens, size_t at);

#endif
