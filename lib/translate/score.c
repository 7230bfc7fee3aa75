/* Forced decoding: log-probabilities of given targets. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "text/batch.h"
#include "translate/internal.h"

/* The pairs of one call. */
struct work {
    struct clf_translator *translator;
    struct clf__source *sources; /* (count) */
    struct clf__ids *targets;    /* (count) labels: the target and its end token */
    struct clf_score *results;
    int count;
    struct clf__batches batches;
    struct clf__unit *units;      /* (batches.count) */
    struct clf_stage_times times; /* time spent reading lines */
    struct clf__job job;
};

/* Creates an additional session for a batch. */
static clf_status make_session(struct clf__lane *lane, const struct clf__joined *sources,
                               const struct clf__sequences *targets)
{
    const struct clf_model_info *info = &lane->model->info;
    struct clf__session_limits *limits = &lane->force_limits;
    int source = 0, target = 0, sources_all = sources->first[targets->count];
    int targets_all = targets->first[targets->count];
    for (int i = 0; i < targets->count; i++) {
        source = clf__max_int(source, sources->first[i + 1] - sources->first[i]);
        target = clf__max_int(target, targets->first[i + 1] - targets->first[i]);
    }
    if (lane->force_session != NULL && limits->sources >= targets->count && limits->source_length >= source &&
        limits->target_length >= target && limits->source_tokens >= sources_all &&
        limits->target_tokens >= targets_all) {
        return CLF_OK;
    }
    int longest = clf__grow_length(clf__max_int(lane->source_length, limits->source_length), source,
                                   info->max_source_length);
    int longest_target = clf__grow_length(clf__max_int(lane->target_length, limits->target_length), target,
                                          info->max_target_length);
    *limits = (struct clf__session_limits){
        .sources = clf__max_int(clf__max_int(lane->max_lines, targets->count), limits->sources),
        .source_tokens = clf__max_int(clf__max_int(lane->batch_tokens, sources_all), longest),
        .source_length = longest,
        .target_tokens = clf__max_int(clf__max_int(lane->batch_tokens, targets_all), longest_target),
        .target_length = longest_target,
    };
    clf__session_free(lane->force_session);
    lane->force_session = NULL;
    return clf__session_create(&lane->force_session, lane->model->transformer, limits);
}

static clf_status read_source(struct clf__source *source, struct clf_score *result,
                              struct clf_translator *translator, const struct clf_line *line)
{
    CLF__TRY(clf__translator_read(source, translator, line));
    result->cut_from = source->cut_from;
    return source->length > 0 ? CLF_OK
                              : clf__fail(CLF_TEXT, "the source is empty; scoring requires a source");
}

static clf_status read_target(struct clf__ids *ids, struct clf_score *result,
                              const struct clf_translator *translator, const struct clf_line *line)
{
    int cut;
    CLF__TRY(clf__target_read(ids, &cut, translator->settings, line));
    if (cut > result->cut_from) {
        result->cut_from = cut;
        result->cut_is_target = 1;
    }
    return CLF_OK;
}

static clf_status read_pairs(struct work *work, const struct clf_line *sources,
                             const struct clf_line *targets)
{
    double start = clf__seconds();
    for (int i = 0; i < work->count; i++) {
        struct clf_score *result = &work->results[i];
        clf_status status = read_source(&work->sources[i], result, work->translator, &sources[i]);
        if (status == CLF_OK) {
            status = read_target(&work->targets[i], result, work->translator, &targets[i]);
        }
        CLF__TRY(clf__line_problem(status, &result->status, &result->problem));
        work->times.lines += result->status != CLF_OK; /* other lines are counted when they are scored */
    }
    work->times.tokenize += clf__seconds() - start;
    clf__engine_add_times(work->translator->engine, &work->times);
    return CLF_OK;
}

/* Concatenated decoder inputs (start token, then all labels but the last) and labels of a batch. */
struct joined_targets {
    int *first;
    int32_t *inputs, *labels;
    float *log_probabilities;
};

static void joined_targets_free(struct joined_targets *joined)
{
    clf__free(joined->first);
    clf__free(joined->inputs);
    clf__free(joined->labels);
    clf__free(joined->log_probabilities);
}

