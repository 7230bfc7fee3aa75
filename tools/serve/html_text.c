#include "serve/html_text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#ifdef CLF_HAS_GUMBO
#include <gumbo.h>
#endif

#include "serve/html_tokens.h"

/* White space at the ends of a text that stays as it is. */
static const char *const spaces[] = {" ", "\n", "\t", "\r", "\f", "\xc2\xa0", "&nbsp;", "&#160;", "&#xa0;"};
enum { SPACES = sizeof spaces / sizeof *spaces };

void html_text_trim(const char *bytes, size_t *start, size_t *end)
{
    for (int i = 0; i < SPACES; i++) {
        size_t size = strlen(spaces[i]);
        if (size <= *end - *start && strncasecmp(bytes + *start, spaces[i], size) == 0) {
            *start += size;
            i = -1;
        }
    }
    for (int i = 0; i < SPACES; i++) {
        size_t size = strlen(spaces[i]);
        if (size <= *end - *start && strncasecmp(bytes + *end - size, spaces[i], size) == 0) {
            *end -= size;
            i = -1;
        }
    }
}

#ifdef CLF_HAS_GUMBO

int html_text_exists(void)
{
    return 1;
}

/* Returns the number of digits at the start of a text, and their value, at most 0x110000: no code point. */
static size_t read_digits(unsigned *value, const char *digits, const char *end, int is_hex)
{
    const char *at = digits;
    for (*value = 0; at < end; at++) {
        char letter = (char)(*at | 0x20);
        unsigned digit;
        if (*at >= '0' && *at <= '9') {
            digit = (unsigned)(*at - '0');
        } else if (is_hex && letter >= 'a' && letter <= 'f') {
            digit = (unsigned)(letter - 'a') + 10;
        } else {
            break;
        }
        *value = *value * (is_hex ? 16 : 10) + digit;
        *value = *value < 0x110000 ? *value : 0x110000;
    }
    return (size_t)(at - digits);
}

/* Returns a copy in which U+FFFD takes the place of numbers above U+10FFFF, which overflow in Gumbo. */
static char *replace_large_numbers(size_t *size, const char *bytes, size_t raw_size)
{
    char *copy = malloc(raw_size + 1);
    size_t kept = 0;
    const char *end = bytes + raw_size;
    for (const char *at = bytes; copy != NULL && at < end;) {
        unsigned value = 0;
        size_t length = 0;
        if (*at == '&' && end - at > 3 && at[1] == '#') {
            length = 2 + (at[2] == 'x' || at[2] == 'X');
            length += read_digits(&value, at + length, end, length == 3);
        }
        if (value >= 0x110000) {
            memcpy(copy + kept, "\xef\xbf\xbd", 3);
            kept += 3;
            at += length;
            at += at < end && *at == ';';
        } else {
            copy[kept++] = *at++;
        }
    }
    *size = kept;
    return copy;
}

/* Decodes character references with Gumbo; in a <title>, tags are text too. */
static char *decode(size_t *size, const char *bytes, size_t raw_size)
{
    GumboOptions options = kGumboDefaultOptions;
    char *checked = replace_large_numbers(size, bytes, raw_size);
    if (checked == NULL) {
        return NULL;
    }
    options.fragment_context = GUMBO_TAG_TITLE;
    options.max_errors = 0;
    GumboOutput *output = gumbo_parse_with_options(&options, checked, *size);
    const GumboVector *children = &output->root->v.element.children;
    const GumboNode *node = children->length > 0 ? children->data[0] : NULL;
    const char *text = "";
    if (node != NULL && (node->type == GUMBO_NODE_TEXT || node->type == GUMBO_NODE_WHITESPACE)) {
        text = node->v.text.text;
    }
    char *copy = strdup(text);
    *size = copy != NULL ? strlen(copy) : 0;
    gumbo_destroy_output(&options, output);
    free(checked);
    return copy;
}

#else

int html_text_exists(void)
{
    return 0;
}

static char *decode(size_t *size, const char *bytes, size_t raw_size)
{
    char *copy = malloc(raw_size + 1);
    if (copy != NULL) {
        memcpy(copy, bytes, raw_size);
        copy[raw_size] = '\0';
    }
    *size = raw_size;
    return copy;
}

#endif

char *html_text_references(size_t *size, const char *bytes, size_t raw_size)
{
    if (memchr(bytes, '&', raw_size) != NULL) {
        return decode(size, bytes, raw_size);
    }
    char *text = malloc(raw_size + 1);
    *size = raw_size;
    if (text != NULL) {
        memcpy(text, bytes, raw_size);
        text[raw_size] = '\0';
    }
    return text;
}

char *html_text_decode(size_t *size, const char *bytes, size_t raw_size)
{
    char *text = html_text_references(size, bytes, raw_size);
    if (text == NULL) {
        return NULL;
    }
    size_t kept = 0;
    for (size_t i = 0; i < *size; i++) {
        int is_space = html_is_space(text[i]);
        if (!is_space || (kept > 0 && text[kept - 1] != ' ')) {
            text[kept++] = is_space ? ' ' : text[i];
        }
    }
    kept -= kept > 0 && text[kept - 1] == ' ';
    text[kept] = '\0';
    *size = kept;
    return text;
}

int html_text_has_letter(const char *text, size_t size)
{
    UChar32 point;
    for (size_t at = 0; at < size;) {
        U8_NEXT(text, at, size, point);
        if (point >= 0 && u_isUAlphabetic(point)) {
            return 1;
        }
    }
    return 0;
}

void html_text_write(FILE *file, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        switch (text[i]) {
        case '&':
            fputs("&amp;", file);
            break;
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        default:
            putc(text[i], file);
        }
    }
}
