#include "runtime/tuning/levels.h"

#include <stddef.h>

const char *const clf__level_words[] = {
    [CLF_INSTRUCTIONS_AUTO] = "auto",
#define LEVEL_WORD(name, word) [CLF_INSTRUCTIONS_##name] = (word),
    CLF__LEVEL_LIST(LEVEL_WORD)
#undef LEVEL_WORD
        NULL,
};

enum { VNNI_256 = CLF__AVX2 | CLF__DOT_INT8_256, VNNI_512 = CLF__AVX512 | CLF__DOT_INT8 };

/* Placeholder vector settings for the levels of the GPU variant, which has no vectors. */
#define NO_MATRIX                                                                                            \
    {                                                                                                        \
        NULL, 0, 0, 0, 0, 0, 0                                                                               \
    }
#define OF_GPU 8, 6, CLF__INT8_FLOAT

/* In ascending order. Six rows of two vectors and their operands fill the 16 registers of AVX2; AVX-512,
 * with 32 registers, uses eight rows. On Arm a vector takes two of the 32 registers, so six rows fill them
 * as well. */
static const struct clf__level levels[] = {
    {CLF_INSTRUCTIONS_PORTABLE, 0, 8, 6, CLF__INT8_FLOAT, NO_MATRIX},
    {CLF_INSTRUCTIONS_PORTABLE, CLF__WIDE, 16, 8, CLF__INT8_FLOAT, NO_MATRIX},
    {CLF_INSTRUCTIONS_AVX2, CLF__AVX2, 8, 6, CLF__INT8_PAIR, NO_MATRIX},
    {CLF_INSTRUCTIONS_AVX_VNNI, VNNI_256, 8, 6, CLF__INT8_DOT, NO_MATRIX},
    {CLF_INSTRUCTIONS_AVX512, CLF__AVX512, 16, 8, CLF__INT8_PAIR, NO_MATRIX},
    {CLF_INSTRUCTIONS_AVX512_VNNI, VNNI_512, 16, 8, CLF__INT8_DOT, NO_MATRIX},
    {CLF_INSTRUCTIONS_AVX512_BF16, VNNI_512 | CLF__DOT_BF16, 16, 8, CLF__INT8_DOT, NO_MATRIX},
    {CLF_INSTRUCTIONS_AMX, VNNI_512 | CLF__DOT_BF16 | CLF__TILES, 16, 8, CLF__INT8_DOT, NO_MATRIX},
    {CLF_INSTRUCTIONS_NEON, CLF__NEON, 8, 6, CLF__INT8_DOT, NO_MATRIX},
    {CLF_INSTRUCTIONS_DOTPROD, CLF__NEON | CLF__DOT_INT8_128, 8, 6, CLF__INT8_DOT, NO_MATRIX},
    {CLF_INSTRUCTIONS_EMULATED, CLF__MATRIX_EMULATED, OF_GPU, {"-DMATRIX_EMULATED", 32, 16, 8, 2, 1, 0}},
    {CLF_INSTRUCTIONS_DPAS8, CLF__MATRIX_DPAS8, OF_GPU, {"-DMATRIX_DPAS8", 8, 8, 8, 0, 1, 1}},
    {CLF_INSTRUCTIONS_DPAS16, CLF__MATRIX_DPAS16, OF_GPU, {"-DMATRIX_DPAS16", 16, 8, 16, 0, 1, 1}},
    {CLF_INSTRUCTIONS_WMMA11, CLF__MATRIX_WMMA11, OF_GPU, {"-DMATRIX_WMMA11", 32, 16, 16, 1, 1, 0}},
    {CLF_INSTRUCTIONS_WMMA12, CLF__MATRIX_WMMA12, OF_GPU, {"-DMATRIX_WMMA12", 32, 16, 16, 1, 1, 0}},
    {CLF_INSTRUCTIONS_MFMA, CLF__MATRIX_MFMA, OF_GPU, {"-DMATRIX_MFMA", 64, 16, 16, 1, 1, 0}},
    {CLF_INSTRUCTIONS_NV75, CLF__MATRIX_NV75, OF_GPU, {"-DMATRIX_NV75", 32, 16, 8, 2, 0, 0}},
    {CLF_INSTRUCTIONS_NV80, CLF__MATRIX_NV80, OF_GPU, {"-DMATRIX_NV80", 32, 16, 8, 2, 1, 0}},
};

const struct clf__level *clf__level_portable(void)
{
    return &levels[0];
}

const struct clf__level *clf__level_find(clf_instructions name, int instructions)
{
    const struct clf__level *best = NULL;
    for (const struct clf__level *level = levels; level < levels + sizeof levels / sizeof *levels; level++) {
        int is_meant = name == CLF_INSTRUCTIONS_AUTO || name == level->name;
        if (is_meant && (level->instructions & ~instructions) == 0) {
            best = level;
        }
    }
    return best;
}
