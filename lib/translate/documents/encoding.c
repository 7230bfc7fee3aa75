/* Documents in other encodings than UTF-8, with ICU's converters. */
#include <string.h>
#include <strings.h>

#include <unicode/ucnv.h>
#include <unicode/ucnv_err.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>

#include "base/memory.h"
#include "translate/documents/format.h"
#include "translate/documents/html/charset.h"
#include "translate/documents/xml/xml.h"

enum { CHUNK = 1024 };

/* Returns the encoding of a byte order mark; NULL if there is none. The mark is the first character of the
 * text, so it is kept. */
static const char *marked_encoding(const char *bytes, size_t size)
{
    static const struct {
        const char *mark;
        size_t size;
        const char *encoding;
    } marks[] = {{"\xff\xfe\0\0", 4, "UTF-32LE"},
                 {"\0\0\xfe\xff", 4, "UTF-32BE"},
                 {"\xff\xfe", 2, "UTF-16LE"},
                 {"\xfe\xff", 2, "UTF-16BE"}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (size >= marks[i].size && memcmp(bytes, marks[i].mark, marks[i].size) == 0) {
            return marks[i].encoding;
        }
    }
    return NULL;
}

/* Copies the encoding that an XML declaration names; NULL if there is none. The declaration is ASCII, so the
 * text is neither UTF-16 nor UTF-32, whatever the declaration names. */
static clf_status copy_declared(char **out, const char *bytes, size_t size)
{
    struct clf__xml_tokens tokens = clf__xml_begin(bytes, size);
    struct clf__xml_token token;
    struct clf__xml_range value;
    *out = NULL;
    if (!clf__text_begins(bytes, size, "<?xml") || !clf__xml_next(&token, &tokens)) {
        return CLF_OK;
    }
    token.name = token.start;
    token.name_size = strlen("<?xml");
    if (!clf__xml_attribute(&value, bytes, &token, "encoding") || memchr(bytes, '\0', value.end) != NULL) {
        return CLF_OK;
    }
    size_t length = value.end - value.start;
    if (length >= 6 && (strncasecmp(bytes + value.start, "UTF-16", 6) == 0 ||
                        strncasecmp(bytes + value.start, "UTF-32", 6) == 0)) {
        return CLF_OK;
    }
    return clf__copy_bytes(out, bytes + value.start, length);
}

/* Copies the encoding that an HTML document names; NULL if there is none. As in browsers, an unknown name is
 * ignored, UTF-16 is UTF-8, and ISO-8859-1 and ASCII are windows-1252. */
static clf_status copy_charset(char **out, const struct clf_document *document)
{
    const struct clf__format *format;
    char *name;
    UErrorCode error = U_ZERO_ERROR;
    *out = NULL;
    CLF__TRY(clf__html_charset(&name, document->bytes, document->size));
    if (name == NULL) {
        return CLF_OK;
    }
    const char *known = ucnv_getAlias(name, 0, &error);
    int is_used = known != NULL && strncasecmp(known, "UTF-16", 6) != 0 &&
                  clf__format_find(&format, &document->options, document->bytes, document->size) == CLF_OK &&
                  strcmp(format->shown.name, "html") == 0;
    int is_western = is_used && (strcmp(known, "ISO-8859-1") == 0 || strcmp(known, "US-ASCII") == 0);
    clf_status status = is_used ? clf__copy_string(out, is_western ? "windows-1252" : name) : CLF_OK;
    clf__free(name);
    return status;
}

static clf_status open_converter(UConverter **out, const char *encoding)
{
    UErrorCode error = U_ZERO_ERROR;
    *out = NULL;
    if (*encoding != '\0' && ucnv_countAliases(encoding, &error) > 0 && U_SUCCESS(error)) {
        *out = ucnv_open(encoding, &error);
    }
    if (*out == NULL || U_FAILURE(error)) {
        return error == U_MEMORY_ALLOCATION_ERROR
                   ? clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to convert the text")
                   : clf__fail(CLF_UNSUPPORTED,
                               "\"%s\" is not an encoding; examples are UTF-16LE, ISO-8859-1, windows-1252, "
                               "Shift_JIS and GB18030",
                               encoding);
    }
    return CLF_OK;
}

/* Converts a text to UTF-8. */
static clf_status decode(struct clf__output *out, UConverter *converter, const char *encoding,
                         const char *bytes, size_t size)
{
    const char *at = bytes, *end = bytes + size;
    UErrorCode error = U_ZERO_ERROR;
    ucnv_setToUCallBack(converter, UCNV_TO_U_CALLBACK_STOP, NULL, NULL, NULL, &error);
    clf__output_add(out, "", 0);
    while (at < end && out->status == CLF_OK) {
        const char *start = at;
        UChar32 point = ucnv_getNextUChar(converter, &at, end, &error);
        if (error == U_INDEX_OUTOFBOUNDS_ERROR) { /* an escape sequence without a character */
            break;
        }
        if (U_FAILURE(error)) {
            return clf__fail(CLF_TEXT, "line %d: the byte 0x%02X is not %s; use another encoding",
                             clf__text_line_of(out->bytes, out->size), (unsigned char)*start, encoding);
        }
        char text[U8_MAX_LENGTH];
        int32_t length = 0;
        U8_APPEND_UNSAFE(text, length, point);
        clf__output_add(out, text, (size_t)length);
    }
    return out->status;
}

