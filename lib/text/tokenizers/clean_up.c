#include "text/tokenizers/clean_up.h"

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

size_t clf__text_space(const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if ((bytes[0] >= 0x09 && bytes[0] <= 0x0d) || (bytes[0] >= 0x1c && bytes[0] <= 0x20)) {
        return 1;
    }
    if (bytes[0] == 0xc2 && (bytes[1] == 0x85 || bytes[1] == 0xa0)) {
        return 2;
    }
    static const char *const longer[] = {"\xe1\x9a\x80", "\xe2\x80\xa8", "\xe2\x80\xa9",
                                         "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
        if (strncmp(text, longer[i], 3) == 0) {
            return 3;
        }
    }
    int is_quad = bytes[0] == 0xe2 && bytes[1] == 0x80 && bytes[2] >= 0x80 && bytes[2] <= 0x8a;
    return is_quad ? 3 : 0;
}

size_t clf__text_space_in(const char *text, size_t size)
{
    char head[4] = {0};
    memcpy(head, text, size < 3 ? size : 3);
    return clf__text_space(head);
}

void clf__text_strip_end(char *text)
{
    size_t end = 0;
    for (size_t i = 0; text[i];) {
        size_t space = clf__text_space(text + i);
        i += space ? space : 1;
        end = space ? end : i;
    }
    text[end] = '\0';
}

void clf__text_strip(char *text)
{
    clf__text_replace(text, "\u2581", " ");
    clf__text_strip_end(text);
    const char *start = text;
    for (size_t space; (space = clf__text_space(start)) > 0;) {
        start += space;
    }
    memmove(text, start, strlen(start) + 1);
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

void clf__text_clean_up_token(char *text)
{
    clf__text_clean_up(text);
    clf__text_replace(text, " do not", " don't");
}
