#include "shared/deal.h"

#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "shared/command.h"
#include "text/batch.h"

enum {
    LEAST_LINES = 4, /* minimum number of lines per message */
    LETTERS_HELD =
        2, /* maximum number of unanswered messages per rank: a rank never waits for the next one */
    LONG_ROUNDS =
        4, /* remaining rounds: near the end, a second message would wait while other ranks are idle */
    BYTES_A_TOKEN = 4, /* estimate until the first answers */
    PAUSE_NANOSECONDS = 200000
};

static void pause_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NANOSECONDS}, NULL);
}

clf_status deal_begin(struct deal *deal)
{
    size_t size = (size_t)deal->ranks->size;
    deal->batch_cost = (size_t)deal->sides * BYTES_A_TOKEN * (size_t)deal->batch_tokens;
    CLF__TRY(clf__allocate(&deal->held, size, sizeof *deal->held));
    return clf__allocate(&deal->others, size, sizeof *deal->others);
}

static void drop_letters(struct deal *deal)
{
    for (int i = 0; i < deal->letter_count; i++) {
        clf__free(deal->letters[i]);
    }
    deal->letter_count = 0;
}

void deal_free(struct deal *deal)
{
    drop_letters(deal);
    for (int i = 0; i < deal->inbox_count; i++) {
        clf__free(deal->inbox[i]);
    }
    clf__free(deal->letters);
    clf__free(deal->order);
    clf__free(deal->lines);
    clf__free(deal->held);
    clf__free(deal->others);
    *deal = (struct deal){.ranks = NULL};
}

/* Frees the message in any case. */
static clf_status send(struct deal *deal, int to, struct letter *letter)
{
    if (letter->kind != LETTER_WORK && deal->ranks->rank > 0) {
        letter->times = *deal->times(deal->user);
    }
    clf_status status = deal->ranks->send(deal->ranks, to, letter, letter->size);
    clf__free(letter);
    return status;
}

static clf_status send_word(struct deal *deal, int to, enum letter_kind kind)
{
    struct letter *letter;
    CLF__TRY(letter_write_word(&letter, kind));
    return send(deal, to, letter);
}

/* *out is NULL if no message has arrived. */
static clf_status receive(struct deal *deal, struct letter **out, int *from)
{
    void *bytes;
    size_t size;
    *out = NULL;
    CLF__TRY(deal->ranks->receive(deal->ranks, from, &bytes, &size));
    *out = bytes;
    return CLF_OK;
}

static void fail(struct deal *deal, const struct clf__failure *failure)
{
    if (deal->failure.status == CLF_OK) {
        deal->failure = *failure;
    }
}

/* Works on a batch; `first` is the position of its first line in deal->order. *reply receives the answers. */
static clf_status work_on(struct deal *deal, const struct batch *batch, int first, struct letter **reply)
{
    struct answers answers;
    clf_status status = answers_begin(&answers, batch->count);
    if (status == CLF_OK) {
        status = deal->work(deal->user, batch, &answers);
    }
    if (status == CLF_OK) {
        status = letter_write_answers(reply, &answers, first);
    }
    answers_free(&answers);
    return status;
}

/* --- Rank 0. --- */

static size_t cost_of(const struct deal *deal, int line)
{
    size_t cost = 1;
    for (int side = 0; side < deal->sides; side++) {
        cost += deal->windows[side].lines[line].size;
    }
    return cost;
}

/* Estimates the batch cost from the answers; tokens of unfinished lines may be included. */
static void judge_batch_cost(struct deal *deal)
{
    int64_t tokens = deal->times(deal->user)->source_tokens;
    for (int rank = 1; rank < deal->ranks->size; rank++) {
        tokens += deal->others[rank].source_tokens;
    }
    if (tokens > 0) {
        deal->batch_cost =
            (size_t)((double)deal->answered_cost / (double)tokens * (double)deal->batch_tokens);
    }
}

