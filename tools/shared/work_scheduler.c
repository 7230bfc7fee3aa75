#include "shared/work_scheduler.h"

#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "shared/command.h"
#include "shared/progress.h"

enum {
    LEAST_LINES = 4,   /* minimum number of lines per message */
    MESSAGES_HELD = 2, /* maximum number of unanswered messages per rank; with 2, a rank does not wait for its
                          next message */
    LONG_ROUNDS =
        4, /* with fewer remaining rounds, a rank gets no second message while other ranks may be idle */
    BYTES_A_TOKEN = 4, /* estimate until the first answers arrive */
    PAUSE_NANOSECONDS = 200000
};
#define TELL_SECONDS 0.1 /* minimum time between two messages with answers to a batch */

static void pause_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NANOSECONDS}, NULL);
}

clf_status scheduler_begin(struct scheduler *scheduler)
{
    size_t size = (size_t)scheduler->ranks->size;
    scheduler->batch_cost = (size_t)scheduler->sides * BYTES_A_TOKEN * (size_t)scheduler->batch_tokens;
    CLF__TRY(clf__allocate(&scheduler->held, size, sizeof *scheduler->held));
    return clf__allocate(&scheduler->others, size, sizeof *scheduler->others);
}

static void drop_messages(struct scheduler *scheduler)
{
    for (int i = 0; i < scheduler->message_count; i++) {
        clf__free(scheduler->messages[i]);
    }
    scheduler->message_count = 0;
}

void scheduler_free(struct scheduler *scheduler)
{
    drop_messages(scheduler);
    for (int i = 0; i < scheduler->inbox_count; i++) {
        clf__free(scheduler->inbox[i]);
    }
    clf__free(scheduler->messages);
    clf__free(scheduler->lines);
    clf__free(scheduler->held);
    clf__free(scheduler->others);
    *scheduler = (struct scheduler){.ranks = NULL};
}

/* Sends a message and frees it, even on failure. */
static clf_status send(struct scheduler *scheduler, int to, struct message *message)
{
    if (message->kind != MESSAGE_WORK && scheduler->ranks->rank > 0) {
        message->times = *scheduler->times(scheduler->user);
    }
    clf_status status = scheduler->ranks->send(scheduler->ranks, to, message, message->size);
    clf__free(message);
    return status;
}

static clf_status send_word(struct scheduler *scheduler, int to, enum message_kind kind)
{
    struct message *message;
    CLF__TRY(message_write_word(&message, kind));
    return send(scheduler, to, message);
}

/* Receives a message; *out is NULL if none has arrived. */
static clf_status receive(struct scheduler *scheduler, struct message **out, int *from)
{
    void *bytes;
    size_t size;
    *out = NULL;
    CLF__TRY(scheduler->ranks->receive(scheduler->ranks, from, &bytes, &size));
    *out = bytes;
    return CLF_OK;
}

static void fail(struct scheduler *scheduler, const struct clf__failure *failure)
{
    if (scheduler->failure.status == CLF_OK) {
        scheduler->failure = *failure;
    }
}

/* --- Rank 0. --- */

static size_t cost_of(const struct scheduler *scheduler, int line)
{
    size_t cost = 1;
    for (int side = 0; side < scheduler->sides; side++) {
        cost += scheduler->windows[side].lines[line].size;
    }
    return cost;
}

/* Estimates the batch cost from the answers; tokens of unfinished lines may be included. */
static void judge_batch_cost(struct scheduler *scheduler)
{
    int64_t tokens = scheduler->times(scheduler->user)->source_tokens;
    for (int rank = 1; rank < scheduler->ranks->size; rank++) {
        tokens += scheduler->others[rank].source_tokens;
    }
    if (tokens > 0) {
        scheduler->batch_cost =
            (size_t)((double)scheduler->answered_cost / (double)tokens * (double)scheduler->batch_tokens);
    }
}

static clf_status keep_answers(struct scheduler *scheduler, struct message *message)
{
    CLF__TRY(clf__grow(&scheduler->messages, scheduler->message_count, &scheduler->message_capacity,
                       sizeof(struct message *)));
    scheduler->messages[scheduler->message_count++] = message;
    const char *bytes;
    const struct answer *answers = message_answers(message, &bytes);
    for (int i = 0; i < message->count; i++) {
        scheduler->lines[message->first + i] = (struct answered_line){&answers[i], bytes};
        bytes += answers[i].text_size + answers[i].problem_size;
        scheduler->answered_cost += cost_of(scheduler, message->first + i);
    }
    scheduler->answered += message->count;
    if (message->is_last) { /* before the last answer, the tokens include those of unanswered lines */
        judge_batch_cost(scheduler);
    }
    return CLF_OK;
}

