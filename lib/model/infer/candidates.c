/* The candidates of a step: computes them from the rows of the decoder, and copies them to the step. */
#include <assert.h>
#include <string.h>

#include "base/minmax.h"
#include "model/infer/internal.h"

struct clf__projection clf__session_projection(const struct clf__session *session)
{
    const struct clf__linear *linear = &session->transformer->decoder.projection;
    return (struct clf__projection){.weight = linear->weight, .bias = linear->bias, .scale = linear->scale};
}

/* Returns a view of part of the results, starting at element `offset`. */
static struct clf__tensor results_view(const struct clf__session *session, enum clf__type type, int rows,
                                       int columns, int offset)
{
    struct clf__tensor view = clf__tensor_packed(session->results, rows, columns);
    view.type = type;
    view.offset += (size_t)offset;
    return view;
}

int64_t clf__step_results(const struct clf__session_limits *limits)
{
    int64_t k = limits->candidates;
    return (2 * k + 4 + limits->ranges * (2 * k + 2) + 4 * (int64_t)limits->picks) * limits->cache_rows +
           3 * (int64_t)limits->draws * limits->ranges;
}

static struct clf__tensor take_results(struct clf__step_results *results, const struct clf__session *session,
                                       enum clf__type type, int rows, int columns)
{
    struct clf__tensor view = results_view(session, type, rows, columns, results->count);
    results->count += rows * columns;
    return view;
}

struct clf__step_results clf__session_results(const struct clf__session *session,
                                              const struct clf__step *step)
{
    struct clf__step_results results = {.count = 0};
    int rows = step->rows, k = step->candidates, each = step->ranges_each;
    results.values = take_results(&results, session, CLF__F32, rows, k);
    results.ids = take_results(&results, session, CLF__I32, rows, k);
    results.statistics = take_results(&results, session, CLF__F32, rows, 4);
    results.range_values = take_results(&results, session, CLF__F32, rows, each * k);
    results.range_ids = take_results(&results, session, CLF__I32, rows, each * k);
    results.range_statistics = take_results(&results, session, CLF__F32, rows, each * 2);
    results.draw_values = take_results(&results, session, CLF__F32, step->draw_count, each);
    results.draw_ids = take_results(&results, session, CLF__I32, step->draw_count, each);
    results.draw_logits = take_results(&results, session, CLF__F32, step->draw_count, each);
    results.pick_values = take_results(&results, session, CLF__F32, rows, step->picks_each);
    int read = results.count;
    results.pick_ids = take_results(&results, session, CLF__I32, rows, step->picks_each);
    results.pick_statistics = take_results(&results, session, CLF__F32, rows, 2 * step->picks_each);
    results.count = read;
    return results;
}

/* Computes the ranges from `first` to `end` - 1 for some rows. */
static clf_status look_at_ranges(const struct clf__step_results *results, const struct clf__step_views *views,
                                 struct clf__tensor logits, int first_row, int first, int end, int k)
{
    int rows = logits.rows, count = end - first;
    if (count == 0) {
        return CLF_OK;
    }
    struct clf__tensor values = clf__tensor_rows(results->range_values, first_row, rows);
    struct clf__tensor ids = clf__tensor_rows(results->range_ids, first_row, rows);
    struct clf__tensor statistics = clf__tensor_rows(results->range_statistics, first_row, rows);
    struct clf__tensor ranges = clf__tensor_rows(views->ranges, first_row, rows);
    return clf__top_k_ranges(clf__tensor_columns(values, first * k, count * k),
                             clf__tensor_columns(ids, first * k, count * k),
                             clf__tensor_columns(statistics, 2 * first, 2 * count), logits,
                             clf__tensor_columns(ranges, 2 * first, 2 * count));
}

/* Samples the tokens that follow some rows, starting at row `first_row`, from the logits without banned ids.
 */
static clf_status draw(const struct clf__step_results *results, const struct clf__step_views *views,
                       const struct clf__step *step, struct clf__tensor logits, int first_row)
{
    int first = 0;
    while (first < step->draw_count && step->draws[first].row < first_row) {
        first++;
    }
    int end = first;
    while (end < step->draw_count && step->draws[end].row < first_row + logits.rows) {
        end++;
    }
    int count = end - first;
    return count == 0 ? CLF_OK
                      : clf__draw_forward(clf__tensor_rows(results->draw_values, first, count),
                                          clf__tensor_rows(results->draw_ids, first, count),
                                          clf__tensor_rows(results->draw_logits, first, count), logits,
                                          clf__tensor_rows(views->ranges, first_row, logits.rows),
                                          clf__tensor_rows(views->draws, first, count), first_row);
}

