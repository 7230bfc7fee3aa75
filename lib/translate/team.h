/* Translators that work on the lines of one call, each on its own device: a thread for each, and one queue of
 * lines that they take from as they have room. What a line becomes does not depend on who takes it, or beside
 * which others. */
#ifndef CLF_TRANSLATE_TEAM_H
#define CLF_TRANSLATE_TEAM_H

#include <pthread.h>

#include "base/task.h"
#include "translate/internal.h"

/* What is to be done: items, each by somebody. */
struct clf__queue {
    int *order;   /* (count) items in queue order */
    int *costs;   /* (items) what an item takes, in tokens */
    int *holders; /* (items) the member that has it, or one of clf__holder */
    int items;
    int count; /* of those that cost anything */
    int next;  /* no place in the order before this one waits */
    int done;
    int64_t left; /* costs of what is not done */
    /* Called on the calling thread when all items before `to` are done; items before `from` were reported
     * earlier. May be NULL. */
    clf_status (*passed)(void *context, int from, int to);
    int passed_count; /* number of reported items */
};
enum clf__holder { CLF__WAITS = -1, CLF__IS_DONE = -2 };

/* Creates a queue of the items with a cost above 0; other items are done. Groups of `group` consecutive items
 * are queued in order, the highest cost first within a group. The caller frees the queue, also after a
 * failure. */
clf_status clf__queue_create(struct clf__queue *out, const int *costs, int items, int group);
void clf__queue_free(struct clf__queue *queue);

struct clf__team;

/* A translator while it works in a team. */
struct clf__member {
    struct clf__team *team;
    struct clf_translator *translator;
    int index;
    struct clf__task task;
    int is_working;               /* its work has not returned */
    int64_t held, done;           /* costs of what it has, and did */
    double start, waits;          /* when it began, and how long it waited */
    struct clf_stage_times times; /* the translator's after its last step: others read these */
};

typedef clf_status clf__member_work(struct clf__member *member, void *context);

/* The team of one call. */
struct clf__team {
    struct clf_translator *first; /* whose callbacks are called, on the thread of the call */
    struct clf__queue *queue;
    clf__member_work *work;
    void *context;
    int is_alone; /* the one translator works on the caller's thread */
    struct clf__member *members;
    int count, working;
    int stops; /* everybody is to return */
    struct clf__failure failure;
    struct {
        const char *text; /* NULL: there is nothing to tell */
        size_t size;
        int line;
    } told;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* Lets each translator from the first one on, but those whose device failed, do `work` until the queue is
 * done. One whose device fails is left out from then on, with a logged warning, and what it had waits again;
 * where none is left, that is the failure. */
clf_status clf__team_run(struct clf_translator *first, struct clf__queue *queue, clf__member_work *work,
                         void *context);

/* Whether a failure lies with the device, so that another one may do what it did not. */
int clf__is_devices_fault(clf_status status);

/* How many translators from this one on have a device that works; the first of them, or this one where there
 * is none. */
int clf__team_count(const struct clf_translator *first);
struct clf_translator *clf__team_able(struct clf_translator *first);

/* Between these, for the functions of the second part below. */
void clf__member_lock(struct clf__member *member);
void clf__member_unlock(struct clf__member *member);

/* What a member does with the queue, while it is locked: */

/* The first place at or behind `from` whose item waits; queue.count where there is none. */
int clf__queue_waiting(const struct clf__queue *queue, int from);
/* Whether a member may take an item that costs so much beside others of `more`: as many as it does of what is
 * left while all the others do theirs, by how fast each was. The fastest one always may take one. */
int clf__member_may_take(const struct clf__member *member, int64_t more, int cost);
void clf__member_take(struct clf__member *member, int item);

/* And while it is not: */

/* An item is done. */
void clf__member_finish(struct clf__member *member, int item);
/* Waits until there may be something to take; 0 where nothing will be: all is done, or the team stops. */
int clf__member_wait(struct clf__member *member);
/* Takes one item, and waits for it: -1 where nothing will come. */
int clf__member_next(struct clf__member *member);

/* Tells the caller's `streamed`, on the caller's thread. */
void clf__team_tell(const struct clf_translator *translator, int line, const char *text, size_t size);

#endif
