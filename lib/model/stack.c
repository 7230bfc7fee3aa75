#include "model/stack.h"

#include <math.h>
#include <stdio.h>

struct clf__heads clf__config_heads(const struct clf__config *config, enum clf__side side)
{
    struct clf__heads heads = {
        .count = side == CLF__ENCODER ? config->encoder_heads : config->decoder_heads,
        .key_width = side == CLF__ENCODER ? config->encoder_key_width : config->decoder_key_width,
        .value_width = side == CLF__ENCODER ? config->encoder_value_width : config->decoder_value_width,
    };
    heads.scale = config->attention_scaled ? 1.0f / sqrtf((float)heads.key_width) : 1.0f;
    return heads;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

struct clf__heads clf__config_largest_heads(const struct clf__config *config)
{
    struct clf__heads encoder = clf__config_heads(config, CLF__ENCODER);
    struct clf__heads decoder = clf__config_heads(config, CLF__DECODER);
    return (struct clf__heads){
        .count = larger(encoder.count, decoder.count),
        .key_width = larger(encoder.key_width, decoder.key_width),
        .value_width = larger(encoder.value_width, decoder.value_width),
    };
}

/* The widest heads, of equal keys and values, that a device has room for. */
static int widest_heads(const struct clf_device *device, int is_trained)
{
    enum { STEP = 16, MOST = 1 << 16 };
    int width = 0;
    for (int next = STEP; next <= MOST; next += STEP) {
        const struct clf__heads heads = {.count = 1, .key_width = next, .value_width = next};
        struct clf__attention_room room = clf__attention_room(device, &heads, is_trained);
        if (room.bytes > room.limit) {
            break;
        }
        width = next;
    }
    return width;
}

static clf_status check_heads(const struct clf__config *config, const struct clf_device *device,
                              const char *folder, enum clf__side side, int is_trained)
{
    struct clf__heads heads = clf__config_heads(config, side);
    struct clf__attention_room room = clf__attention_room(device, &heads, is_trained);
    if (room.bytes <= room.limit) {
        return CLF_OK;
    }
    char keys[128];
    if (heads.key_width == heads.value_width && heads.count * heads.key_width == config->d_model) {
        snprintf(keys, sizeof keys, "\"d_model\" %d and \"%s_attention_heads\" %d", config->d_model,
                 clf__side_word(side), heads.count);
    } else {
        snprintf(keys, sizeof keys, "\"d_k\" %d and \"d_v\" %d", heads.key_width, heads.value_width);
    }
    return clf__fail(
        CLF_UNSUPPORTED,
        "%s%sconfig.json: %s: %s heads that wide take %zu bytes of %s on this device, and there is "
        "room for %zu; %s runs with heads of %d at most",
        folder != NULL ? folder : "", folder != NULL ? "/" : "", keys, clf__side_word(side), room.bytes,
        room.place, room.limit, is_trained ? "training" : "a model", widest_heads(device, is_trained));
}

clf_status clf__config_check_heads(const struct clf__config *config, const struct clf_device *device,
                                   const char *folder, int is_trained)
{
    CLF__TRY(check_heads(config, device, folder, CLF__ENCODER, is_trained));
    return check_heads(config, device, folder, CLF__DECODER, is_trained);
}

clf_status clf__load_attention(struct clf__attention_layer *out, const struct clf__loader *loader,
                               const char *prefix, enum clf__side side, int cross)
{
    const struct clf__config *config = loader->config;
    struct clf__heads heads = clf__config_heads(config, side);
    *out = (struct clf__attention_layer){.heads = heads};
    int key_rows = heads.count * heads.key_width, value_rows = heads.count * heads.value_width;
    struct clf__linear_name blocks[] = {
        clf__linear_name(prefix, "q_proj", key_rows, config->query_bias),
        clf__linear_name(prefix, "k_proj", key_rows, config->key_bias),
        clf__linear_name(prefix, "v_proj", value_rows, config->value_bias),
    };
    clf_status status = clf__load_linear(&out->input, loader, config->d_model, blocks, cross ? 1 : 3);
    if (status == CLF_OK && cross) {
        status = clf__load_linear(&out->memory, loader, config->d_model, blocks + 1, 2);
    }
    if (status == CLF_OK) {
        struct clf__linear_name block =
            clf__linear_name(prefix, "out_proj", config->d_model, config->output_bias);
        status = clf__load_linear(&out->output, loader, value_rows, &block, 1);
    }
    if (status != CLF_OK) {
        clf__attention_layer_free(out);
    }
    return status;
}

clf_status clf__load_feed_forward(struct clf__feed_forward *out, const struct clf__loader *loader,
                                  const char *prefix, enum clf__side side)
{
    const struct clf__config *config = loader->config;
    int width = side == CLF__ENCODER ? config->encoder_ffn : config->decoder_ffn;
    *out = (struct clf__feed_forward){
        .activation = config->activation, .width = width, .gated = config->ffn_gated};
    struct clf__linear_name up[] = {
        clf__linear_name(prefix, "fc1", width, config->ffn_bias),
        clf__linear_name(prefix, "fc_gate", width, config->ffn_bias),
    };
    struct clf__linear_name down = clf__linear_name(prefix, "fc2", config->d_model, config->ffn_bias);
    CLF__TRY(clf__load_linear(&out->up, loader, config->d_model, up, config->ffn_gated ? 2 : 1));
    clf_status status = clf__load_linear(&out->down, loader, width, &down, 1);
    if (status != CLF_OK) {
        clf__feed_forward_free(out);
    }
    return status;
}
