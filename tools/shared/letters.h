/* Lines to work on and their answers: passed as pointers within a process, and as messages between ranks. */
#ifndef CLF_TOOLS_LETTERS_H
#define CLF_TOOLS_LETTERS_H

#include <stdio.h>

#include <clformer/translator.h>

#include "base/status.h"

enum { BATCH_SIDES = 2 };

/* Lines of one batch. */
struct batch {
    int count;
    struct clf_line *lines[BATCH_SIDES]; /* (count) */
    long long *numbers;                  /* (count) line numbers, from 1 */
};
/* Allocates memory for lines of `sides` sides. Freed by batch_free(), also after a failure. */
clf_status batch_create(struct batch *out, int count, int sides);
void batch_free(struct batch *batch);

/* Truncation of a line: the number of tokens or frames of its source or target before truncation (0: none).
 */
struct line_cut {
    int from, is_target;
};

/* The answer to one line. */
struct answer {
    int has_failed;
    struct line_cut cut;
    size_t text_size;    /* size of the output */
    size_t problem_size; /* size of the problem's message with its NUL */
};

/* Answers of a batch, collected line by line. */
struct answers {
    FILE *file; /* receives a line's output before answers_add() */
    char *bytes;
    size_t size, used;
    struct answer *items;
    int count;
};
clf_status answers_begin(struct answers *out, int capacity);
/* Adds the answer to the next line; its output is the text written to the file since the last call. */
clf_status answers_add(struct answers *answers, clf_status status, const char *problem, struct line_cut cut);
void answers_free(struct answers *answers);

enum letter_kind {
    LETTER_WORK,    /* from rank 0: a batch */
    LETTER_ANSWERS, /* to rank 0: answers to a batch */
    LETTER_FAILURE, /* to rank 0: reason of a failure */
    LETTER_END,     /* from rank 0: the end; running work is not needed any more */
    LETTER_BYE,     /* to rank 0: the last message of a rank */
};

/* The header of a message. */
struct letter {
    int kind, count;              /* of lines */
    int first, sides;             /* position of the lines in the scheduler's order */
    size_t size;                  /* of the whole message */
    struct clf_stage_times times; /* total of the rank so far; in answers and the last message */
};

/* Each function allocates a message, which the caller frees. */
clf_status letter_write_batch(struct letter **out, const struct batch *batch, int sides, int first);
clf_status letter_write_answers(struct letter **out, struct answers *answers, int first);
clf_status letter_write_failure(struct letter **out, const struct clf__failure *failure);
clf_status letter_write_word(struct letter **out, enum letter_kind kind);

/* Reads the lines of a message; their text stays in the message. */
clf_status letter_read_batch(struct batch *out, struct letter *letter);
/* Returns the answers of a message; *bytes receives, for each in order, its output and its problem. */
const struct answer *letter_answers(const struct letter *letter, const char **bytes);
const struct clf__failure *letter_failure(const struct letter *letter);

#endif