static clf_status decode_as(struct clf_document *document, const char *encoding)
{
    struct clf__output text = {.bytes = NULL};
    UConverter *converter;
    if (ucnv_compareNames(encoding, "UTF-8") == 0) {
        return CLF_OK;
    }
    CLF__TRY(clf__copy_string(&document->encoding, encoding));
    CLF__TRY(open_converter(&converter, encoding));
    clf_status status = decode(&text, converter, encoding, document->bytes, document->size);
    ucnv_close(converter);
    if (status != CLF_OK) {
        clf__free(text.bytes);
        return status;
    }
    document->original = document->bytes;
    document->original_size = document->size;
    document->bytes = text.bytes;
    document->size = text.size;
    return CLF_OK;
}

clf_status clf__document_decode(struct clf_document *document)
{
    const char *marked = marked_encoding(document->bytes, document->size);
    const char *encoding = document->options.encoding;
    char *declared = NULL;
    if (marked != NULL && (encoding == NULL || strncasecmp(encoding, marked, 6) == 0)) {
        encoding = marked;
    }
    if (encoding == NULL) {
        CLF__TRY(copy_declared(&declared, document->bytes, document->size));
        if (declared == NULL && clf__utf8_mark(document->bytes, document->size) == 0) {
            CLF__TRY(copy_charset(&declared, document));
        }
        encoding = declared;
    }
    clf_status status = encoding != NULL ? decode_as(document, encoding) : CLF_OK;
    clf__free(declared);
    return status;
}

/* State of encoding a text. */
struct encoder {
    UConverter *converter;
    const char *encoding;
    struct clf__output *out;
    const char *text; /* (size) UTF-8 */
    size_t size;
};

/* Fails for the character that begins at a position. */
static clf_status fail_character(const struct encoder *encoder, size_t at)
{
    size_t next = at;
    UChar32 point;
    U8_NEXT(encoder->text, next, encoder->size, point);
    return clf__fail(CLF_TEXT,
                     "line %d: the translation has the character %.*s (U+%04X), which %s does not have; "
                     "convert the document to UTF-8 first",
                     clf__text_line_of(encoder->text, at), (int)(next - at), encoder->text + at,
                     (unsigned)point, encoder->encoding);
}

/* Returns the position after `units` UTF-16 units from a position of the text. */
static size_t skip_units(const struct encoder *encoder, size_t at, ptrdiff_t units)
{
    while (units > 0 && at < encoder->size) {
        UChar32 point;
        U8_NEXT(encoder->text, at, encoder->size, point);
        units -= U16_LENGTH(point);
    }
    return at;
}

/* Converts UTF-16 units, which begin at a position of the text. */
static clf_status encode_units(struct encoder *encoder, size_t at, const UChar *units, size_t count,
                               int is_last)
{
    const UChar *from = units, *end = units + count;
    UErrorCode error;
    do {
        char bytes[CHUNK], *to = bytes;
        error = U_ZERO_ERROR;
        ucnv_fromUnicode(encoder->converter, &to, bytes + sizeof bytes, &from, end, NULL, (UBool)is_last,
                         &error);
        clf__output_add(encoder->out, bytes, (size_t)(to - bytes));
    } while (error == U_BUFFER_OVERFLOW_ERROR);
    if (U_FAILURE(error)) {
        UChar invalid[8];
        int8_t length = 8;
        UErrorCode ignored = U_ZERO_ERROR;
        ucnv_getInvalidUChars(encoder->converter, invalid, &length, &ignored);
        return fail_character(encoder,
                              skip_units(encoder, at, from - units - (U_SUCCESS(ignored) ? length : 0)));
    }
    return encoder->out->status;
}

static clf_status encode(struct encoder *encoder)
{
    size_t at = 0;
    do {
        UChar units[CHUNK];
        size_t count = 0, start = at;
        while (at < encoder->size && count + 2 <= CHUNK) {
            UChar32 point;
            U8_NEXT(encoder->text, at, encoder->size, point);
            U16_APPEND_UNSAFE(units, count, point);
        }
        CLF__TRY(encode_units(encoder, start, units, count, at == encoder->size));
    } while (at < encoder->size);
    return CLF_OK;
}

clf_status clf__document_encode(struct clf__output *out, const struct clf_document *document)
{
    struct clf__output text = *out;
    struct encoder encoder = {
        .encoding = document->encoding, .out = out, .text = text.bytes, .size = text.size};
    if (document->encoding == NULL || text.status != CLF_OK) {
        return text.status;
    }
    if (text.size == document->size && memcmp(text.bytes, document->bytes, text.size) == 0) {
        out->size = 0;
        clf__output_add(out, document->original, document->original_size);
        return out->status;
    }
    CLF__TRY(open_converter(&encoder.converter, document->encoding));
    UErrorCode error = U_ZERO_ERROR;
    ucnv_setFromUCallBack(encoder.converter,
                          document->format->has_references ? UCNV_FROM_U_CALLBACK_ESCAPE
                                                           : UCNV_FROM_U_CALLBACK_STOP,
                          document->format->has_references ? UCNV_ESCAPE_XML_DEC : NULL, NULL, NULL, &error);
    *out = (struct clf__output){.bytes = NULL};
    clf__output_add(out, "", 0);
    clf_status status = encode(&encoder);
    ucnv_close(encoder.converter);
    clf__free(text.bytes);
    return status;
}
