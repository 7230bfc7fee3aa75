/* clformer attend */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "shared/command.h"
#include "shared/page.h"
#include "shared/results.h"

static const char help[] =
    "Usage: clformer attend -m MODEL -o FILE.html TEXT [FLAGS]\n\n"
    "Writes an HTML page with the attention maps of every layer and head for the translation of TEXT, or\n"
    "for the translation given by --target. The page is a single file; open it in a browser. For a speech\n"
    "model, TEXT is the path of a recording (WAV, FLAC, OGG, MP3) or of a .npy file of frames.\n\n"
    "Example:\n"
    "  $ clformer attend -m tools/models/fr-en-small -o page.html 'Je suis étudiant'\n"
    "  $ clformer attend -m tools/models/fr-en-small -o page.html --target \"I'm a student.\" \\\n"
    "        'Je suis étudiant'\n";

struct job {
    struct flags flags;
    struct setup setup;
    struct clf_translator *translator;
    struct clf_attention_maps *maps;
    char *translation; /* the tokens of the maps, as text */
};

static struct clf_line line_of(const char *text)
{
    return (struct clf_line){.text = text, .size = strlen(text)};
}

/* Joins the tokens after the start token into a text. In SentencePiece tokens, "▁" marks the beginning of a
 * word. */
static char *join_tokens(const struct clf_attention_maps *maps)
{
    static const char mark[] = "\u2581";
    size_t size = 1, used = 0;
    for (int i = 1; i < maps->target_count; i++) {
        size += strlen(maps->target_tokens[i]) + 1;
    }
    int marked = 0;
    for (int i = 1; i < maps->target_count; i++) {
        marked |= strncmp(maps->target_tokens[i], mark, strlen(mark)) == 0;
    }
    char *text = malloc(size);
    for (int i = 1; text != NULL && i < maps->target_count; i++) {
        const char *token = maps->target_tokens[i];
        int begins = strncmp(token, mark, strlen(mark)) == 0;
        if ((begins || !marked) && used > 0) {
            text[used++] = ' ';
        }
        token += begins ? strlen(mark) : 0;
        memcpy(text + used, token, strlen(token));
        used += strlen(token);
    }
    if (text != NULL) {
        text[used] = '\0';
    }
    return text;
}

static json_t *tokens_array(char **tokens, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count; i++) {
        array = result_append(array, result_text(tokens[i], strlen(tokens[i])));
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

/* A Base64 encoder (RFC 4648) that writes to a file. */
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

/* Writes weights as 16-bit fractions, low byte first. NaN is written as 0. */
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
    fprintf(file, " (%s), %d encoder and %d decoder layers of %d and %d heads, clformer %s",
            model->architecture, model->encoder_layers, model->decoder_layers, model->encoder_heads,
            model->decoder_heads, CLF_VERSION_STRING);
}

/* Prints the text that replaces a name between two @ in attend.html. */
static int print_field(FILE *file, const void *context, const char *name, size_t length)
{
    const struct job *job = context;
    if (length == 5 && memcmp(name, "TITLE", 5) == 0) {
        fputs("Attention: ", file);
        page_print_escaped(file, job->flags.operands[0]);
    } else if (length == 6 && memcmp(name, "SOURCE", 6) == 0) {
        page_print_escaped(file, job->flags.operands[0]);
    } else if (length == 6 && memcmp(name, "TARGET", 6) == 0) {
        page_print_escaped(file, job->translation);
    } else if (length == 5 && memcmp(name, "ABOUT", 5) == 0) {
        print_about(file, clf_model_describe(job->setup.model));
    } else if (length == 5 && memcmp(name, "SHAPE", 5) == 0) {
        return print_shape(file, job->maps);
    } else {
        print_weights(file, job->maps);
    }
    return EXIT_DONE;
}

static int write_page(struct job *job)
{
    job->translation = join_tokens(job->maps);
    if (job->translation == NULL) {
        fprintf(stderr, "clformer: not enough host memory for the page\n");
        return EXIT_FAILED;
    }
    return page_write(job->flags.output, &(struct page){attend_template, print_field, job});
}

static int run(struct job *job)
{
    int status = flags_apply(&job->flags, job->setup.model);
    if (status >= 0) {
        return status;
    }
    clf_status done = clf_translator_create(&job->translator, job->setup.model, &job->flags.translate);
    if (done == CLF_OK) {
        struct clf_line source = line_of(job->flags.operands[0]), target = {NULL, 0};
        if (job->flags.target != NULL) {
            target = line_of(job->flags.target);
        }
        done = clf_attend(&job->maps, job->translator, &source, job->flags.target != NULL ? &target : NULL);
    }
    if (done != CLF_OK) {
        return report_failure(done);
    }
    status = write_page(job);
    if (job->flags.verbose) {
        print_stage_times(clf_translator_times(job->translator));
        fprintf(stderr, "\n");
    }
    return print_kernel_times(job->setup.device, status);
}

int verb_attend(int argc, char **argv)
{
    struct job job = {.translator = NULL};
    int takes = TAKES_MODEL | TAKES_DEVICE | TAKES_SEARCH | TAKES_LINES | TAKES_OUTPUT | TAKES_TARGET;
    int status = flags_parse(&job.flags, argc, argv, takes, help);
    if (status < 0) {
        status = flags_operands(&job.flags, 1, 1, "attend takes one text, which must be quoted");
    }
    if (status < 0 && job.flags.output == NULL) {
        status = report_wrong_call("attend: requires a page to write; add -o FILE.html");
    }
    if (status >= 0) {
        return status;
    }
    status = page_check(job.flags.output);
    if (status == EXIT_DONE) {
        status = setup_open(&job.setup, &job.flags);
    }
    if (status == EXIT_DONE) {
        status = run(&job);
    }
    free(job.translation);
    clf_attention_maps_free(job.maps);
    clf_translator_free(job.translator);
    flags_release(&job.flags);
    setup_close(&job.setup);
    return status;
}
