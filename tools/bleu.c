/* clformer bleu */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/command.h"
#include "shared/lines.h"
#include "shared/results.h"

static const char help[] =
    "Usage: clformer bleu REFERENCE [FLAGS] < TRANSLATIONS\n\n"
    "Prints the BLEU of the lines of standard input, each compared with the same line of the file\n"
    "REFERENCE: the figures of sacreBLEU with one reference. The precisions of 1- to 4-grams in per cent,\n"
    "the brevity penalty, and the number of words on both sides follow.\n\n"
    "Example:\n"
    "  $ clformer translate -m model < test.en | clformer bleu test.de\n"
    "  40.78  70.1/46.9/34.0/24.7  brevity penalty 1.000  12163 words for 12103\n"
    "  $ clformer translate -m model --tokens < test.bpe.en | sed 's/@@ //g' |\n"
    "        clformer bleu --words spaces test.de\n";

enum { TRANSLATIONS, REFERENCES, SIDES };

/* The lines of a window as strings, which stand in one block after their addresses; NULL where memory ran
 * out.
 */
static char **strings_of(const struct window *window)
{
    size_t addresses = (size_t)window->count * sizeof(char *);
    char **strings = malloc(addresses + window->size + (size_t)window->count + 1);
    char *next = (char *)strings + addresses;
    for (int i = 0; strings != NULL && i < window->count; i++) {
        const struct clf_line *line = &window->lines[i];
        strings[i] = next;
        memcpy(next, line->text, line->size);
        next[line->size] = '\0';
        next += line->size + 1;
    }
    return strings;
}

/* Strings end at a NUL byte: a line that holds one cannot be taken. */
static int check_lines(const struct window *window, const char *name)
{
    for (int i = 0; i < window->count; i++) {
        if (memchr(window->lines[i].text, '\0', window->lines[i].size) != NULL) {
            fprintf(stderr, "clformer: %s, line %d: it holds a NUL byte\n", name, i + 1);
            return EXIT_FAILED;
        }
    }
    return EXIT_DONE;
}

static int print_bleu(const struct clf_bleu *bleu, int json)
{
    if (!json) {
        printf("%.2f  %.1f/%.1f/%.1f/%.1f  brevity penalty %.3f  %lld words for %lld\n", bleu->score,
               bleu->precisions[0], bleu->precisions[1], bleu->precisions[2], bleu->precisions[3],
               bleu->brevity_penalty, bleu->hypothesis_words, bleu->reference_words);
        return EXIT_DONE;
    }
    return result_print(json_pack("{s:f, s:[ffff], s:f, s:I, s:I}", "bleu", bleu->score, "precisions",
                                  bleu->precisions[0], bleu->precisions[1], bleu->precisions[2],
                                  bleu->precisions[3], "brevity_penalty", bleu->brevity_penalty,
                                  "hypothesis_words", (json_int_t)bleu->hypothesis_words, "reference_words",
                                  (json_int_t)bleu->reference_words));
}

static int compute(const struct window *windows, const struct flags *flags)
{
    char **translations = strings_of(&windows[TRANSLATIONS]), **references = strings_of(&windows[REFERENCES]);
    int status = EXIT_FAILED;
    if (translations == NULL || references == NULL) {
        fprintf(stderr, "clformer: no memory left for the lines\n");
    } else {
        struct clf_bleu bleu;
        clf_status done =
            clf_bleu_corpus(&bleu, (const char *const *)translations, (const char *const *)references,
                            windows->count, (clf_bleu_words)flags->words, flags->lower_case);
        status = done == CLF_OK ? print_bleu(&bleu, flags->json) : report_failure(done);
    }
    free(translations);
    free(references);
    return status;
}

static int run(const struct flags *flags)
{
    const char *path = flags->operands[0];
    struct line_reader readers[SIDES] = {{.quiet = flags->quiet}, {.quiet = flags->quiet}};
    line_reader_use_stdin(&readers[TRANSLATIONS]);
    if (line_reader_open(&readers[REFERENCES], path) != EXIT_DONE) {
        return EXIT_FAILED;
    }
    struct window windows[SIDES] = {{.bytes = NULL}, {.bytes = NULL}};
    int status = windows_read(windows, readers, SIDES, &(struct window_limits){INT_MAX, SIZE_MAX, 1});
    for (int side = 0; side < SIDES && status == EXIT_DONE; side++) {
        status = check_lines(&windows[side], readers[side].name);
    }
    if (status == EXIT_DONE && windows->count == 0) {
        fprintf(stderr, "clformer: %s and standard input hold no line\n", path);
        status = EXIT_FAILED;
    }
    if (status == EXIT_DONE) {
        status = compute(windows, flags);
    }
    for (int side = 0; side < SIDES; side++) {
        window_free(&windows[side]);
        line_reader_close(&readers[side]);
    }
    return status;
}

int verb_bleu(int argc, char **argv)
{
    struct flags flags;
    int status = flags_parse(&flags, argc, argv, TAKES_BLEU | TAKES_JSON, help);
    if (status < 0) {
        status = flags_operands(&flags, 1, 1,
                                "bleu takes one file of references, and reads translations from "
                                "standard input");
    }
    return status >= 0 ? status : run(&flags);
}
