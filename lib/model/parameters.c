#include "model/parameters.h"

#include <stdio.h>

#include "base/memory.h"
#include "model/config/architectures/architecture.h"
#include "model/tree.h"

/* The first pass counts names and shapes, the second writes them. */
struct writer {
    const struct clf__config *config;
    struct clf__parameter *items; /* NULL while counting */
    int count;
};

static struct clf__initial initial_of(const struct clf__config *config, enum clf__role role,
                                      const struct clf__shape *shape)
{
    if (role == CLF__GAIN || role == CLF__SHIFT) {
        return clf__initial_constant(role == CLF__GAIN ? 1.0f : 0.0f);
    }
    if (role == CLF__SINUSOIDS) {
        return (struct clf__initial){CLF__INITIAL_SINUSOIDS, 0, -1};
    }
    const struct clf__architecture *architecture = clf__architecture_of(config->architecture);
    return architecture->initial ? architecture->initial(config, role, shape) : clf__initial_constant(0.0f);
}

static struct clf__parameter *add(struct writer *writer, enum clf__role role, const struct clf__shape *shape,
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
    item->is_trained = role != CLF__SINUSOIDS;
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
            const struct clf__shape shape = {part->rows, columns, columns, part->head_width};
            struct clf__parameter *item = add(writer, part->role, &shape, part->weight);
            if (item) {
                item->follows_precision =
                    module->kind == CLF__MODULE_LINEAR || module->kind == CLF__MODULE_WEIGHT;
                item->kernel = part->kernel;
            }
            if (item && module->kind == CLF__MODULE_WEIGHT && config->pad_id < part->rows &&
                clf__architecture_of(config->architecture)->begins_with_zero_pad) {
                item->initial.zero_row = config->pad_id;
            }
        }
        if (part->bias[0] != '\0') {
            const struct clf__shape shape = {1, is_norm ? columns : part->rows, columns, 0};
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
    return clf__architecture_of(config->architecture)->keeps_pad_row ? config->pad_id : -1;
}

clf_status clf__parameter_list_create(struct clf__parameter_list *out, const struct clf__config *config)
{
    *out = (struct clf__parameter_list){0};
    struct writer writer = {.config = config};
    CLF__TRY(clf__tree_visit(config, add_module, &writer));
    struct clf__parameter *items = NULL;
    CLF__TRY(clf__allocate(&items, (size_t)writer.count, sizeof *items));
    writer = (struct writer){.config = config, .items = items};
    (void)clf__tree_visit(config, add_module, &writer); /* cannot fail: the first pass succeeded */
    *out = (struct clf__parameter_list){.items = items, .count = writer.count};
    return CLF_OK;
}

void clf__parameter_list_free(struct clf__parameter_list *list)
{
    clf__free(list->items);
    *list = (struct clf__parameter_list){0};
}
