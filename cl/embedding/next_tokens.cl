/* The tokens of a step that were chosen on the device in the previous step:
 *
 *     tokens[r] = chosen[from[r]][0],  positions[r] = pad_position if that is `pad`,  if 0 <= from[r] < chosen_rows
 *
 * tokens, positions and from (1, R), chosen (R', k), all int; the other rows do not change. CPU variant: one group
 * processes all rows. GPU variant: a work-item processes one row.
 *
 * No macros. */

#define NEXT_TOKENS_ARGUMENTS                                                                                          \
    __global int *tokens, int tokens_offset, __global int *positions, int positions_offset, const __global int *chosen, \
        int chosen_offset, int chosen_stride, const __global int *from, int from_offset, int rows, int chosen_rows,    \
        int pad, int pad_position

static inline void take_token(__global int *token, __global int *position, const __global int *chosen, int chosen_stride,
                              int chosen_rows, int from, int pad, int pad_position)
{
    if (from < 0 || from >= chosen_rows) {
        return;
    }
    int id = chosen[(size_t)from * chosen_stride];
    *token = id;
    if (id == pad) {
        *position = pad_position;
    }
}

CPU_KERNEL void next_tokens_cpu(NEXT_TOKENS_ARGUMENTS)
{
    for (int r = 0; r < rows; r++) {
        take_token(tokens + tokens_offset + r, positions + positions_offset + r, chosen + chosen_offset, chosen_stride,
                   chosen_rows, from[from_offset + r], pad, pad_position);
    }
}

GPU_KERNEL void next_tokens_gpu(NEXT_TOKENS_ARGUMENTS)
{
    int r = (int)get_global_id(0);
    if (r < rows) {
        take_token(tokens + tokens_offset + r, positions + positions_offset + r, chosen + chosen_offset, chosen_stride,
                   chosen_rows, from[from_offset + r], pad, pad_position);
    }
}
