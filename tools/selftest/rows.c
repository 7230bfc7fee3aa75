/* Checks of row-wise ops and of log-mel frames. */
#include <math.h>
#include <string.h>

#include "math/ops/activation.h"
#include "math/ops/average.h"
#include "math/ops/cache.h"
#include "math/ops/draw.h"
#include "math/ops/embedding.h"
#include "math/ops/layernorm.h"
#include "math/ops/log_mel.h"
#include "math/ops/next_beams.h"
#include "math/ops/next_tokens.h"
#include "math/ops/positions.h"
#include "math/ops/segments.h"
#include "math/ops/shortlist.h"
#include "math/ops/softmax.h"
#include "math/ops/ssru.h"
#include "math/ops/top_k.h"
#include "reference/average.h"
#include "reference/draw.h"
#include "reference/gemm.h"
#include "reference/layernorm.h"
#include "reference/log_mel.h"
#include "reference/softmax.h"
#include "reference/ssru.h"
#include "reference/top_k.h"
#include "selftest/selftest.h"

enum { ROWS = 5 };
/* Widths around the sizes of vectors and work-groups. */
static const int widths[] = {1, 15, 17, 64, 129, 1001};
enum { WIDTHS = sizeof widths / sizeof *widths };

static void softmax(struct trial *trial)
{
    for (int i = 0; i < WIDTHS; i++) {
        size_t count = ROWS * (size_t)widths[i];
        float *x = trial_uniform(trial, count, 20.0f);
        double *expected = trial_array(trial, count, sizeof *expected);
        reference_softmax(expected, x, ROWS, widths[i]);
        struct clf__tensor y = trial_floats(trial, ROWS, widths[i], NULL);
        RUN(trial, clf__softmax_forward(y, trial_floats(trial, ROWS, widths[i], x)));
        trial_compare(trial, y, expected);
        trial_release(trial);
    }
}

static void log_softmax(struct trial *trial)
{
    for (int i = 0; i < WIDTHS; i++) {
        size_t count = ROWS * (size_t)widths[i];
        float *x = trial_uniform(trial, count, 20.0f);
        double *expected = trial_array(trial, count, sizeof *expected), picked[ROWS];
        reference_log_softmax(expected, x, ROWS, widths[i]);
        int32_t targets[ROWS];
        for (int n = 0; n < ROWS; n++) {
            targets[n] = trial_integer(trial, widths[i]);
            picked[n] = expected[n * widths[i] + targets[n]];
        }
        struct clf__tensor in = trial_floats(trial, ROWS, widths[i], x);
        struct clf__tensor y = trial_floats(trial, ROWS, widths[i], NULL);
        struct clf__tensor one = trial_floats(trial, 1, ROWS, NULL);
        RUN(trial, clf__log_softmax_forward(y, in));
        trial_compare(trial, y, expected);
        RUN(trial, clf__log_softmax_pick(one, in, trial_tensor(trial, CLF__I32, 1, ROWS, targets)));
        trial_compare(trial, one, picked);
        trial_release(trial);
    }
}

static void norm(struct trial *trial, enum clf__norm_kind kind)
{
    for (int i = 1; i < WIDTHS; i++) { /* the deviation of a single column is 0 */
        size_t count = ROWS * (size_t)widths[i];
        float *x = trial_uniform(trial, count, 3.0f);
        float *gamma = trial_uniform(trial, (size_t)widths[i], 1.0f);
        float *beta = trial_uniform(trial, (size_t)widths[i], 1.0f);
        double *expected = trial_array(trial, count, sizeof *expected);
        reference_layernorm(expected, x, gamma, kind == CLF__NORM_RMS ? NULL : beta, ROWS, widths[i], kind,
                            1e-5);
        struct clf__tensor y = trial_floats(trial, ROWS, widths[i], NULL), none = {.buffer = NULL};
        struct clf__tensor shift = kind == CLF__NORM_RMS ? none : trial_floats(trial, 1, widths[i], beta);
        RUN(trial, clf__layernorm_forward(y, none, trial_floats(trial, ROWS, widths[i], x),
                                          trial_floats(trial, 1, widths[i], gamma), shift, kind, 1e-5f));
        trial_compare(trial, y, expected);
        trial_release(trial);
    }
}

