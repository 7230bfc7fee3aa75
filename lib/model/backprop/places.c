/* Finds the device array of each parameter by walking the modules in the order of the parameter list. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "model/backprop/internal.h"

struct walker {
    struct clf__training *training;
    int index; /* index of the next parameter */
    int kinds; /* number of arrays in the layout of the values */
    int stage; /* stage of the current module (struct clf__trained) */
};

/* Returns the array of a weight in any layout. Setup has checked that the size fits in an int. */
static struct clf__tensor array_of(const struct clf__weight *weight)
{
    struct clf__buffer *buffer = (struct clf__buffer *)clf__weight_layout(weight).buffer;
    return clf__tensor_floats(buffer, 1, (int)clf__weight_elements(weight));
}

/* Stacked parameters alternate between the weight array and the bias array, so an array is visited several
 * times. */
static int is_known(const struct clf__training *training, const struct clf__buffer *buffer)
{
    enum { STACKED = 2 };
    for (int i = training->trained_count - 1; i >= 0 && i >= training->trained_count - STACKED; i--) {
        if (training->trained[i].arrays[CLF__VALUES].buffer == buffer) {
            return 1;
        }
    }
    return 0;
}

static void add_trained(struct walker *walker, const struct clf__tensor *arrays, struct clf__weight *weight)
{
    struct clf__training *training = walker->training;
    const struct clf__parameter *item = &training->list.items[walker->index];
    if (!item->is_trained || is_known(training, arrays[CLF__VALUES].buffer)) {
        return;
    }
    struct clf__trained *trained = &training->trained[training->trained_count++];
    const struct clf__trained *before = training->trained_count > 1 ? trained - 1 : NULL;
    *trained = (struct clf__trained){
        .weight = weight,
        .decays = item->decays,
        .first_part = before != NULL ? before->first_part + before->parts : 0,
        .parts = clf__sum_squares_parts((size_t)arrays[CLF__VALUES].columns),
        .stage = walker->stage,
        .place = clf__pool_place(&training->gradients.pool, arrays[CLF__GRADIENTS].buffer),
    };
    memcpy(trained->arrays, arrays, sizeof trained->arrays);
}

clf_status clf__training_check_count(const char *name, int64_t count)
{
    return count <= INT32_MAX
               ? CLF_OK
               : clf__fail(CLF_UNSUPPORTED, "%s has %" PRId64 " values, but training supports at most %d",
                           name, count, INT32_MAX);
}

/* Records the next parameter: rows of the weights or, if weights is NULL, elements of the arrays, starting at
 * `first`. */
static void place_next(struct walker *walker, struct clf__weight *const *weights,
                       const struct clf__tensor *arrays, int first)
{
    struct clf__parameter_place *place = &walker->training->places[walker->index];
    place->first = first;
    if (weights != NULL) {
        memcpy(place->weights, weights, sizeof place->weights);
    } else {
        memcpy(place->vectors, arrays, sizeof place->vectors);
    }
    add_trained(walker, arrays, weights != NULL ? weights[CLF__VALUES] : NULL);
    walker->index++;
}

static clf_status walk_weight(struct walker *walker, struct clf__weight *const weights[CLF__TRAINED_KINDS],
                              int first)
{
    struct clf__tensor arrays[CLF__TRAINED_KINDS] = {{.buffer = NULL}};
    /* Loading checked the size of the parameter, but not the size including stacked rows and padding. */
    const char *name = walker->training->list.items[walker->index].name;
    CLF__TRY(clf__training_check_count(name, (int64_t)clf__weight_elements(weights[CLF__VALUES])));
    for (int kind = 0; kind < walker->kinds; kind++) {
        arrays[kind] = array_of(weights[kind]);
    }
    place_next(walker, weights, arrays, first);
    return CLF_OK;
}

/* Records a table or a norm's vector as one row. `at`: the module in values, gradients and moments. */
static void walk_tensor(struct walker *walker, void *const at[CLF__TRAINED_KINDS], size_t offset)
{
    struct clf__tensor vectors[CLF__TRAINED_KINDS] = {{.buffer = NULL}};
    for (int kind = 0; kind < walker->kinds; kind++) {
        const struct clf__tensor *tensor = (const void *)((const char *)at[kind] + offset);
        vectors[kind] = clf__tensor_floats(tensor->buffer, 1, tensor->rows * tensor->columns);
    }
    place_next(walker, NULL, vectors, 0);
}

