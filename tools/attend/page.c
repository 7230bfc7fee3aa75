#include "attend/page.h"

#include <jansson.h>
#include <string.h>

#include "shared/command.h"
#include "shared/page.h"
#include "shared/results.h"

static json_t *tokens_array(char **tokens, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count && array != NULL; i++) {
        if (json_array_append_new(array, result_text(tokens[i], strlen(tokens[i]))) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

static int print_shape(FILE *file, const struct clf_attention_maps *maps)
{
    return page_print_json(file,
                           json_pack("{s:i, s:i, s:i, s:i, s:o, s:o}", "encoder_layers", maps->encoder_layers,
                                     "decoder_layers", maps->decoder_layers, "encoder_heads",
                                     maps->encoder_heads, "decoder_heads", maps->decoder_heads,
                                     "source_tokens", tokens_array(maps->source_tokens, maps->source_count),
                                     "target_tokens", tokens_array(maps->target_tokens, maps->target_count)));
}

/* Base64 (RFC 4648) of a stream of bytes, three at a time. */
struct base64 {
    FILE *file;
    unsigned bits;
    int bytes;
};

static void base64_flush(struct base64 *base64)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned bits = base64->bits << 8 * (3 - base64->bytes);
    for (int i = 0; base64->bytes > 0 && i < 4; i++) {
        putc(i <= base64->bytes ? digits[bits >> (18 - 6 * i) & 63] : '=', base64->file);
    }
    base64->bits = 0;
    base64->bytes = 0;
}

static void base64_put(struct base64 *base64, unsigned byte)
{
    base64->bits = base64->bits << 8 | byte;
    if (++base64->bytes == 3) {
        base64_flush(base64);
    }
}

/* 16-bit fractions, low byte first. A weight that is NaN counts as 0. */
static void put_weights(struct base64 *base64, const float *weights, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float weight = weights[i] > 0 ? weights[i] < 1 ? weights[i] : 1 : 0;
        unsigned fraction = (unsigned)(weight * 65535 + 0.5f);
        base64_put(base64, fraction & 255);
        base64_put(base64, fraction >> 8);
    }
}

static void print_weights(FILE *file, const struct clf_attention_maps *maps)
{
    struct base64 base64 = {.file = file};
    size_t sources = (size_t)maps->source_count, targets = (size_t)maps->target_count;
    size_t encoder = (size_t)maps->encoder_layers * (size_t)maps->encoder_heads;
    size_t decoder = (size_t)maps->decoder_layers * (size_t)maps->decoder_heads;
    put_weights(&base64, maps->encoder, encoder * sources * sources);
    put_weights(&base64, maps->decoder, decoder * targets * targets);
    put_weights(&base64, maps->cross, decoder * targets * sources);
    base64_flush(&base64);
}

static void print_about(FILE *file, const struct clf_model_info *model)
{
    char name[256];
    size_t length;
    const char *part = page_last_part(model->folder, &length);
    snprintf(name, sizeof name, "%.*s", (int)length, part);
    page_print_escaped(file, name);
    fprintf(file, " (%s), %d encoder and %d decoder layers of %d and %d heads, clformer %s", model->system,
            model->encoder_layers, model->decoder_layers, model->encoder_heads, model->decoder_heads,
            CLF_VERSION);
}

/* What stands for the name between two @. */
static int print_field(FILE *file, const void *context, const char *name, size_t length)
{
    const struct attend_page *page = context;
    if (length == 5 && memcmp(name, "TITLE", 5) == 0) {
        fputs("Attention: ", file);
        page_print_escaped(file, page->source);
    } else if (length == 6 && memcmp(name, "SOURCE", 6) == 0) {
        page_print_escaped(file, page->source);
    } else if (length == 6 && memcmp(name, "TARGET", 6) == 0) {
        page_print_escaped(file, page->target);
    } else if (length == 5 && memcmp(name, "ABOUT", 5) == 0) {
        print_about(file, page->model);
    } else if (length == 5 && memcmp(name, "SHAPE", 5) == 0) {
        return print_shape(file, page->maps);
    } else {
        print_weights(file, page->maps);
    }
    return EXIT_DONE;
}

int attend_page_write(const char *path, const struct attend_page *page)
{
    return page_write(path, &(struct page){attend_template, print_field, page});
}
