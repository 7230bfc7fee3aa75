#include "translate/team.h"

#include <time.h>

#include "base/larger.h"
#include "base/log.h"
#include "base/memory.h"

/* How often somebody who waits looks again: at an interrupt, or who is the fastest now. */
enum { LOOK_NANOSECONDS = 20000000, SECOND_NANOSECONDS = 1000000000 };

static clf_status sort_groups(struct clf__queue *queue, int group)
{
    for (int first = 0; first < queue->items; first += group) {
        int *order = queue->order + queue->count, count;
        CLF__TRY(
            clf__lines_sort(order, &count, queue->costs + first, clf__smaller(group, queue->items - first)));
        for (int i = 0; i < count; i++) {
            order[i] += first;
        }
        queue->count += count;
    }
    return CLF_OK;
}

clf_status clf__queue_create(struct clf__queue *out, const int *costs, int items, int group)
{
    *out = (struct clf__queue){.items = items};
    CLF__TRY(clf__allocate(&out->order, (size_t)items, sizeof *out->order));
    CLF__TRY(clf__allocate(&out->costs, (size_t)items, sizeof *out->costs));
    CLF__TRY(clf__allocate(&out->holders, (size_t)items, sizeof *out->holders));
    for (int i = 0; i < items; i++) {
        out->costs[i] = costs[i];
        out->holders[i] = costs[i] > 0 ? CLF__WAITS : CLF__IS_DONE;
        out->left += costs[i];
    }
    return sort_groups(out, group);
}

void clf__queue_free(struct clf__queue *queue)
{
    clf__free(queue->order);
    clf__free(queue->costs);
    clf__free(queue->holders);
    *queue = (struct clf__queue){.count = 0};
}

int clf__queue_waiting(const struct clf__queue *queue, int from)
{
    int at = from > queue->next ? from : queue->next;
    while (at < queue->count && queue->holders[queue->order[at]] != CLF__WAITS) {
        at++;
    }
    return at;
}

void clf__member_lock(struct clf__member *member)
{
    pthread_mutex_lock(&member->team->lock);
}

void clf__member_unlock(struct clf__member *member)
{
    pthread_mutex_unlock(&member->team->lock);
}

static void wait_a_while(struct clf__team *team)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_NANOSECONDS;
    if (until.tv_nsec >= SECOND_NANOSECONDS) {
        until.tv_nsec -= SECOND_NANOSECONDS;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&team->changed, &team->lock, &until);
}

/* Tokens a second, of this call and, for the half of it, of each one before; 0: not known yet. */
static double pace_of(const struct clf__member *member)
{
    const struct clf__pace *before = &member->translator->pace;
    double done = before->done + (double)member->done;
    double seconds = before->seconds + (clf__seconds() - member->start - member->waits);
    return done > 0 && seconds > 0 ? done / seconds : 0;
}

int clf__member_may_take(const struct clf__member *member, int64_t more, int cost)
{
    const struct clf__team *team = member->team;
    double fastest = 0, all = 0, own = 0;
    if (team->is_alone) {
        return 1;
    }
    for (int i = 0; i < team->count; i++) {
        double pace = team->members[i].is_working ? pace_of(&team->members[i]) : 0;
        fastest = pace > fastest ? pace : fastest;
    }
    fastest = fastest > 0 ? fastest : 1; /* nobody did anything yet: all are equal */
    for (int i = 0; i < team->count; i++) {
        if (team->members[i].is_working) {
            double pace = pace_of(&team->members[i]);
            pace = pace > 0 ? pace : fastest; /* who did nothing yet may be as good as any */
            all += pace;
            own = i == member->index ? pace : own;
        }
    }
    int64_t held = member->held + more;
    int is_next = held == 0 && own >= fastest;
    return is_next || (double)held + 0.5 * cost <= (double)team->queue->left * own / all;
}

void clf__member_take(struct clf__member *member, int item)
{
    struct clf__queue *queue = member->team->queue;
    queue->holders[item] = member->index;
    queue->next = clf__queue_waiting(queue, queue->next);
    member->held += queue->costs[item];
}

void clf__member_finish(struct clf__member *member, int item)
{
    struct clf__queue *queue = member->team->queue;
    clf__member_lock(member);
    queue->holders[item] = CLF__IS_DONE;
    queue->done++;
    queue->left -= queue->costs[item];
    member->held -= queue->costs[item];
    member->done += queue->costs[item];
    pthread_cond_broadcast(&member->team->changed);
    clf__member_unlock(member);
}

int clf__member_wait(struct clf__member *member)
{
    struct clf__team *team = member->team;
    double start = clf__seconds();
    clf__member_lock(member);
    int goes_on = !team->stops && team->queue->done < team->queue->count;
    if (goes_on && !team->is_alone) {
        wait_a_while(team);
    }
    member->waits += clf__seconds() - start;
    clf__member_unlock(member);
    return goes_on;
}

