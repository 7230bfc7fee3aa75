/* The text of XML: references and escapes. */
#include <stdlib.h>
#include <string.h>

#include <unicode/utf8.h>

#include "translate/documents/html/tokens.h"
#include "translate/documents/xml/xml.h"

/* Decodes the reference at the start of a text; returns its size, or 0 if there is none. */
static size_t read_reference(char out[U8_MAX_LENGTH], size_t *out_size, const char *text, size_t size)
{
    static const struct {
        const char *name;
        char character;
    } names[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i].name);
        if (length <= size && memcmp(text, names[i].name, length) == 0) {
            *out = names[i].character;
            *out_size = 1;
            return length;
        }
    }
    const char *end = memchr(text, ';', size);
    if (end == NULL || end - text < 3 || text[1] != '#') {
        return 0;
    }
    unsigned long point = text[2] == 'x' ? strtoul(text + 3, NULL, 16) : strtoul(text + 2, NULL, 10);
    int32_t at = 0;
    if (point == 0 || point > 0x10ffff || U_IS_SURROGATE(point)) {
        return 0;
    }
    U8_APPEND_UNSAFE((uint8_t *)out, at, point);
    *out_size = (size_t)at;
    return (size_t)(end - text) + 1;
}

/* Decodes the character at the start of a text; returns the number of bytes that represent it. */
static size_t read_character(char out[U8_MAX_LENGTH], size_t *out_size, const char *text, size_t size)
{
    size_t length = *text == '&' ? read_reference(out, out_size, text, size) : 0;
    if (length == 0) {
        *out = *text;
        *out_size = length = 1;
    }
    return length;
}

void clf__xml_decode(struct clf__output *out, const char *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        char character[U8_MAX_LENGTH];
        size_t character_size;
        at += read_character(character, &character_size, bytes + at, size - at);
        clf__output_add(out, character, character_size);
    }
}

void clf__xml_add_text(struct clf__inlines *inlines, const char *bytes, size_t start, size_t end)
{
    for (size_t at = start; at < end;) {
        char character[U8_MAX_LENGTH];
        size_t character_size, size = read_character(character, &character_size, bytes + at, end - at);
        clf__inlines_text(inlines, character, character_size, at, at + size);
        at += size;
    }
}

/* Returns the size of a character that XML does not allow at the start of a text: a control character, U+FFFE
 * or U+FFFF. */
static size_t forbidden_size(const char *text, size_t size)
{
    unsigned char byte = (unsigned char)*text;
    if (byte < 0x20) {
        return byte != '\t' && byte != '\n' && byte != '\r';
    }
    return size >= 3 && (memcmp(text, "\xef\xbf\xbe", 3) == 0 || memcmp(text, "\xef\xbf\xbf", 3) == 0) ? 3
                                                                                                       : 0;
}

/* Adds the allowed characters of a text in parts. */
static void add_allowed(struct clf__output *out, const char *text, size_t size,
                        void (*add)(struct clf__output *out, const char *text, size_t size))
{
    size_t from = 0;
    for (size_t at = 0; at < size;) {
        size_t forbidden = forbidden_size(text + at, size - at);
        if (forbidden > 0) {
            add(out, text + from, at - from);
            from = at + forbidden;
        }
        at += forbidden > 0 ? forbidden : 1;
    }
    add(out, text + from, size - from);
}

void clf__xml_escape(struct clf__output *out, const char *text, size_t size)
{
    add_allowed(out, text, size, clf__output_add_escaped);
}

static void add_cdata(struct clf__output *out, const char *text, size_t size)
{
    size_t from = 0, at;
    while ((at = clf__text_find(text, size, from, "]]>", 3)) < size) {
        clf__output_add(out, text + from, at + 2 - from);
        clf__output_add_string(out, "]]><![CDATA[");
        from = at + 2;
    }
    clf__output_add(out, text + from, size - from);
}

void clf__xml_escape_cdata(struct clf__output *out, const char *text, size_t size)
{
    add_allowed(out, text, size, add_cdata);
}