/* Handles a message. Frees or stores it, even on failure. */
static clf_status read_message(struct scheduler *scheduler, struct message *message, int from)
{
    clf_status status = CLF_OK;
    scheduler->others[from] = message->times;
    if (message->kind == MESSAGE_ANSWERS && !scheduler->has_ended) {
        scheduler->held[from] -= message->is_last;
        status = keep_answers(scheduler, message);
        message = status == CLF_OK ? NULL : message;
    } else if (message->kind == MESSAGE_FAILURE) {
        scheduler->is_theirs |= scheduler->failure.status == CLF_OK;
        fail(scheduler, message_failure(message));
    } else if (message->kind == MESSAGE_BYE) {
        scheduler->said_bye++;
    }
    clf__free(message);
    return status;
}

static clf_status read_messages(struct scheduler *scheduler, int *has_come)
{
    struct message *message;
    int from;
    for (;;) {
        CLF__TRY(receive(scheduler, &message, &from));
        if (message == NULL) {
            return CLF_OK;
        }
        *has_come = 1;
        CLF__TRY(read_message(scheduler, message, from));
    }
}

/* Sends the new answers of the current batch to rank 0. */
static clf_status pass_answers(struct scheduler *scheduler, int is_last)
{
    struct message *message;
    CLF__TRY(message_write_answers(&message, scheduler->answers, scheduler->answered_first, is_last));
    scheduler->answered_first += scheduler->answers->count;
    scheduler->told = seconds_now();
    if (scheduler->ranks->rank > 0) {
        CLF__TRY(send(scheduler, 0, message));
    } else {
        clf_status status = keep_answers(scheduler, message);
        if (status != CLF_OK) {
            clf__free(message);
            return status;
        }
    }
    return answers_restart(scheduler->answers);
}

/* Works on a batch; `first` is the position of its first line in the window. */
static clf_status work_on(struct scheduler *scheduler, const struct batch *batch, int first)
{
    struct answers answers;
    clf_status status = answers_begin(&answers, batch->count);
    scheduler->answers = &answers;
    scheduler->answered_first = first;
    if (status == CLF_OK) {
        status = scheduler->work(scheduler->user, batch, &answers);
    }
    status = scheduler->failure.status != CLF_OK ? clf__failure_again(&scheduler->failure) : status;
    if (status == CLF_OK) {
        status = pass_answers(scheduler, 1);
    }
    scheduler->answers = NULL;
    answers_free(&answers);
    return status;
}

/* Returns half of an equal share of the remaining cost, so that ranks of different speed finish at the same
 * time, but at least a full batch, because every decoding step reads all weights. A remainder that does not
 * fill all devices is divided equally. A single rank takes all lines. */
static size_t next_share(struct scheduler *scheduler)
{
    size_t size = (size_t)scheduler->ranks->size;
    if (size == 1) {
        return scheduler->left;
    }
    if (scheduler->parts == 0 && scheduler->left <= size * scheduler->batch_cost) {
        scheduler->parts = scheduler->ranks->size;
    }
    if (scheduler->parts == 0) {
        return clf__max_size(scheduler->left / (2 * size), scheduler->batch_cost);
    }
    size_t share = scheduler->left / (size_t)scheduler->parts;
    scheduler->parts -= scheduler->parts > 1;
    return share;
}

/* Takes the next lines of the window, up to the cost of next_share(). */
static clf_status take(struct scheduler *scheduler, struct batch *out)
{
    int count = 0, left = scheduler->count - scheduler->next;
    size_t share = next_share(scheduler), cost = 0;
    while (count < left && (count < LEAST_LINES || cost < share)) {
        cost += cost_of(scheduler, scheduler->next + count++);
    }
    CLF__TRY(batch_create(out, count, scheduler->sides));
    for (int i = 0; i < count; i++) {
        int line = scheduler->next + i;
        out->numbers[i] = scheduler->windows[0].first_number + line;
        for (int side = 0; side < scheduler->sides; side++) {
            out->lines[side][i] = scheduler->windows[side].lines[line];
        }
    }
    scheduler->next += count;
    scheduler->left -= cost;
    return CLF_OK;
}

