/* Forced decoding: log-probabilities of given targets. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "translate/worker_pool.h"

/* The pairs of one call. */
struct work {
    struct clf_translator *translator; /* the first translator; it reads the lines */
    struct clf__source *sources;       /* (count) */
    struct clf__ids *targets;          /* (count) labels: the target and its end token */
    struct clf_score *results;
    int count;
    struct clf__batches batches;
};

static clf_status make_session(struct clf_translator *translator)
{
    if (translator->force_session != NULL) {
        return CLF_OK;
    }
    int budget = translator->batch_tokens;
    struct clf__session_limits limits = {
        .sources = translator->max_lines,
        .source_tokens = clf__max_int(budget, translator->source_length),
        .source_length = translator->source_length,
        .target_tokens = clf__max_int(budget, translator->target_length),
        .target_length = translator->target_length,
    };
    return clf__session_create(&translator->force_session, translator->model->transformer, &limits);
}

static clf_status read_source(struct clf__source *source, struct clf_score *result,
                              const struct clf_translator *translator, const struct clf_line *line)
{
    CLF__TRY(clf__source_read(source, translator->settings, translator->frame_maker, line));
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
        work->translator->times.lines +=
            result->status != CLF_OK; /* other lines are counted when they are scored */
    }
    work->translator->times.tokenize += clf__seconds() - start;
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
        return clf__line_problem(clf__model_fail_not_finite(translator->model), &result->status,
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

static clf_status force_batch(struct work *work, struct clf_translator *translator,
                              struct joined_targets *joined, const int *order, int count)
{
    struct clf__session *session = translator->force_session;
    struct clf_stage_times *times = &translator->times;
    struct clf__joined sources;
    CLF__TRY(clf__translator_go_on(translator));
    CLF__TRY(join_targets(joined, work, order, count));
    CLF__TRY(clf__sources_join(&sources, work->sources, order, count, translator->model->info.feature_size));
    double start = clf__seconds();
    clf_status status = clf__session_start(session, &sources.sequences);
    double encoded = clf__seconds();
    times->encode += encoded - start;
    times->source_tokens += sources.first[count];
    clf__joined_free(&sources);
    CLF__TRY(status);
    struct clf__sequences inputs = {.count = count, .first = joined->first, .ids = joined->inputs};
    CLF__TRY(clf__session_teacher_force(session, &inputs));
    CLF__TRY(clf__session_pick(session, joined->labels, joined->log_probabilities));
    times->decode += clf__seconds() - encoded;
    times->target_tokens += joined->first[count];
    for (int i = 0; i < count; i++) {
        CLF__TRY(keep_score(&work->results[order[i]], joined, i, translator));
    }
    times->batches++;
    times->lines += count;
    return CLF_OK;
}

/* Plans batches within the budget: a pair counts as its longer side. No batch exceeds one device's share or
 * its limit of lines. */
static clf_status plan(struct clf__batches *batches, const struct work *work, int *lengths)
{
    const struct clf_translator *first = work->translator;
    int64_t all = 0, budget = first->batch_tokens, available = clf__worker_pool_count(first);
    int max_lines = first->max_lines;
    for (int i = 0; i < work->count; i++) {
        int source = work->sources[i].length, target = work->targets[i].count;
        if (work->results[i].status == CLF_OK) {
            lengths[i] = source > target ? source : target;
            all += lengths[i];
        }
    }
    for (const struct clf_translator *each = first; each != NULL; each = each->next) {
        max_lines = each->max_lines < max_lines ? each->max_lines : max_lines;
    }
    int64_t part = available > 1 ? all / available + 1 : budget;
    return clf__batches_plan(batches, lengths, work->count, (int)(part < budget ? part : budget), max_lines);
}

static clf_status force_batches(struct clf__worker *worker, void *context)
{
    struct work *work = context;
    const struct clf__batches *batches = &work->batches;
    CLF__TRY(make_session(worker->translator));
    for (int b; (b = clf__worker_next(worker)) >= 0;) {
        struct joined_targets joined = {.first = NULL};
        int first = batches->first[b];
        clf_status status = force_batch(work, worker->translator, &joined, batches->order + first,
                                        batches->first[b + 1] - first);
        joined_targets_free(&joined);
        CLF__TRY(status);
        clf__worker_finish(worker, b);
    }
    return CLF_OK;
}

static clf_status share_out(struct work *work, int *lengths)
{
    const struct clf__batches *batches = &work->batches;
    struct clf__queue queue;
    CLF__TRY(plan(&work->batches, work, lengths));
    int *costs;
    CLF__TRY(clf__allocate(&costs, (size_t)batches->count, sizeof *costs));
    for (int b = 0; b < batches->count; b++) {
        for (int i = batches->first[b]; i < batches->first[b + 1]; i++) {
            costs[b] += lengths[batches->order[i]];
        }
    }
    clf_status status = clf__queue_create(&queue, costs, batches->count, batches->count);
    if (status == CLF_OK && queue.count > 0) {
        status = clf__worker_pool_run(work->translator, &queue, force_batches, work);
    }
    clf__queue_free(&queue);
    clf__free(costs);
    return status;
}

static clf_status ensure_lengths(const struct work *work)
{
    int source = 0, target = 0;
    for (int i = 0; i < work->count; i++) {
        source = clf__max_int(source, work->sources[i].length);
        target = clf__max_int(target, work->targets[i].count);
    }
    return clf__translator_ensure_lengths(work->translator, source, target);
}

static clf_status run(struct work *work, const struct clf_line *sources, const struct clf_line *targets)
{
    size_t count = (size_t)work->count;
    int *lengths;
    CLF__TRY(clf__allocate(&work->results, count, sizeof *work->results));
    CLF__TRY(clf__allocate(&work->sources, count, sizeof *work->sources));
    CLF__TRY(clf__allocate(&work->targets, count, sizeof *work->targets));
    CLF__TRY(read_pairs(work, sources, targets));
    CLF__TRY(ensure_lengths(work));
    CLF__TRY(clf__allocate(&lengths, count, sizeof *lengths));
    clf_status status = share_out(work, lengths);
    clf__free(lengths);
    clf__batches_free(&work->batches);
    return status;
}

static clf_status score(struct clf_score **out, struct clf_translator *translator,
                        const struct clf_line *sources, const struct clf_line *targets, int count)
{
    CLF__TRY(clf__translator_check_lines(sources, count));
    CLF__TRY(clf__translator_check_lines(targets, count));
    struct work work = {.translator = translator, .count = count};
    clf_status status = run(&work, sources, targets);
    for (int i = 0; i < count && work.targets != NULL; i++) {
        clf__source_free(&work.sources[i]);
        clf__ids_free(&work.targets[i]);
    }
    clf__free(work.sources);
    clf__free(work.targets);
    if (status != CLF_OK) {
        clf_scores_free(work.results, count);
        return status;
    }
    *out = work.results;
    return CLF_OK;
}

clf_status clf_score(struct clf_score **out, struct clf_translator *translator,
                     const struct clf_line *sources, const struct clf_line *targets, int count)
{
    *out = NULL;
    CLF__TRY(clf__translator_begin(translator));
    clf_status status = clf__settings_check_start(translator->settings);
    if (status == CLF_OK) {
        status = score(out, translator, sources, targets, count);
    }
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
