/* clformer bleu */
#include "shared/command.h"
#include "shared/references.h"
#include "shared/results.h"

static const char help[] =
    "Usage: clformer bleu REFERENCE [FLAGS] < TRANSLATIONS\n"
    "\n"
    "Computes the BLEU of the lines of standard input as sacreBLEU does. The reference of each line is\n"
    "the line with the same number in the file REFERENCE. Prints the score, the precisions of 1- to\n"
    "4-grams in percent, the brevity penalty, and the word counts of the translations and the\n"
    "references.\n"
    "\n"
    "Example:\n"
    "  $ clformer translate -m model < test.en | clformer bleu test.de\n"
    "  40.78  70.1/46.9/34.0/24.7  brevity penalty 1.000  12163 words for 12103\n"
    "  $ clformer translate -m model --tokens < test.bpe.en | sed 's/@@ //g' |\n"
    "        clformer bleu --words spaces test.de\n";

static int print_bleu(const struct clf_bleu *bleu, int json)
{
    if (!json) {
        printf("%.2f  %.1f/%.1f/%.1f/%.1f  brevity penalty %.3f  %lld words for %lld\n", bleu->score,
               bleu->precisions[0], bleu->precisions[1], bleu->precisions[2], bleu->precisions[3],
               bleu->brevity_penalty, (long long)bleu->hypothesis_words, (long long)bleu->reference_words);
        return EXIT_DONE;
    }
    return result_print(json_pack("{s:f, s:[ffff], s:f, s:I, s:I}", "bleu", bleu->score, "precisions",
                                  bleu->precisions[0], bleu->precisions[1], bleu->precisions[2],
                                  bleu->precisions[3], "brevity_penalty", bleu->brevity_penalty,
                                  "hypothesis_words", (json_int_t)bleu->hypothesis_words, "reference_words",
                                  (json_int_t)bleu->reference_words));
}

static int compute(const char *const *translations, const char *const *references, int count,
                   const struct flags *flags)
{
    struct clf_bleu bleu;
    clf_status done = clf_bleu_corpus(&bleu, translations, references, count, (clf_bleu_words)flags->words,
                                      flags->lower_case);
    return done == CLF_OK ? print_bleu(&bleu, flags->json) : report_failure(done);
}

int verb_bleu(int argc, char **argv)
{
    struct flags flags;
    int status = flags_parse(&flags, argc, argv, TAKES_BLEU | TAKES_REFERENCES | TAKES_JSON, help);
    if (status < 0) {
        status = flags_operands(
            &flags, 1, 1, "bleu reads translations from standard input and takes one file of references");
    }
    return status >= 0 ? status : with_references(&flags, compute);
}