/* Lines are identified by their position in deal->order. */
static clf_status keep_answers(struct deal *deal, struct letter *letter)
{
    CLF__TRY(clf__grow(&deal->letters, deal->letter_count, &deal->letter_capacity, sizeof(struct letter *)));
    deal->letters[deal->letter_count++] = letter;
    const char *bytes;
    const struct answer *answers = letter_answers(letter, &bytes);
    for (int i = 0; i < letter->count; i++) {
        deal->lines[deal->order[letter->first + i]] = (struct dealt){&answers[i], bytes};
        bytes += answers[i].text_size + answers[i].problem_size;
        deal->answered_cost += cost_of(deal, deal->order[letter->first + i]);
    }
    deal->answered += letter->count;
    judge_batch_cost(deal);
    return CLF_OK;
}

/* Frees or stores the message in any case. */
static clf_status read_letter(struct deal *deal, struct letter *letter, int from)
{
    clf_status status = CLF_OK;
    deal->others[from] = letter->times;
    if (letter->kind == LETTER_ANSWERS && !deal->has_ended) {
        deal->held[from]--;
        status = keep_answers(deal, letter);
        letter = status == CLF_OK ? NULL : letter;
    } else if (letter->kind == LETTER_FAILURE) {
        deal->is_theirs |= deal->failure.status == CLF_OK;
        fail(deal, letter_failure(letter));
    } else if (letter->kind == LETTER_BYE) {
        deal->said_bye++;
    }
    clf__free(letter);
    return status;
}

static clf_status read_letters(struct deal *deal, int *has_come)
{
    struct letter *letter;
    int from;
    for (;;) {
        CLF__TRY(receive(deal, &letter, &from));
        if (letter == NULL) {
            return CLF_OK;
        }
        *has_come = 1;
        CLF__TRY(read_letter(deal, letter, from));
    }
}

/* Half of an equal share of the remaining cost, so
 * that ranks of different speed end at the same time, but at least a full batch, because every decoder step
 * reads all weights. If the rest does not fill all devices it is divided equally. */
static size_t next_share(struct deal *deal)
{
    size_t size = (size_t)deal->ranks->size;
    if (size == 1) {
        return deal->left;
    }
    if (deal->parts == 0 && deal->left <= size * deal->batch_cost) {
        deal->parts = deal->ranks->size;
    }
    if (deal->parts == 0) {
        return clf__max_size(deal->left / (2 * size), deal->batch_cost);
    }
    size_t share = deal->left / (size_t)deal->parts;
    deal->parts -= deal->parts > 1;
    return share;
}

/* Takes the next lines. */
static clf_status take(struct deal *deal, struct batch *out)
{
    int count = 0, left = deal->count - deal->next;
    size_t share = next_share(deal), cost = 0;
    while (count < left && (count < LEAST_LINES || cost < share)) {
        cost += cost_of(deal, deal->order[deal->next + count++]);
    }
    CLF__TRY(batch_create(out, count, deal->sides));
    for (int i = 0; i < count; i++) {
        int line = deal->order[deal->next + i];
        out->numbers[i] = deal->windows[0].first_number + line;
        for (int side = 0; side < deal->sides; side++) {
            out->lines[side][i] = deal->windows[side].lines[line];
        }
    }
    deal->next += count;
    deal->left -= cost;
    return CLF_OK;
}

static clf_status deal_to(struct deal *deal, int rank)
{
    struct batch batch;
    struct letter *letter = NULL;
    int first = deal->next;
    clf_status status = take(deal, &batch);
    if (status == CLF_OK) {
        status = letter_write_batch(&letter, &batch, deal->sides, first);
    }
    batch_free(&batch);
    CLF__TRY(status);
    deal->held[rank]++;
    return send(deal, rank, letter);
}

static int letters_to_hold(const struct deal *deal)
{
    size_t round = (size_t)deal->ranks->size * deal->batch_cost;
    return deal->left > LONG_ROUNDS * round ? LETTERS_HELD : deal->next < deal->count;
}

