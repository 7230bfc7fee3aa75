#include "model/parameters.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "model/tree.h"

/* Names and shapes are counted in a first walk and written in a second. */
struct writer {
    const struct clf__config *config;
    struct clf__parameter *items; /* NULL while counting */
    int count;
};

struct shape {
    int rows, columns;
    int inputs; /* of the product that the parameter belongs to */
    int width;  /* of a head, in attention */
};

static struct clf__initial constant(float value)
{
    return (struct clf__initial){CLF__INITIAL_CONSTANT, value, -1};
}

static struct clf__initial normal(double deviation)
{
    return (struct clf__initial){CLF__INITIAL_NORMAL, (float)deviation, -1};
}

static struct clf__initial uniform(double bound)
{
    return (struct clf__initial){CLF__INITIAL_UNIFORM, (float)bound, -1};
}

/* Glorot & Bengio 2010. */
static struct clf__initial xavier(const struct shape *shape)
{
    return uniform(sqrt(6.0 / ((double)shape->rows + shape->columns)));
}

/* What PyTorch gives a linear layer, weight and bias, that nobody initialises. */
static struct clf__initial by_inputs(const struct shape *shape)
{
    return uniform(1.0 / sqrt(shape->inputs));
}

static int is_table(enum clf__role role)
{
    return role == CLF__EMBEDDING || role == CLF__RELATIVE_BIAS;
}

static struct clf__initial initial_speech(const struct clf__config *config, enum clf__role role,
                                          const struct shape *shape)
{
    if (role == CLF__QUERY_OR_KEY || role == CLF__VALUE_OR_OUTPUT) {
        return normal(sqrt(2.0 / ((double)config->d_model + shape->width)));
    }
    return is_table(role) ? normal(1.0) : by_inputs(shape);
}

static struct clf__initial initial_of(const struct clf__config *config, enum clf__role role,
                                      const struct shape *shape)
{
    if (role == CLF__GAIN || role == CLF__SHIFT) {
        return constant(role == CLF__GAIN ? 1.0f : 0.0f);
    }
    switch (config->system) {
    case CLF__MARIAN:
        return role == CLF__BIAS ? constant(0.0f) : normal(0.02);
    case CLF__JADORE:
    case CLF__ANNOTATED:
        return role == CLF__BIAS ? by_inputs(shape) : xavier(shape);
    case CLF__SPEECH:
        return initial_speech(config, role, shape);
    case CLF__PAPER:
    case CLF__ILLUSTRATED:
        break;
    }
    if (role == CLF__BIAS) {
        return constant(0.0f);
    }
    return is_table(role) ? normal(1.0 / sqrt(config->d_model)) : xavier(shape);
}

static struct clf__parameter *add(struct writer *writer, enum clf__role role, const struct shape *shape,
                                  const char *name)
{
    int index = writer->count++;
    if (!writer->items) {
        return NULL;
    }
    struct clf__parameter *item = &writer->items[index];
    snprintf(item->name, sizeof item->name, "%s", name);
    item->rows = shape->rows;
    item->columns = shape->columns;
    item->initial = initial_of(writer->config, role, shape);
    item->decays = role <= CLF__VALUE_OR_OUTPUT;
    item->is_trained = 1;
    return item;
}

static clf_status add_module(void *context, const struct clf__module *module)
{
    struct writer *writer = context;
    const struct clf__config *config = writer->config;
    for (int i = 0; i < module->part_count; i++) {
        const struct clf__module_part *part = &module->parts[i];
        int is_norm = module->kind == CLF__MODULE_NORM, columns = module->columns;
        if (part->weight[0] != '\0') {
            const struct shape shape = {part->rows, columns, columns, part->head_width};
            struct clf__parameter *item = add(writer, part->role, &shape, part->weight);
            if (item && module->kind == CLF__MODULE_WEIGHT && config->system == CLF__MARIAN &&
                config->pad_id < part->rows) {
                item->initial.zero_row = config->pad_id;
            }
        }
        if (part->bias[0] != '\0') {
            const struct shape shape = {1, is_norm ? columns : part->rows, columns, 0};
            struct clf__parameter *item = add(writer, is_norm ? CLF__SHIFT : CLF__BIAS, &shape, part->bias);
            if (item) {
                item->is_trained = !part->bias_is_fixed;
            }
        }
    }
    return CLF_OK;
}

int clf__padding_row(const struct clf__config *config)
{
    int has_one = config->system == CLF__MARIAN || config->system == CLF__JADORE;
    return has_one ? config->pad_id : -1;
}

clf_status clf__parameter_list_create(struct clf__parameter_list *out, const struct clf__config *config)
{
    *out = (struct clf__parameter_list){0};
    struct writer writer = {.config = config};
    CLF__TRY(clf__tree_visit(config, add_module, &writer));
    struct clf__parameter *items = NULL;
    CLF__TRY(clf__allocate(&items, (size_t)writer.count, sizeof *items));
    writer = (struct writer){.config = config, .items = items};
    (void)clf__tree_visit(config, add_module, &writer); /* as before */
    *out = (struct clf__parameter_list){.items = items, .count = writer.count};
    return CLF_OK;
}

void clf__parameter_list_free(struct clf__parameter_list *list)
{
    clf__free(list->items);
    *list = (struct clf__parameter_list){0};
}
