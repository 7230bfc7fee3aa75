#include "model/decoder.h"

#include <stdio.h>

#include "base/memory.h"
#include "model/stack.h"

static clf_status load_layer(struct clf__decoder_layer *out, const struct clf__loader *loader, int index)
{
    char prefix[64], attention[80];
    snprintf(prefix, sizeof prefix, "model.decoder.layers.%d.", index);
    out->norm_first = loader->config->norm_first;
    snprintf(attention, sizeof attention, "%sself_attn.", prefix);
    CLF__TRY(clf__load_attention(&out->self_attention, loader, attention, CLF__DECODER, 0));
    CLF__TRY(clf__load_norm(&out->self_attention_norm, loader, prefix, "self_attn_layer_norm"));
    snprintf(attention, sizeof attention, "%sencoder_attn.", prefix);
    CLF__TRY(clf__load_attention(&out->cross_attention, loader, attention, CLF__DECODER, 1));
    CLF__TRY(clf__load_norm(&out->cross_attention_norm, loader, prefix, "encoder_attn_layer_norm"));
    CLF__TRY(clf__load_feed_forward(&out->feed_forward, loader, prefix, CLF__DECODER));
    return clf__load_norm(&out->feed_forward_norm, loader, prefix, "final_layer_norm");
}

static clf_status load_stack(struct clf__decoder *out, const struct clf__loader *loader)
{
    int count = loader->config->decoder_layers;
    CLF__TRY(clf__allocate(&out->layers, (size_t)count, sizeof *out->layers));
    out->layer_count = count;
    for (int i = 0; i < count; i++) {
        CLF__TRY(load_layer(&out->layers[i], loader, i));
    }
    return loader->config->norm_final ? clf__load_norm(&out->norm, loader, "model.decoder.", "layer_norm")
                                      : CLF_OK;
}

static clf_status load_projection(struct clf__decoder *out, const struct clf__loader *loader)
{
    const struct clf__config *config = loader->config;
    struct clf__weight *weight = out->embedder.tokens;
    if (!config->share_target_output) {
        CLF__TRY(
            clf__load_weight(&weight, loader, "lm_head.weight", config->target_vocabulary, config->d_model));
    }
    float *bias = NULL;
    clf_status status = CLF_OK;
    if (config->logits_bias) {
        status = clf__load_values(&bias, loader, "final_logits_bias", (size_t)config->target_vocabulary);
    }
    if (status == CLF_OK) {
        status =
            clf__linear_create_shared(&out->projection, loader->device, weight, bias, "final_logits_bias");
    }
    clf__free(bias);
    if (status == CLF_OK) {
        out->projection.scale = config->output_scale;
        out->projection.weight_is_shared = config->share_target_output;
    } else if (!config->share_target_output) {
        clf__weight_free(weight);
    }
    return status;
}

clf_status clf__decoder_load(struct clf__decoder *out, const struct clf__loader *loader,
                             struct clf__weight *source_tokens)
{
    *out = (struct clf__decoder){.layers = NULL};
    clf_status status = clf__embedder_load(&out->embedder, loader, CLF__DECODER,
                                           loader->config->share_source_target ? source_tokens : NULL);
    if (status == CLF_OK) {
        status = load_stack(out, loader);
    }
    if (status == CLF_OK) {
        status = load_projection(out, loader);
    }
    if (status != CLF_OK) {
        clf__decoder_free(out);
    }
    return status;
}

static clf_status create_zero(struct clf__decoder *out, const struct clf__decoder *like,
                              struct clf__weight *source_tokens, int positions, int bias)
{
    CLF__TRY(clf__embedder_create_zero(&out->embedder, &like->embedder,
                                       like->embedder.tokens_are_shared ? source_tokens : NULL, positions));
    CLF__TRY(clf__allocate(&out->layers, (size_t)like->layer_count, sizeof *out->layers));
    out->layer_count = like->layer_count;
    for (int i = 0; i < like->layer_count; i++) {
        CLF__TRY(clf__decoder_layer_create_zero(&out->layers[i], &like->layers[i]));
    }
    if (like->norm.gamma.buffer != NULL) {
        CLF__TRY(clf__norm_create_zero(&out->norm, &like->norm, "a norm's gradients"));
    }
    struct clf__linear projection = like->projection;
    projection.bias = bias ? projection.bias : NULL;
    return clf__linear_create_zero(&out->projection, &projection,
                                   projection.weight_is_shared ? out->embedder.tokens : NULL,
                                   "the projection's gradients");
}

clf_status clf__decoder_create_zero(struct clf__decoder *out, const struct clf__decoder *like,
                                    struct clf__weight *source_tokens, int positions, int bias)
{
    *out = (struct clf__decoder){.layers = NULL};
    clf_status status = create_zero(out, like, source_tokens, positions, bias);
    if (status != CLF_OK) {
        clf__decoder_free(out);
    }
    return status;
}

void clf__decoder_free(struct clf__decoder *decoder)
{
    clf__linear_free(&decoder->projection);
    for (int i = 0; i < decoder->layer_count; i++) {
        clf__decoder_layer_free(&decoder->layers[i]);
    }
    clf__free(decoder->layers);
    clf__norm_free(&decoder->norm);
    clf__embedder_free(&decoder->embedder);
    *decoder = (struct clf__decoder){.layers = NULL};
}
