/* What a mistyped word was most likely meant to be. */
#ifndef CLF_BASE_NEAREST_H
#define CLF_BASE_NEAREST_H

struct clf__nearest {
    const char *word; /* as it was typed, without dashes before it */
    int length;
    const char *best; /* NULL: nothing is near enough */
    int distance;
};
struct clf__nearest clf__nearest_begin(const char *word, int length);
/* Compares with one of the words that there are; borrowed. */
void clf__nearest_try(struct clf__nearest *nearest, const char *candidate);

#endif