static void layer_norm(struct trial *trial)
{
    norm(trial, CLF__NORM_LAYER);
    norm(trial, CLF__NORM_STD);
}

static void rms_norm(struct trial *trial)
{
    norm(trial, CLF__NORM_RMS);
}

static void activations(struct trial *trial)
{
    for (int kind = CLF__RELU; kind <= CLF__SILU; kind++) {
        enum { C = 129 };
        float *x = trial_uniform(trial, ROWS * C, 6.0f), *factor = trial_uniform(trial, ROWS * C, 2.0f);
        double *activated = trial_array(trial, ROWS * C, sizeof *activated);
        double *gated = trial_array(trial, ROWS * C, sizeof *gated);
        for (int i = 0; i < ROWS * C; i++) {
            activated[i] = reference_activation((enum clf__activation)kind, (double)x[i]);
            gated[i] = activated[i] * (double)factor[i];
        }
        struct clf__tensor in = trial_floats(trial, ROWS, C, x);
        struct clf__tensor gate = trial_floats(trial, ROWS, C, factor);
        struct clf__tensor y = trial_floats(trial, ROWS, C, NULL);
        RUN(trial, clf__activation_forward(y, in, (enum clf__activation)kind));
        trial_compare(trial, y, activated);
        RUN(trial, clf__gate_forward(y, in, gate, (enum clf__activation)kind));
        trial_compare(trial, y, gated);
        trial_release(trial);
    }
}

static void positions(struct trial *trial)
{
    enum { C = 65, TABLE = 9 };
    static const int32_t at[ROWS] = {0, 8, 3, 3, TABLE}; /* the last row is outside the table */
    float *x = trial_uniform(trial, ROWS * C, 2.0f), *table = trial_uniform(trial, TABLE * C, 1.0f);
    double expected[ROWS * C];
    for (int i = 0; i < ROWS * C; i++) {
        int row = at[i / C];
        expected[i] = (double)x[i] + (row < TABLE ? (double)table[row * C + i % C] : 0);
    }
    struct clf__tensor y = trial_floats(trial, ROWS, C, NULL);
    RUN(trial,
        clf__positions_forward(y, trial_floats(trial, ROWS, C, x), trial_floats(trial, TABLE, C, table),
                               trial_tensor(trial, CLF__I32, 1, ROWS, at)));
    trial_compare(trial, y, expected);
}

static void embedding(struct trial *trial)
{
    enum { V = 75 };
    static const int32_t ids[ROWS] = {0, 74, 31, 64, V}; /* the last id has no row */
    for (int i = 0; i < WIDTHS; i++) {
        int columns = widths[i];
        float *matrix = trial_uniform(trial, V * (size_t)columns, 1.0f);
        double *expected = trial_array(trial, ROWS * (size_t)columns, sizeof *expected);
        for (int n = 0; n < ROWS * columns; n++) {
            int id = ids[n / columns];
            expected[n] = id < V ? 16.0 * (double)matrix[id * columns + n % columns] : 0;
        }
        struct clf__weight *weight = trial_weight(trial, V, columns, matrix);
        struct clf__tensor y = trial_floats(trial, ROWS, columns, NULL);
        RUN(trial, clf__embedding_forward(y, trial_tensor(trial, CLF__I32, 1, ROWS, ids), weight, 16.0f,
                                          CLF__NO_TENSOR, CLF__NO_TENSOR));
        trial_compare(trial, y, expected);
        trial_release(trial);
    }
}

