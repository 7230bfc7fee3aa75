/* Suggests the most likely correction of a mistyped word. */
#ifndef CLF_BASE_SUGGEST_H
#define CLF_BASE_SUGGEST_H

struct clf__suggestion {
    const char *word; /* as typed, without leading dashes */
    int length;
    const char *best; /* NULL: no similar word */
    int distance;
};
struct clf__suggestion clf__suggest_begin(const char *word, int length);
/* Keeps `candidate`, which is borrowed, if it is more similar than the best word so far. */
void clf__suggest_try(struct clf__suggestion *nearest, const char *candidate);

#endif