/* Ranks with the fewest unanswered messages first. */
static clf_status hand_out(struct deal *deal)
{
    for (int held = 0; held < LETTERS_HELD; held++) {
        for (int rank = 1; rank < deal->ranks->size; rank++) {
            if (held < letters_to_hold(deal) && deal->held[rank] == held) {
                CLF__TRY(deal_to(deal, rank));
            }
        }
    }
    return CLF_OK;
}

/* Takes the share of rank 0 before sending others: a single line is then not sent to another rank. */
static clf_status work_here(struct deal *deal)
{
    struct batch batch;
    struct letter *letter = NULL;
    int first = deal->next;
    clf_status status = take(deal, &batch);
    if (status == CLF_OK) {
        status = hand_out(deal);
    }
    if (status == CLF_OK) {
        status = work_on(deal, &batch, first, &letter);
    }
    if (status == CLF_OK && (status = keep_answers(deal, letter)) != CLF_OK) {
        clf__free(letter);
    }
    batch_free(&batch);
    return deal->failure.status != CLF_OK ? clf__failure_again(&deal->failure) : status;
}

static clf_status sort(struct deal *deal)
{
    int *costs, sorted;
    if (deal->ranks->size == 1) { /* the translator sorts lines by their number of tokens */
        return CLF_OK;
    }
    CLF__TRY(clf__allocate(&costs, (size_t)deal->count, sizeof *costs));
    for (int i = 0; i < deal->count; i++) {
        costs[i] = (int)cost_of(deal, i);
    }
    clf_status status = clf__lines_sort(deal->order, &sorted, costs, deal->count);
    clf__free(costs);
    return status;
}

static clf_status begin_window(struct deal *deal, const struct window *windows)
{
    drop_letters(deal);
    deal->windows = windows;
    deal->count = windows[0].count;
    deal->next = deal->answered = deal->parts = 0;
    deal->left = 0;
    if (deal->count > deal->capacity) {
        clf__free(deal->order);
        clf__free(deal->lines);
        deal->order = NULL;
        deal->lines = NULL;
        deal->capacity = 0;
        CLF__TRY(clf__allocate(&deal->order, (size_t)deal->count, sizeof *deal->order));
        CLF__TRY(clf__allocate(&deal->lines, (size_t)deal->count, sizeof *deal->lines));
        deal->capacity = deal->count;
    }
    for (int i = 0; i < deal->count; i++) {
        deal->order[i] = i;
        deal->left += cost_of(deal, i);
    }
    return sort(deal);
}

clf_status deal_window(struct deal *deal, const struct window *windows)
{
    CLF__TRY(begin_window(deal, windows));
    while (deal->answered < deal->count) {
        int has_come = 0;
        CLF__TRY(deal->next < deal->count ? work_here(deal) : CLF_OK);
        CLF__TRY(read_letters(deal, &has_come));
        CLF__TRY(clf__failure_again(&deal->failure));
        if (deal->said_bye > 0) { /* the rank had no memory to send a reason */
            return clf__fail(CLF_OUT_OF_MEMORY,
                             "another rank ended without answers; it is probably out of memory");
        }
        if (signals_interrupted(NULL)) {
            return clf__fail(CLF_INTERRUPTED, "interrupted");
        }
        if (!has_come && deal->answered < deal->count) {
            pause_a_little();
        }
    }
    return CLF_OK;
}

static clf_status attend_first(struct deal *deal)
{
    int has_come = 0;
    CLF__TRY(read_letters(deal, &has_come));
    return has_come && deal->failure.status == CLF_OK ? hand_out(deal) : CLF_OK;
}

/* Waits until all other ranks have sent their last message. */
static clf_status dismiss(struct deal *deal)
{
    int has_come;
    deal->has_ended = 1;
    for (int rank = 1; rank < deal->ranks->size; rank++) {
        CLF__TRY(send_word(deal, rank, LETTER_END));
    }
    while (deal->said_bye < deal->ranks->size - 1) {
        has_come = 0;
        CLF__TRY(read_letters(deal, &has_come));
        if (!has_come) {
            pause_a_little();
        }
    }
    return CLF_OK;
}

