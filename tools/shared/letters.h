/* Lines on their way to whoever works on them, and what became of them on its way back: in one process from
 * hand to hand, between ranks as messages. */
#ifndef CLF_TOOLS_LETTERS_H
#define CLF_TOOLS_LETTERS_H

#include <stdio.h>

#include <clformer/translator.h>

#include "base/status.h"

enum { BATCH_SIDES = 2 };

/* Lines to work on together. */
struct batch {
    int count;
    struct clf_line *lines[BATCH_SIDES]; /* (count) */
    long long *numbers;                  /* (count) of the lines, from 1 */
};
/* Room for lines of so many sides. Freed by batch_free(), also after a failure. */
clf_status batch_create(struct batch *out, int count, int sides);
void batch_free(struct batch *batch);

/* What was cut off a line: of so many tokens or frames (0: nothing) of its source or target. */
struct line_cut {
    int from, is_target;
};

/* What became of one line. */
struct answer {
    int has_failed;
    struct line_cut cut;
    size_t text_size;    /* of what is printed of it */
    size_t problem_size; /* of why it could not be used, with its NUL */
};

/* What becomes of a batch, while it does. */
struct answers {
    FILE *file; /* where a line's output goes, before answers_add() */
    char *bytes;
    size_t size, used;
    struct answer *items;
    int count; /* of those that are in no letter yet */
};
clf_status answers_begin(struct answers *out, int capacity);
/* The next line is done: what was written to the file since the one before is its output. */
clf_status answers_add(struct answers *answers, clf_status status, const char *problem, struct line_cut cut);
/* The answers until now are in a letter: those that follow come in another one. */
clf_status answers_restart(struct answers *answers);
void answers_free(struct answers *answers);

enum letter_kind {
    LETTER_WORK,    /* from rank 0: a batch */
    LETTER_ANSWERS, /* to it: answers to some lines of it, in order */
    LETTER_FAILURE, /* to it: why there will be none */
    LETTER_END,     /* from rank 0: there is no more work, and what is being done is not needed */
    LETTER_BYE,     /* to it: the last letter of a rank */
};

/* What a letter begins with. */
struct letter {
    int kind, count;              /* of lines */
    int first, sides;             /* the first line's place in the window */
    int is_last;                  /* answers: no others to the batch follow */
    size_t size;                  /* of the whole letter */
    struct clf_stage_times times; /* of the rank until now: answers, and the last letter */
};

/* Each makes a letter, which the caller frees. */
clf_status letter_write_batch(struct letter **out, const struct batch *batch, int sides, int first);
clf_status letter_write_answers(struct letter **out, const struct answers *answers, int first, int is_last);
clf_status letter_write_failure(struct letter **out, const struct clf__failure *failure);
clf_status letter_write_word(struct letter **out, enum letter_kind kind);

/* The lines of a letter that came; their bytes stay its own. */
clf_status letter_read_batch(struct batch *out, struct letter *letter);
/* The answers in a letter, and behind them for each, in order, its output and its problem. */
const struct answer *letter_answers(const struct letter *letter, const char **bytes);
const struct clf__failure *letter_failure(const struct letter *letter);

#endif
