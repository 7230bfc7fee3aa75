#include <clformer/wer.h>

#include <string.h>

#include "base/memory.h"
#include "train/bleu_words.h"

/* The minimum edits from a prefix of the hypothesis to a prefix of the reference. */
struct changes {
    long long substitutions, deletions, insertions;
};

static long long count_of(const struct changes *changes)
{
    return changes->substitutions + changes->deletions + changes->insertions;
}

static struct changes better_of(struct changes a, struct changes b)
{
    long long more = count_of(&b) - count_of(&a);
    return more < 0 || (more == 0 && b.substitutions > a.substitutions) ? b : a;
}

/* Updates the row of the edit table for the next word of the hypothesis; row[j] covers j words of the
 * reference. */
static void add_word(struct changes *row, const char *word, const struct clf__words *reference)
{
    struct changes diagonal = row[0];
    row[0].insertions++;
    for (int j = 0; j < reference->count; j++) {
        struct changes replaced = diagonal, inserted = row[j + 1], deleted = row[j];
        diagonal = row[j + 1];
        replaced.substitutions += strcmp(word, reference->items[j]) != 0;
        inserted.insertions++;
        deleted.deletions++;
        row[j + 1] = better_of(better_of(replaced, inserted), deleted);
    }
}

static clf_status add_line(struct clf_wer *out, const struct clf__words *hypothesis,
                           const struct clf__words *reference)
{
    struct changes *row = NULL;
    CLF__TRY(clf__allocate(&row, (size_t)reference->count + 1, sizeof *row));
    for (int j = 1; j <= reference->count; j++) {
        row[j].deletions = j;
    }
    for (int i = 0; i < hypothesis->count; i++) {
        add_word(row, hypothesis->items[i], reference);
    }
    const struct changes *whole = &row[reference->count];
    out->substitutions += whole->substitutions;
    out->deletions += whole->deletions;
    out->insertions += whole->insertions;
    out->reference_words += reference->count;
    clf__free(row);
    return CLF_OK;
}

static clf_status add_pair(struct clf_wer *out, const char *hypothesis, const char *reference, int lower_case)
{
    struct clf__words cut[2] = {{0}};
    clf_status status = clf__words_cut(&cut[0], hypothesis, CLF_BLEU_SPACES, lower_case);
    if (status == CLF_OK) {
        status = clf__words_cut(&cut[1], reference, CLF_BLEU_SPACES, lower_case);
    }
    if (status == CLF_OK) {
        status = add_line(out, &cut[0], &cut[1]);
    }
    clf__words_free(&cut[0]);
    clf__words_free(&cut[1]);
    return status;
}

clf_status clf_wer_corpus(struct clf_wer *out, const char *const *hypotheses, const char *const *references,
                          int count, int lower_case)
{
    *out = (struct clf_wer){0};
    if (count < 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "word error rate: the line count %d is negative", count);
    }
    struct clf_wer sum = {0};
    for (int i = 0; i < count; i++) {
        CLF__TRY(clf__words_check(hypotheses, i, "hypotheses"));
        CLF__TRY(clf__words_check(references, i, "references"));
        CLF__TRY(add_pair(&sum, hypotheses[i], references[i], lower_case));
    }
    if (sum.reference_words == 0) {
        return clf__fail(CLF_TEXT, "the references contain no words, so the word error rate is undefined");
    }
    sum.score =
        100 * (double)(sum.substitutions + sum.deletions + sum.insertions) / (double)sum.reference_words;
    *out = sum;
    return CLF_OK;
}