static clf_status join_targets(struct joined_targets *out, const struct work *work, const int *order,
                               int count)
{
    CLF__TRY(clf__allocate(&out->first, (size_t)count + 1, sizeof *out->first));
    for (int i = 0; i < count; i++) {
        out->first[i + 1] = out->first[i] + work->targets[order[i]].count;
    }
    size_t rows = (size_t)out->first[count];
    CLF__TRY(clf__allocate(&out->inputs, rows, sizeof *out->inputs));
    CLF__TRY(clf__allocate(&out->labels, rows, sizeof *out->labels));
    CLF__TRY(clf__allocate(&out->log_probabilities, rows, sizeof *out->log_probabilities));
    for (int i = 0; i < count; i++) {
        const struct clf__ids *target = &work->targets[order[i]];
        size_t bytes = (size_t)target->count * sizeof *target->data;
        memcpy(out->labels + out->first[i], target->data, bytes);
        memcpy(out->inputs + out->first[i] + 1, target->data, bytes - sizeof *target->data);
        out->inputs[out->first[i]] = work->translator->settings->decoder_start_id;
    }
    return CLF_OK;
}

static clf_status keep_score(struct clf_score *result, const struct joined_targets *joined, int index,
                             const struct clf_translator *translator)
{
    int first = joined->first[index], count = joined->first[index + 1] - first;
    double sum = 0.0;
    if (translator->settings->options.forced_first >= 0) { /* forced, so its probability is 1 */
        joined->log_probabilities[first] = 0;
    }
    for (int t = 0; t < count; t++) {
        sum += (double)joined->log_probabilities[first + t];
    }
    if (isnan(sum)) {
        return clf__line_problem(clf__model_fail_not_finite(translator->settings->model), &result->status,
                                 &result->problem);
    }
    CLF__TRY(clf__allocate(&result->ids, (size_t)count, sizeof *result->ids));
    CLF__TRY(clf__allocate(&result->token_log_probabilities, (size_t)count,
                           sizeof *result->token_log_probabilities));
    memcpy(result->ids, joined->labels + first, (size_t)count * sizeof *result->ids);
    memcpy(result->token_log_probabilities, joined->log_probabilities + first,
           (size_t)count * sizeof *result->token_log_probabilities);
    result->count = count;
    result->log_probability = sum;
    return CLF_OK;
}

static clf_status force_joined(struct clf__lane *lane, const struct clf__joined *sources,
                               struct joined_targets *joined, int count)
{
    struct clf__sequences inputs = {.count = count, .first = joined->first, .ids = joined->inputs};
    CLF__TRY(make_session(lane, sources, &inputs));
    double start = clf__seconds();
    CLF__TRY(clf__session_start(lane->force_session, &sources->sequences));
    double encoded = clf__seconds();
    CLF__TRY(clf__session_teacher_force(lane->force_session, &inputs));
    CLF__TRY(clf__session_pick(lane->force_session, joined->labels, joined->log_probabilities));
    lane->times.encode += encoded - start;
    lane->times.decode += clf__seconds() - encoded;
    lane->times.source_tokens += sources->first[count];
    lane->times.target_tokens += joined->first[count];
    lane->times.batches++;
    lane->times.lines += count;
    return CLF_OK;
}

static clf_status join_sources(struct clf__joined *out, const struct work *work, const int *order, int count)
{
    const struct clf__source **sources;
    CLF__TRY(clf__allocate(&sources, (size_t)count, sizeof *sources));
    for (int i = 0; i < count; i++) {
        sources[i] = &work->sources[order[i]];
    }
    clf_status status =
        clf__sources_join(out, sources, count, work->translator->settings->model->info.feature_size);
    clf__free(sources);
    return status;
}

/* Scores the batch of a unit. */
static clf_status force_batch(void *context, struct clf__lane *lane, struct clf__unit *unit)
{
    struct work *work = context;
    struct joined_targets joined = {.first = NULL};
    struct clf__joined sources = {.first = NULL};
    const int *first = work->batches.first + unit->number, *order = work->batches.order + *first;
    int count = first[1] - first[0];
    clf_status status = join_targets(&joined, work, order, count);
    if (status == CLF_OK) {
        status = join_sources(&sources, work, order, count);
    }
    if (status == CLF_OK) {
        status = force_joined(lane, &sources, &joined, count);
    }
    for (int i = 0; i < count && status == CLF_OK; i++) {
        status = keep_score(&work->results[order[i]], &joined, i, work->translator);
    }
    clf__joined_free(&sources);
    joined_targets_free(&joined);
    return status;
}

/* Plans batches within the token budget; the longer side determines the length of a pair. No batch exceeds
 * one device's share or its line limit. */
