#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "math/ops/next_beams.h"
#include "math/ops/next_tokens.h"
#include "model/config/sides.h"
#include "model/infer/internal.h"
#include "runtime/device/buffer.h"
#include "runtime/device/device.h"
#include "runtime/device/lock.h"
#include "runtime/device/queue.h"
#include "runtime/program/launch.h"

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

_Static_assert(sizeof(struct clf__beam_choice) == CLF__CHOICE_WORDS * sizeof(int32_t) &&
                   sizeof(float) == sizeof(int32_t),
               "kernels read struct clf__beam_choice as words");
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

/* Uploads the picks of a step, as ranges of one column. */
static struct clf__tensor take_picks(struct clf__session *session, const struct clf__step *step)
{
    int each = step->picks_each, count = step->rows * each;
    int32_t *staged;
    if (count == 0) {
        return CLF__NO_TENSOR;
    }
    struct clf__tensor view = clf__upload_take(&session->target, 2 * count, &staged);
    for (int i = 0; i < count; i++) {
        int32_t column = step->picks[i];
        if (column >= 0 && session->shortlists.weight.buffer != NULL) {
            column = clf__shortlists_find(session, step->slots[i / each], column);
        }
        staged[2 * i] = column >= 0 ? column : 0;
        staged[2 * i + 1] = column + 1;
    }
    return clf__tensor_packed(view, step->rows, 2 * each);
}

/* Uploads the places in the cache of the rows of a chain. */
static struct clf__tensor take_places(struct clf__session *session, const struct clf__step *step)
{
    int32_t *staged;
    if (!step->is_chain) {
        return CLF__NO_TENSOR;
    }
    struct clf__tensor view = clf__upload_take(&session->target, step->rows, &staged);
    for (int r = 0; r < step->rows; r++) {
        assert(step->cache_rows[r] == step->cache_rows[0] && step->parents[r] == step->cache_rows[0] &&
               step->positions[r] == step->positions[0] + r);
        staged[r] = step->cache_rows[r] * session->limits.positions + step->positions[r];
    }
    return view;
}

/* Returns 1 if a token of the step is a candidate of the previous step. */
static int has_token_rows(const struct clf__step *step)
{
    int has = 0;
    for (int r = 0; step->token_rows != NULL && r < step->rows; r++) {
        has |= step->token_rows[r] >= 0;
    }
    return has;
}

