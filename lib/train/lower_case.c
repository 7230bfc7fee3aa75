#include "train/lower_case.h"

#include <string.h>

#include "base/memory.h"
#include "train/lower_case_tables.h"

enum { CAPITAL_SIGMA = 0x3a3, SMALL_SIGMA = 0x3c3, FINAL_SIGMA = 0x3c2 };
enum { CAPITAL_I_WITH_DOT = 0x130, DOT_ABOVE = 0x307 };

/* The code point at text, which is valid UTF-8, and its bytes. */
static int32_t decode(const char *text, size_t *length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (bytes[0] < 0x80) {
        *length = 1;
        return bytes[0];
    }
    *length = bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
    int32_t point = bytes[0] & (0x7f >> *length);
    for (size_t i = 1; i < *length; i++) {
        point = point << 6 | (bytes[i] & 0x3f);
    }
    return point;
}

static char *encode(char *out, int32_t point)
{
    int length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (length == 1) {
        *out = (char)point;
        return out + 1;
    }
    for (int i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    out[0] = (char)((0xf00 >> length & 0xff) | point);
    return out + length;
}

static int is_among(int32_t point, const struct clf__point_range *ranges, int count)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (ranges[middle].last < point) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && ranges[low].first <= point;
}

static int is_cased(int32_t point)
{
    return is_among(point, clf__cased_ranges, clf__cased_ranges_count);
}

static int is_ignorable(int32_t point)
{
    return is_among(point, clf__case_ignorable_ranges, clf__case_ignorable_ranges_count);
}

static int32_t lower_of(int32_t point)
{
    int low = 0, high = clf__lower_ranges_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (clf__lower_ranges[middle].last < point) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const struct clf__lower_range *range = &clf__lower_ranges[low];
    int is_lower =
        low < clf__lower_ranges_count && range->first <= point && (point - range->first) % range->step == 0;
    return is_lower ? point + range->delta : point;
}

/* Whether the next letter of the same word follows, past what does not count as one. */
static int is_before_letter(const char *text)
{
    size_t length;
    while (*text) {
        int32_t point = decode(text, &length);
        if (!is_ignorable(point)) {
            return is_cased(point);
        }
        text += length;
    }
    return 0;
}

clf_status clf__lower_case(char **out, const char *text)
{
    /* A lower case has at most a byte more than its capital, and U+0130 has three for two. */
    CLF__TRY(clf__allocate(out, 2 * strlen(text) + 1, 1));
    char *end = *out;
    int in_word = 0; /* the last letter that counts is cased */
    for (size_t length; *text; text += length) {
        int32_t point = decode(text, &length);
        if (point == CAPITAL_SIGMA) {
            end = encode(end, in_word && !is_before_letter(text + length) ? FINAL_SIGMA : SMALL_SIGMA);
        } else if (point == CAPITAL_I_WITH_DOT) {
            end = encode(encode(end, 'i'), DOT_ABOVE);
        } else {
            end = encode(end, lower_of(point));
        }
        if (!is_ignorable(point)) {
            in_word = is_cased(point);
        }
    }
    return CLF_OK;
}