static clf_status send_batch(struct scheduler *scheduler, int rank)
{
    struct batch batch;
    struct message *message = NULL;
    int first = scheduler->next;
    clf_status status = take(scheduler, &batch);
    if (status == CLF_OK) {
        status = message_write_batch(&message, &batch, scheduler->sides, first);
    }
    batch_free(&batch);
    CLF__TRY(status);
    scheduler->held[rank]++;
    return send(scheduler, rank, message);
}

static int most_held(const struct scheduler *scheduler)
{
    size_t round = (size_t)scheduler->ranks->size * scheduler->batch_cost;
    return scheduler->left > LONG_ROUNDS * round ? MESSAGES_HELD : scheduler->next < scheduler->count;
}

/* Sends work to other ranks, first to those with the fewest unanswered messages. */
static clf_status hand_out(struct scheduler *scheduler)
{
    for (int held = 0; held < MESSAGES_HELD; held++) {
        for (int rank = 1; rank < scheduler->ranks->size; rank++) {
            if (held < most_held(scheduler) && scheduler->held[rank] == held) {
                CLF__TRY(send_batch(scheduler, rank));
            }
        }
    }
    return CLF_OK;
}

/* Takes the share of rank 0 before sending the others, so that a single line is not sent to another rank. */
static clf_status work_here(struct scheduler *scheduler)
{
    struct batch batch;
    int first = scheduler->next;
    clf_status status = take(scheduler, &batch);
    if (status == CLF_OK) {
        status = hand_out(scheduler);
    }
    if (status == CLF_OK) {
        status = work_on(scheduler, &batch, first);
    }
    batch_free(&batch);
    return status;
}

static clf_status begin_window(struct scheduler *scheduler, const struct window *windows)
{
    drop_messages(scheduler);
    scheduler->windows = windows;
    scheduler->count = windows[0].count;
    scheduler->next = scheduler->answered = scheduler->parts = 0;
    scheduler->left = 0;
    if (scheduler->count > scheduler->capacity) {
        clf__free(scheduler->lines);
        scheduler->lines = NULL;
        scheduler->capacity = 0;
        CLF__TRY(clf__allocate(&scheduler->lines, (size_t)scheduler->count, sizeof *scheduler->lines));
        scheduler->capacity = scheduler->count;
    }
    for (int i = 0; i < scheduler->count; i++) {
        scheduler->lines[i] = (struct answered_line){.answer = NULL};
        scheduler->left += cost_of(scheduler, i);
    }
    return CLF_OK;
}

clf_status scheduler_window(struct scheduler *scheduler, const struct window *windows)
{
    CLF__TRY(begin_window(scheduler, windows));
    while (scheduler->answered < scheduler->count) {
        int has_come = 0;
        CLF__TRY(scheduler->next < scheduler->count ? work_here(scheduler) : CLF_OK);
        CLF__TRY(read_messages(scheduler, &has_come));
        CLF__TRY(clf__failure_again(&scheduler->failure));
        if (scheduler->said_bye > 0) { /* the rank had no memory for a failure message */
            return clf__fail(
                CLF_OUT_OF_MEMORY,
                "another rank exited without returning its results; it probably ran out of memory");
        }
        if (signals_interrupted(NULL)) {
            return clf__fail(CLF_INTERRUPTED, "interrupted");
        }
        if (!has_come && scheduler->answered < scheduler->count) {
            pause_a_little();
        }
    }
    return CLF_OK;
}

static clf_status attend_first(struct scheduler *scheduler)
{
    int has_come = 0;
    CLF__TRY(read_messages(scheduler, &has_come));
    return has_come && scheduler->failure.status == CLF_OK ? hand_out(scheduler) : CLF_OK;
}

/* Waits until all other ranks have sent their last message. */
static clf_status dismiss(struct scheduler *scheduler)
{
    int has_come;
    scheduler->has_ended = 1;
    for (int rank = 1; rank < scheduler->ranks->size; rank++) {
        CLF__TRY(send_word(scheduler, rank, MESSAGE_END));
    }
    while (scheduler->said_bye < scheduler->ranks->size - 1) {
        has_come = 0;
        CLF__TRY(read_messages(scheduler, &has_come));
        if (!has_come) {
            pause_a_little();
        }
    }
    return CLF_OK;
}

/* --- Ranks other than 0. --- */

