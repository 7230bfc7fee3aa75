#include "text/clean_up.h"

#include <stddef.h>
#include <string.h>

void clf__text_replace(char *text, const char *from, const char *to)
{
    size_t from_length = strlen(from), to_length = strlen(to);
    char *end = text;
    while (*text) {
        if (strncmp(text, from, from_length) == 0) {
            memcpy(end, to, to_length);
            end += to_length;
            text += from_length;
        } else {
            *end++ = *text++;
        }
    }
    *end = '\0';
}

/* The white space of Python's str.strip(). */
static const char *const spaces[] = {
    " ",        "\t",     "\n",     "\v",     "\f",     "\r",     "\x1c",   "\x1d",   "\x1e",   "\x1f",
    "\xc2\x85", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
    "\u2007",   "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000",
};

/* The length of the white space character that begins or ends a text of length bytes, or 0. */
static size_t space_at(const char *text, size_t length, int at_end)
{
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        size_t width = strlen(spaces[i]);
        if (width <= length && memcmp(at_end ? text + length - width : text, spaces[i], width) == 0) {
            return width;
        }
    }
    return 0;
}

void clf__text_strip(char *text)
{
    clf__text_replace(text, "\u2581", " ");
    char *start = text;
    size_t length = strlen(text), width;
    while ((width = space_at(start, length, 1)) > 0) {
        length -= width;
    }
    while ((width = space_at(start, length, 0)) > 0) {
        start += width;
        length -= width;
    }
    memmove(text, start, length);
    text[length] = '\0';
}

void clf__text_clean_up(char *text)
{
    static const char *const rules[][2] = {
        {" .", "."},     {" ?", "?"},   {" !", "!"},   {" ,", ","},     {" ' ", "'"},
        {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        clf__text_replace(text, rules[i][0], rules[i][1]);
    }
}
