#include "math/ops/log_mel.h"

#include <assert.h>
#include <math.h>

#include "base/memory.h"
#include "math/ops/rows.h"

/* Constants of cl/audio/log_mel.cl. */
enum {
    FRAME = CLF__LOG_MEL_FRAME,
    BINS = CLF__LOG_MEL_BINS,
    LONG = 25,
    SHORT = 16,
    HALF = LONG / 2 + 1,
    LONG_VALUES = HALF * LONG,
    TURN_VALUES = HALF * SHORT,
    SHORT_VALUES = SHORT * SHORT,
    TABLE_VALUES = FRAME + 2 * (LONG_VALUES + TURN_VALUES + SHORT_VALUES),
    WORK_VALUES = FRAME + 2 * TURN_VALUES + BINS,
};

#define PI 3.14159265358979323846

/* Writes a table of cos(2 pi i j / period) for i < rows, j < columns, then the same table of sin. */
static float *fill_turns(float *target, int rows, int columns, int period)
{
    int count = rows * columns;
    for (int n = 0; n < count; n++) {
        int turns = n / columns * (n % columns) % period;
        target[n] = (float)cos(2 * PI * turns / period);
        target[count + n] = (float)sin(2 * PI * turns / period);
    }
    return target + 2 * count;
}

static void fill_tables(float *tables)
{
    for (int j = 0; j < FRAME; j++) {
        tables[j] = (float)(0.5 - 0.5 * cos(2 * PI * j / FRAME));
    }
    float *next = fill_turns(tables + FRAME, HALF, LONG, LONG);
    next = fill_turns(next, HALF, SHORT, FRAME);
    fill_turns(next, SHORT, SHORT, SHORT);
}

/* Returns the frequency of a band edge in Hz. */
static double edge_of(int number, int bands)
{
    const double linear = 15, log_step = log(6.4) / 27; /* mels below 1 kHz; log of the ratio per mel above */
    double most = linear + log(CLF__LOG_MEL_RATE / 2 / 1000.0) / log_step;
    double mels = most * number / (bands + 1);
    return mels < linear ? mels * 200 / 3 : 1000 * exp((mels - linear) * log_step);
}

void clf__log_mel_filters(double *filters, int bands)
{
    for (int m = 0; m < bands; m++) {
        double low = edge_of(m, bands), middle = edge_of(m + 1, bands), high = edge_of(m + 2, bands);
        for (int k = 0; k < BINS; k++) {
            double hertz = (double)k * CLF__LOG_MEL_RATE / FRAME;
            double height = fmin((hertz - low) / (middle - low), (high - hertz) / (high - middle));
            filters[m * BINS + k] = fmax(0, height) * 2 / (high - low);
        }
    }
}

/* Finds the bins in which a filter is not 0; a narrow band may have none. */
static void find_span(int32_t span[2], const float *filter)
{
    span[0] = span[1] = 0;
    for (int k = 0; k < BINS; k++) {
        if (filter[k] > 0) {
            span[0] = span[1] == 0 ? k : span[0];
            span[1] = k + 1;
        }
    }
}

/* Host memory for all tables. */
struct values {
    double *exact;
    float *tables, *filters;
    int32_t *spans;
};

static clf_status create_tensor(struct clf__tensor *out, struct clf_device *device, enum clf__type type,
                                int rows, int columns, const void *values)
{
    struct clf__tensor tensor = clf__tensor_floats(NULL, rows, columns);
    tensor.type = type;
    size_t bytes = (size_t)rows * (size_t)columns * clf__type_bytes(type);
    CLF__TRY(clf__buffer_create(&tensor.buffer, device, bytes, "the tables of log-mel frames"));
    *out = tensor;
    return clf__tensor_write(tensor, values);
}

