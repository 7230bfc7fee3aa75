/* The check of XML by libxml2. Its callbacks keep only the declared entities, so that a document needs no
 * memory. */
#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "translate/documents/xml/xml.h"

#ifdef CLF_HAS_LIBXML2

#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>

/* Changes of libxml2: */
#if LIBXML_VERSION >= 21200
typedef const xmlError *error_pointer;
#else
typedef xmlErrorPtr error_pointer;
#endif
#if LIBXML_VERSION >= 21300
enum { OPTIONS = XML_PARSE_NONET | XML_PARSE_NO_XXE | XML_PARSE_NOERROR | XML_PARSE_NOWARNING };
#else
enum { OPTIONS = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING };
#endif

/* The first mistake. */
struct mistake {
    int line, code; /* line 0: none */
    char text[200];
};

static void keep_first(void *user, error_pointer error)
{
    struct mistake *mistake = ((xmlParserCtxtPtr)user)->_private;
    int is_mistake = error->level >= XML_ERR_ERROR && error->domain != XML_FROM_NAMESPACE;
    if (mistake->line == 0 && is_mistake) {
        mistake->line = error->line > 0 ? error->line : 1;
        mistake->code = error->code;
        size_t size = error->message != NULL ? strcspn(error->message, "\n") : 0;
        size = size < sizeof mistake->text - 1 ? size : sizeof mistake->text - 1;
        memcpy(mistake->text, error->message != NULL ? error->message : "", size);
        mistake->text[size] = '\0';
    }
}

/* The handlers of libxml2 that declare and find entities, without those that build a tree. */
static xmlSAXHandler make_handlers(void)
{
    xmlSAXHandler all = {.initialized = 0};
    xmlSAXVersion(&all, 2);
    return (xmlSAXHandler){.initialized = XML_SAX2_MAGIC,
                           .internalSubset = all.internalSubset,
                           .hasInternalSubset = all.hasInternalSubset,
                           .hasExternalSubset = all.hasExternalSubset,
                           .isStandalone = all.isStandalone,
                           .entityDecl = all.entityDecl,
                           .getEntity = all.getEntity,
                           .getParameterEntity = all.getParameterEntity,
                           .startDocument = all.startDocument,
                           .serror = keep_first};
}

/* Fails unless a text, and its XML declaration, are UTF-8, which translations are written in. libxml2 would
 * also accept UTF-16. */
static clf_status check_encoding(const char *bytes, size_t size)
{
    if (clf__utf8_valid_prefix(bytes, size) < size || memchr(bytes, '\0', size) != NULL) {
        return clf__fail(CLF_TEXT, "is not UTF-8; convert it to UTF-8 first");
    }
    struct clf__xml_tokens tokens = clf__xml_begin(bytes, size);
    struct clf__xml_token token;
    struct clf__xml_range encoding;
    if (!clf__xml_next(&token, &tokens) || token.end - token.start < 6 ||
        memcmp(bytes + token.start, "<?xml", 5) != 0) {
        return CLF_OK;
    }
    token.name = token.start;
    token.name_size = 5;
    if (!clf__xml_attribute(&encoding, bytes, &token, "encoding")) {
        return CLF_OK;
    }
    size_t length = encoding.end - encoding.start;
    const char *name = bytes + encoding.start;
    if (length == 5 && strncasecmp(name, "UTF-8", 5) == 0) {
        return CLF_OK;
    }
    return clf__fail(
        CLF_TEXT, "line 1: declares the encoding %.*s; convert the file and its declaration to UTF-8 first",
        (int)(length < 40 ? length : 40), name);
}

static clf_status report(const struct mistake *mistake)
{
    if (mistake->code == XML_ERR_NO_MEMORY) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to check XML");
    }
    return clf__fail(CLF_FORMAT, "line %d: is not well-formed XML: %s; correct it, for example with xmllint",
                     mistake->line > 0 ? mistake->line : 1, mistake->line > 0 ? mistake->text : "an error");
}

clf_status clf__xml_check(const char *bytes, size_t size, int is_decoded)
{
    struct mistake mistake = {.line = 0};
    xmlInitParser();
    if (!is_decoded) {
        CLF__TRY(check_encoding(bytes, size));
    }
    if (size == 0) {
        return clf__fail(CLF_FORMAT, "is empty; an XML document has a root element");
    }
    xmlParserCtxtPtr parser = xmlCreateMemoryParserCtxt(bytes, (int)size);
    if (parser == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to check XML");
    }
    *parser->sax = make_handlers();
    parser->_private = &mistake;
    xmlCtxtUseOptions(parser, OPTIONS | (is_decoded ? XML_PARSE_IGNORE_ENC : 0));
    parser->sax->serror = keep_first;
    xmlParseDocument(parser);
    int is_valid = parser->wellFormed;
    xmlFreeDoc(parser->myDoc);
    parser->myDoc = NULL;
    xmlFreeParserCtxt(parser);
    return is_valid ? CLF_OK : report(&mistake);
}

#else

clf_status clf__xml_check(const char *bytes, size_t size, int is_decoded)
{
    (void)bytes;
    (void)size;
    (void)is_decoded;
    return clf__fail(CLF_UNSUPPORTED, "is XML, which this build cannot read; build clformer with libxml2");
}

#endif
