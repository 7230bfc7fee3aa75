#include "device/levels.h"

#include <stddef.h>

/* From the best to the one that needs nothing. Without int8 dot products whole numbers are multiplied as
 * fp32. */
static const struct clf__level levels[] = {
    {"avx512-bf16", CLF__DOT_INT8 | CLF__DOT_BF16, 8, 1},
    {"avx512-vnni", CLF__DOT_INT8, 8, 1},
    {"portable", 0, 8, sizeof(float)},
};
enum { LEVELS = sizeof levels / sizeof *levels };

const struct clf__level *clf__level_portable(void)
{
    return &levels[LEVELS - 1];
}

const struct clf__level *clf__level_find(int instructions)
{
    const struct clf__level *level = levels;
    while ((level->instructions & ~instructions) != 0) {
        level++;
    }
    return level;
}
