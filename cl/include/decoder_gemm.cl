/* The GEMMs of decoder_layer.cl; included by it, not a program. Groups take the tiles of a GEMM from a queue. */

/* A matrix in memory. */
struct rows {
    __global float *at;
    int stride;
};

/* A weight (outputs, inputs) and its bias. */
struct linear {
    const __global weight_element *weight;
    const __global float *bias;
};

/* A norm's gain and shift. */
struct norm {
    const __global float *gamma, *beta;
};

/* y (rows, outputs) = the epilogue of finish.cl on x Wᵀ; no weight: no GEMM. */
struct gemm {
    struct rows y, x;
    struct linear linear;
    int inputs, outputs;
    int activates;
    const __global float *residual;
    int residual_stride;
};

#ifdef CONVERT_ROW
/* Converts one row of x. */
static inline void convert_tile(int tile, const struct gemm *gemm, __global uchar *operand)
{
    CONVERT_ROW(operand + (size_t)tile * OPERAND_PITCH(gemm->inputs), gemm->x.at + (size_t)tile * gemm->x.stride,
                gemm->inputs);
}
#endif

/* Returns the number of tiles into which the rows of each panel are divided: one, unless a GEMM has too few panels to
 * occupy all groups. */
static inline int row_shares(int panels, int rows)
{
    int wanted = (TILES_A_GROUP * (int)get_num_groups(0) + panels - 1) / panels;
    return min(wanted, (rows + BLOCK_ROWS - 1) / BLOCK_ROWS);
}

/* Computes one panel for a share of the rows. */
static inline void gemm_tile(int tile, const struct gemm *gemm, int rows, int shares, const __global uchar *operand)
{
    int number = tile / shares, share = tile % shares, blocks = (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    int first = blocks * share / shares * BLOCK_ROWS, end = min(rows, blocks * (share + 1) / shares * BLOCK_ROWS);
    int column = number * PANEL, inputs = gemm->inputs;
#ifdef CONVERT_ROW
    size_t pitch = OPERAND_PITCH(inputs);
#else
    size_t pitch = (size_t)gemm->x.stride * sizeof(float);
    operand = (const __global uchar *)gemm->x.at;
#endif
    const struct panel_result result = {
        .y = gemm->y.at + (size_t)first * gemm->y.stride + column,
        .y_stride = gemm->y.stride,
        .residual = gemm->residual ? gemm->residual + (size_t)first * gemm->residual_stride + column : 0,
        .residual_stride = gemm->residual_stride,
        .bias = gemm->linear.bias ? gemm->linear.bias + column : 0,
        .scale = 1.0f,
        .columns = gemm->outputs - column,
        .activates = gemm->activates,
    };
    multiply_panel(&result, operand + first * pitch, pitch, end - first,
                   gemm->linear.weight + number * PANEL_ELEMENTS(inputs), inputs);
}

/* Runs a GEMM, after the conversion of x if the GEMM reads converted rows. */
static inline void run_gemm(__global atomic_int *counters, int queue, const struct gemm *gemm, int rows,
                               __global uchar *operand)
{
#ifdef CONVERT_ROW
    FOR_TILES(counters, queue + STAGES, rows, tile, convert_tile(tile, gemm, operand))
#endif
    int panels = (gemm->outputs + PANEL - 1) / PANEL, shares = row_shares(panels, rows);
    FOR_TILES(counters, queue, panels * shares, tile, gemm_tile(tile, gemm, rows, shares, operand))
}
