/* The work scheduler: distributes the lines of a window over the ranks, including rank 0, several lines at a
 * time. */
#ifndef CLF_TOOLS_WORK_SCHEDULER_H
#define CLF_TOOLS_WORK_SCHEDULER_H

#include "runtime/cluster/communicator.h"
#include "shared/lines.h"
#include "shared/work_messages.h"

/* Works on lines; `user` is scheduler->user. */
typedef clf_status scheduler_work(void *user, const struct batch *batch, struct answers *answers);

/* The answer to a line of the window. */
struct answered_line {
    const struct answer *answer; /* NULL: not answered yet */
    const char *text;            /* answer->text_size bytes of output, then the error message */
};

struct scheduler {
    const struct clf__communicator *ranks;
    scheduler_work *work;
    void *user;
    const struct clf_stage_times *(*times)(const void *user); /* times of this rank's work */
    int sides;
    int batch_tokens; /* per device */
    /* Rank 0: the current window. */
    const struct window *windows; /* (sides) */
    struct answered_line *lines;  /* (capacity) of the window */
    int capacity, count, next, answered;
    size_t left;          /* cost of the lines not yet sent */
    size_t batch_cost;    /* estimated cost of a full batch */
    size_t answered_cost; /* cost of the answered lines of all windows */
    int parts; /* number of equal parts of the remaining lines once they do not fill all devices, else 0 */
    struct message **messages; /* (message_count) messages with answers */
    int message_count, message_capacity;
    int *held;                      /* (size) number of messages of each rank without a complete answer */
    struct clf_stage_times *others; /* (size) total work of each rank up to its last message */
    int said_bye;                   /* number of ranks that sent their last message */
    struct clf__failure failure;    /* failure of the communication or of another rank */
    int is_theirs; /* another rank failed and reports the failure when all ranks agree on the status */
    /* The current batch of this rank: answers that no message contains yet, or NULL; the window position of
     * the first such answer; and the time of the last message with answers. */
    struct answers *answers;
    int answered_first;
    double told;
    /* Other ranks: messages that arrived during work. */
    struct message *inbox[8];
    int inbox_count;
    int has_ended;
};

/* Allocates memory for all ranks; freed by scheduler_free(), also after a failure. */
clf_status scheduler_begin(struct scheduler *scheduler);
void scheduler_free(struct scheduler *scheduler);

/* Rank 0: processes all lines of a window. scheduler->lines holds the answers until the next call;
 * scheduler_attend() fills it during the call. */
clf_status scheduler_window(struct scheduler *scheduler, const struct window *windows);
/* Other ranks: process messages until the end message. */
clf_status scheduler_serve(struct scheduler *scheduler);
/* Ends communication; every rank calls it with its own status. All ranks return the first failure. */
clf_status scheduler_end(struct scheduler *scheduler, clf_status status);

/* For callbacks that poll for interruption: handles pending messages and new answers, and returns 1 if the
 * work should stop. */
int scheduler_attend(struct scheduler *scheduler);

/* Returns the number of lines that other ranks have processed. */
long long scheduler_lines_elsewhere(const struct scheduler *scheduler);

#endif
