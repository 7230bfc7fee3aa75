#include "audio/vad/silero.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "model/weights/weights.h"

enum {
    KERNEL = 256, /* samples of a Fourier transform */
    HOP = KERNEL / 2,
    PADDING = 64, /* reflected samples after the chunk */
    PADDED = CLF__SILERO_CONTEXT + CLF__VAD_CHUNK + PADDING,
    FRAMES = (PADDED - KERNEL) / HOP + 1,
    CONVOLUTIONS = 4,
    TAPS = 3,
    GATES = 4,
    MOST = CLF__SILERO_MOST_STATE, /* bins, channels and units of the LSTM */
    MOST_NAME = 1024,              /* bytes of a prefix */
    MOST_MIDDLE = 64,
};

static const int strides[CONVOLUTIONS] = {1, 2, 2, 1};

/* A convolution over time, padded by one frame on both sides. */
struct convolution {
    int inputs, outputs, stride;
    float *weights; /* (TAPS, inputs, outputs) */
    float *bias;    /* (outputs) */
};

struct clf__silero {
    char *path;
    int bins, units;
    float *basis; /* (KERNEL, 2 * bins) cosines, then sines, with the window */
    struct convolution convolutions[CONVOLUTIONS];
    float *input, *recurrent; /* (channels, GATES * units), (units, GATES * units) */
    float *bias;              /* (GATES * units) */
    float *output;            /* (units) */
    float output_bias;
    int order[GATES]; /* positions of the input, forget, cell and output gates */
};

/* The names of the tensors in a published file, without a common prefix. */
struct names {
    const char *basis, *convolution, *lstm, *output; /* lstm NULL: the exporter has named its tensors */
    int first;                                       /* number of the first convolution */
};

static const struct names published[] = {
    {"encoder.feature_extractor.forward_basis_buffer", "encoder.conv_layers.%d", NULL, "decoder.conv1d", 0},
    {"stft.forward_basis_buffer", "encoder.%d.reparam_conv", "decoder.rnn", "decoder.decoder.2", 0},
    {"stft.forward_basis_buffer", "encoder.%d", NULL, "output", 0},
    {"stft_conv.weight", "conv%d", "lstm_cell", "final_conv", 1},
};

/* The tensors of a network, whose names share a prefix. */
struct source {
    const struct clf__weights *weights;
    const struct names *names;
    char prefix[MOST_NAME + 1];
};

static clf_status fail(const struct source *source, const char *what)
{
    return clf__fail(CLF_FORMAT,
                     "%s: %s; use the file of Silero VAD 5 or 6 for 16 kHz, such as silero_vad_16k_op15.onnx",
                     clf__weights_path(source->weights), what);
}

/* Returns the tensor named PREFIX + middle + end, or NULL. */
static const struct clf__stored_tensor *find(const struct source *source, const char *middle, const char *end)
{
    char name[2 * MOST_NAME];
    snprintf(name, sizeof name, "%s%s%s", source->prefix, middle, end);
    return clf__weights_find(source->weights, name);
}

/* Detects the naming scheme of the file from the tensor of the 16 kHz Fourier transform and the first
 * convolution. */
static clf_status find_names(struct source *source)
{
    for (int i = 0; i < clf__weights_count(source->weights); i++) {
        const struct clf__stored_tensor *tensor = clf__weights_at(source->weights, i);
        size_t length = strlen(tensor->name);
        if (tensor->dimensions != 3 || tensor->shape[1] != 1 || tensor->shape[2] != KERNEL) {
            continue;
        }
        for (size_t k = 0; k < sizeof published / sizeof *published; k++) {
            const struct names *names = source->names = &published[k];
            char first[MOST_MIDDLE];
            if (!clf__ends_with(tensor->name, names->basis) || length > MOST_NAME) {
                continue;
            }
            size_t prefix = length - strlen(names->basis);
            memcpy(source->prefix, tensor->name, prefix);
            source->prefix[prefix] = '\0';
            snprintf(first, sizeof first, names->convolution, names->first);
            if (find(source, first, ".weight") != NULL) {
                return CLF_OK;
            }
        }
    }
    return fail(source, "is not a network for voice activity detection at 16 kHz");
}

