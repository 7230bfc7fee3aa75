/* Batches of lines and their answers, which are sent between ranks as messages. */
#ifndef CLF_TOOLS_WORK_MESSAGES_H
#define CLF_TOOLS_WORK_MESSAGES_H

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
    size_t problem_size; /* size of the error message with its NUL */
};

/* Answers of a batch, collected line by line. */
struct answers {
    FILE *file; /* receives a line's output before answers_add() */
    char *bytes;
    size_t size, used;
    struct answer *items;
    int count; /* number of answers that no message contains yet */
};
clf_status answers_begin(struct answers *out, int capacity);
/* Adds the answer to the next line; its output is the text written to the file since the last call. */
clf_status answers_add(struct answers *answers, clf_status status, const char *problem, struct line_cut cut);
/* Removes the answers after they were copied to a message. */
clf_status answers_restart(struct answers *answers);
void answers_free(struct answers *answers);

enum message_kind {
    MESSAGE_WORK,    /* from rank 0: a batch */
    MESSAGE_ANSWERS, /* to rank 0: answers to some lines of a batch, in order */
    MESSAGE_FAILURE, /* to rank 0: reason of a failure */
    MESSAGE_END,     /* from rank 0: stop; unfinished work is no longer needed */
    MESSAGE_BYE,     /* to rank 0: the last message of a rank */
};

/* The header of a message. */
struct message {
    int kind, count;              /* count: number of lines */
    int first, sides;             /* position of the first line in the window */
    int is_last;                  /* in answers: the batch is complete */
    size_t size;                  /* size of the whole message */
    struct clf_stage_times times; /* total of the rank so far; in answers and the last message */
};

/* Each function allocates a message, which the caller frees. */
clf_status message_write_batch(struct message **out, const struct batch *batch, int sides, int first);
clf_status message_write_answers(struct message **out, const struct answers *answers, int first, int is_last);
clf_status message_write_failure(struct message **out, const struct clf__failure *failure);
clf_status message_write_word(struct message **out, enum message_kind kind);

/* Reads the lines of a message; their text stays in the message. */
clf_status message_read_batch(struct batch *out, struct message *message);
/* Returns the answers of a message; *bytes receives, for each answer in order, the output and the error
 * message. */
const struct answer *message_answers(const struct message *message, const char **bytes);
const struct clf__failure *message_failure(const struct message *message);

#endif