/* Checks values, ids and statistics of two rows; the second row has banned ids. */
static void top_k(struct trial *trial)
{
    enum { V = 4097, K = 8, BANNED = 3, R = 2 };
    static const int32_t banned[BANNED] = {0, 77, V - 1}, offsets[R + 1] = {0, 0, BANNED};
    float *x = trial_uniform(trial, R * V, 12.0f);
    struct clf__tensor logits = trial_floats(trial, R, V, x);
    double expected_values[R * K], statistics[R * 4];
    int32_t expected_ids[R * K];
    for (int r = 0; r < R; r++) {
        float best[K];
        reference_top_k(best, expected_ids + r * K, K, statistics + r * 4, x + (size_t)r * V, V,
                        banned + offsets[r], offsets[r + 1] - offsets[r], 1);
        for (int i = 0; i < K; i++) {
            expected_values[r * K + i] = (double)best[i];
        }
    }
    struct clf__tensor values = trial_floats(trial, R, K, NULL);
    struct clf__tensor ids = trial_tensor(trial, CLF__I32, R, K, NULL);
    struct clf__tensor found = trial_floats(trial, R, 4, NULL);
    RUN(trial,
        clf__top_k_forward(values, ids, found, logits, trial_tensor(trial, CLF__I32, 1, BANNED, banned),
                           trial_tensor(trial, CLF__I32, 1, R + 1, offsets), 1));
    trial_compare(trial, values, expected_values);
    trial_compare(trial, found, statistics);
    trial_compare_ids(trial, ids, expected_ids);
}

/* Checks two samples of one row and one sample of another row, each drawn from two ranges. */
static void drawing(struct trial *trial)
{
    enum { V = 4097, R = 2, M = 2, D = 3 };
    static const int32_t ranges[R * 2 * M] = {0, V, 77, 78, 5, 3000, 3000, V};
    static const struct clf__draw draws[D] = {
        {0, 0, 7, 1, 2, 0.4f}, {0, 1, 7, 1, 2, 0.4f}, {1, 0, 8, 1, 2, 1.0f}};
    float *x = trial_uniform(trial, R * V, 12.0f);
    double expected[D * M], expected_logits[D * M];
    int32_t expected_ids[D * M];
    for (int i = 0; i < D * M; i++) {
        const struct clf__draw *draw = &draws[i / M];
        const int32_t *range = ranges + 2 * (draw->row * M + i % M);
        const float *row = x + (size_t)draw->row * V;
        expected_ids[i] = reference_draw(&expected[i], draw, row, range[0], range[1]);
        expected_logits[i] = (double)row[expected_ids[i]];
    }
    struct clf__tensor values = trial_floats(trial, D, M, NULL), found = trial_floats(trial, D, M, NULL);
    struct clf__tensor ids = trial_tensor(trial, CLF__I32, D, M, NULL);
    RUN(trial, clf__draw_forward(values, ids, found, trial_floats(trial, R, V, x),
                                 trial_tensor(trial, CLF__I32, R, 2 * M, ranges),
                                 trial_tensor(trial, CLF__I32, D, CLF__DRAW_WORDS, draws), 0));
    trial_compare(trial, values, expected);
    trial_compare(trial, found, expected_logits);
    trial_compare_ids(trial, ids, expected_ids);
}

/* Compares two steps of one hypothesis and a sequence of two rows with the formula in double precision. */
static void recurrent(struct trial *trial)
{
    enum { STEPS = 2 };
    static const int32_t here[] = {0}, at[STEPS] = {0, 1}, range[] = {0, STEPS, 0, STEPS};
    for (int i = 0; i < WIDTHS; i++) {
        size_t width = (size_t)widths[i];
        float *projected = trial_uniform(trial, STEPS * 2 * width, 4.0f);
        float *residual = trial_uniform(trial, STEPS * width, 1.0f);
        double *c = trial_array(trial, width, sizeof *c);
        double *expected = trial_array(trial, STEPS * width, sizeof *expected);
        struct clf__tensor in = trial_floats(trial, STEPS, 2 * widths[i], projected);
        struct clf__tensor added = trial_floats(trial, STEPS, widths[i], residual);
        struct clf__tensor y = trial_floats(trial, STEPS, widths[i], NULL);
        struct clf__tensor states[2] = {trial_floats(trial, 1, widths[i], NULL),
                                        trial_floats(trial, 1, widths[i], NULL)};
        struct clf__tensor row = trial_tensor(trial, CLF__I32, 1, 1, here);
        for (int t = 0; t < STEPS; t++) {
            size_t first = (size_t)t * width;
            reference_ssru(expected + first, c, projected + 2 * first, residual + first, widths[i]);
            RUN(trial, clf__ssru_step(clf__tensor_rows(y, t, 1), clf__tensor_rows(in, t, 1),
                                      clf__tensor_rows(added, t, 1), states[t], states[!t], row, row,
                                      trial_tensor(trial, CLF__I32, 1, 1, &at[t])));
        }
        trial_compare(trial, y, expected);
        struct clf__tensor whole = trial_floats(trial, STEPS, widths[i], NULL);
        RUN(trial, clf__ssru_forward(whole, in, added, trial_tensor(trial, CLF__I32, 1, 4, range)));
        trial_compare(trial, whole, expected);
        trial_release(trial);
    }
}