/* -1: there is nothing that this member may take. */
static int take_one(struct clf__member *member)
{
    struct clf__queue *queue = member->team->queue;
    int item = -1;
    clf__member_lock(member);
    int place = clf__queue_waiting(queue, 0);
    if (place < queue->count && clf__member_may_take(member, 0, queue->costs[queue->order[place]])) {
        item = queue->order[place];
        clf__member_take(member, item);
    }
    clf__member_unlock(member);
    return item;
}

int clf__member_next(struct clf__member *member)
{
    for (;;) {
        int item = take_one(member);
        if (item >= 0 || !clf__member_wait(member)) {
            return item;
        }
    }
}

/* --- The call's own thread: it waits, and does what its caller must see there. --- */

clf_status clf__translator_ask(const struct clf_translator *translator)
{
    const struct clf_translate_options *options = &translator->options;
    int stops = options->interrupted != NULL && options->interrupted(options->user);
    return stops ? clf__fail(CLF_INTERRUPTED, "interrupted") : CLF_OK;
}

/* Reports newly finished items to queue->passed. */
static clf_status pass(struct clf__team *team)
{
    struct clf__queue *queue = team->queue;
    if (queue->passed == NULL) {
        return CLF_OK;
    }
    pthread_mutex_lock(&team->lock);
    int from = queue->passed_count, to = from;
    while (to < queue->items && queue->holders[to] == CLF__IS_DONE) {
        to++;
    }
    queue->passed_count = to;
    pthread_mutex_unlock(&team->lock);
    return to > from ? queue->passed(team->context, from, to) : CLF_OK;
}

void clf__team_tell(const struct clf_translator *translator, int line, const char *text, size_t size)
{
    struct clf__member *member = translator->member;
    struct clf__team *team = member->team;
    if (team->is_alone) {
        translator->options.streamed(translator->options.user, line, text, size);
        return;
    }
    clf__member_lock(member);
    while (team->told.text != NULL) {
        pthread_cond_wait(&team->changed, &team->lock);
    }
    team->told.text = text;
    team->told.size = size;
    team->told.line = line;
    pthread_cond_broadcast(&team->changed);
    while (team->told.text == text) {
        pthread_cond_wait(&team->changed, &team->lock);
    }
    clf__member_unlock(member);
}

static void tell(struct clf__team *team)
{
    const struct clf_translate_options *options = &team->first->options;
    pthread_mutex_unlock(&team->lock);
    options->streamed(options->user, team->told.line, team->told.text, team->told.size);
    pthread_mutex_lock(&team->lock);
    team->told.text = NULL;
    pthread_cond_broadcast(&team->changed);
}

/* The first failure counts: those that come of it say nothing. */
static void stop(struct clf__team *team, const struct clf__failure *failure)
{
    if (!team->stops) {
        team->failure = *failure;
    }
    team->stops = 1;
    pthread_cond_broadcast(&team->changed);
}

void clf__times_add(struct clf_stage_times *sum, const struct clf_stage_times *times)
{
    sum->tokenize += times->tokenize;
    sum->encode += times->encode;
    sum->decode += times->decode;
    sum->search += times->search;
    sum->detokenize += times->detokenize;
    sum->lines += times->lines;
    sum->source_tokens += times->source_tokens;
    sum->target_tokens += times->target_tokens;
    sum->steps += times->steps;
    sum->step_rows += times->step_rows;
    sum->batches += times->batches;
}

void clf__translator_sum_times(struct clf_translator *first)
{
    first->all_times = (struct clf_stage_times){.lines = 0};
    for (const struct clf_translator *each = first; each != NULL; each = each->beside) {
        clf__times_add(&first->all_times, each->member != NULL ? &each->member->times : &each->times);
    }
}

static void ask(struct clf__team *team)
{
    clf__translator_sum_times(team->first);
    pthread_mutex_unlock(&team->lock);
    clf_status status = pass(team);
    status = status == CLF_OK ? clf__translator_ask(team->first) : status;
    struct clf__failure answer = clf__failure_keep(status);
    pthread_mutex_lock(&team->lock);
    if (answer.status != CLF_OK) {
        stop(team, &answer);
    }
}

static void serve(struct clf__team *team)
{
    pthread_mutex_lock(&team->lock);
    while (team->working > 0) {
        if (team->told.text != NULL) {
            tell(team);
            continue;
        }
        if (!team->stops) {
            ask(team);
        }
        if (team->working > 0 && team->told.text == NULL) {
            wait_a_while(team);
        }
    }
    pthread_mutex_unlock(&team->lock);
}

clf_status clf__translator_go_on(const struct clf_translator *translator)
{
    struct clf__member *member = translator->member;
    if (member == NULL || member->team->is_alone) {
        CLF__TRY(member != NULL ? pass(member->team) : CLF_OK);
        return clf__translator_ask(translator);
    }
    clf__member_lock(member);
    member->times = translator->times;
    int stops = member->team->stops;
    clf__member_unlock(member);
    return stops ? clf__fail(CLF_INTERRUPTED, "interrupted") : CLF_OK;
}

/* --- Members. --- */

int clf__team_count(const struct clf_translator *first)
{
    int count = 0;
    for (; first != NULL; first = first->beside) {
        count += !first->model->is_lost;
    }
    return count;
}

