#include "support/training_fixture.h"

#include <math.h>
#include <stdio.h>

#include <jansson.h>

#include "support/support.h"

static int count_rows(int *first, const json_t *lists)
{
    int count = (int)json_array_size(lists);
    for (int i = 0; i < count; i++) {
        first[i + 1] = first[i] + (int)json_array_size(json_array_get(lists, (size_t)i));
    }
    return count;
}

static const int32_t *join(const json_t *lists, const int *first)
{
    int32_t *ids = support_array((size_t)first[json_array_size(lists)] + 1, sizeof *ids);
    for (size_t i = 0; i < json_array_size(lists); i++) {
        for (int t = 0; t < first[i + 1] - first[i]; t++) {
            const json_t *id = json_array_get(json_array_get(lists, i), (size_t)t);
            ids[first[i] + t] = (int32_t)json_integer_value(id);
        }
    }
    return ids;
}

static const float *join_frames(const json_t *lists, const int *first)
{
    const json_t *frame = json_array_get(json_array_get(lists, 0), 0);
    size_t width = json_array_size(frame);
    float *frames = support_array((size_t)first[json_array_size(lists)] * width, sizeof *frames);
    for (size_t i = 0; i < json_array_size(lists); i++) {
        for (int t = 0; t < first[i + 1] - first[i]; t++) {
            frame = json_array_get(json_array_get(lists, i), (size_t)t);
            for (size_t f = 0; f < width; f++) {
                frames[(size_t)(first[i] + t) * width + f] =
                    (float)json_number_value(json_array_get(frame, f));
            }
        }
    }
    return frames;
}

static struct clf__sequences read_sequences(const json_t *lists, int are_frames)
{
    int *first = support_array(json_array_size(lists) + 1, sizeof *first);
    struct clf__sequences out = {.count = count_rows(first, lists), .first = first};
    if (are_frames) {
        out.frames = join_frames(lists, first);
    } else {
        out.ids = join(lists, first);
    }
    return out;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

struct training_fixture training_fixture_load(const char *name)
{
    struct training_fixture fixture = {.folder = ""};
    char path[640];
    snprintf(path, sizeof path, "training/%s", name);
    snprintf(fixture.folder, sizeof fixture.folder, "%s", support_fixture(path));
    snprintf(path, sizeof path, "%s/expected.json", fixture.folder);
    json_t *root = json_load_file(path, 0, NULL);
    assert_non_null(root);
    fixture.smoothing = (struct clf__smoothing){.smoothing = (float)number(root, "smoothing"),
                                                .share = (float)number(root, "share"),
                                                .hidden_class = (int)number(root, "hidden")};
    fixture.adam = (struct clf__adam){.rate = (float)number(root, "rate"),
                                      .beta1 = (float)number(root, "beta1"),
                                      .beta2 = (float)number(root, "beta2"),
                                      .epsilon = (float)number(root, "epsilon"),
                                      .gradient_scale = 1.0f};
    for (size_t i = 0; i < TRAINING_BATCHES; i++) {
        const json_t *batch = json_array_get(json_object_get(root, "batches"), i);
        const json_t *frames = json_object_get(batch, "frames");
        struct clf__training_batch *out = &fixture.batches[i];
        out->sources = read_sequences(frames ? frames : json_object_get(batch, "sources"), frames != NULL);
        out->inputs = read_sequences(json_object_get(batch, "inputs"), 0);
        out->labels = join(json_object_get(batch, "labels"), out->inputs.first);
        fixture.scales[i] = (float)number(batch, "scale");
        fixture.losses[i] = number(batch, "loss");
        fixture.nlls[i] = number(batch, "nll");
    }
    for (size_t i = 0; i < TRAINING_STEPS; i++) {
        fixture.curve[i] = json_number_value(json_array_get(json_object_get(root, "curve"), i));
    }
    json_decref(root);
    return fixture;
}

static void widen(int *most, int *longest, const struct clf__sequences *sequences)
{
    int rows = sequences->first[sequences->count];
    *most = rows > *most ? rows : *most;
    for (int b = 0; b < sequences->count; b++) {
        int length = sequences->first[b + 1] - sequences->first[b];
        *longest = length > *longest ? length : *longest;
    }
}

struct clf__training_limits training_fixture_limits(const struct training_fixture *fixture)
{
    struct clf__training_limits limits = {.sequences = 0};
    for (int i = 0; i < TRAINING_BATCHES; i++) {
        const struct clf__training_batch *batch = &fixture->batches[i];
        widen(&limits.source_tokens, &limits.source_length, &batch->sources);
        widen(&limits.target_tokens, &limits.target_length, &batch->inputs);
        limits.sequences = batch->inputs.count > limits.sequences ? batch->inputs.count : limits.sequences;
    }
    return limits;
}

struct clf__adam training_fixture_adam(const struct training_fixture *fixture, int step)
{
    struct clf__adam adam = fixture->adam;
    adam.correction1 = 1 - pow(adam.beta1, step);
    adam.correction2 = 1 - pow(adam.beta2, step);
    return adam;
}

void training_fixture_step(struct clf__training *training, const struct training_fixture *fixture, int step)
{
    int i = step % TRAINING_BATCHES;
    struct clf__training_loss loss;
    assert_ok(
        clf__training_backward(training, &fixture->batches[i], fixture->scales[i], (uint32_t)step, &loss));
    const struct clf__adam adam = training_fixture_adam(fixture, step);
    assert_ok(clf__training_update(training, &adam));
}

/* The id of the first digit, after the special tokens. */
enum { FIRST_DIGIT = 4 };

struct clf__training_batch training_copies_make(struct training_copies *copies,
                                                const struct clf__config *config,
                                                struct support_random *random)
{
    for (int b = 0; b < COPIES_PAIRS; b++) {
        copies->first[b + 1] = (b + 1) * COPIES_LENGTH;
        for (int t = 0; t < COPIES_LENGTH; t++) {
            int32_t id = t < COPIES_DIGITS ? FIRST_DIGIT + support_integer(random, 8) : config->end_id;
            copies->sources[b * COPIES_LENGTH + t] = copies->labels[b * COPIES_LENGTH + t] = id;
            copies->inputs[b * COPIES_LENGTH + t] =
                t > 0 ? copies->labels[b * COPIES_LENGTH + t - 1] : config->decoder_start_id;
        }
    }
    return (struct clf__training_batch){
        .sources = {.count = COPIES_PAIRS, .first = copies->first, .ids = copies->sources},
        .inputs = {.count = COPIES_PAIRS, .first = copies->first, .ids = copies->inputs},
        .labels = copies->labels,
    };
}