static clf_status upload_step(struct clf__session *session, struct clf__step_views *views,
                              const struct clf__step *step)
{
    const struct clf__config *config = &session->transformer->config;
    struct clf__upload *upload = &session->target;
    struct clf__position_rows table = clf__position_rows(config, CLF__DECODER);
    int rows = step->rows, banned_count = step->banned_offsets[rows];
    size_t bytes = (size_t)rows * sizeof(int32_t);
    int32_t *tokens, *positions, *position_rows, *cache_rows, *parents, *offsets, *banned, *ranges;
    if (session->other_staging != NULL) {
        int32_t *staging = upload->staging;
        upload->staging = session->other_staging;
        session->other_staging = staging;
    }
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
    views->picks = take_picks(session, step);
    views->places = take_places(session, step);
    views->token_rows = has_token_rows(step) ? take_table(upload, step->token_rows, 1, rows) : CLF__NO_TENSOR;
    views->choices = take_table(upload, step->choices, step->choice_count, CLF__CHOICE_WORDS);
    views->previous_scores =
        take_table(upload, step->previous_scores, 1, step->choice_count > 0 ? step->previous_rows : 0);
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

int clf__session_can_chain(const struct clf__transformer *transformer)
{
    return transformer->decoder.layers[0].mixer.kind->expect != NULL;
}

/* Writes the table of the cache for a chain: the history of the first row, then the rows themselves. */
static clf_status follow_chain(const struct clf__mixer_kind *kind, const struct clf__mixer_step *all,
                               const struct clf__step *step)
{
    struct clf__mixer_step first = *all;
    first.cache_rows = clf__tensor_columns(all->cache_rows, 0, 1);
    first.parents = clf__tensor_columns(all->parents, 0, 1);
    first.positions = clf__tensor_columns(all->positions, 0, 1);
    CLF__TRY(kind->follow(&first));
    return step->rows > 1 ? kind->expect(all, step->cache_rows + 1, step->positions[0] + 1, step->rows - 1)
                          : CLF_OK;
}

/* Computes the decoder's input, or leaves this to the launch of the layers. */
static clf_status start_step(struct clf__session *session, struct clf__layer_call *call,
                             const struct clf__step_start *start, const struct clf__step *step)
{
    const struct clf__stack *decoder = &session->transformer->decoder;
    const struct clf__mixer_kind *kind = clf__session_mixer(session);
    int rows = step->rows;
    struct clf__layer_call first = *call;
    first.addresses = clf__tensor_rows(session->layer_addresses, 0, 1);
    if (!step->is_chain && decoder->embedder.norm.gamma.buffer == NULL &&
        clf__decoder_layers_take_start(decoder->layers, 1, rows, &first, start)) {
        call->start = start;
        return CLF_OK;
    }
    const struct clf__front_end_input input = {.ids = start->ids};
    if (step->is_chain) {
        CLF__TRY(follow_chain(kind, call->step, step));
    } else if (kind->follow != NULL) {
        CLF__TRY(kind->follow(call->step));
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

/* The structures that describe the launches of a step. */
struct launches {
    struct clf__mixer_step mixer_step;
    struct clf__step_start start;
    struct clf__attention_call cross;
    struct clf__layer_call call;
};

static void describe(struct launches *out, struct clf__session *session, const struct clf__step *step,
                     const struct clf__queued_step *queued)
{
    const struct clf__stack *decoder = &session->transformer->decoder;
    const struct clf__step_views *views = &queued->views;
    out->mixer_step = (struct clf__mixer_step){
        .cache_rows = views->cache_rows,
        .parents = views->parents,
        .positions = views->positions,
        .relative = decoder->embedder.relative.table,
        .shared = &session->shared_state,
        .buffer_index = session->buffer_index,
        .pairs = views->pairs,
        .most_keys = queued->longest,
        .partials = session->partials,
        .places = views->places,
    };
    out->start = (struct clf__step_start){
        .front_end = &decoder->embedder.front_end,
        .ids = views->tokens,
        .table = decoder->embedder.positions,
        .positions = views->position_rows,
    };
    out->cross = clf__session_cross(session, views->cross);
    out->cross.weights = looks_of(session, step, views->cross.max_keys);
    out->cross.weight_heads = session->limits.attention_heads;
    out->cross.few_queries = 1;
    out->cross.partials = session->partials;
    out->call = (struct clf__layer_call){
        .step = &out->mixer_step, .cross_call = &out->cross, .counters = session->counters};
}

/* Enqueues the launches of a step whose tables are on the device, and the copy of its results. A step can be
 * repeated because it does not overwrite its inputs. */
static clf_status decode(struct clf__session *session, struct clf__step *step,
                         const struct clf__queued_step *queued)
{
    struct launches launches;
    describe(&launches, session, step, queued);
    CLF__TRY(start_step(session, &launches.call, &launches.start, step));
    CLF__TRY(clf__session_run_decoder(session, step->rows, &launches.call, NULL));
    CLF__TRY(clf__session_find_candidates(session, step, &queued->views));
    const struct clf__tensor *read_back = &session->read_back;
    int count = CLF__STEP_HEADER + clf__session_results(session, step).count;
    return clf__readback_start(queued->results, read_back->buffer, read_back->offset * sizeof(float),
                               (size_t)count * sizeof(float));
}

/* Returns which launches with groups that wait for each other the enqueued steps may include. */
static enum clf__waiting waiting_of(const struct clf__session *session)
{
    return session->persistent.is_running ? CLF__WAITING_PERSISTENT
           : session->pairs.is_running    ? CLF__WAITING_PAIRS
                                          : CLF__WAITING_NONE;
}

/* Runs the oldest step again. */
static clf_status repeat(struct clf__session *session, struct clf__step *step, const float **host)
{
    CLF__TRY(decode(session, step, &session->queued[0]));
    session->queued[0].waiting = waiting_of(session);
    return clf__readback_wait((const void **)host, session->queued[0].results);
}

/* A kind of launch whose groups wait for each other: whether the device has disabled it, its number of
 * proofs, and what messages call it. */
struct waiting_kind {
    int *is_disabled, *proofs;
    const char *what;
};

static struct waiting_kind kind_of(const struct clf__session *session, enum clf__waiting waiting)
{
    struct clf_device *device = session->transformer->device;
    return waiting == CLF__WAITING_PERSISTENT
               ? (struct waiting_kind){&device->has_no_persistent_launches, &device->persistent_proofs,
                                       "a persistent launch"}
               : (struct waiting_kind){&device->has_no_linear_pairs, &device->linear_pair_proofs,
                                       "a launch of two linear layers"};
}

/* Repeats a step with one launch per operation and compares the bits, because hardware and compiler determine
 * whether work-groups see each other's writes. *host: the results. */
static clf_status prove(struct clf__session *session, struct clf__step *step, const float **host,
                        const struct waiting_kind *kind)
{
    struct clf_device *device = session->transformer->device;
    size_t count = (size_t)(CLF__STEP_HEADER + clf__session_results(session, step).count);
    int had_no_persistent_launches = device->has_no_persistent_launches;
    int had_no_linear_pairs = device->has_no_linear_pairs;
    float *found = NULL;
    CLF__TRY(clf__allocate(&found, count, sizeof *found));
    memcpy(found, *host, count * sizeof *found);
    device->has_no_persistent_launches = device->has_no_linear_pairs = 1;
    clf_status status = repeat(session, step, host);
    device->has_no_persistent_launches = had_no_persistent_launches;
    device->has_no_linear_pairs = had_no_linear_pairs;
    if (status == CLF_OK && memcmp(found, *host, count * sizeof *found) == 0) {
        ++*kind->proofs;
    } else if (status == CLF_OK) {
        *kind->is_disabled = 1;
        clf__log(CLF_LOG_WARNING,
                 "device %s: %s computed different results; decoding continues with more launches",
                 device->label, kind->what);
    }
    clf__free(found);
    return status;
}

/* Ends the launches of the oldest step whose groups wait for each other. Repeats the step if one of them
 * failed or is not yet verified; if one failed and another step is enqueued, which has used its results, both
 * are void. */
static clf_status end_waiting(struct clf__session *session, struct clf__step *step, const float **host,
                              int *is_void)
{
    const struct clf__queued_step *queued = &session->queued[0];
    int is_last = session->queued_count == 1;
    for (;;) { /* a repeated step may run with launches of the other kind */
        int32_t failed;
        memcpy(&failed, *host, sizeof failed);
        if (queued->waiting == CLF__WAITING_NONE || (!failed && !is_last && session->queued[1].waiting)) {
            return CLF_OK;
        }
        int has_failed = clf__persistent_end(&session->persistent, failed);
        has_failed |= clf__linear_pairs_end(&session->pairs, failed);
        if (!has_failed) {
            const struct waiting_kind kind = kind_of(session, queued->waiting);
            return is_last && *kind.proofs < CLF__PERSISTENT_PROOFS ? prove(session, step, host, &kind)
                                                                    : CLF_OK;
        }
        CLF__TRY(clf__tensor_write(session->persistent.failed, &(int32_t){0}));
        *is_void = !is_last;
        if (*is_void) {
            return CLF_OK;
        }
        CLF__TRY(repeat(session, step, host));
    }
}

static int longest_target(const struct clf__step *step)
{
    int longest = 0;
    for (int r = 0; r < step->rows; r++) {
        longest = clf__max_int(longest, step->positions[r] + 1);
    }
    return longest;
}

/* Completes the tables of the step from the results of the previous step. */
static clf_status take_tokens(const struct clf__session *session, const struct clf__step_views *views)
{
    const struct clf__config *config = &session->transformer->config;
    enum { NO_PAD = -2 };
    int pad = config->position_padding_aware ? config->pad_id : NO_PAD;
    int pad_position = clf__position_rows(config, CLF__DECODER).pad, old = session->buffer_index;
    const struct clf__step previous = {.rows = session->previous_rows,
                                       .candidates = session->previous_candidates};
    const struct clf__step_results results = clf__session_results(session, &previous);
    if (views->token_rows.buffer != NULL) {
        CLF__TRY(clf__next_tokens(views->tokens, views->position_rows, results.ids, views->token_rows, pad,
                                  pad_position));
    }
    if (views->choices.buffer == NULL) {
        return CLF_OK;
    }
    const struct clf__next_beams next = {.tokens = views->tokens,
                                         .positions = views->position_rows,
                                         .parents = views->parents,
                                         .scores = clf__tensor_rows(session->beam_scores, !old, 1)};
    struct clf__tensor known = views->previous_scores;
    known.type = CLF__F32;
    const struct clf__previous_beams from = {.values = results.values,
                                             .ids = results.ids,
                                             .statistics = results.statistics,
                                             .scores = clf__tensor_rows(session->beam_scores, old, 1),
                                             .known = known};
    return clf__next_beams(&next, &from, views->choices, pad, pad_position);
}

static clf_status enqueue(struct clf__session *session, struct clf__step *step)
{
    assert(step->rows <= session->limits.cache_rows && step->candidates <= session->limits.candidates);
    assert(step->banned_offsets[step->rows] <= session->limits.banned);
    assert(!step->wants_attention || session->limits.attention_layer > 0);
    assert(step->ranges_each <= session->limits.ranges && step->ranges_before <= step->ranges_each);
    assert(step->ranges_each == 0 || session->shortlists.weight.buffer == NULL);
    assert(step->draw_count <= session->limits.draws && (step->draw_count == 0 || step->ranges_each > 0));
    assert(step->picks_each <= session->limits.picks);
    assert(!step->is_chain || (step->rows <= session->limits.chain && !step->is_ahead));
    assert(session->queued_count <= session->limits.pipelined);
    assert(step->choice_count == 0 || step->previous_rows == session->previous_rows);
    struct clf__queued_step *queued = &session->queued[session->queued_count];
    queued->longest = longest_target(step);
    CLF__TRY(clf__session_ensure_positions(session, 0, queued->longest));
    if (step->prefill_offsets != NULL) {
        CLF__TRY(clf__session_prefill(session, step));
    }
    CLF__TRY(upload_step(session, &queued->views, step));
    CLF__TRY(take_tokens(session, &queued->views));
    session->buffer_index = !session->buffer_index;
    session->queued_count++;
    CLF__TRY(decode(session, step, queued));
    queued->waiting = waiting_of(session);
    session->previous_rows = step->rows;
    session->previous_candidates = step->candidates;
    return CLF_OK;
}

/* Waits for the enqueued steps and forgets them. The next step then writes the buffers of the state that the
 * oldest of them wrote. */
static void drop(struct clf__session *session)
{
    clf__device_settle(session->transformer->device);
    for (int i = 0; i < session->queued_count; i++) {
        clf__readback_forget(session->queued[i].results);
    }
    session->buffer_index ^= session->queued_count & 1;
    session->queued_count = 0;
    clf__persistent_end(&session->persistent, 0);
    clf__linear_pairs_end(&session->pairs, 0);
}

/* Removes the oldest step from the queue. */
static void remove_first(struct clf__session *session)
{
    struct clf__queued_step first = session->queued[0];
    session->queued_count--;
    if (session->limits.pipelined) {
        session->queued[0] = session->queued[1];
        session->queued[1] = first;
    }
}

static clf_status finish(struct clf__session *session, struct clf__step *step, int *is_void)
{
    const struct clf__queued_step *queued = &session->queued[0];
    const float *host;
    CLF__TRY(clf__readback_wait((const void **)&host, queued->results));
    CLF__TRY(end_waiting(session, step, &host, is_void));
    if (*is_void) {
        drop(session);
        return CLF_OK;
    }
    clf__session_copy_results(step, host + CLF__STEP_HEADER);
    struct clf__tensor looks = looks_of(session, step, queued->views.cross.max_keys);
    step->attention_columns = looks.columns;
    CLF__TRY(looks.buffer != NULL ? clf__tensor_read(looks, step->attention) : CLF_OK);
    remove_first(session);
    return CLF_OK;
}

/* After a failure, enqueued work may still read uploaded tables and, by address, weights and caches. */
static clf_status settle(struct clf__session *session, clf_status status)
{
    if (status != CLF_OK) {
        drop(session);
    }
    return status;
}

clf_status clf__session_enqueue(struct clf__session *session, struct clf__step *step)
{
    CLF__LOCK_DEVICE(session->transformer->device);
    return settle(session, enqueue(session, step));
}

int clf__session_can_enqueue(const struct clf__session *session)
{
    /* A step that proves launches is repeated. */
    struct clf_device *device = session->transformer->device;
    CLF__LOCK_DEVICE(device);
    return session->limits.pipelined && session->queued_count == 1 &&
           (session->queued[0].waiting == CLF__WAITING_NONE ||
            *kind_of(session, session->queued[0].waiting).proofs >= CLF__PERSISTENT_PROOFS);
}

clf_status clf__session_finish(struct clf__session *session, struct clf__step *step, int *is_void)
{
    CLF__LOCK_DEVICE(session->transformer->device);
    *is_void = 0;
    return settle(session, finish(session, step, is_void));
}

void clf__session_drop(struct clf__session *session)
{
    CLF__LOCK_DEVICE(session->transformer->device);
    if (session->queued_count > 0) {
        drop(session);
    }
}

clf_status clf__session_step(struct clf__session *session, struct clf__step *step)
{
    int is_void;
    CLF__LOCK_DEVICE(session->transformer->device);
    CLF__TRY(clf__session_enqueue(session, step));
    return clf__session_finish(session, step, &is_void);
}