/* --- The others. --- */

static clf_status look(struct deal *deal)
{
    enum { MOST = sizeof deal->inbox / sizeof *deal->inbox };
    struct letter *letter;
    int from;
    while (deal->inbox_count < MOST) {
        CLF__TRY(receive(deal, &letter, &from));
        if (letter == NULL) {
            break;
        }
        deal->has_ended |= letter->kind == LETTER_END;
        deal->inbox[deal->inbox_count++] = letter;
    }
    return CLF_OK;
}

static struct letter *next_letter(struct deal *deal)
{
    struct letter *letter = deal->inbox_count > 0 ? deal->inbox[0] : NULL;
    for (int i = 1; i < deal->inbox_count; i++) {
        deal->inbox[i - 1] = deal->inbox[i];
    }
    deal->inbox_count -= letter != NULL;
    return letter;
}

static clf_status answer(struct deal *deal, struct letter *letter)
{
    struct batch batch;
    struct letter *reply = NULL;
    clf_status status = letter_read_batch(&batch, letter);
    if (status == CLF_OK) {
        status = work_on(deal, &batch, letter->first, &reply);
    }
    batch_free(&batch);
    CLF__TRY(clf__failure_again(&deal->failure));
    CLF__TRY(status);
    return send(deal, 0, reply);
}

/* The status of this rank before the end message. */
static clf_status work_until_end(struct deal *deal)
{
    while (!deal->has_ended) {
        CLF__TRY(look(deal));
        struct letter *letter = deal->has_ended ? NULL : next_letter(deal);
        if (letter != NULL) {
            clf_status status = answer(deal, letter);
            clf__free(letter);
            CLF__TRY(deal->has_ended ? CLF_OK : status);
        } else if (!deal->has_ended) {
            pause_a_little();
        }
        if (signals_interrupted(NULL)) {
            return clf__fail(CLF_INTERRUPTED, "interrupted");
        }
    }
    return CLF_OK;
}

/* Sends the reason of a failure and waits for the end message. */
static clf_status say_failure(struct deal *deal, clf_status status)
{
    struct clf__failure failure = clf__failure_keep(status);
    struct letter *letter;
    CLF__TRY(letter_write_failure(&letter, &failure));
    CLF__TRY(send(deal, 0, letter));
    while (!deal->has_ended) {
        CLF__TRY(look(deal));
        clf__free(deal->has_ended ? NULL : next_letter(deal));
        pause_a_little();
    }
    return clf__failure_again(&failure);
}

clf_status deal_serve(struct deal *deal)
{
    clf_status status = work_until_end(deal);
    if (status != CLF_OK && status != CLF_NETWORK) {
        status = say_failure(deal, status);
    }
    struct clf__failure failure = clf__failure_keep(status);
    if (status != CLF_NETWORK) {
        CLF__TRY(send_word(deal, 0, LETTER_BYE));
    }
    return clf__failure_again(&failure);
}

/* --- All. --- */

int deal_attend(struct deal *deal)
{
    if (deal->ranks->size > 1 && deal->failure.status == CLF_OK) {
        clf_status status = deal->ranks->rank == 0 ? attend_first(deal) : look(deal);
        if (status != CLF_OK) {
            struct clf__failure failure = clf__failure_keep(status);
            fail(deal, &failure);
        }
    }
    return deal->failure.status != CLF_OK || deal->has_ended;
}

clf_status deal_end(struct deal *deal, clf_status status)
{
    struct clf__failure own = clf__failure_keep(status);
    if (deal->ranks->size > 1 && deal->ranks->rank == 0 && status != CLF_NETWORK) {
        CLF__TRY(dismiss(deal));
    }
    return deal->ranks->agree(deal->ranks, deal->is_theirs ? CLF_OK : clf__failure_again(&own));
}

long long deal_lines_elsewhere(const struct deal *deal)
{
    long long lines = 0;
    for (int rank = 1; deal->others != NULL && rank < deal->ranks->size; rank++) {
        lines += deal->others[rank].lines;
    }
    return lines;
}
