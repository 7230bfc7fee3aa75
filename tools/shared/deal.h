/* The work scheduler: distributes the lines of a window over the ranks, including rank 0, several lines at a
 * time. */
#ifndef CLF_TOOLS_DEAL_H
#define CLF_TOOLS_DEAL_H

#include "cluster/communicator.h"
#include "shared/letters.h"
#include "shared/lines.h"

/* Works on lines; `user` is deal->user. */
typedef clf_status deal_work(void *user, const struct batch *batch, struct answers *answers);

/* The answer to a line of the window. */
struct dealt {
    const struct answer *answer;
    const char *text; /* answer->text_size bytes of output, then the problem */
};

struct deal {
    const struct clf__communicator *ranks;
    deal_work *work;
    void *user;
    const struct clf_stage_times *(*times)(const void *user); /* of this rank's work */
    int sides;
    int batch_tokens; /* of one device */
    /* Rank 0: the current window. */
    const struct window *windows; /* (sides) */
    int *order;                   /* (capacity) line numbers; longest first if there are several ranks */
    struct dealt *lines;          /* (capacity) */
    int capacity, count, next, answered;
    size_t left;             /* cost of the lines not yet sent */
    size_t batch_cost;       /* estimated cost of a full batch */
    size_t answered_cost;    /* of all windows */
    int parts;               /* number of equal parts of the rest once it does not fill all devices, else 0 */
    struct letter **letters; /* (letter_count) messages with answers */
    int letter_count, letter_capacity;
    int *held;                      /* (size) number of unanswered messages of each rank */
    struct clf_stage_times *others; /* (size) total work of each rank up to its last message */
    int said_bye;                   /* number of ranks that sent their last message */
    struct clf__failure failure;    /* of communication or of another rank */
    int is_theirs;                  /* the failure is another rank's, which reports it when all ranks agree */
    /* Other ranks: messages that arrived during work. */
    struct letter *inbox[8];
    int inbox_count;
    int has_ended;
};

/* Allocates memory for all ranks; freed by deal_free(), also after a failure. */
clf_status deal_begin(struct deal *deal);
void deal_free(struct deal *deal);

/* Rank 0: processes all lines of a window. deal->lines holds the answers until the next call. */
clf_status deal_window(struct deal *deal, const struct window *windows);
/* Other ranks: process messages until the end message. */
clf_status deal_serve(struct deal *deal);
/* Ends communication; every rank calls it with its own status. All ranks return the first failure. */
clf_status deal_end(struct deal *deal, clf_status status);

/* For callbacks that poll for interruption: handles pending messages and returns 1 if the work should stop.
 */
int deal_attend(struct deal *deal);

/* Number of lines that other ranks have processed. */
long long deal_lines_elsewhere(const struct deal *deal);

#endif
