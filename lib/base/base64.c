#include "base/base64.h"

#include "base/memory.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

clf_status clf__base64_encode(char **out, const uint8_t *bytes, size_t size)
{
    CLF__TRY(clf__allocate(out, (size + 2) / 3 * 4 + 1, 1));
    char *to = *out;
    for (size_t at = 0; at < size; at += 3) {
        size_t left = size - at;
        uint32_t bits = (uint32_t)bytes[at] << 16 | (left > 1 ? (uint32_t)bytes[at + 1] << 8 : 0) |
                        (left > 2 ? bytes[at + 2] : 0);
        for (size_t i = 0; i < 4; i++) {
            *to++ = i <= left ? digits[bits >> (18 - 6 * i) & 63] : '=';
        }
    }
    return CLF_OK;
}

static int digit_of(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

int clf__base64_decode(uint8_t *out, size_t *size, const char *text, size_t length)
{
    size_t padding = 0;
    uint32_t bits = 0;
    while (length > 0 && text[length - 1] == '=' && padding < 2) {
        length--;
        padding++;
    }
    int is_whole = (length + padding) % 4 == 0;
    *size = 0;
    for (size_t i = 0; i < length; i++) {
        int digit = digit_of(text[i]);
        is_whole &= digit >= 0;
        bits = bits << 6 | (uint32_t)(digit & 63);
        if (i % 4 != 0) {
            out[(*size)++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
        }
    }
    uint32_t left = padding == 0 ? 0 : padding == 1 ? bits & 3 : bits & 15;
    return is_whole && left == 0;
}
