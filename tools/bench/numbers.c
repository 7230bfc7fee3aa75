/* Lists of numbers and of shapes in the flags of `clformer bench`. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "bench/bench.h"

/* Reads a positive integer and moves *text past the digits. Returns 0 for anything else. */
static int read_number(int *out, const char **text)
{
    char *end;
    errno = 0;
    long value = strtol(*text, &end, 10);
    int is_number = end != *text && errno == 0 && value >= 1 && value <= INT_MAX;
    *text = end;
    *out = is_number ? (int)value : 0;
    return is_number;
}

int bench_parse_numbers(struct bench_numbers *out, const char *flag, const char *list)
{
    for (const char *rest = list;; rest++) {
        int value;
        if (!read_number(&value, &rest) || (*rest != ',' && *rest != '\0')) {
            return report_wrong_call("--%s: must be positive integers separated by commas, not \"%s\"", flag,
                                     list);
        }
        if (out->count == BENCH_MOST_NUMBERS) {
            return report_wrong_call("--%s: at most %d numbers are supported", flag, (int)BENCH_MOST_NUMBERS);
        }
        out->values[out->count++] = value;
        if (*rest == '\0') {
            return -1;
        }
    }
}

/* Parses a shape such as "2048x512x512". Returns 0 for anything else. */
static int read_shape(struct op_shape *out, const char **text, int sizes)
{
    for (int i = 0; i < sizes; i++) {
        if ((i > 0 && *(*text)++ != 'x') || !read_number(&out->sizes[i], text)) {
            return 0;
        }
    }
    return **text == ',' || **text == '\0';
}

int bench_parse_shapes(struct bench_shapes *out, const char *list, int sizes)
{
    for (const char *rest = list;; rest++) {
        if (out->count == BENCH_MOST_NUMBERS) {
            return report_wrong_call("--shape: at most %d shapes are supported", (int)BENCH_MOST_NUMBERS);
        }
        if (!read_shape(&out->list[out->count++], &rest, sizes)) {
            return report_wrong_call(
                "--shape: must be shapes of %d sizes separated by commas, such as %s, not "
                "\"%s\"",
                sizes, sizes == 3 ? "2048x512x512" : "1x1500x20x64", list);
        }
        if (*rest == '\0') {
            return -1;
        }
    }
}