static clf_status plan(struct clf__batches *batches, const struct work *work, int *lengths)
{
    struct clf_engine *engine = work->translator->engine;
    struct clf__lane_view batch = clf__engine_batch(engine);
    int64_t all = 0, budget = batch.batch_tokens, available = clf__engine_working(engine);
    for (int i = 0; i < work->count; i++) {
        int source = work->sources[i].length, target = work->targets[i].count;
        if (work->results[i].status == CLF_OK) {
            lengths[i] = source > target ? source : target;
            all += lengths[i];
        }
    }
    int64_t part = available > 1 ? all / available + 1 : budget;
    return clf__batches_plan(batches, lengths, work->count, (int)clf__min_int64(part, budget),
                             batch.max_lines);
}

static clf_status make_units(struct work *work, const int *lengths)
{
    const struct clf__batches *batches = &work->batches;
    CLF__TRY(clf__allocate(&work->units, (size_t)batches->count, sizeof *work->units));
    for (int b = 0; b < batches->count; b++) {
        for (int i = batches->first[b]; i < batches->first[b + 1]; i++) {
            work->units[b].cost += lengths[batches->order[i]];
        }
    }
    work->job =
        (struct clf__job){.units = work->units,
                          .count = batches->count,
                          .run = force_batch,
                          .context = work,
                          .is_bulk = work->translator->settings->options.priority == CLF_PRIORITY_BULK};
    return CLF_OK;
}

static clf_status prepare(struct work *work, const struct clf_line *sources, const struct clf_line *targets)
{
    size_t count = (size_t)work->count;
    int *lengths;
    CLF__TRY(clf__allocate(&work->results, count, sizeof *work->results));
    CLF__TRY(clf__allocate(&work->sources, count, sizeof *work->sources));
    CLF__TRY(clf__allocate(&work->targets, count, sizeof *work->targets));
    CLF__TRY(read_pairs(work, sources, targets));
    CLF__TRY(clf__allocate(&lengths, count, sizeof *lengths));
    clf_status status = plan(&work->batches, work, lengths);
    if (status == CLF_OK) {
        status = make_units(work, lengths);
    }
    clf__free(lengths);
    return status;
}

static clf_status begin(struct clf__call *call)
{
    struct work *work;
    CLF__TRY(clf__settings_check_start(call->translator->settings));
    CLF__TRY(clf__translator_check_lines(call->lines, call->count));
    CLF__TRY(clf__translator_check_lines(call->others, call->count));
    CLF__TRY(clf__allocate(&work, 1, sizeof *work));
    work->translator = call->translator;
    work->count = call->count;
    call->state = work;
    CLF__TRY(prepare(work, call->lines, call->others));
    call->job = &work->job;
    return CLF_OK;
}

static clf_status end(struct clf__call *call)
{
    struct work *work = call->state;
    call->scores = work->results;
    work->results = NULL;
    call->job = NULL;
    atomic_store(&call->finished, call->count);
    return CLF_OK;
}

static void free_work(struct clf__call *call)
{
    struct work *work = call->state;
    clf_scores_free(call->scores, call->count);
    if (work == NULL) {
        return;
    }
    for (int i = 0; i < work->count && work->targets != NULL; i++) {
        clf__source_free(&work->sources[i]);
        clf__ids_free(&work->targets[i]);
    }
    clf__free(work->sources);
    clf__free(work->targets);
    clf__free(work->units);
    clf__batches_free(&work->batches);
    clf_scores_free(work->results, work->count);
    clf__free(work);
}

const struct clf__call_kind clf__call_scores = {begin, end, free_work};

clf_status clf_score(struct clf_score **out, struct clf_translator *translator,
                     const struct clf_line *sources, const struct clf_line *targets, int count)
{
    *out = NULL;
    CLF__TRY(clf__translator_begin(translator));
    struct clf__call call = {.kind = &clf__call_scores,
                             .translator = translator,
                             .options = &translator->settings->options,
                             .lines = sources,
                             .others = targets,
                             .count = count};
    clf_status status = clf__call_run(&call);
    if (status == CLF_OK) {
        *out = call.scores;
        call.scores = NULL;
    }
    clf__call_free(&call);
    clf__translator_end(translator);
    return status;
}

void clf_scores_free(struct clf_score *scores, int count)
{
    for (int i = 0; scores != NULL && i < count; i++) {
        clf__free(scores[i].problem);
        clf__free(scores[i].ids);
        clf__free(scores[i].token_log_probabilities);
    }
    clf__free(scores);
}
