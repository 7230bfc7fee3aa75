#include "model/encoder.h"

#include <stdio.h>

#include "base/memory.h"
#include "model/stack.h"

static clf_status load_layer(struct clf__encoder_layer *out, const struct clf__loader *loader, int index)
{
    char prefix[64], attention[80];
    snprintf(prefix, sizeof prefix, "model.encoder.layers.%d.", index);
    snprintf(attention, sizeof attention, "%sself_attn.", prefix);
    out->norm_first = loader->config->norm_first;
    CLF__TRY(clf__load_attention(&out->self_attention, loader, attention, CLF__ENCODER, 0));
    CLF__TRY(clf__load_norm(&out->self_attention_norm, loader, prefix, "self_attn_layer_norm"));
    CLF__TRY(clf__load_feed_forward(&out->feed_forward, loader, prefix, CLF__ENCODER));
    return clf__load_norm(&out->feed_forward_norm, loader, prefix, "final_layer_norm");
}

static clf_status load_stack(struct clf__encoder *out, const struct clf__loader *loader)
{
    int count = loader->config->encoder_layers;
    CLF__TRY(clf__allocate(&out->layers, (size_t)count, sizeof *out->layers));
    out->layer_count = count;
    for (int i = 0; i < count; i++) {
        CLF__TRY(load_layer(&out->layers[i], loader, i));
    }
    return loader->config->norm_final ? clf__load_norm(&out->norm, loader, "model.encoder.", "layer_norm")
                                      : CLF_OK;
}

clf_status clf__encoder_load(struct clf__encoder *out, const struct clf__loader *loader)
{
    *out = (struct clf__encoder){.layers = NULL};
    clf_status status = clf__embedder_load(&out->embedder, loader, CLF__ENCODER, NULL);
    if (status == CLF_OK) {
        status = load_stack(out, loader);
    }
    if (status != CLF_OK) {
        clf__encoder_free(out);
    }
    return status;
}

static clf_status create_zero(struct clf__encoder *out, const struct clf__encoder *like, int positions)
{
    CLF__TRY(clf__embedder_create_zero(&out->embedder, &like->embedder, NULL, positions));
    CLF__TRY(clf__allocate(&out->layers, (size_t)like->layer_count, sizeof *out->layers));
    out->layer_count = like->layer_count;
    for (int i = 0; i < like->layer_count; i++) {
        CLF__TRY(clf__encoder_layer_create_zero(&out->layers[i], &like->layers[i]));
    }
    return like->norm.gamma.buffer != NULL
               ? clf__norm_create_zero(&out->norm, &like->norm, "a norm's gradients")
               : CLF_OK;
}

clf_status clf__encoder_create_zero(struct clf__encoder *out, const struct clf__encoder *like, int positions)
{
    *out = (struct clf__encoder){.layers = NULL};
    clf_status status = create_zero(out, like, positions);
    if (status != CLF_OK) {
        clf__encoder_free(out);
    }
    return status;
}

void clf__encoder_free(struct clf__encoder *encoder)
{
    clf__embedder_free(&encoder->embedder);
    for (int i = 0; i < encoder->layer_count; i++) {
        clf__encoder_layer_free(&encoder->layers[i]);
    }
    clf__free(encoder->layers);
    clf__norm_free(&encoder->norm);
    *encoder = (struct clf__encoder){.layers = NULL};
}