/* Reads a tensor of this shape, optionally with leading dimensions of 1. The caller frees *out. */
static clf_status read(float **out, const struct source *source, const struct clf__stored_tensor *tensor,
                       const int64_t *shape, int dimensions)
{
    size_t count = 1;
    int is_same = tensor != NULL && tensor->dimensions >= dimensions && clf__stored_tensor_is_real(tensor);
    for (int i = 0; is_same && i < tensor->dimensions; i++) {
        int k = i - (tensor->dimensions - dimensions);
        is_same = tensor->shape[i] == (k < 0 ? 1 : shape[k]);
        count *= (size_t)tensor->shape[i];
    }
    if (!is_same) {
        return fail(source, tensor == NULL ? "a tensor is missing" : "a tensor has another shape or type");
    }
    CLF__TRY(clf__allocate(out, count, sizeof **out));
    return clf__stored_tensor_read(tensor, *out);
}

/* Reads a matrix and transposes it: (rows, columns) to (columns, rows). */
static clf_status read_transposed(float **out, const struct source *source,
                                  const struct clf__stored_tensor *tensor, const int64_t *shape,
                                  int dimensions)
{
    float *stored = NULL;
    int64_t rows = shape[0], columns = 1;
    for (int i = 1; i < dimensions; i++) {
        columns *= shape[i];
    }
    clf_status status = read(&stored, source, tensor, shape, dimensions);
    if (status == CLF_OK) {
        status = clf__allocate(out, (size_t)(rows * columns), sizeof **out);
    }
    for (int64_t i = 0; i < rows && status == CLF_OK; i++) {
        for (int64_t k = 0; k < columns; k++) {
            (*out)[k * rows + i] = stored[i * columns + k];
        }
    }
    clf__free(stored);
    return status;
}

/* Checks that a dimension of a tensor is from 1 to MOST. */
static clf_status read_size(int *out, const struct source *source, const struct clf__stored_tensor *tensor,
                            int dimension)
{
    int64_t size = tensor != NULL && tensor->dimensions > dimension ? tensor->shape[dimension] : 0;
    *out = (int)size;
    return size >= 1 && size <= MOST
               ? CLF_OK
               : fail(source, tensor == NULL ? "a tensor is missing" : "a layer has no units, or too many");
}

static clf_status read_convolution(struct convolution *out, const struct source *source, int index,
                                   int inputs)
{
    char name[MOST_MIDDLE];
    snprintf(name, sizeof name, source->names->convolution, source->names->first + index);
    const struct clf__stored_tensor *weights = find(source, name, ".weight");
    out->inputs = inputs;
    out->stride = strides[index];
    CLF__TRY(read_size(&out->outputs, source, weights, 0));
    const int64_t shape[] = {out->outputs, inputs, TAPS};
    float *stored = NULL;
    clf_status status = read(&stored, source, weights, shape, 3);
    size_t each = (size_t)inputs * (size_t)out->outputs;
    if (status == CLF_OK) {
        status = clf__allocate(&out->weights, TAPS * each, sizeof *out->weights);
    }
    for (int o = 0; o < out->outputs && status == CLF_OK; o++) {
        for (int i = 0; i < inputs; i++) {
            for (int tap = 0; tap < TAPS; tap++) {
                size_t at = (size_t)tap * each + (size_t)i * (size_t)out->outputs + (size_t)o;
                out->weights[at] = stored[((size_t)o * (size_t)inputs + (size_t)i) * TAPS + (size_t)tap];
            }
        }
    }
    clf__free(stored);
    return status == CLF_OK ? read(&out->bias, source, find(source, name, ".bias"), shape, 1) : status;
}

/* Returns tensor `index`, in file order, of the LSTM tensors that an ONNX exporter named onnx::LSTM_N. */
static const struct clf__stored_tensor *find_exported(const struct source *source, int index)
{
    static const char start[] = "onnx::LSTM_";
    for (int i = 0; i < clf__weights_count(source->weights); i++) {
        const struct clf__stored_tensor *tensor = clf__weights_at(source->weights, i);
        if (strncmp(tensor->name, start, sizeof start - 1) == 0 && index-- == 0) {
            return tensor;
        }
    }
    return NULL;
}