/* Compares two steps of one hypothesis, a sequence of two rows, and gates with the formulas in double
 * precision. */
static void average(struct trial *trial)
{
    enum { STEPS = 2 };
    static const int32_t here[] = {0}, at[STEPS] = {0, 1}, range[] = {0, STEPS, 0, STEPS};
    for (int i = 0; i < WIDTHS; i++) {
        size_t width = (size_t)widths[i];
        float *x = trial_uniform(trial, STEPS * width, 2.0f);
        float *gates = trial_uniform(trial, STEPS * 2 * width, 4.0f);
        double *m = trial_array(trial, width, sizeof *m);
        double *expected = trial_array(trial, STEPS * width, sizeof *expected);
        struct clf__tensor in = trial_floats(trial, STEPS, widths[i], x);
        struct clf__tensor y = trial_floats(trial, STEPS, widths[i], NULL);
        struct clf__tensor states[2] = {trial_floats(trial, 1, widths[i], NULL),
                                        trial_floats(trial, 1, widths[i], NULL)};
        struct clf__tensor row = trial_tensor(trial, CLF__I32, 1, 1, here);
        for (int t = 0; t < STEPS; t++) {
            reference_average(m, x + (size_t)t * width, t, widths[i]);
            memcpy(expected + (size_t)t * width, m, width * sizeof *m);
            RUN(trial, clf__average_step(clf__tensor_rows(y, t, 1), clf__tensor_rows(in, t, 1), states[t],
                                         states[!t], row, row, trial_tensor(trial, CLF__I32, 1, 1, &at[t])));
        }
        trial_compare(trial, y, expected);
        RUN(trial, clf__average_forward(y, in, trial_tensor(trial, CLF__I32, 1, 4, range)));
        trial_compare(trial, y, expected);
        for (size_t t = 0; t < STEPS; t++) {
            size_t first = t * width;
            reference_average_gate(expected + first, x + first, x + first, gates + 2 * first, x + first,
                                   widths[i]);
        }
        RUN(trial, clf__average_gate(y, in, in, trial_floats(trial, STEPS, 2 * widths[i], gates), in));
        trial_compare(trial, y, expected);
        trial_release(trial);
    }
}

/* Checks sums of segments, one of which is empty. */
static void segment_sums(struct trial *trial)
{
    enum { SEGMENTS = 3 };
    static const int32_t segments[SEGMENTS * 2] = {0, 2, 3, 3, 1, ROWS};
    for (int i = 0; i < WIDTHS; i++) {
        size_t width = (size_t)widths[i];
        float *x = trial_uniform(trial, ROWS * width, 1.0f);
        double *expected = trial_array(trial, SEGMENTS * width, sizeof *expected);
        for (size_t n = 0; n < SEGMENTS * width; n++) {
            const int32_t *segment = segments + n / width * 2;
            for (size_t row = (size_t)segment[0]; row < (size_t)segment[1]; row++) {
                expected[n] += (double)x[row * width + n % width];
            }
        }
        struct clf__tensor y = trial_floats(trial, SEGMENTS, widths[i], NULL);
        RUN(trial, clf__segment_sums(y, trial_floats(trial, ROWS, widths[i], x),
                                     trial_tensor(trial, CLF__I32, SEGMENTS, 2, segments)));
        trial_compare(trial, y, expected);
        trial_release(trial);
    }
}

