/* Dealing the lines of a window out to the ranks, each of which works on some at a time; rank 0 among them.
 */
#ifndef CLF_TOOLS_DEAL_H
#define CLF_TOOLS_DEAL_H

#include "cluster/communicator.h"
#include "shared/letters.h"
#include "shared/lines.h"

/* Works on lines; `user` is the deal's. */
typedef clf_status deal_work(void *user, const struct batch *batch, struct answers *answers);

/* What became of a line of the window. */
struct dealt {
    const struct answer *answer; /* NULL: nothing yet */
    const char *text;            /* answer->text_size bytes, then the problem */
};

struct deal {
    const struct clf__communicator *ranks;
    deal_work *work;
    void *user;
    const struct clf_stage_times *(*times)(const void *user); /* of this rank's work */
    int sides;
    int batch_tokens; /* that a device works on at a time */
    /* Rank 0: the window that is dealt out. */
    const struct window *windows; /* (sides) */
    struct dealt *lines;          /* (capacity) of the window */
    int capacity, count, next, answered;
    size_t left;             /* cost of those that are not dealt out yet */
    size_t batch_cost;       /* of lines that fill a device, about */
    size_t answered_cost;    /* of all windows */
    int parts;               /* of what is left, where that no longer fills all devices; 0: it does */
    struct letter **letters; /* (letter_count) with the answers */
    int letter_count, letter_capacity;
    int *held;                      /* (size) letters that a rank has and did not answer in whole */
    struct clf_stage_times *others; /* (size) what each rank did until its last letter */
    int said_bye;                   /* ranks that did */
    struct clf__failure failure;    /* of messages, or of another rank */
    int is_theirs;                  /* the latter: that rank tells it when all agree */
    /* Answers to the batch that this rank works on, which are in no letter yet; NULL: it works on none. */
    struct answers *answers;
    int answered_first; /* the place of the first of them in the window */
    double told;        /* the others: when they sent answers, in seconds */
    /* The others: letters that came while they worked. */
    struct letter *inbox[8];
    int inbox_count;
    int has_ended;
};

/* Room for all ranks; freed by deal_free(), also after a failure. */
clf_status deal_begin(struct deal *deal);
void deal_free(struct deal *deal);

/* Rank 0: has all lines of a window worked on; deal->lines says what became of each, until the next call. Its
 * first lines are known soon: deal_attend() sees to that. */
clf_status deal_window(struct deal *deal, const struct window *windows);
/* The others: work on what comes until there is no more. */
clf_status deal_serve(struct deal *deal);
/* All ranks, at the end, each with its own status: no letter is on its way any more, and all fail as the one
 * that did. */
clf_status deal_end(struct deal *deal, clf_status status);

/* For whoever is asked while work goes on whether it should stop: sees to the letters, and to answers that
 * are known, and says whether. */
int deal_attend(struct deal *deal);

/* Lines that other ranks did. */
long long deal_lines_elsewhere(const struct deal *deal);

#endif