/* Adds the two biases, which ONNX concatenates and PyTorch stores as two tensors. */
static clf_status read_bias(struct clf__silero *network, const struct source *source)
{
    int64_t count = (int64_t)GATES * network->units, both = 2 * count;
    float *second = NULL;
    if (source->names->lstm == NULL) {
        CLF__TRY(read(&network->bias, source, find_exported(source, 2), &both, 1));
        second = network->bias + count;
    } else {
        const char *lstm = source->names->lstm;
        CLF__TRY(read(&network->bias, source, find(source, lstm, ".bias_ih"), &count, 1));
        clf_status status = read(&second, source, find(source, lstm, ".bias_hh"), &count, 1);
        if (status != CLF_OK) {
            clf__free(second);
            return status;
        }
    }
    for (int64_t i = 0; i < count; i++) {
        network->bias[i] += second[i];
    }
    if (source->names->lstm != NULL) {
        clf__free(second);
    }
    return CLF_OK;
}

static clf_status read_lstm(struct clf__silero *network, const struct source *source, int inputs)
{
    static const int onnx[GATES] = {0, 2, 3, 1}, pytorch[GATES] = {0, 1, 2, 3};
    const char *lstm = source->names->lstm;
    const struct clf__stored_tensor *input =
        lstm != NULL ? find(source, lstm, ".weight_ih") : find_exported(source, 0);
    const struct clf__stored_tensor *recurrent =
        lstm != NULL ? find(source, lstm, ".weight_hh") : find_exported(source, 1);
    memcpy(network->order, lstm != NULL ? pytorch : onnx, sizeof network->order);
    CLF__TRY(
        read_size(&network->units, source, recurrent, recurrent != NULL ? recurrent->dimensions - 1 : 0));
    const int64_t rows = (int64_t)GATES * network->units;
    CLF__TRY(read_transposed(&network->input, source, input, (const int64_t[]){rows, inputs}, 2));
    CLF__TRY(
        read_transposed(&network->recurrent, source, recurrent, (const int64_t[]){rows, network->units}, 2));
    return read_bias(network, source);
}

static clf_status read_output(struct clf__silero *network, const struct source *source)
{
    const int64_t shape[] = {1, network->units, 1};
    float *bias = NULL;
    CLF__TRY(read(&network->output, source, find(source, source->names->output, ".weight"), shape, 3));
    clf_status status = read(&bias, source, find(source, source->names->output, ".bias"), shape, 1);
    network->output_bias = status == CLF_OK ? bias[0] : 0;
    clf__free(bias);
    return status;
}

static clf_status read_network(struct clf__silero *network, struct source *source)
{
    int rows;
    CLF__TRY(find_names(source));
    const struct clf__stored_tensor *basis = find(source, source->names->basis, "");
    CLF__TRY(read_size(&rows, source, basis, 0));
    if (rows % 2 != 0) {
        return fail(source, "the Fourier transform has an odd number of rows");
    }
    network->bins = rows / 2;
    CLF__TRY(read_transposed(&network->basis, source, basis, (const int64_t[]){rows, 1, KERNEL}, 3));
    int inputs = network->bins;
    for (int i = 0; i < CONVOLUTIONS; i++) {
        CLF__TRY(read_convolution(&network->convolutions[i], source, i, inputs));
        inputs = network->convolutions[i].outputs;
    }
    CLF__TRY(read_lstm(network, source, inputs));
    return read_output(network, source);
}

clf_status clf__silero_open(struct clf__silero **out, const char *path)
{
    struct clf__silero *network;
    struct clf__weights *weights;
    *out = NULL;
    CLF__TRY(clf__weights_open_network(&weights, path));
    struct source source = {.weights = weights};
    clf_status status = clf__allocate(&network, 1, sizeof *network);
    if (status == CLF_OK) {
        *out = network;
        status = clf__copy_string(&network->path, path);
    }
    status = status == CLF_OK ? read_network(network, &source) : status;
    clf__weights_close(weights);
    if (status != CLF_OK) {
        clf__silero_free(*out);
        *out = NULL;
    }
    return status;
}

void clf__silero_free(struct clf__silero *network)
{
    if (network == NULL) {
        return;
    }
    for (int i = 0; i < CONVOLUTIONS; i++) {
        clf__free(network->convolutions[i].weights);
        clf__free(network->convolutions[i].bias);
    }
    clf__free(network->path);
    clf__free(network->basis);
    clf__free(network->input);
    clf__free(network->recurrent);
    clf__free(network->bias);
    clf__free(network->output);
    clf__free(network);
}

