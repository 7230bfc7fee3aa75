#include "base/suggest.h"

#include <string.h>

enum { MOST_LETTERS = 32 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Computes the edit distance, with transpositions (Damerau). */
static int distance(const char *a, int a_length, const char *b, int b_length)
{
    int rows[3][MOST_LETTERS + 1]; /* table rows for the last three letters of a */
    for (int j = 0; j <= b_length; j++) {
        rows[0][j] = j;
    }
    for (int i = 1; i <= a_length; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= b_length; j++) {
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = least(row[j], two_above[j - 2] + 1);
            }
        }
    }
    return rows[a_length % 3][b_length];
}

struct clf__suggestion clf__suggest_begin(const char *word, int length)
{
    while (length > 0 && *word == '-') {
        word++;
        length--;
    }
    return (struct clf__suggestion){.word = word, .length = length, .distance = MOST_LETTERS};
}

void clf__suggest_try(struct clf__suggestion *nearest, const char *candidate)
{
    int length = (int)strlen(candidate);
    if (nearest->length < 2 || nearest->length > MOST_LETTERS || length > MOST_LETTERS) {
        return;
    }
    /* Accepts one edit in a short word, two edits in a word of six letters or more, or a prefix. */
    int edits = distance(nearest->word, nearest->length, candidate, length);
    int is_beginning = strncmp(nearest->word, candidate, (size_t)nearest->length) == 0;
    if ((is_beginning || edits <= nearest->length / 3) && edits < nearest->distance) {
        nearest->best = candidate;
        nearest->distance = edits;
    }
}
