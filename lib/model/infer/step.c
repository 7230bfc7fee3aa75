#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "model/config/sides.h"
#include "model/infer/internal.h"
#include "runtime/device/buffer.h"
#include "runtime/device/device.h"
#include "runtime/device/lock.h"
#include "runtime/device/queue.h"
#include "runtime/program/launch.h"

struct clf__projection clf__session_projection(const struct clf__session *session)
{
    const struct clf__linear *linear = &session->transformer->decoder.projection;
    return (struct clf__projection){.weight = linear->weight, .bias = linear->bias, .scale = linear->scale};
}

/* Device tables of a step: ids, positions and candidates, one row per hypothesis. */
struct step_views {
    struct clf__tensor tokens, positions, position_rows, cache_rows, parents, banned_offsets, banned;
    struct clf__tensor ranges; /* (rows, 2 M) */
    struct clf__tensor draws;  /* (draws, CLF__DRAW_WORDS) */
    struct clf__sequence_ranges cross;
    double pairs; /* self-attention: total number of positions attended to */
    struct clf__shortlisted_rows shortlisted;
};

/* Fills in one range per slot: adjacent rows of the same slot share the memory. */
static void fill_cross_ranges(struct clf__sequence_ranges *ranges, const struct clf__session *session,
                              int32_t *table, const struct clf__step *step)
{
    int count = 0, longest = 0;
    ranges->max_queries = session->limits.cache_rows / session->limits.sources;
    for (int r = 0; r < step->rows; r++) {
        if (r == 0 || step->slots[r] != step->slots[r - 1]) {
            const struct clf__session_slot *slot = &session->slots[step->slots[r]];
            assert(slot->first >= 0);
            memcpy(table + 4 * count++, (int32_t[4]){r, 0, slot->first, slot->length}, 4 * sizeof *table);
            longest = slot->length > longest ? slot->length : longest;
        }
        table[4 * (count - 1) + 1]++;
        assert(table[4 * (count - 1) + 1] <= ranges->max_queries); /* a limit of the kernel */
    }
    ranges->sequences = ranges->table.rows = count;
    ranges->max_keys = longest;
}

_Static_assert(sizeof(struct clf__draw) == CLF__DRAW_WORDS * sizeof(int32_t),
               "kernels read struct clf__draw as words");

/* Uploads a table of integers; rows may be 0. */
static struct clf__tensor take_table(struct clf__upload *upload, const void *table, int rows, int columns)
{
    int count = rows * columns;
    int32_t *staged;
    if (count == 0) {
        return CLF__NO_TENSOR;
    }
    struct clf__tensor view = clf__upload_take(upload, count, &staged);
    memcpy(staged, table, (size_t)count * sizeof *staged);
    return clf__tensor_packed(view, rows, columns);
}

