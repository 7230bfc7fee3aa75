#include "model/upload.h"

#include <string.h>

#include "base/memory.h"
#include "model/embedder.h"
#include "runtime/device/buffer.h"

clf_status clf__upload_reserve(struct clf__upload *upload, struct clf__arena *arena, int64_t count)
{
    count = count > 1 ? count : 1;
    CLF__TRY(clf__arena_reserve(arena, &upload->tensor, CLF__I32, 1, count, "the ids and positions"));
    return clf__allocate(&upload->staging, (size_t)count, sizeof *upload->staging);
}

struct clf__tensor clf__upload_take(struct clf__upload *upload, int count, int32_t **target)
{
    *target = upload->staging + upload->count;
    struct clf__tensor view = clf__tensor_columns(upload->tensor, upload->count, count);
    upload->count += count;
    return view;
}

struct clf__sequence_ranges clf__upload_take_ranges(struct clf__upload *upload, int sequences,
                                                    int32_t **target)
{
    struct clf__tensor table = clf__upload_take(upload, 4 * sequences, target);
    return (struct clf__sequence_ranges){.table = clf__tensor_packed(table, sequences, 4),
                                         .sequences = sequences};
}

clf_status clf__upload_send(const struct clf__upload *upload)
{
    return clf__tensor_write(clf__tensor_columns(upload->tensor, 0, upload->count), upload->staging);
}

clf_status clf__upload_send_later(const struct clf__upload *upload)
{
    const struct clf__tensor *tensor = &upload->tensor;
    return clf__buffer_write_later(tensor->buffer, tensor->offset * sizeof *upload->staging,
                                   (size_t)upload->count * sizeof *upload->staging, upload->staging);
}

/* Fills in the position row of each token; ids NULL: frames. */
static void fill_positions(const struct clf__config *config, enum clf__side side, int32_t *positions,
                           const int32_t *ids, int count)
{
    struct clf__position_rows rows = clf__position_rows(config, side);
    int next = rows.first;
    for (int i = 0; i < count; i++) {
        int is_pad = config->position_padding_aware && ids != NULL && ids[i] == config->pad_id;
        positions[i] = is_pad ? rows.pad : next++;
    }
}

void clf__upload_take_sequences(struct clf__sequence_views *views, struct clf__upload *upload,
                                const struct clf__config *config, const struct clf__sequences *sequences,
                                enum clf__side side)
{
    int rows = sequences->first[sequences->count], longest = 0;
    int32_t *ids, *positions, *hidden, *ranges;
    views->ids = clf__upload_take(upload, rows, &ids);
    views->positions = clf__upload_take(upload, rows, &positions);
    views->hidden = clf__upload_take(upload, rows, &hidden);
    views->ranges = clf__upload_take_ranges(upload, sequences->count, &ranges);
    int hides = config->mask_pad_tokens && sequences->ids != NULL;
    for (int i = 0; i < rows; i++) {
        ids[i] = sequences->ids != NULL ? sequences->ids[i] : 0;
        hidden[i] = hides && ids[i] == config->pad_id;
    }
    if (!hides) {
        views->hidden.buffer = NULL;
    }
    for (int b = 0; b < sequences->count; b++) {
        int first = sequences->first[b], length = sequences->first[b + 1] - first;
        const int32_t *sequence = sequences->ids != NULL ? sequences->ids + first : NULL;
        fill_positions(config, side, positions + first, sequence, length);
        memcpy(ranges + 4 * b, (int32_t[4]){first, length, first, length}, 4 * sizeof *ranges);
        longest = length > longest ? length : longest;
    }
    views->ranges.max_queries = views->ranges.max_keys = longest;
    clf__ranges_count(&views->ranges, ranges, side == CLF__DECODER);
    views->host_positions = positions;
    views->host_hidden = hidden;
}
