/* Suggests the most likely correction of a mistyped word. */
#ifndef CLF_BASE_NEAREST_H
#define CLF_BASE_NEAREST_H

struct clf__nearest {
    const char *word; /* as typed, without leading dashes */
    int length;
    const char *best; /* NULL: no similar word */
    int distance;
};
struct clf__nearest clf__nearest_begin(const char *word, int length);
/* Compares with one of the valid words; borrowed. */
void clf__nearest_try(struct clf__nearest *nearest, const char *candidate);

#endif