static clf_status upload_step(struct clf__session *session, struct step_views *views,
                              const struct clf__step *step)
{
    const struct clf__config *config = &session->transformer->config;
    struct clf__upload *upload = &session->target;
    struct clf__position_rows table = clf__position_rows(config, CLF__DECODER);
    int rows = step->rows, banned_count = step->banned_offsets[rows];
    size_t bytes = (size_t)rows * sizeof(int32_t);
    int32_t *tokens, *positions, *position_rows, *cache_rows, *parents, *offsets, *banned, *ranges;
    upload->count = 0;
    views->tokens = clf__upload_take(upload, rows, &tokens);
    views->positions = clf__upload_take(upload, rows, &positions);
    views->position_rows = clf__upload_take(upload, rows, &position_rows);
    views->cache_rows = clf__upload_take(upload, rows, &cache_rows);
    views->parents = clf__upload_take(upload, rows, &parents);
    views->banned_offsets = clf__upload_take(upload, rows + 1, &offsets);
    views->banned = clf__upload_take(upload, banned_count, &banned);
    views->cross = clf__upload_take_ranges(upload, session->occupied_count, &ranges);
    views->ranges = take_table(upload, step->ranges, rows, 2 * step->ranges_each);
    views->draws = take_table(upload, step->draws, step->draw_count, CLF__DRAW_WORDS);
    memcpy(tokens, step->tokens, bytes);
    memcpy(cache_rows, step->cache_rows, bytes);
    memcpy(parents, step->parents, bytes);
    memcpy(offsets, step->banned_offsets, bytes + sizeof *offsets);
    memcpy(banned, step->banned, (size_t)banned_count * sizeof *banned);
    memcpy(positions, step->positions, bytes);
    views->pairs = 0.0;
    for (int r = 0; r < rows; r++) {
        views->pairs += step->positions[r] + 1;
        int is_pad = config->position_padding_aware && step->tokens[r] == config->pad_id;
        position_rows[r] = is_pad ? table.pad : table.first + step->positions[r];
    }
    if (session->shortlists.weight.buffer != NULL) {
        clf__shortlists_take_rows(&views->shortlisted, session, step);
    }
    fill_cross_ranges(&views->cross, session, ranges, step);
    clf__ranges_count(&views->cross, ranges, 0);
    return clf__upload_send_later(upload);
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

/* The results that the host reads, in the order of the results tensor. */
struct step_results {
    struct clf__tensor values, ids, statistics;
    struct clf__tensor range_values, range_ids, range_statistics; /* with ranges_each times the columns */
    struct clf__tensor draw_values, draw_ids, draw_logits;
    int count; /* total number of values */
};

int64_t clf__step_results(const struct clf__session_limits *limits)
{
    int64_t k = limits->candidates;
    return (2 * k + 4 + limits->ranges * (2 * k + 2)) * limits->cache_rows +
           3 * (int64_t)limits->draws * limits->ranges;
}

static struct clf__tensor take_results(struct step_results *results, const struct clf__session *session,
                                       enum clf__type type, int rows, int columns)
{
    struct clf__tensor view = results_view(session, type, rows, columns, results->count);
    results->count += rows * columns;
    return view;
}

static struct step_results results_of(const struct clf__session *session, const struct clf__step *step)
{
    struct step_results results = {.count = 0};
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
    return results;
}

/* Computes the ranges from `first` to `end` - 1 for some rows. */
static clf_status look_at_ranges(const struct step_results *results, const struct step_views *views,
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
static clf_status draw(const struct step_results *results, const struct step_views *views,
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
                              const struct step_views *views, const struct step_results *results, int from,
                              int to)
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
           (step->wants_logits && (step->keeps_logits == NULL || step->keeps_logits[row]));
}

/* Finds the candidates of all rows. Keeping logits changes the order of sums, so this is decided for each
 * row; thus the results of a source do not depend on other sources. */
static clf_status find_candidates(struct clf__session *session, struct clf__step *step,
                                  const struct step_views *views, const struct step_results *results)
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

/* Copies the next `count` results. */
static const float *copy_results(void *target, const float *source, int count)
{
    if (count > 0) {
        memcpy(target, source, (size_t)count * sizeof *source);
    }
    return source + count;
}

/* Reads all candidates in one copy. */
static clf_status read_candidates(struct clf__session *session, struct clf__step *step,
                                  const struct step_views *views)
{
    struct step_results results = results_of(session, step);
    int is_narrowed = session->shortlists.weight.buffer != NULL, rows = step->rows, k = step->candidates;
    struct clf__projection projection = clf__session_projection(session);
    if (is_narrowed) {
        CLF__TRY(clf__shortlists_top_k(results.values, results.ids, results.statistics, session,
                                       &views->shortlisted, &projection, step));
    } else {
        CLF__TRY(find_candidates(session, step, views, &results));
    }
    const float *host = session->results_host + CLF__STEP_HEADER;
    CLF__TRY(clf__tensor_read(clf__tensor_columns(session->read_back, 0, CLF__STEP_HEADER + results.count),
                              session->results_host));
    host = copy_results(step->values, host, rows * k);
    host = copy_results(step->ids, host, rows * k);
    host = copy_results(step->statistics, host, rows * 4);
    host = copy_results(step->range_values, host, rows * step->ranges_each * k);
    host = copy_results(step->range_ids, host, rows * step->ranges_each * k);
    host = copy_results(step->range_statistics, host, rows * step->ranges_each * 2);
    host = copy_results(step->draw_values, host, step->draw_count * step->ranges_each);
    host = copy_results(step->draw_ids, host, step->draw_count * step->ranges_each);
    copy_results(step->draw_logits, host, step->draw_count * step->ranges_each);
    if (is_narrowed) {
        clf__shortlists_name(session, step);
    }
    return CLF_OK;
}

/* Computes the decoder's input, or leaves this to the launch of the layers. */
static clf_status start_step(struct clf__session *session, struct clf__layer_call *call,
                             const struct clf__step_start *start, int rows)
{
    const struct clf__stack *decoder = &session->transformer->decoder;
    struct clf__layer_call first = *call;
    first.addresses = clf__tensor_rows(session->layer_addresses, 0, 1);
    if (decoder->embedder.norm.gamma.buffer == NULL &&
        clf__decoder_layers_take_start(decoder->layers, 1, rows, &first, start)) {
        call->start = start;
        return CLF_OK;
    }
    const struct clf__front_end_input input = {.ids = start->ids};
    if (clf__session_mixer(session)->follow != NULL) {
        CLF__TRY(clf__session_mixer(session)->follow(call->step));
    }
    return clf__embedder_forward(clf__tensor_rows(session->workspace.x, 0, rows), &decoder->embedder, &input,
                                 start->positions);
}

/* Returns the tensor for a step's attention weights, for sources of at most `columns` rows. */
static struct clf__tensor looks_of(const struct clf__session *session, const struct clf__step *step,
                                   int longest)
{
    return step->wants_attention ? clf__tensor_packed(session->looks, step->rows, longest) : CLF__NO_TENSOR;
}

static clf_status read_attention(struct clf__step *step, struct clf__tensor looks)
{
    step->attention_columns = looks.columns;
    return looks.buffer != NULL ? clf__tensor_read(looks, step->attention) : CLF_OK;
}

static clf_status decode(struct clf__session *session, struct clf__step *step, const struct step_views *views,
                         const struct clf__layer_call *call, const struct clf__step_start *start)
{
    struct clf__layer_call own = *call;
    CLF__TRY(start_step(session, &own, start, step->rows));
    CLF__TRY(clf__session_run_decoder(session, step->rows, &own, NULL));
    return read_candidates(session, step, views);
}

/* Repeats a step of a persistent launch with one launch per operation and compares the bits, because hardware
 * and compiler determine whether work-groups see each other's writes. */
static clf_status prove(struct clf__session *session, struct clf__step *step, const struct step_views *views,
                        const struct clf__layer_call *call, const struct clf__step_start *start)
{
    struct clf_device *device = session->transformer->device;
    size_t count = (size_t)(CLF__STEP_HEADER + results_of(session, step).count);
    float *found = NULL;
    CLF__TRY(clf__allocate(&found, count, sizeof *found));
    memcpy(found, session->results_host, count * sizeof *found);
    device->has_no_persistent_launches = 1;
    clf_status status = decode(session, step, views, call, start);
    if (status == CLF_OK && memcmp(found, session->results_host, count * sizeof *found) == 0) {
        device->has_no_persistent_launches = 0;
        device->persistent_proofs++;
    } else if (status == CLF_OK) {
        clf__log(CLF_LOG_WARNING,
                 "device %s: a persistent launch computed different results; decoding continues with one "
                 "launch per operation",
                 device->label);
    }
    clf__free(found);
    return status;
}

/* Runs decode(). Repeats the step if a persistent launch failed or is not yet verified; a step can be
 * repeated because it does not overwrite its inputs. */
static clf_status decode_safely(struct clf__session *session, struct clf__step *step,
                                const struct step_views *views, const struct clf__layer_call *call,
                                const struct clf__step_start *start)
{
    CLF__TRY(decode(session, step, views, call, start));
    int is_persistent = session->persistent.is_running;
    int32_t failed;
    memcpy(&failed, session->results_host, sizeof failed);
    if (clf__persistent_end(&session->persistent, failed)) {
        return decode(session, step, views, call, start);
    }
    return is_persistent && session->transformer->device->persistent_proofs < CLF__PERSISTENT_PROOFS
               ? prove(session, step, views, call, start)
               : CLF_OK;
}

static int longest_target(const struct clf__step *step)
{
    int longest = 0;
    for (int r = 0; r < step->rows; r++) {
        longest = clf__max_int(longest, step->positions[r] + 1);
    }
    return longest;
}

/* Runs the step and waits for its results. */
static clf_status run_step(struct clf__session *session, struct clf__step *step)
{
    const struct clf__stack *decoder = &session->transformer->decoder;
    assert(step->rows <= session->limits.cache_rows && step->candidates <= session->limits.candidates);
    assert(step->banned_offsets[step->rows] <= session->limits.banned);
    assert(!step->wants_attention || session->limits.attention_layer > 0);
    assert(step->ranges_each <= session->limits.ranges && step->ranges_before <= step->ranges_each);
    assert(step->ranges_each == 0 || session->shortlists.weight.buffer == NULL);
    assert(step->draw_count <= session->limits.draws && (step->draw_count == 0 || step->ranges_each > 0));
    struct step_views views;
    int longest = longest_target(step);
    CLF__TRY(clf__session_ensure_positions(session, 0, longest));
    if (step->prefill_offsets != NULL) {
        CLF__TRY(clf__session_prefill(session, step));
    }
    CLF__TRY(upload_step(session, &views, step));
    session->buffer_index = !session->buffer_index;
    const struct clf__mixer_step mixer_step = {
        .cache_rows = views.cache_rows,
        .parents = views.parents,
        .positions = views.positions,
        .relative = decoder->embedder.relative.table,
        .shared = &session->shared_state,
        .buffer_index = session->buffer_index,
        .pairs = views.pairs,
        .most_keys = longest,
        .partials = session->partials,
    };
    const struct clf__step_start start = {
        .front_end = &decoder->embedder.front_end,
        .ids = views.tokens,
        .table = decoder->embedder.positions,
        .positions = views.position_rows,
    };
    struct clf__attention_call cross = clf__session_cross(session, views.cross);
    cross.weights = looks_of(session, step, views.cross.max_keys);
    cross.weight_heads = session->limits.attention_heads;
    cross.few_queries = 1;
    cross.partials = session->partials;
    const struct clf__layer_call call = {
        .step = &mixer_step, .cross_call = &cross, .counters = session->counters};
    CLF__TRY(decode_safely(session, step, &views, &call, &start));
    return read_attention(step, cross.weights);
}

clf_status clf__session_step(struct clf__session *session, struct clf__step *step)
{
    CLF__LOCK_DEVICE(session->transformer->device);
    clf_status status = run_step(session, step);
    if (status != CLF_OK) {
        /* Enqueued work may still read uploaded tables and, by address, weights and caches. */
        clf__device_settle(session->transformer->device);
        clf__persistent_end(&session->persistent, 0);
    }
    return status;
}
