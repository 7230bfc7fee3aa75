/* Aligns given targets with a source: reads the attention weights of some heads, and logits of id ranges. */
#include <assert.h>
#include <string.h>

#include "base/minmax.h"
#include "model/infer/internal.h"
#include "runtime/device/lock.h"

clf_status clf__session_align(struct clf__session *session, int slot, const int32_t *inputs, int count,
                              const struct clf__session_head *heads, int head_count, float *weights)
{
    CLF__LOCK_DEVICE(session->transformer->device);
    assert(session->limits.aligns && count > 0 && count <= session->limits.target_length);
    assert(slot >= 0 && slot < session->limits.sources && session->slots[slot].first >= 0);
    for (int i = 0; i < head_count; i++) {
        assert(heads[i].layer >= 0 && heads[i].layer < session->transformer->config.decoder_layers);
        assert(heads[i].head >= 0 && heads[i].head < session->transformer->config.decoder_heads);
    }
    const struct clf__sequences sequences = {.count = 1, .first = (const int[]){0, count}, .ids = inputs};
    const struct clf__decoder_maps maps = {
        .cross = weights,
        .cross_stride = (size_t)count * (size_t)session->slots[slot].length,
        .heads = heads,
        .head_count = head_count,
    };
    return clf__session_force(session, &sequences, &slot, &maps);
}

/* Computes one candidate and two statistics for each range of some rows. */
static clf_status look_at_rows(struct clf__session *session, struct clf__tensor x, struct clf__tensor ranges,
                               float *statistics)
{
    int rows = x.rows, columns = ranges.columns, count = rows * columns;
    struct clf__projection projection = clf__session_projection(session);
    struct clf__tensor logits;
    struct clf__tensor found = clf__tensor_packed(session->results, rows, columns);
    struct clf__tensor values = clf__tensor_packed(session->results, rows, columns / 2);
    values.offset += (size_t)count;
    struct clf__tensor ids = values;
    ids.type = CLF__I32;
    ids.offset += (size_t)count / 2;
    CLF__TRY(clf__projection_logits(&logits, x, &projection, &session->projection));
    CLF__TRY(clf__top_k_ranges(values, ids, found, logits, ranges));
    return clf__tensor_read(found, statistics);
}

clf_status clf__session_look(struct clf__session *session, const int32_t *ranges, int each, float *statistics)
{
    CLF__LOCK_DEVICE(session->transformer->device);
    int rows = session->target_rows, columns = 2 * each, most = session->projection.rows;
    struct clf__upload *upload = &session->target;
    int32_t *staged;
    assert(each > 0 && each <= session->limits.ranges);
    upload->count = 0;
    struct clf__tensor view =
        clf__tensor_packed(clf__upload_take(upload, rows * columns, &staged), rows, columns);
    memcpy(staged, ranges, (size_t)rows * (size_t)columns * sizeof *staged);
    CLF__TRY(clf__upload_send(upload));
    for (int first = 0; first < rows; first += most) {
        int count = clf__min_int(most, rows - first);
        CLF__TRY(look_at_rows(session, clf__tensor_rows(session->workspace.x, first, count),
                              clf__tensor_rows(view, first, count),
                              statistics + (size_t)first * (size_t)columns));
    }
    return CLF_OK;
}