static clf_status create(struct clf__log_mel *out, struct clf_device *device, int bands,
                         struct values *values)
{
    size_t count = (size_t)bands * BINS;
    CLF__TRY(clf__allocate(&values->exact, count, sizeof *values->exact));
    CLF__TRY(clf__allocate(&values->tables, TABLE_VALUES, sizeof *values->tables));
    CLF__TRY(clf__allocate(&values->filters, count, sizeof *values->filters));
    CLF__TRY(clf__allocate(&values->spans, 2 * (size_t)bands, sizeof *values->spans));
    fill_tables(values->tables);
    clf__log_mel_filters(values->exact, bands);
    for (size_t i = 0; i < count; i++) {
        values->filters[i] = (float)values->exact[i];
    }
    for (int m = 0; m < bands; m++) {
        find_span(values->spans + 2 * m, values->filters + (size_t)m * BINS);
    }
    CLF__TRY(create_tensor(&out->tables, device, CLF__F32, 1, TABLE_VALUES, values->tables));
    CLF__TRY(create_tensor(&out->filters, device, CLF__F32, bands, BINS, values->filters));
    return create_tensor(&out->spans, device, CLF__I32, bands, 2, values->spans);
}

clf_status clf__log_mel_create(struct clf__log_mel *out, struct clf_device *device, int bands)
{
    assert(bands >= CLF__LOG_MEL_LEAST_BANDS && bands <= CLF__LOG_MEL_MOST_BANDS);
    struct values values = {NULL, NULL, NULL, NULL};
    *out = (struct clf__log_mel){.tables = {.buffer = NULL}};
    clf_status status = create(out, device, bands, &values);
    clf__free(values.exact);
    clf__free(values.tables);
    clf__free(values.filters);
    clf__free(values.spans);
    if (status != CLF_OK) {
        clf__log_mel_free(out);
    }
    return status;
}

void clf__log_mel_free(struct clf__log_mel *log_mel)
{
    clf__buffer_free(log_mel->tables.buffer);
    clf__buffer_free(log_mel->filters.buffer);
    clf__buffer_free(log_mel->spans.buffer);
    *log_mel = (struct clf__log_mel){.tables = {.buffer = NULL}};
}

clf_status clf__log_mel_forward(struct clf__tensor y, struct clf__tensor peaks, struct clf__tensor samples,
                                int first, const struct clf__log_mel *log_mel)
{
    assert(y.columns == log_mel->filters.rows && peaks.columns == y.rows && samples.rows == 1);
    const struct clf__tensor views[] = {y, peaks, samples, log_mel->tables, log_mel->filters, log_mel->spans};
    const struct clf__argument extras[] = {CLF__INT(samples.columns), CLF__INT(first),
                                           CLF__LOCAL(WORK_VALUES * sizeof(float)),
                                           CLF__LOCAL(CLF__GROUP * sizeof(float))};
    double sums = 4.0 * (LONG_VALUES * SHORT + 2 * HALF * SHORT_VALUES); /* operations of one frame */
    struct clf__rows_launch launch = {
        .program = "log_mel",
        CLF__KERNELS("log_mel_forward"),
        CLF__VIEWS(views),
        .rows = y.rows,
        .columns = y.columns,
        CLF__EXTRAS(extras),
        .cost = {.operations = sums * y.rows,
                 .bytes = ((double)y.columns + CLF__LOG_MEL_HOP) * y.rows * sizeof(float)},
    };
    return clf__rows_launch(&launch);
}

clf_status clf__log_mel_scale(struct clf__tensor y, float lowest)
{
    const struct clf__tensor views[] = {y};
    const struct clf__argument extras[] = {CLF__FLOAT(lowest)};
    struct clf__rows_launch launch = {.program = "log_mel",
                                      CLF__KERNELS("log_mel_scale"),
                                      CLF__VIEWS(views),
                                      .rows = y.rows,
                                      .columns = y.columns,
                                      CLF__EXTRAS(extras),
                                      .cost = clf__rows_cost(y.rows, y.columns, 3, 2)};
    return clf__rows_launch(&launch);
}