/* Checks tokens that rows take from the previous step, one of which is a pad token. */
static void next_tokens(struct trial *trial)
{
    enum { R = 4, CHOSEN = 3, K = 2, PAD = 9, PAD_POSITION = 1 };
    static const int32_t tokens[R] = {5, -1, -1, -1}, positions[R] = {3, 4, 5, 6}, from[R] = {-1, 2, 0, 1};
    static const int32_t chosen[CHOSEN * K] = {7, 1, PAD, 2, 8, 3};
    struct clf__tensor taken = trial_tensor(trial, CLF__I32, 1, R, tokens);
    struct clf__tensor placed = trial_tensor(trial, CLF__I32, 1, R, positions);
    RUN(trial, clf__next_tokens(taken, placed, trial_tensor(trial, CLF__I32, CHOSEN, K, chosen),
                                trial_tensor(trial, CLF__I32, 1, R, from), PAD, PAD_POSITION));
    trial_compare_ids(trial, taken, (const int32_t[R]){5, 8, 7, PAD});
    trial_compare_ids(trial, placed, (const int32_t[R]){3, 4, 5, PAD_POSITION});
}

/* Checks beams that continue the best candidates of two rows. */
static void next_beams(struct trial *trial)
{
    enum { R = 2, K = 3, BEAMS = 3, END = 4 };
    static const float values[R * K] = {3, 2, 1, 2.5f, 1.5f, 0.5f}, scores[R] = {-1, -0.5f};
    static const float statistics[R * 4] = {3, 0.5f, 3, 0.5f, 2.5f, 0.5f, 2.5f, 0.5f};
    static const int32_t ids[R * K] = {5, END, 6, 7, 8, END}, none[BEAMS] = {0};
    static const int32_t choice[CLF__CHOICE_WORDS] = {0, R, K, 0, BEAMS, 10, 0, 1, END, -1, -1, -1};
    static const double expected[BEAMS] = {-1, -1.5, -2};
    const struct clf__next_beams next = {.tokens = trial_tensor(trial, CLF__I32, 1, BEAMS, none),
                                         .positions = trial_tensor(trial, CLF__I32, 1, BEAMS, none),
                                         .parents = trial_tensor(trial, CLF__I32, 1, BEAMS, none),
                                         .scores = trial_floats(trial, 1, BEAMS, NULL)};
    const struct clf__previous_beams previous = {.values = trial_floats(trial, R, K, values),
                                                 .ids = trial_tensor(trial, CLF__I32, R, K, ids),
                                                 .statistics = trial_floats(trial, R, 4, statistics),
                                                 .scores = trial_floats(trial, 1, R, NULL),
                                                 .known = trial_floats(trial, 1, R, scores)};
    RUN(trial,
        clf__next_beams(&next, &previous, trial_tensor(trial, CLF__I32, 1, CLF__CHOICE_WORDS, choice), 8, 9));
    trial_compare(trial, next.scores, expected);
    trial_compare_ids(trial, next.tokens, (const int32_t[BEAMS]){7, 5, 8});
    trial_compare_ids(trial, next.parents, (const int32_t[BEAMS]){11, 10, 11});
    trial_compare_ids(trial, next.positions, (const int32_t[BEAMS]){0, 0, 9});
}

/* Checks the logits of two rows with different words, and the words at positions. */
static void shortlist(struct trial *trial)
{
    enum { V = 75, LISTED = 9, R = 2, C = 6 };
    static const int32_t ids[LISTED] = {0, 3, 17, 40, 41, 50, 64, 73, 74}, starts[R] = {0, LISTED - C},
                         counts[R] = {C, C};
    for (int i = 0; i < WIDTHS; i++) {
        size_t width = (size_t)widths[i];
        float *x = trial_uniform(trial, R * width, 1.0f), *matrix = trial_uniform(trial, V * width, 1.0f);
        float *bias = trial_uniform(trial, V, 1.0f);
        double expected[R * C];
        for (int n = 0; n < R * C; n++) {
            int word = ids[starts[n / C] + n % C];
            expected[n] =
                (double)bias[word] + reference_dot(x + (size_t)(n / C) * width, 1,
                                                   matrix + (size_t)word * width, 1, widths[i], 0.5);
        }
        struct clf__tensor y = trial_floats(trial, R, C, NULL), added = trial_floats(trial, 1, V, bias);
        RUN(trial, clf__shortlist_logits(y, trial_floats(trial, R, widths[i], x),
                                         trial_floats(trial, V, widths[i], matrix), added.buffer, 0.5f,
                                         trial_tensor(trial, CLF__I32, 1, LISTED, ids),
                                         trial_tensor(trial, CLF__I32, 1, R, starts),
                                         trial_tensor(trial, CLF__I32, 1, R, counts)));
        trial_compare(trial, y, expected);
        trial_release(trial);
    }
    static const int32_t positions[2 * R] = {2, C, 5, -1}, words[2 * R] = {17, -1, 74, -1};
    struct clf__tensor found = trial_tensor(trial, CLF__I32, R, 2, positions);
    RUN(trial, clf__shortlist_words(found, trial_tensor(trial, CLF__I32, 1, LISTED, ids),
                                    trial_tensor(trial, CLF__I32, 1, R, starts),
                                    trial_tensor(trial, CLF__I32, 1, R, counts)));
    trial_compare_ids(trial, found, words);
}