struct clf_translator *clf__team_able(struct clf_translator *first)
{
    struct clf_translator *able = first;
    while (able != NULL && able->model->is_lost) {
        able = able->beside;
    }
    return able != NULL ? able : first;
}

int clf__is_devices_fault(clf_status status)
{
    return status == CLF_DEVICE || status == CLF_DEVICE_MEMORY || status == CLF_BUILD;
}

/* What a member had waits again. */
static void give_back(struct clf__member *member)
{
    struct clf__queue *queue = member->team->queue;
    for (int place = queue->count - 1; place >= 0; place--) {
        if (queue->holders[queue->order[place]] == member->index) {
            queue->holders[queue->order[place]] = CLF__WAITS;
            queue->next = place < queue->next ? place : queue->next;
        }
    }
    member->held = 0;
}

/* Returns whether its failure is told by a warning: others go on. */
static int leave(struct clf__member *member, const struct clf__failure *failure)
{
    struct clf__team *team = member->team;
    struct clf_translator *translator = member->translator;
    int is_lost = clf__is_devices_fault(failure->status) && !team->is_alone && !team->stops;
    give_back(member);
    if (is_lost) {
        translator->model->is_lost = 1;
        is_lost = clf__team_count(team->first) > 0;
    }
    if (failure->status != CLF_OK && !is_lost) {
        stop(team, failure);
    }
    translator->pace.done = 0.5 * (translator->pace.done + (double)member->done);
    translator->pace.seconds =
        0.5 * (translator->pace.seconds + clf__seconds() - member->start - member->waits);
    member->is_working = 0;
    member->times = translator->times;
    return is_lost;
}

static void *run_member(void *argument)
{
    struct clf__member *member = argument;
    struct clf__team *team = member->team;
    struct clf__failure failure = clf__failure_keep(team->work(member, team->context));
    clf__member_lock(member);
    int is_told = leave(member, &failure);
    clf__member_unlock(member);
    if (is_told) {
        const struct clf_device_info *info =
            clf_device_describe(member->translator->model->transformer->device);
        clf__log(CLF_LOG_WARNING, "device %d \"%s\" is left out, the others take its lines: %s", info->index,
                 info->name, failure.sentence);
    }
    clf__member_lock(member);
    team->working--;
    pthread_cond_broadcast(&team->changed);
    clf__member_unlock(member);
    return NULL;
}

/* All members are counted before the first one begins, so that each sees how many share the lines. */
static void run_threads(struct clf__team *team)
{
    const struct clf__failure none = {CLF_OUT_OF_MEMORY, "no thread can be started for a device"};
    team->working = team->count;
    for (int i = 0; i < team->count; i++) {
        struct clf__member *member = &team->members[i];
        if (!clf__task_begin(&member->task, run_member, member)) {
            clf__member_lock(member);
            member->is_working = 0;
            team->working--;
            stop(team, &none);
            clf__member_unlock(member);
        }
    }
    serve(team);
    for (int i = 0; i < team->count; i++) {
        clf__task_wait(&team->members[i].task);
    }
}

static void prepare_members(struct clf__team *team)
{
    for (struct clf_translator *each = team->first; each != NULL; each = each->beside) {
        if (!each->model->is_lost || team->is_alone) {
            struct clf__member *member = &team->members[team->count];
            *member = (struct clf__member){.team = team,
                                           .translator = each,
                                           .index = team->count++,
                                           .is_working = 1,
                                           .start = clf__seconds(),
                                           .times = each->times};
            each->member = member;
        }
    }
}

static clf_status run(struct clf__team *team)
{
    if (!team->is_alone) {
        CLF__TRY(clf__translator_ask(team->first));
    }
    prepare_members(team);
    if (team->is_alone) {
        clf_status status = team->work(&team->members[0], team->context);
        team->first->member = NULL;
        return status;
    }
    run_threads(team);
    for (struct clf_translator *each = team->first; each != NULL; each = each->beside) {
        each->member = NULL;
    }
    clf__translator_sum_times(team->first);
    return clf__failure_again(&team->failure);
}

clf_status clf__team_run(struct clf_translator *first, struct clf__queue *queue, clf__member_work *work,
                         void *context)
{
    struct clf__team team = {.first = first,
                             .queue = queue,
                             .work = work,
                             .context = context,
                             .is_alone = first->beside == NULL,
                             .failure = {.status = CLF_OK}};
    int able = clf__team_count(first);
    if (able == 0 && !team.is_alone) {
        return clf__fail(CLF_DEVICE, "every device of the translator failed; open them again");
    }
    CLF__TRY(clf__allocate(&team.members, able > 0 ? (size_t)able : 1, sizeof *team.members));
    pthread_condattr_t clock;
    pthread_mutex_init(&team.lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&team.changed, &clock);
    clf_status status = run(&team);
    status = status == CLF_OK ? pass(&team) : status;
    pthread_cond_destroy(&team.changed);
    pthread_condattr_destroy(&clock);
    pthread_mutex_destroy(&team.lock);
    clf__free(team.members);
    return status;
}
