#include "model/loader.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { MAX_BLOCKS = 3, NAME_BYTES = 96 };

struct clf__linear_name clf__linear_name(const char *prefix, const char *suffix, int rows, int has_bias)
{
    struct clf__linear_name block = {.rows = rows, .has_bias = has_bias};
    snprintf(block.name, sizeof block.name, "%s%s", prefix, suffix);
    return block;
}

clf_status clf__load_values(float **out, const struct clf__loader *loader, const char *name, size_t count)
{
    CLF__TRY(clf__allocate(out, count, sizeof **out));
    clf_status status = clf__parameters_read(loader->parameters, name, *out);
    if (status != CLF_OK) {
        clf__free(*out);
        *out = NULL;
    }
    return status;
}

static clf_status read_blocks(float **weights, float *bias, const struct clf__loader *loader, int inputs,
                              const struct clf__linear_name *blocks, int count)
{
    char name[NAME_BYTES];
    for (int i = 0, row = 0; i < count; row += blocks[i].rows, i++) {
        snprintf(name, sizeof name, "%s.weight", blocks[i].name);
        CLF__TRY(clf__load_values(&weights[i], loader, name, (size_t)blocks[i].rows * (size_t)inputs));
        if (blocks[i].has_bias) {
            snprintf(name, sizeof name, "%s.bias", blocks[i].name);
            CLF__TRY(clf__parameters_read(loader->parameters, name, bias + row));
        }
    }
    return CLF_OK;
}

clf_status clf__load_linear(struct clf__linear *out, const struct clf__loader *loader, int inputs,
                            const struct clf__linear_name *blocks, int count)
{
    assert(count <= MAX_BLOCKS);
    float *weights[MAX_BLOCKS] = {NULL};
    float *bias = NULL;
    int rows = 0, has_bias = 0;
    for (int i = 0; i < count; i++) {
        rows += blocks[i].rows;
        has_bias |= blocks[i].has_bias;
    }
    clf_status status = has_bias ? clf__allocate(&bias, (size_t)rows, sizeof *bias) : CLF_OK;
    if (status == CLF_OK) {
        status = read_blocks(weights, bias, loader, inputs, blocks, count);
    }
    if (status == CLF_OK) {
        struct clf__weight_part parts[MAX_BLOCKS];
        for (int i = 0; i < count; i++) {
            parts[i] = (struct clf__weight_part){.data = weights[i], .rows = blocks[i].rows};
        }
        struct clf__weight_source source = {parts, count, inputs, loader->precision, blocks[0].name};
        status = clf__linear_create(out, loader->device, &source, bias);
    }
    for (int i = 0; i < count; i++) {
        clf__free(weights[i]);
    }
    clf__free(bias);
    return status;
}

clf_status clf__load_weight(struct clf__weight **out, const struct clf__loader *loader, const char *name,
                            int rows, int columns)
{
    float *values;
    CLF__TRY(clf__load_values(&values, loader, name, (size_t)rows * (size_t)columns));
    struct clf__weight_part part = {.data = values, .rows = rows};
    struct clf__weight_source source = {&part, 1, columns, loader->precision, name};
    clf_status status = clf__weight_create(out, loader->device, &source);
    clf__free(values);
    return status;
}

clf_status clf__load_norm(struct clf__norm *out, const struct clf__loader *loader, const char *prefix,
                          const char *suffix)
{
    const struct clf__config *config = loader->config;
    char name[NAME_BYTES];
    float *gamma = NULL, *beta = NULL;
    snprintf(name, sizeof name, "%s%s.weight", prefix, suffix);
    clf_status status = clf__load_values(&gamma, loader, name, (size_t)config->d_model);
    if (status == CLF_OK && config->norm != CLF__NORM_RMS) {
        snprintf(name, sizeof name, "%s%s.bias", prefix, suffix);
        status = clf__load_values(&beta, loader, name, (size_t)config->d_model);
    }
    if (status == CLF_OK) {
        status = clf__norm_create(out, loader->device, config->norm, config->norm_epsilon, config->d_model,
                                  gamma, beta, name);
    }
    clf__free(gamma);
    clf__free(beta);
    return status;
}
