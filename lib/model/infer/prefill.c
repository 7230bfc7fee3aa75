/* Prefill: runs the decoder over all prefix tokens of a step at once. The resulting caches are the same as
 * after single steps, except for the order of summation in cross-attention. */
#include <assert.h>

#include "model/config/sides.h"
#include "model/infer/internal.h"

/* Tables of a prefill, with one row per prefix token. */
struct prefill_views {
    struct clf__tensor ids, positions, position_rows, cache_rows, places;
    struct clf__sequence_ranges cross; /* one range per row of the step */
    double pairs;                      /* as in struct step_views */
    const int32_t *host_cache_rows;
};

int64_t clf__prefill_upload(const struct clf__session_limits *limits)
{
    return 5 * (int64_t)limits->prefill + 4 * (int64_t)limits->cache_rows;
}

static int count_prefill(const struct clf__step *step, int row)
{
    return step->prefill_offsets[row + 1] - step->prefill_offsets[row];
}

/* Sets the range of cross-attention for the prefix tokens of each row. */
static void take_cross_ranges(struct clf__sequence_ranges *cross, struct clf__session *session,
                              const struct clf__step *step)
{
    int32_t *ranges;
    *cross = clf__upload_take_ranges(&session->target, step->rows, &ranges);
    for (int r = 0; r < step->rows; r++) {
        const struct clf__session_slot *slot = &session->slots[step->slots[r]];
        int count = count_prefill(step, r);
        assert(slot->first >= 0);
        ranges[4 * r] = step->prefill_offsets[r];
        ranges[4 * r + 1] = count;
        ranges[4 * r + 2] = slot->first;
        ranges[4 * r + 3] = slot->length;
        cross->max_queries = count > cross->max_queries ? count : cross->max_queries;
        cross->max_keys = slot->length > cross->max_keys ? slot->length : cross->max_keys;
    }
    clf__ranges_count(cross, ranges, 0);
}

static clf_status upload_prefill(struct clf__session *session, struct prefill_views *views,
                                 const struct clf__step *step)
{
    const struct clf__config *config = &session->transformer->config;
    struct clf__upload *upload = &session->target;
    struct clf__position_rows table = clf__position_rows(config, CLF__DECODER);
    int count = step->prefill_offsets[step->rows];
    int32_t *ids, *positions, *position_rows, *cache_rows, *places;
    upload->count = 0;
    views->ids = clf__upload_take(upload, count, &ids);
    views->positions = clf__upload_take(upload, count, &positions);
    views->position_rows = clf__upload_take(upload, count, &position_rows);
    views->cache_rows = clf__upload_take(upload, count, &cache_rows);
    views->places = clf__upload_take(upload, count, &places);
    views->host_cache_rows = cache_rows;
    views->pairs = 0.0;
    for (int r = 0; r < step->rows; r++) {
        for (int i = step->prefill_offsets[r]; i < step->prefill_offsets[r + 1]; i++) {
            int position = step->positions[r] - (step->prefill_offsets[r + 1] - i);
            int is_pad = config->position_padding_aware && step->prefill[i] == config->pad_id;
            assert(position >= 0 && position < session->limits.positions);
            ids[i] = step->prefill[i];
            positions[i] = position;
            position_rows[i] = is_pad ? table.pad : table.first + position;
            cache_rows[i] = step->cache_rows[r];
            places[i] = step->cache_rows[r] * session->limits.positions + position;
            views->pairs += position + 1;
        }
    }
    take_cross_ranges(&views->cross, session, step);
    return clf__upload_send(upload);
}

/* Adds the prefix tokens to the history that the next step continues. */
static clf_status expect_prefill(const struct clf__session *session, const struct clf__mixer_step *mixer_step,
                                 const struct prefill_views *views, const struct clf__step *step)
{
    const struct clf__mixer_kind *kind = clf__session_mixer(session);
    assert(kind->expect != NULL);
    for (int r = 0; r < step->rows; r++) {
        int count = count_prefill(step, r);
        if (count > 0) {
            assert(step->parents[r] == step->cache_rows[r]);
            CLF__TRY(kind->expect(mixer_step, views->host_cache_rows + step->prefill_offsets[r],
                                  step->positions[r] - count, count));
        }
    }
    return CLF_OK;
}

clf_status clf__session_prefill(struct clf__session *session, const struct clf__step *step)
{
    const struct clf__stack *decoder = &session->transformer->decoder;
    int rows = step->prefill_offsets[step->rows];
    struct prefill_views views;
    assert(rows <= session->limits.prefill);
    if (rows == 0) {
        return CLF_OK;
    }
    CLF__TRY(upload_prefill(session, &views, step));
    const struct clf__mixer_step mixer_step = {
        .cache_rows = views.cache_rows,
        .positions = views.positions,
        .relative = decoder->embedder.relative.table,
        .shared = &session->shared_state,
        .buffer_index =
            session->buffer_index, /* the buffer that the last step wrote and the next step reads */
        .pairs = views.pairs,
        .places = views.places,
    };
    const struct clf__attention_call cross = clf__session_cross(session, views.cross);
    const struct clf__front_end_input input = {.ids = views.ids};
    const struct clf__layer_call call = {
        .step = &mixer_step, .cross_call = &cross, .counters = session->counters};
    CLF__TRY(expect_prefill(session, &mixer_step, &views, step));
    CLF__TRY(clf__embedder_forward(clf__tensor_rows(session->workspace.x, 0, rows), &decoder->embedder,
                                   &input, views.position_rows));
    return clf__session_run_decoder(session, rows, &call, NULL);
}
