#include "math/layers/mixer.h"

clf_status clf__mixer_reserve_vectors(struct clf__mixer_state *state, struct clf__arena *arena,
                                      int cache_rows, int columns, const char *what)
{
    for (int i = 0; i < 2; i++) {
        CLF__TRY(clf__arena_reserve(arena, &state->parts[i], CLF__F32, cache_rows, columns, what));
    }
    return CLF_OK;
}