/* y += weights^T x, with weights (inputs, outputs): sums in the same order on every processor. */
static void add_product(float *restrict y, const float *restrict weights, const float *restrict x, int inputs,
                        int outputs)
{
    for (int i = 0; i < inputs; i++) {
        const float *restrict row = weights + (size_t)i * (size_t)outputs;
        for (int o = 0; o < outputs; o++) {
            y[o] += row[o] * x[i];
        }
    }
}

/* Computes the magnitudes (FRAMES, bins) of a padded chunk. */
static void find_magnitudes(float *out, const struct clf__silero *network, const float *padded)
{
    int bins = network->bins;
    for (int frame = 0; frame < FRAMES; frame++) {
        float sums[MOST] = {0};
        add_product(sums, network->basis, padded + (size_t)frame * HOP, KERNEL, 2 * bins);
        for (int i = 0; i < bins; i++) {
            out[frame * bins + i] = sqrtf(sums[i] * sums[i] + sums[bins + i] * sums[bins + i]);
        }
    }
}

/* Convolves `frames` frames, applies ReLU, and returns the number of frames of y. */
static int convolve(float *y, const struct convolution *layer, const float *x, int frames)
{
    int count = (frames - 1) / layer->stride + 1;
    size_t each = (size_t)layer->inputs * (size_t)layer->outputs;
    for (int frame = 0; frame < count; frame++) {
        float *row = y + (size_t)frame * (size_t)layer->outputs;
        memcpy(row, layer->bias, (size_t)layer->outputs * sizeof *row);
        for (int tap = 0; tap < TAPS; tap++) {
            int at = frame * layer->stride + tap - 1;
            if (at >= 0 && at < frames) {
                add_product(row, layer->weights + (size_t)tap * each, x + (size_t)at * (size_t)layer->inputs,
                            layer->inputs, layer->outputs);
            }
        }
        for (int i = 0; i < layer->outputs; i++) {
            row[i] = row[i] > 0 ? row[i] : 0;
        }
    }
    return count;
}

static float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

/* Returns the probability of speech from the last convolution. */
static float decode(const struct clf__silero *network, struct clf__silero_state *state, const float *x)
{
    float gates[GATES * MOST], sum = network->output_bias;
    int units = network->units, rows = GATES * units;
    memcpy(gates, network->bias, (size_t)rows * sizeof *gates);
    add_product(gates, network->input, x, network->convolutions[CONVOLUTIONS - 1].outputs, rows);
    add_product(gates, network->recurrent, state->hidden, units, rows);
    const float *part[GATES];
    for (int i = 0; i < GATES; i++) {
        part[i] = gates + (size_t)network->order[i] * (size_t)units;
    }
    for (int i = 0; i < units; i++) {
        state->cell[i] = sigmoid(part[1][i]) * state->cell[i] + sigmoid(part[0][i]) * tanhf(part[2][i]);
        state->hidden[i] = sigmoid(part[3][i]) * tanhf(state->cell[i]);
        sum += network->output[i] * (state->hidden[i] > 0 ? state->hidden[i] : 0);
    }
    return sigmoid(sum);
}

clf_status clf__silero_run(float *probability, const struct clf__silero *network,
                           struct clf__silero_state *state, const float *samples)
{
    enum { GIVEN = CLF__SILERO_CONTEXT + CLF__VAD_CHUNK };
    float padded[PADDED], a[FRAMES * MOST], b[FRAMES * MOST];
    int frames = FRAMES;
    memcpy(padded, state->context, sizeof state->context);
    memcpy(padded + CLF__SILERO_CONTEXT, samples, CLF__VAD_CHUNK * sizeof *samples);
    for (int i = 0; i < PADDING; i++) {
        padded[GIVEN + i] = padded[GIVEN - 2 - i];
    }
    memcpy(state->context, padded + GIVEN - CLF__SILERO_CONTEXT, sizeof state->context);
    find_magnitudes(a, network, padded);
    float *x = a, *y = b;
    for (int i = 0; i < CONVOLUTIONS; i++) {
        frames = convolve(y, &network->convolutions[i], x, frames);
        float *other = x;
        x = y;
        y = other;
    }
    *probability = decode(network, state, x);
    return isfinite(*probability)
               ? CLF_OK
               : clf__fail(CLF_FORMAT, "%s: the network computed NaN; download the file again",
                           network->path);
}
