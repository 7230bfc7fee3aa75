/* What a mistyped word was most likely meant to be. */
#ifndef CLF_TOOLS_NEAREST_H
#define CLF_TOOLS_NEAREST_H

struct nearest {
    const char *word; /* as it was typed, without dashes before it */
    int length;
    const char *best; /* NULL: nothing is near enough */
    int distance;
};
struct nearest nearest_begin(const char *word, int length);
/* Compares with one of the words that there are; borrowed. */
void nearest_try(struct nearest *nearest, const char *candidate);

#endif
