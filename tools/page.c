#include "page.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "results.h"

static void print_escaped(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", file);
            break;
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '"':
            fputs("&quot;", file);
            break;
        default:
            /* HTML allows no other control characters */
            putc((unsigned char)*text < ' ' && *text != '\t' ? ' ' : *text, file);
        }
    }
}

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

/* Inside a script element "<" may begin its end, so it is written as an escape of JSON's. */
static int print_shape(FILE *file, const struct clf_attention_maps *maps)
{
    json_t *shape =
        json_pack("{s:i, s:i, s:i, s:i, s:o, s:o}", "encoder_layers", maps->encoder_layers, "decoder_layers",
                  maps->decoder_layers, "encoder_heads", maps->encoder_heads, "decoder_heads",
                  maps->decoder_heads, "source_tokens", tokens_array(maps->source_tokens, maps->source_count),
                  "target_tokens", tokens_array(maps->target_tokens, maps->target_count));
    char *text = shape != NULL ? json_dumps(shape, JSON_COMPACT) : NULL;
    json_decref(shape);
    if (text == NULL) {
        fprintf(stderr, "clformer: no memory left to write the page\n");
        return EXIT_FAILED;
    }
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '<') {
            fputs("\\u003c", file);
        } else {
            putc(*c, file);
        }
    }
    free(text);
    return EXIT_DONE;
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
    print_escaped(file, model->folder);
    fprintf(file, " (%s), %d encoder and %d decoder layers of %d and %d heads, clformer %s", model->system,
            model->encoder_layers, model->decoder_layers, model->encoder_heads, model->decoder_heads,
            CLF_VERSION);
}

/* What stands for the name between two @. */
static int print_field(FILE *file, const struct page *page, const char *name, size_t length)
{
    if (length == 5 && memcmp(name, "TITLE", 5) == 0) {
        fputs("Attention: ", file);
        print_escaped(file, page->source);
    } else if (length == 6 && memcmp(name, "SOURCE", 6) == 0) {
        print_escaped(file, page->source);
    } else if (length == 6 && memcmp(name, "TARGET", 6) == 0) {
        print_escaped(file, page->target);
    } else if (length == 5 && memcmp(name, "ABOUT", 5) == 0) {
        print_about(file, page->model);
    } else if (length == 5 && memcmp(name, "SHAPE", 5) == 0) {
        return print_shape(file, page->maps);
    } else {
        print_weights(file, page->maps);
    }
    return EXIT_DONE;
}

int page_print(FILE *file, const struct page *page)
{
    const char *rest = (const char *)page_template;
    for (;;) {
        const char *name = strchr(rest, '@');
        size_t length = name != NULL ? strspn(name + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") : 0;
        if (name == NULL) {
            fputs(rest, file);
            return EXIT_DONE;
        }
        if (length == 0 || name[length + 1] != '@') { /* an @ of the page's own */
            fprintf(file, "%.*s@", (int)(name - rest), rest);
            rest = name + 1;
            continue;
        }
        fprintf(file, "%.*s", (int)(name - rest), rest);
        if (print_field(file, page, name + 1, length) != EXIT_DONE) {
            return EXIT_FAILED;
        }
        rest = name + length + 2;
    }
}

static int report_file(const char *path)
{
    fprintf(stderr, "clformer: %s cannot be written: %s\n", path, strerror(errno));
    return EXIT_FAILED;
}

/* Prints and closes; `path` is for the message. */
static int print_and_close(FILE *file, const char *path, const struct page *page)
{
    if (file == NULL) {
        return report_file(path);
    }
    errno = 0; /* nothing but a write sets it on the way */
    int status = page_print(file, page);
    int failed = ferror(file);
    failed |= fclose(file) != 0;
    if (status == EXIT_DONE && failed) {
        return report_file(path);
    }
    return status;
}

/* mkstemp() lets nobody else read; a page has the rights of any new file. */
static int open_temporary(char *name)
{
    int descriptor = mkstemp(name);
    if (descriptor >= 0) {
        mode_t mask = umask(0);
        umask(mask);
        fchmod(descriptor, 0666 & ~mask);
    }
    return descriptor;
}

int page_write(const char *path, const struct page *page)
{
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        return print_and_close(fopen(path, "w"), path, page);
    }
    char *name = malloc(strlen(path) + sizeof ".XXXXXX");
    if (name == NULL) {
        return report_file(path);
    }
    sprintf(name, "%s.XXXXXX", path);
    int descriptor = open_temporary(name), result;
    if (descriptor < 0) {
        result = report_file(path);
    } else {
        result = print_and_close(fdopen(descriptor, "w"), path, page);
        if (result == EXIT_DONE && rename(name, path) != 0) {
            result = report_file(path);
        }
        if (result != EXIT_DONE) {
            unlink(name);
        }
    }
    free(name);
    return result;
}