/* Checks frames of noise, and the same frames scaled. */
static void log_mel_frames(struct trial *trial)
{
    enum { SAMPLES = 1000, FRAMES = 6, BANDS = 80 };
    float *samples = trial_uniform(trial, SAMPLES, 1.0f);
    double *filters = trial_array(trial, BANDS * CLF__LOG_MEL_BINS, sizeof *filters);
    double *expected = trial_array(trial, FRAMES * BANDS, sizeof *expected), peaks[FRAMES];
    clf__log_mel_filters(filters, BANDS);
    for (int t = 0; t < FRAMES; t++) {
        double *frame = expected + (size_t)t * BANDS;
        reference_log_mel(frame, samples, SAMPLES, (long)t * CLF__LOG_MEL_HOP, filters, BANDS);
        peaks[t] = -INFINITY;
        for (int band = 0; band < BANDS; band++) {
            peaks[t] = fmax(peaks[t], frame[band]);
        }
    }
    struct clf__log_mel log_mel = {.tables = {.buffer = NULL}};
    struct clf__tensor y = trial_floats(trial, FRAMES, BANDS, NULL),
                       most = trial_floats(trial, 1, FRAMES, NULL);
    RUN(trial, clf__log_mel_create(&log_mel, trial->device, BANDS));
    RUN(trial, clf__log_mel_forward(y, most, trial_floats(trial, 1, SAMPLES, samples), 0, &log_mel));
    trial_compare(trial, y, expected);
    trial_compare(trial, most, peaks);
    float lowest = (float)expected[0]; /* smaller values are raised to this one */
    for (int i = 0; i < FRAMES * BANDS; i++) {
        expected[i] = (fmax(expected[i], (double)lowest) + 4) / 4;
    }
    RUN(trial, clf__log_mel_scale(y, lowest));
    trial_compare(trial, y, expected);
    clf__log_mel_free(&log_mel);
}

const struct check selftest_row_checks[] = {
    {"softmax", 0, CLF__PRECISION_FP32, 1e-6, softmax},
    {"log-softmax", 0, CLF__PRECISION_FP32, 1e-6, log_softmax},
    {"layer norm", 0, CLF__PRECISION_FP32, 1e-6, layer_norm},
    {"RMS norm", 0, CLF__PRECISION_FP32, 1e-6, rms_norm},
    {"activations and gates", 0, CLF__PRECISION_FP32, 1e-6, activations},
    {"positions", 0, CLF__PRECISION_FP32, 1e-6, positions},
    {"embedding", USES_GEMM, CLF__PRECISION_FP32, 1e-6, embedding},
    {"SSRU", 0, CLF__PRECISION_FP32, 1e-6, recurrent},
    {"average attention", 0, CLF__PRECISION_FP32, 1e-6, average},
    {"top-k", 0, CLF__PRECISION_FP32, 1e-6, top_k},
    {"sampling", 0, CLF__PRECISION_FP32, 1e-6, drawing},
    {"segment sums", 0, CLF__PRECISION_FP32, 1e-6, segment_sums},
    {"next tokens", 0, CLF__PRECISION_FP32, 0, next_tokens},
    {"next beams", 0, CLF__PRECISION_FP32, 0, next_beams},
    {"shortlist", 0, CLF__PRECISION_FP32, 1e-6, shortlist},
    {"log-mel frames", 0, CLF__PRECISION_FP32, 2e-5, log_mel_frames},
    {.name = NULL},
};
