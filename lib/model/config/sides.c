#include "model/config/sides.h"

#include <math.h>
#include <stdio.h>

#include "base/minmax.h"

const char *clf__side_word(enum clf__side side)
{
    return side == CLF__ENCODER ? "encoder" : "decoder";
}

int clf__config_layers(const struct clf__config *config, enum clf__side side)
{
    return side == CLF__ENCODER ? config->encoder_layers : config->decoder_layers;
}

int clf__config_ffn(const struct clf__config *config, enum clf__side side)
{
    return side == CLF__ENCODER ? config->encoder_ffn : config->decoder_ffn;
}

enum clf__positions_kind clf__config_positions(const struct clf__config *config, enum clf__side side)
{
    return side == CLF__ENCODER ? config->encoder_positions : config->decoder_positions;
}

int clf__config_has_positions(const struct clf__config *config, enum clf__positions_kind kind)
{
    return config->encoder_positions == kind || config->decoder_positions == kind;
}

int clf__config_max_positions(const struct clf__config *config, enum clf__side side)
{
    return side == CLF__ENCODER ? config->encoder_max_positions : config->decoder_max_positions;
}

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

struct clf__heads clf__config_largest_heads(const struct clf__config *config)
{
    struct clf__heads encoder = clf__config_heads(config, CLF__ENCODER);
    struct clf__heads decoder = clf__config_heads(config, CLF__DECODER);
    return (struct clf__heads){
        .count = clf__max_int(encoder.count, decoder.count),
        .key_width = clf__max_int(encoder.key_width, decoder.key_width),
        .value_width = clf__max_int(encoder.value_width, decoder.value_width),
    };
}

int clf__config_longest_source(const struct clf__config *config)
{
    return config->encoder_max_positions * (config->convolves_frames ? 2 : 1);
}

int clf__config_hears_windows(const struct clf__config *config)
{
    return config->convolves_frames && clf__config_longest_source(config) == CLF__WINDOW_FRAMES;
}

/* Returns the largest head width, of both keys and values, that fits in the device's local memory. */
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
    return clf__fail(CLF_UNSUPPORTED,
                     "%s%sconfig.json: %s: %s heads of this width need %zu bytes of %s, but the device has "
                     "%zu; %s supports head widths up to %d",
                     folder != NULL ? folder : "", folder != NULL ? "/" : "", keys, clf__side_word(side),
                     room.bytes, room.place, room.limit, is_trained ? "training" : "a model",
                     widest_heads(device, is_trained));
}

clf_status clf__config_check_heads(const struct clf__config *config, const struct clf_device *device,
                                   const char *folder, int is_trained)
{
    CLF__TRY(check_heads(config, device, folder, CLF__ENCODER, is_trained));
    return check_heads(config, device, folder, CLF__DECODER, is_trained);
}