static clf_status look(struct scheduler *scheduler)
{
    enum { MOST = sizeof scheduler->inbox / sizeof *scheduler->inbox };
    struct message *message;
    int from;
    while (scheduler->inbox_count < MOST) {
        CLF__TRY(receive(scheduler, &message, &from));
        if (message == NULL) {
            break;
        }
        scheduler->has_ended |= message->kind == MESSAGE_END;
        scheduler->inbox[scheduler->inbox_count++] = message;
    }
    return CLF_OK;
}

static struct message *next_message(struct scheduler *scheduler)
{
    struct message *message = scheduler->inbox_count > 0 ? scheduler->inbox[0] : NULL;
    for (int i = 1; i < scheduler->inbox_count; i++) {
        scheduler->inbox[i - 1] = scheduler->inbox[i];
    }
    scheduler->inbox_count -= message != NULL;
    return message;
}

static clf_status answer(struct scheduler *scheduler, struct message *message)
{
    struct batch batch;
    clf_status status = message_read_batch(&batch, message);
    if (status == CLF_OK) {
        status = work_on(scheduler, &batch, message->first);
    }
    batch_free(&batch);
    return status;
}

/* Processes messages until the end message, and returns the status of this rank. */
static clf_status work_until_end(struct scheduler *scheduler)
{
    while (!scheduler->has_ended) {
        CLF__TRY(look(scheduler));
        struct message *message = scheduler->has_ended ? NULL : next_message(scheduler);
        if (message != NULL) {
            clf_status status = answer(scheduler, message);
            clf__free(message);
            CLF__TRY(scheduler->has_ended ? CLF_OK : status);
        } else if (!scheduler->has_ended) {
            pause_a_little();
        }
        if (signals_interrupted(NULL)) {
            return clf__fail(CLF_INTERRUPTED, "interrupted");
        }
    }
    return CLF_OK;
}

/* Sends the reason of a failure and waits for the end message. */
static clf_status send_failure(struct scheduler *scheduler, clf_status status)
{
    struct clf__failure failure = clf__failure_keep(status);
    struct message *message;
    CLF__TRY(message_write_failure(&message, &failure));
    CLF__TRY(send(scheduler, 0, message));
    while (!scheduler->has_ended) {
        CLF__TRY(look(scheduler));
        clf__free(scheduler->has_ended ? NULL : next_message(scheduler));
        pause_a_little();
    }
    return clf__failure_again(&failure);
}

clf_status scheduler_serve(struct scheduler *scheduler)
{
    clf_status status = work_until_end(scheduler);
    if (status != CLF_OK && status != CLF_NETWORK) {
        status = send_failure(scheduler, status);
    }
    struct clf__failure failure = clf__failure_keep(status);
    if (status != CLF_NETWORK) {
        CLF__TRY(send_word(scheduler, 0, MESSAGE_BYE));
    }
    return clf__failure_again(&failure);
}

/* --- All ranks. --- */

/* Passes new answers on: on rank 0 at once, on other ranks at most every TELL_SECONDS. */
static clf_status pass_some(struct scheduler *scheduler)
{
    int is_due = scheduler->ranks->rank == 0 || seconds_now() - scheduler->told >= TELL_SECONDS;
    return is_due && scheduler->answers != NULL && scheduler->answers->count > 0 ? pass_answers(scheduler, 0)
                                                                                 : CLF_OK;
}

int scheduler_attend(struct scheduler *scheduler)
{
    if (scheduler->failure.status == CLF_OK) {
        clf_status status = CLF_OK;
        if (scheduler->ranks->size > 1) {
            status = scheduler->ranks->rank == 0 ? attend_first(scheduler) : look(scheduler);
        }
        status = status == CLF_OK ? pass_some(scheduler) : status;
        if (status != CLF_OK) {
            struct clf__failure failure = clf__failure_keep(status);
            fail(scheduler, &failure);
        }
    }
    return scheduler->failure.status != CLF_OK || scheduler->has_ended;
}

clf_status scheduler_end(struct scheduler *scheduler, clf_status status)
{
    struct clf__failure own = clf__failure_keep(status);
    if (scheduler->ranks->size > 1 && scheduler->ranks->rank == 0 && status != CLF_NETWORK) {
        CLF__TRY(dismiss(scheduler));
    }
    return scheduler->ranks->agree(scheduler->ranks,
                                   scheduler->is_theirs ? CLF_OK : clf__failure_again(&own));
}

long long scheduler_lines_elsewhere(const struct scheduler *scheduler)
{
    long long lines = 0;
    for (int rank = 1; scheduler->others != NULL && rank < scheduler->ranks->size; rank++) {
        lines += scheduler->others[rank].lines;
    }
    return lines;
}
