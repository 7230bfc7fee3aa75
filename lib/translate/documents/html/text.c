#include "translate/documents/html/text.h"

#include <string.h>
#include <strings.h>

#ifdef CLF_HAS_GUMBO
#include <gumbo.h>
#endif

#include "base/memory.h"
#include "translate/documents/html/tokens.h"

/* Surrounding white space, which is kept as it is. */
static const char *const spaces[] = {" ", "\n", "\t", "\r", "\f", "\xc2\xa0", "&nbsp;", "&#160;", "&#xa0;"};
enum { SPACES = sizeof spaces / sizeof *spaces };

void clf__html_trim(const char *bytes, size_t *start, size_t *end)
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

/* Returns the number of digits at the start of a text, and their value, limited to 0x110000, which is not a
 * code point. */
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

/* Copies a text with U+FFFD instead of numbers above U+10FFFF, which overflow in Gumbo. */
static clf_status replace_large_numbers(char **out, size_t *size, const char *bytes, size_t raw_size)
{
    size_t kept = 0;
    const char *end = bytes + raw_size;
    char *copy;
    CLF__TRY(clf__allocate(out, raw_size + 1, 1));
    copy = *out;
    for (const char *at = bytes; at < end;) {
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
    return CLF_OK;
}

/* Decodes character references with Gumbo; in a <title>, tags are text too. */
static clf_status decode(char **out, size_t *size, const char *bytes, size_t raw_size)
{
    GumboOptions options = kGumboDefaultOptions;
    char *checked;
    CLF__TRY(replace_large_numbers(&checked, size, bytes, raw_size));
    options.fragment_context = GUMBO_TAG_TITLE;
    options.max_errors = 0;
    GumboOutput *output = gumbo_parse_with_options(&options, checked, *size);
    const GumboVector *children = &output->root->v.element.children;
    const GumboNode *node = children->length > 0 ? children->data[0] : NULL;
    const char *text = "";
    if (node != NULL && (node->type == GUMBO_NODE_TEXT || node->type == GUMBO_NODE_WHITESPACE)) {
        text = node->v.text.text;
    }
    *size = strlen(text);
    clf_status status = clf__copy_bytes(out, text, *size);
    gumbo_destroy_output(&options, output);
    clf__free(checked);
    return status;
}

#else

static clf_status decode(char **out, size_t *size, const char *bytes, size_t raw_size)
{
    *size = raw_size;
    return clf__copy_bytes(out, bytes, raw_size);
}

#endif

clf_status clf__html_references(char **out, size_t *size, const char *bytes, size_t raw_size)
{
    if (memchr(bytes, '&', raw_size) != NULL) {
        return decode(out, size, bytes, raw_size);
    }
    *size = raw_size;
    return clf__copy_bytes(out, bytes, raw_size);
}

clf_status clf__html_decode(char **out, size_t *size, const char *bytes, size_t raw_size)
{
    CLF__TRY(clf__html_references(out, size, bytes, raw_size));
    char *text = *out;
    size_t kept = 0;
    for (size_t i = 0; i < *size; i++) {
        int is_space = clf__html_is_space(text[i]);
        if (!is_space || (kept > 0 && text[kept - 1] != ' ')) {
            text[kept++] = is_space ? ' ' : text[i];
        }
    }
    kept -= kept > 0 && text[kept - 1] == ' ';
    text[kept] = '\0';
    *size = kept;
    return CLF_OK;
}
