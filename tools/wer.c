/* clformer wer */
#include "shared/command.h"
#include "shared/references.h"
#include "shared/results.h"

static const char help[] =
    "Usage: clformer wer REFERENCE [FLAGS] < TRANSCRIPTS\n"
    "\n"
    "Computes the word error rate of the lines of standard input in percent: the minimum number of\n"
    "substitutions, deletions and insertions of words, divided by the number of reference words. The\n"
    "reference of each line is the line with the same number in the file REFERENCE. Words are separated\n"
    "by white space. Prints the rate, the three counts, and the number of reference words.\n"
    "\n"
    "Example:\n"
    "  $ clformer translate -m model < recordings.txt | clformer wer transcripts.txt\n"
    "  1.60  3 substituted, 1 deleted, 0 inserted  250 words\n";

static int compute(const char *const *transcripts, const char *const *references, int count,
                   const struct flags *flags)
{
    struct clf_wer wer;
    clf_status done = clf_wer_corpus(&wer, transcripts, references, count, flags->lower_case);
    if (done != CLF_OK) {
        return report_failure(done);
    }
    if (flags->json) {
        return result_print(json_pack("{s:f, s:I, s:I, s:I, s:I}", "wer", wer.score, "substitutions",
                                      (json_int_t)wer.substitutions, "deletions", (json_int_t)wer.deletions,
                                      "insertions", (json_int_t)wer.insertions, "reference_words",
                                      (json_int_t)wer.reference_words));
    }
    printf("%.2f  %lld substituted, %lld deleted, %lld inserted  %lld words\n", wer.score,
           (long long)wer.substitutions, (long long)wer.deletions, (long long)wer.insertions,
           (long long)wer.reference_words);
    return EXIT_DONE;
}

int verb_wer(int argc, char **argv)
{
    struct flags flags;
    int status = flags_parse(&flags, argc, argv, TAKES_REFERENCES | TAKES_JSON, help);
    if (status < 0) {
        status = flags_operands(&flags, 1, 1,
                                "wer reads transcripts from standard input and takes one file of references");
    }
    return status >= 0 ? status : with_references(&flags, compute);
}
