/* Transient-global attention (Guo et al. 2022, 3.2.2): each block of global_block_size rows of a source
 * becomes a global token. As in transformers' LongT5, remaining rows are part of the last complete block, and
 * a source shorter than a block has no global token. */
#include "base/minmax.h"
#include "model/infer/internal.h"

static int makes_globals(const struct clf__session *session)
{
    return session->transformer->config.encoder_mixer == CLF__MIXER_TRANSIENT_GLOBAL;
}

static int most_blocks(const struct clf__session *session)
{
    return session->source_rows / session->transformer->config.global_block_size;
}

clf_status clf__global_blocks_reserve(struct clf__session *session)
{
    const struct clf__config *config = &session->transformer->config;
    struct clf__attention_scratch *scratch = &session->scratch;
    if (!makes_globals(session) || most_blocks(session) == 0) {
        return CLF_OK;
    }
    struct clf__heads heads = clf__config_heads(config, CLF__ENCODER);
    CLF__TRY(clf__arena_reserve(&session->arena, &scratch->blocks, CLF__F32, most_blocks(session),
                                config->d_model, "the global tokens"));
    return clf__arena_reserve(&session->arena, &scratch->block_projection, CLF__F32, most_blocks(session),
                              clf__self_projection_width(&heads), "the global tokens' keys and values");
}

int64_t clf__global_blocks_upload(const struct clf__session *session)
{
    return makes_globals(session) ? 2 * ((int64_t)most_blocks(session) + session->limits.sources) : 0;
}

void clf__global_blocks_take(struct clf__global_blocks *blocks, struct clf__session *session)
{
    *blocks = (struct clf__global_blocks){.block_size = session->transformer->config.global_block_size};
    if (!makes_globals(session)) {
        return;
    }
    int32_t *table, *segments;
    const int *first = session->source_first;
    int total = 0, size = blocks->block_size;
    blocks->table = clf__tensor_packed(clf__upload_take(&session->source, 2 * session->sources, &table),
                                       session->sources, 2);
    for (int b = 0; b < session->sources; b++) {
        table[2 * b] = total;
        table[2 * b + 1] = (first[b + 1] - first[b]) / size;
        total += table[2 * b + 1];
        blocks->most = clf__max_int(blocks->most, table[2 * b + 1]);
    }
    blocks->segments = clf__tensor_packed(clf__upload_take(&session->source, 2 * total, &segments), total, 2);
    for (int b = 0; b < session->sources; b++) {
        int count = table[2 * b + 1];
        for (int g = 0; g < count; g++, segments += 2) {
            segments[0] = first[b] + g * size;
            segments[1] = g == count - 1 ? first[b + 1] : segments[0] + size;
        }
    }
    blocks->relative = session->transformer->encoder.embedder.global_relative.table;
}
