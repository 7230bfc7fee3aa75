#include "model/transformer.h"

#include "base/memory.h"

static clf_status load_weights(struct clf__transformer *transformer, const char *folder)
{
    struct clf__parameters *parameters;
    CLF__TRY(clf__parameters_load(&parameters, &transformer->config, folder));
    const struct clf__parameter_list *list = clf__parameters_list(parameters);
    for (int i = 0; i < list->count; i++) {
        const struct clf__parameter *item = &list->items[i];
        transformer->parameter_count += (int64_t)item->rows * item->columns;
        transformer->weight_bytes += item->rows > 1 ? clf__weight_bytes(item->rows, item->columns)
                                                    : (size_t)item->columns * sizeof(float);
    }
    struct clf__loader loader = {transformer->device, &transformer->config, parameters};
    clf_status status = clf__encoder_load(&transformer->encoder, &loader);
    if (status == CLF_OK) {
        status = clf__decoder_load(&transformer->decoder, &loader, transformer->encoder.embedder.tokens);
    }
    clf__parameters_free(parameters);
    return status;
}

clf_status clf__transformer_load(struct clf__transformer **out, struct clf_device *device, const char *folder)
{
    struct clf__transformer *transformer;
    CLF__TRY(clf__allocate(&transformer, 1, sizeof *transformer));
    transformer->device = device;
    clf_status status = clf__config_load(&transformer->config, folder);
    if (status == CLF_OK) {
        status = load_weights(transformer, folder);
    }
    if (status != CLF_OK) {
        clf__transformer_free(transformer);
        return status;
    }
    *out = transformer;
    return CLF_OK;
}

void clf__transformer_free(struct clf__transformer *transformer)
{
    if (transformer == NULL) {
        return;
    }
    clf__decoder_free(&transformer->decoder);
    clf__encoder_free(&transformer->encoder);
    clf__config_free(&transformer->config);
    clf__free(transformer);
}
