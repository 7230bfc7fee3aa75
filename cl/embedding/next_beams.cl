/* The tokens and parents of a step's beams, chosen from the candidates of the previous step. A choice is struct
 * clf__beam_choice of lib/search/types.h:
 *
 *     from_row, from_rows, ranks, row, beams, cache_row, statistic, knows_scores, ends[4]
 *
 * Candidate c of a choice is rank c % ranks of row r = from_row + c / ranks. Its score is
 * s[r] + ((values[r][rank] - statistics[r][statistic]) - statistics[r][statistic + 1]), where s is `known` if knows_scores,
 * otherwise `before`. Candidates with an id that is -1 or an end, or with a score that is NaN or -inf, do not count. The
 * i-th best candidate sets tokens[row + i] to its id, parents[row + i] to cache_row + r - from_row and scores[row + i]; ties
 * go to the lower row, then to the lower id. positions[row + i] = pad_position if the id is `pad`. If there are fewer than
 * `beams` candidates, the remaining rows get token -1, parent cache_row and score -inf.
 *
 * A group computes a choice; work-items share the candidates. Choices and rows outside the tensors are skipped. No macros. */
#define CANDIDATES 256
#define WORDS      12
#define ENDS       4

#define NEXT_BEAMS_ARGUMENTS                                                                                           \
    __global int *tokens, int tokens_offset, __global int *positions, int positions_offset, __global int *parents,     \
        int parents_offset, __global float *scores, int scores_offset, const __global float *before, int before_offset, \
        const __global float *known, int known_offset, const __global float *values, int values_offset,                \
        int values_stride, const __global int *ids, int ids_offset, int ids_stride, const __global float *statistics,  \
        int statistics_offset, int statistics_stride, const __global int *choices, int choices_offset, int count,      \
        int rows, int from_rows, int pad, int pad_position

enum { FROM_ROW, FROM_ROWS, RANKS, ROW, BEAMS, CACHE_ROW, STATISTIC, KNOWS_SCORES, FIRST_END };

static inline int is_valid_choice(const __global int *choice, int rows, int from_rows, int k)
{
    int end = choice[FROM_ROW] + choice[FROM_ROWS];
    return choice[FROM_ROW] >= 0 && choice[FROM_ROWS] > 0 && end <= from_rows && choice[RANKS] > 0 && choice[RANKS] <= k &&
           choice[FROM_ROWS] * choice[RANKS] <= CANDIDATES && choice[ROW] >= 0 && choice[BEAMS] > 0 &&
           choice[ROW] + choice[BEAMS] <= rows;
}

static inline int may_continue(const __global int *choice, int id)
{
    int is_end = id < 0;
    for (int i = 0; i < ENDS; i++) {
        is_end |= id == choice[FIRST_END + i];
    }
    return !is_end;
}

/* Returns the score of a candidate, -inf if it does not count. */
static inline float score_candidate(const __global int *choice, float row_score, const __global float *statistics, float value,
                                    int id)
{
    const __global float *own = statistics + choice[STATISTIC];
    float score = row_score + ((value - own[0]) - own[1]);
    return may_continue(choice, id) && score > -INFINITY ? score : -INFINITY;
}

/* Returns 1 if candidate b comes before candidate a. */
static inline int comes_before(float b_score, int b_row, int b_id, float a_score, int a_row, int a_id)
{
    return b_score > a_score ||
           (b_score == a_score && (b_row < a_row || (b_row == a_row && b_id < a_id)));
}

#define SCORE(c)                                                                                                       \
    score_candidate(choice, row_scores[choice[FROM_ROW] + (c) / ranks],                                                \
                    statistics + statistics_offset + (size_t)(choice[FROM_ROW] + (c) / ranks) * statistics_stride,     \
                    values[values_offset + (size_t)(choice[FROM_ROW] + (c) / ranks) * values_stride + (c) % ranks],    \
                    ID(c))
#define ID(c) ids[ids_offset + (size_t)(choice[FROM_ROW] + (c) / ranks) * ids_stride + (c) % ranks]

/* Chooses with work-items `item` of `items`; `list` holds the scores and `list_ids` the ids of n candidates. */
#define CHOOSE(item, items)                                                                                            \
    int valid = 0;                                                                                                     \
    for (int c = 0; c < n; c++) {                                                                                      \
        valid += list[c] > -INFINITY;                                                                                  \
    }                                                                                                                  \
    for (int c = (item); c < n; c += (items)) {                                                                        \
        int place = 0;                                                                                                 \
        for (int b = 0; b < n; b++) {                                                                                  \
            place += comes_before(list[b], b / ranks, list_ids[b], list[c], c / ranks, list_ids[c]);                   \
        }                                                                                                              \
        if (list[c] > -INFINITY && place < beams) {                                                                    \
            int row = choice[ROW] + place;                                                                             \
            tokens[tokens_offset + row] = list_ids[c];                                                                 \
            parents[parents_offset + row] = choice[CACHE_ROW] + c / ranks;                                             \
            scores[scores_offset + row] = list[c];                                                                     \
            if (list_ids[c] == pad) {                                                                                  \
                positions[positions_offset + row] = pad_position;                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    for (int i = valid + (item); i < beams; i += (items)) {                                                            \
        tokens[tokens_offset + choice[ROW] + i] = -1;                                                                  \
        parents[parents_offset + choice[ROW] + i] = choice[CACHE_ROW];                                                 \
        scores[scores_offset + choice[ROW] + i] = -INFINITY;                                                           \
    }

CPU_KERNEL void next_beams_cpu(NEXT_BEAMS_ARGUMENTS)
{
    float list[CANDIDATES];
    int list_ids[CANDIDATES];
    for (int g = (int)get_group_id(0); g < count; g += (int)get_num_groups(0)) {
        const __global int *choice = choices + choices_offset + (size_t)g * WORDS;
        const __global float *row_scores = choice[KNOWS_SCORES] ? known + known_offset : before + before_offset;
        int is_valid = is_valid_choice(choice, rows, from_rows, values_stride);
        int ranks = choice[RANKS], beams = is_valid ? choice[BEAMS] : 0, n = is_valid ? choice[FROM_ROWS] * ranks : 0;
        for (int c = 0; c < n; c++) {
            list[c] = SCORE(c);
            list_ids[c] = ID(c);
        }
        CHOOSE(0, 1)
    }
}

GPU_KERNEL void next_beams_gpu(NEXT_BEAMS_ARGUMENTS)
{
    __local float list[CANDIDATES];
    __local int list_ids[CANDIDATES];
    int item = (int)get_local_id(0);
    for (int g = (int)get_group_id(0); g < count; g += (int)get_num_groups(0)) {
        const __global int *choice = choices + choices_offset + (size_t)g * WORDS;
        const __global float *row_scores = choice[KNOWS_SCORES] ? known + known_offset : before + before_offset;
        int is_valid = is_valid_choice(choice, rows, from_rows, values_stride);
        int ranks = choice[RANKS], beams = is_valid ? choice[BEAMS] : 0, n = is_valid ? choice[FROM_ROWS] * ranks : 0;
        barrier(CLK_LOCAL_MEM_FENCE); /* the lists of the previous choice have been read */
        for (int c = item; c < n; c += GROUP) {
            list[c] = SCORE(c);
            list_ids[c] = ID(c);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        CHOOSE(item, GROUP)
    }
}
