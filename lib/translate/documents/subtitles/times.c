/* Lines of times. */
#include <string.h>

#include "base/utf8.h"
#include "translate/documents/subtitles/subtitles.h"

static int is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Reads up to `most` digits; returns their number. */
static int read_number(int *out, const char **at, const char *end, int most)
{
    int count = 0;
    for (*out = 0; count < most && *at < end && is_digit(**at); (*at)++, count++) {
        *out = *out * 10 + (**at - '0');
    }
    return count;
}

static void skip_spaces(const char **at, const char *end)
{
    while (*at < end && (**at == ' ' || **at == '\t')) {
        (*at)++;
    }
}

/* Reads a time such as "1:02:03,500" or "02:03.5"; returns 0 if it is malformed. */
static int read_time(double *out, const char **at, const char *end, int needs_hours)
{
    enum { MOST_DIGITS = 6 };
    int parts[3], count = 0, thousandths = 0, digits;
    do {
        if (count == 3 || read_number(&parts[count++], at, end, MOST_DIGITS) == 0) {
            return 0;
        }
    } while (*at < end && **at == ':' && (*at)++ != NULL);
    if (count < 2 + needs_hours || *at == end || (**at != ',' && **at != '.')) {
        return 0;
    }
    (*at)++;
    digits = read_number(&thousandths, at, end, 3);
    if (digits == 0 || (*at < end && is_digit(**at))) {
        return 0;
    }
    for (; digits < 3; digits++) {
        thousandths *= 10;
    }
    int seconds = parts[count - 1], minutes = parts[count - 2], hours = count == 3 ? parts[0] : 0;
    *out = hours * 3600.0 + minutes * 60.0 + seconds + thousandths / 1000.0;
    return seconds < 60 && minutes < 60;
}

int clf__cue_time(double *out, const char *text, size_t size)
{
    const char *at = text;
    return read_time(out, &at, text + size, 0) && at == text + size;
}

int clf__cue_times(double *from, double *to, const char *line, size_t size, int needs_hours)
{
    const char *at = line, *end = line + size;
    skip_spaces(&at, end);
    if (!read_time(from, &at, end, needs_hours)) {
        return 0;
    }
    skip_spaces(&at, end);
    if (end - at < 3 || memcmp(at, "-->", 3) != 0) {
        return 0;
    }
    at += 3;
    skip_spaces(&at, end);
    return read_time(to, &at, end, needs_hours) && (at == end || *at == ' ' || *at == '\t');
}

int clf__cue_looks_timed(const char *line, size_t size)
{
    size_t digits = 0, colons = 0, at = 0;
    for (; at < size && (is_digit(line[at]) || line[at] == ':' || line[at] == ' '); at++) {
        digits += is_digit(line[at]);
        colons += line[at] == ':';
    }
    return clf__text_contains(line, size, "-->") ||
           (digits > 2 && colons > 0 && clf__text_contains(line, size, "->")) ||
           (digits > 4 && colons > 1 && at < size && (line[at] == ',' || line[at] == '.'));
}

clf_status clf__cue_fail(int number, const char *line, size_t size, const char *example)
{
    enum { MOST_SHOWN = 80 };
    int shown = (int)(size > MOST_SHOWN ? clf__utf8_cut(line, MOST_SHOWN) : size);
    return clf__fail(CLF_FORMAT, "line %d: \"%.*s\" is not a line of times, such as \"%s\"; correct it",
                     number, shown, line, example);
}