static void walk_bias(struct walker *walker, void *const at[CLF__TRAINED_KINDS], int first)
{
    struct clf__tensor vectors[CLF__TRAINED_KINDS] = {{.buffer = NULL}};
    const struct clf__linear *values = at[CLF__VALUES];
    for (int kind = 0; kind < walker->kinds; kind++) {
        const struct clf__linear *linear = at[kind];
        vectors[kind] = clf__tensor_floats(linear->bias, 1, clf__weight_outputs(values->weight));
    }
    place_next(walker, NULL, vectors, first);
}

/* If a part without a bias is stacked with parts that have one, its bias is zero and not trained. */
static clf_status walk_linear(struct walker *walker, void *const at[CLF__TRAINED_KINDS],
                              const struct clf__module *module)
{
    struct clf__training *training = walker->training;
    const struct clf__linear *gradients = at[CLF__GRADIENTS];
    struct clf__weight *weights[CLF__TRAINED_KINDS] = {NULL};
    for (int kind = 0; kind < walker->kinds; kind++) {
        weights[kind] = ((const struct clf__linear *)at[kind])->weight;
    }
    for (int i = 0, first = 0; i < module->part_count; first += module->parts[i].rows, i++) {
        const struct clf__module_part *part = &module->parts[i];
        if (part->weight[0] != '\0') {
            CLF__TRY(walk_weight(walker, weights, first));
        }
        if (part->bias[0] != '\0') {
            walk_bias(walker, at, first);
        } else if (gradients->bias != NULL) {
            struct clf__tensor bias = clf__tensor_floats(gradients->bias, 1, first + part->rows);
            training->untrained[training->untrained_count++] = clf__tensor_columns(bias, first, part->rows);
        }
    }
    return CLF_OK;
}

/* Returns the stacks of values, gradients or moments. */
static struct clf__stacks stacks_of(struct clf__training *training, int kind)
{
    return kind == CLF__VALUES ? clf__transformer_stacks(training->transformer)
                               : clf__parameter_tree_stacks(clf__training_tree(training, kind));
}

static clf_status walk_module(void *context, const struct clf__module *module)
{
    struct walker *walker = context;
    void *at[CLF__TRAINED_KINDS] = {NULL};
    walker->stage = clf__gradient_stage(&walker->training->transformer->config, module->side, module->layer);
    struct clf__weight *weights[CLF__TRAINED_KINDS] = {NULL};
    for (int kind = 0; kind < walker->kinds; kind++) {
        at[kind] = clf__tree_module(module, stacks_of(walker->training, kind));
    }
    switch (module->kind) {
    case CLF__MODULE_LINEAR:
        return walk_linear(walker, at, module);
    case CLF__MODULE_NORM:
        walk_tensor(walker, at, offsetof(struct clf__norm, gamma));
        if (module->parts[0].bias[0] != '\0') {
            walk_tensor(walker, at, offsetof(struct clf__norm, beta));
        }
        return CLF_OK;
    case CLF__MODULE_TABLE:
        walk_tensor(walker, at, 0);
        return CLF_OK;
    case CLF__MODULE_WEIGHT:
        break;
    }
    for (int kind = 0; kind < walker->kinds; kind++) {
        weights[kind] = *(struct clf__weight *const *)at[kind];
    }
    return walk_weight(walker, weights, 0);
}

clf_status clf__training_place(struct clf__training *training)
{
    size_t count = (size_t)training->list.count;
    CLF__TRY(clf__allocate(&training->places, count, sizeof *training->places));
    CLF__TRY(clf__allocate(&training->trained, count, sizeof *training->trained));
    CLF__TRY(clf__allocate(&training->untrained, count, sizeof *training->untrained));
    struct walker walker = {.training = training, .kinds = clf__training_kinds(training)};
    CLF__TRY(clf__tree_visit(&training->transformer->config, walk_module, &walker));
    assert(walker.index == training->list.count);
    return CLF_OK;
}
