#include <math.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "math/ops/positions.h"
#include "model/config/config.h"
#include "model/save.h"

struct drawing {
    const struct clf__parameter_list *list;
    uint64_t seed;
    int (*interrupted)(void *user); /* may be NULL */
    void *user;
};

/* number of values drawn between two polls for interruption */
enum { VALUES_PER_POLL = 1 << 20 };

/* Draws values 2 * pair and 2 * pair + 1 of a parameter from one block of random words. */
static void draw_pair(double out[2], const struct clf__initial *initial, const struct drawing *drawing,
                      int index, uint64_t pair)
{
    uint32_t words[4];
    const uint32_t counter[4] = {(uint32_t)pair, (uint32_t)(pair >> 32), (uint32_t)index,
                                 CLF__RANDOM_WEIGHTS};
    clf__philox(words, counter, drawing->seed);
    double first = clf__random_unit(words[0], words[1]), second = clf__random_unit(words[2], words[3]);
    if (initial->kind == CLF__INITIAL_UNIFORM) {
        out[0] = (2 * first - 1) * initial->size;
        out[1] = (2 * second - 1) * initial->size;
        return;
    }
    /* Box & Muller 1958; 1 - first is never 0. */
    const double pi = 3.14159265358979323846;
    double radius = sqrt(-2 * log(1 - first)) * initial->size;
    out[0] = radius * cos(2 * pi * second);
    out[1] = radius * sin(2 * pi * second);
}

static clf_status ask(const struct drawing *drawing)
{
    return drawing->interrupted && drawing->interrupted(drawing->user)
               ? clf__fail(CLF_INTERRUPTED, "weight initialisation was interrupted")
               : CLF_OK;
}

static void fill_constant(float *target, size_t count, float value)
{
    for (size_t i = 0; i < count; i++) {
        target[i] = value;
    }
}

/* A clf__parameter_reader: draws the values of a parameter. */
static clf_status draw(void *user, int index, float *target)
{
    const struct drawing *drawing = user;
    const struct clf__parameter *parameter = &drawing->list->items[index];
    const struct clf__initial *initial = &parameter->initial;
    size_t columns = (size_t)parameter->columns, count = (size_t)parameter->rows * columns;
    if (initial->kind == CLF__INITIAL_CONSTANT) {
        fill_constant(target, count, initial->size);
    } else if (initial->kind == CLF__INITIAL_SINUSOIDS) {
        clf__sinusoid_table(target, 0, parameter->rows, parameter->columns, CLF__SINUSOID_HALVES,
                            CLF__SINUSOID_BY_LAST);
    } else {
        for (size_t i = 0; i < count; i += 2) {
            double values[2];
            if (i % VALUES_PER_POLL == 0) {
                CLF__TRY(ask(drawing));
            }
            draw_pair(values, initial, drawing, index, i / 2);
            target[i] = (float)values[0];
            if (i + 1 < count) {
                target[i + 1] = (float)values[1];
            }
        }
    }
    if (initial->zero_row >= 0 && initial->zero_row < parameter->rows) {
        fill_constant(target + (size_t)initial->zero_row * columns, columns, 0);
    }
    return CLF_OK;
}

static clf_status initialise(const char *folder, const struct clf__config *config, struct drawing *drawing)
{
    struct clf__parameter_list list;
    char *path = NULL;
    CLF__TRY(clf__parameter_list_create(&list, config));
    drawing->list = &list;
    clf_status status = clf__path_join(&path, folder, "model.safetensors");
    if (status == CLF_OK) {
        status = clf__parameters_save(path, &list, NULL, CLF__PRECISION_FP32, draw, drawing);
    }
    clf__free(path);
    clf__parameter_list_free(&list);
    return status;
}

clf_status clf__model_initialise(const char *folder, uint64_t seed, int (*interrupted)(void *user),
                                 void *user)
{
    struct clf__config config;
    struct drawing drawing = {.seed = seed, .interrupted = interrupted, .user = user};
    CLF__TRY(clf__config_load(&config, folder));
    clf_status status = initialise(folder, &config, &drawing);
    clf__config_free(&config);
    return status;
}