/* Finds the candidates of rows from `from` to `to` - 1 as clf__projection_top_k() does, but keeps the logits:
 * computes some ranges before bans, then computes the other ranges and samples after bans. */
static clf_status keep_logits(struct clf__session *session, struct clf__step *step,
                              const struct clf__step_views *views, const struct clf__step_results *results,
                              int from, int to)
{
    struct clf__projection projection = clf__session_projection(session);
    int most = session->projection.rows, before = step->ranges_before;
    for (int first = from; first < to; first += most) {
        int count = clf__min_int(most, to - first);
        struct clf__tensor logits, x = clf__tensor_rows(clf__session_decoded(session), first, count);
        CLF__TRY(clf__projection_logits(&logits, x, &projection, &session->projection));
        if (step->wants_logits) {
            assert(session->limits.logits);
            CLF__TRY(clf__tensor_read(logits, step->logits + (size_t)first * (size_t)logits.columns));
        }
        CLF__TRY(clf__session_pick_logits(results, step, views, logits, first));
        CLF__TRY(look_at_ranges(results, views, logits, first, 0, before, step->candidates));
        CLF__TRY(clf__top_k_forward(
            clf__tensor_rows(results->values, first, count), clf__tensor_rows(results->ids, first, count),
            clf__tensor_rows(results->statistics, first, count), logits, views->banned,
            clf__tensor_columns(views->banned_offsets, first, count + 1), step->both_statistics));
        CLF__TRY(look_at_ranges(results, views, logits, first, before, step->ranges_each, step->candidates));
        CLF__TRY(draw(results, views, step, logits, first));
    }
    return CLF_OK;
}

static int keeps(const struct clf__step *step, int row)
{
    return step->ranges_each > 0 ||
           (step->keeps_logits != NULL ? step->keeps_logits[row] : step->wants_logits);
}

/* Finds the candidates of all rows. Keeping logits changes the order of sums, so this is decided for each
 * row; thus the results of a source do not depend on other sources. */
static clf_status find_candidates(struct clf__session *session, struct clf__step *step,
                                  const struct clf__step_views *views,
                                  const struct clf__step_results *results)
{
    struct clf__projection projection = clf__session_projection(session);
    for (int first = 0, end; first < step->rows; first = end) {
        int is_kept = keeps(step, first);
        for (end = first + 1; end < step->rows && keeps(step, end) == is_kept;) {
            end++;
        }
        int count = end - first;
        CLF__TRY(is_kept ? keep_logits(session, step, views, results, first, end)
                         : clf__projection_top_k(
                               clf__tensor_rows(results->values, first, count),
                               clf__tensor_rows(results->ids, first, count),
                               clf__tensor_rows(results->statistics, first, count),
                               clf__tensor_rows(clf__session_decoded(session), first, count), &projection,
                               views->banned, clf__tensor_columns(views->banned_offsets, first, count + 1),
                               step->both_statistics, &session->projection));
    }
    return CLF_OK;
}

clf_status clf__session_find_candidates(struct clf__session *session, struct clf__step *step,
                                        const struct clf__step_views *views)
{
    struct clf__step_results results = clf__session_results(session, step);
    struct clf__projection projection = clf__session_projection(session);
    return session->shortlists.weight.buffer != NULL
               ? clf__shortlists_top_k(&results, session, views, &projection, step)
               : find_candidates(session, step, views, &results);
}

/* Copies the next `count` results. */
static const float *copy_results(void *target, const float *source, int count)
{
    if (count > 0) {
        memcpy(target, source, (size_t)count * sizeof *source);
    }
    return source + count;
}

void clf__session_copy_results(struct clf__step *step, const float *host)
{
    int rows = step->rows, k = step->candidates;
    host = copy_results(step->values, host, rows * k);
    host = copy_results(step->ids, host, rows * k);
    host = copy_results(step->statistics, host, rows * 4);
    host = copy_results(step->range_values, host, rows * step->ranges_each * k);
    host = copy_results(step->range_ids, host, rows * step->ranges_each * k);
    host = copy_results(step->range_statistics, host, rows * step->ranges_each * 2);
    host = copy_results(step->draw_values, host, step->draw_count * step->ranges_each);
    host = copy_results(step->draw_ids, host, step->draw_count * step->ranges_each);
    host = copy_results(step->draw_logits, host, step->draw_count * step->ranges_each);
    copy_results(step->pick_values, host, rows * step->picks_each);
}
