#include "model/infer/session.h"

#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "math/ops/cache.h"
#include "model/config/sides.h"
#include "model/infer/internal.h"
#include "model/stacks.h"
#include "runtime/device/caps.h"
#include "runtime/device/lock.h"

static const struct clf__front_end_kind *front_end_of(const struct clf__session *session)
{
    return session->transformer->encoder.embedder.front_end.kind;
}

int clf__session_source_rows(const struct clf__session *session, int length)
{
    return front_end_of(session)->rows(length);
}

/* Returns an upper bound, because the rows of each source may be rounded up. */
static int most_source_rows(const struct clf__session *session)
{
    const struct clf__session_limits *limits = &session->limits;
    int rows = clf__session_source_rows(session, limits->source_tokens);
    int rounded = limits->sources < INT_MAX - rows ? rows + limits->sources : INT_MAX;
    return clf__min_int(limits->source_tokens, rounded);
}

/* Maximum rows of the encoder and decoder stacks. */
static int most_rows(const struct clf__session *session)
{
    const struct clf__session_limits *limits = &session->limits;
    int decoded = clf__max_int(clf__max_int(limits->cache_rows, limits->prefill), limits->target_tokens);
    return clf__max_int(session->source_rows, decoded);
}

/* Maximum rows of a GEMM: convolutions process the frames of one source. */
static int most_gemm_rows(const struct clf__session *session)
{
    int frames = front_end_of(session)->scratch != NULL ? session->limits.source_length : 0;
    return clf__max_int(most_rows(session), frames);
}

static int most_inputs(const struct clf__config *config)
{
    struct clf__workspace_widths widths = clf__stacks_widths(config);
    int seen = config->convolves_frames ? CLF__CONVOLUTION_WIDTH : 1;
    int features =
        clf__max_int(seen * config->feature_size, config->convolves_frames ? seen * widths.d_model : 0);
    return clf__max_int(clf__max_int(config->encoder_ffn, config->decoder_ffn),
                        clf__max_int(clf__max_int(widths.d_model, widths.context), features));
}

/* Reserves the cross-attention map of one layer for one target, and scratch memory unless that is already
 * reserved. */
static clf_status reserve_alignment(struct clf__session *session, int with_scratch)
{
    const struct clf__session_limits *limits = &session->limits;
    struct clf__heads heads = clf__config_heads(&session->transformer->config, CLF__DECODER);
    int keys = clf__session_source_rows(session, limits->source_length), queries = limits->target_length;
    if (with_scratch) {
        CLF__TRY(
            clf__attention_scratch_reserve(&session->scratch, &session->arena, 1, &heads, queries, keys));
    }
    return clf__arena_reserve(&session->arena, &session->maps[1], CLF__F32, (int64_t)heads.count * queries,
                              keys, "cross-attention weights of a layer");
}

static clf_status reserve_attention(struct clf__session *session)
{
    const struct clf__session_limits *limits = &session->limits;
    const struct clf__config *config = &session->transformer->config;
    if (!limits->maps && clf__device_caps(session->transformer->device)->attention == CLF_ATTENTION_FUSED) {
        return limits->aligns ? reserve_alignment(session, 1) : CLF_OK;
    }
    struct clf__heads largest = clf__config_largest_heads(config);
    int beams = limits->sources > 0 ? limits->cache_rows / limits->sources : 0;
    int source_rows = clf__session_source_rows(session, limits->source_length);
    int is_dense = clf__tree_mixer(config, CLF__ENCODER) == &clf__self_attention_mixer;
    int encoded = is_dense ? source_rows : 0; /* local attention needs no scratch */
    int queries = clf__max_int(clf__max_int(encoded, limits->target_length),
                               clf__max_int(beams, clf__min_int(limits->prefill, limits->positions)));
    int keys = clf__max_int(source_rows, limits->target_length);
    CLF__TRY(clf__attention_scratch_reserve(&session->scratch, &session->arena, limits->sources, &largest,
                                            queries, keys));
    for (int i = 0; limits->maps && i < 2; i++) {
        CLF__TRY(clf__arena_reserve(&session->arena, &session->maps[i], CLF__F32,
                                    (int64_t)limits->sources * largest.count * queries, keys,
                                    "the attention maps"));
    }
    return limits->aligns && !limits->maps ? reserve_alignment(session, 0) : CLF_OK;
}

/* Reserves scratch memory for attention with keys split over several work-groups: cross-attention and, in GPU
 * kernels, also self-attention. */
static clf_status reserve_partials(struct clf__session *session)
{
    const struct clf__session_limits *limits = &session->limits;
    const struct clf_device *device = session->arena.device;
    struct clf__heads heads = clf__config_heads(&session->transformer->config, CLF__DECODER);
    int keys = clf__session_source_rows(session, limits->source_length), rows = limits->cache_rows;
    if (clf__device_caps(device)->variant == CLF_VARIANT_GPU) {
        keys = clf__max_int(keys, limits->positions);
        rows = clf__min_int(rows, clf__attention_split_rows(device, &heads));
    }
    int64_t count = clf__attention_partials(&heads, rows, keys);
    return count > 0 ? clf__arena_reserve(&session->arena, &session->partials, CLF__F32, 1, count,
                                          "partial sums of attention")
                     : CLF_OK;
}

/* Returns the type in which keys and values of the sources are cached. Batched attention requires fp32. */
static enum clf__type memory_type(const struct clf__session *session)
{
    const struct clf__transformer *transformer = session->transformer;
    int is_fused = clf__device_caps(transformer->device)->attention == CLF_ATTENTION_FUSED;
    return is_fused && session->limits.cache_rows > 0 ? clf__cache_type(transformer->precision) : CLF__F32;
}

static clf_status reserve_memory(struct clf__session *session)
{
    const struct clf__session_limits *limits = &session->limits;
    const struct clf__config *config = &session->transformer->config;
    struct clf__heads heads = clf__config_heads(config, CLF__DECODER);
    int width = clf__memory_projection_width(&heads);
    enum clf__type type = memory_type(session);
    CLF__TRY(clf__allocate(&session->memory, (size_t)config->decoder_layers, sizeof *session->memory));
    for (int i = 0; i < config->decoder_layers; i++) {
        CLF__TRY(clf__arena_reserve(&session->arena, &session->memory[i], type, session->source_rows, width,
                                    "the cross-attention's keys and values"));
    }
    int takes_floats = limits->target_tokens > 0 || limits->prefill > 0;
    return type == CLF__F16 && takes_floats
               ? clf__arena_reserve(&session->arena, &session->scratch.memory, CLF__F32, session->source_rows,
                                    width, "a layer's keys and values of the sources")
               : CLF_OK;
}

static clf_status reserve_decoder(struct clf__session *session)
{
    const struct clf__session_limits *limits = &session->limits;
    const struct clf__config *config = &session->transformer->config;
    struct clf__arena *arena = &session->arena;
    size_t layers = (size_t)config->decoder_layers;
    arena->is_joined =
        clf__caps_have_matrix(clf__device_caps(arena->device)); /* a kernel can bind only a few buffers */
    CLF__TRY(reserve_memory(session));
    CLF__TRY(clf__allocate(&session->layer_states, layers, sizeof *session->layer_states));
    CLF__TRY(clf__allocate(&session->layer_calls, layers, sizeof *session->layer_calls));
    for (int i = 0; i < config->decoder_layers; i++) {
        if (limits->cache_rows > 0) {
            const struct clf__mixer *mixer = &session->transformer->decoder.layers[i].mixer;
            CLF__TRY(mixer->kind->reserve_state(&session->layer_states[i], arena, mixer, limits->cache_rows,
                                                limits->positions));
        }
    }
    arena->is_joined = 0;
    if (limits->cache_rows > 0) {
        CLF__TRY(clf__persistent_reserve(&session->persistent, arena, session->transformer->decoder.layers,
                                         config->decoder_layers, limits->cache_rows));
        CLF__TRY(clf__linear_pairs_reserve(&session->pairs, arena, limits->cache_rows, config->d_model));
        CLF__TRY(clf__arena_reserve(arena, &session->layer_addresses, CLF__I32, config->decoder_layers,
                                    CLF__DECODER_ADDRESSES, "addresses of the decoder's layers"));
        /* The output projection's counters occupy a separate cache line. */
        int counters = CLF__DECODER_COUNTERS(config->decoder_layers) + 16;
        CLF__TRY(
            clf__arena_reserve(arena, &session->counters, CLF__I32, 1, counters, "the decoder's counters"));
        CLF__TRY(reserve_partials(session));
        const struct clf__mixer_kind *kind = clf__session_mixer(session);
        if (kind->reserve_shared != NULL) {
            CLF__TRY(
                kind->reserve_shared(&session->shared_state, arena, limits->cache_rows, limits->positions));
        }
    }
    int rows = clf__max_int(limits->cache_rows, limits->target_tokens);
    int64_t looked = 4 * (int64_t)limits->target_tokens * limits->ranges;
    int64_t results =
        clf__max_int64(clf__step_results(limits), clf__max_int64(limits->target_tokens, looked));
    CLF__TRY(clf__arena_reserve(arena, &session->read_back, CLF__F32, 1, CLF__STEP_HEADER + results,
                                "the candidates"));
    if (limits->attention_layer > 0) {
        CLF__TRY(clf__arena_reserve(arena, &session->looks, CLF__F32, 1,
                                    (int64_t)limits->cache_rows * limits->source_length,
                                    "attention weights of a step"));
    }
    struct clf__projection projection = clf__session_projection(session);
    CLF__TRY(clf__projection_scratch_reserve(&session->projection, arena, &projection, rows,
                                             limits->candidates,
                                             limits->logits || limits->ranges > 0 || limits->picks > 0));
    int64_t sources = limits->sources;
    CLF__TRY(clf__shortlists_reserve(session));
    int64_t step =
        8 * (int64_t)limits->cache_rows + 1 + 4 * sources + limits->banned + clf__shortlists_upload(limits);
    step += 2 * (int64_t)limits->cache_rows * (limits->ranges + (int64_t)limits->picks) +
            CLF__DRAW_WORDS * (int64_t)limits->draws;
    step += limits->chain;
    int64_t force = (4 + 2 * (int64_t)limits->ranges) * limits->target_tokens + 8 * sources;
    step += limits->pipelined ? limits->cache_rows + CLF__CHOICE_WORDS * sources : 0;
    int64_t count = clf__max_int64(clf__max_int64(step, force), clf__prefill_upload(limits));
    CLF__TRY(clf__upload_reserve(&session->target, arena, count));
    if (!limits->pipelined) {
        return CLF_OK;
    }
    CLF__TRY(clf__arena_reserve(arena, &session->beam_scores, CLF__F32, 2, limits->cache_rows,
                                "the scores of beams"));
    return clf__allocate(&session->other_staging, (size_t)count, sizeof *session->other_staging);
}

static clf_status reserve_slots(struct clf__session *session)
{
    size_t sources = (size_t)session->limits.sources;
    CLF__TRY(clf__allocate(&session->source_first, sources + 1, sizeof *session->source_first));
    CLF__TRY(clf__allocate(&session->slots, sources, sizeof *session->slots));
    CLF__TRY(clf__allocate(&session->occupied, sources, sizeof *session->occupied));
    CLF__TRY(clf__allocate(&session->slot_numbers, sources, sizeof *session->slot_numbers));
    for (size_t i = 0; i < sources; i++) {
        session->slots[i].first = -1;
    }
    return clf__upload_reserve(&session->placed, &session->arena, 3 * (int64_t)session->source_rows);
}

static clf_status reserve_frames(struct clf__session *session)
{
    const struct clf__session_limits *limits = &session->limits;
    const struct clf__config *config = &session->transformer->config;
    const struct clf__front_end_kind *kind = front_end_of(session);
    CLF__TRY(clf__arena_reserve(&session->arena, &session->frames, CLF__F32, limits->source_tokens,
                                config->feature_size, "the frames"));
    return kind->scratch == NULL ? CLF_OK
                                 : clf__arena_reserve(&session->arena, &session->front_scratch, CLF__F32, 1,
                                                      kind->scratch(config->d_model, config->feature_size,
                                                                    limits->source_length),
                                                      "scratch memory of convolutions");
}

static clf_status reserve(struct clf__session *session)
{
    const struct clf__session_limits *limits = &session->limits;
    const struct clf__config *config = &session->transformer->config;
    struct clf__arena *arena = &session->arena;
    struct clf__workspace_widths widths = clf__stacks_widths(config);
    /* All linear layers have the same precision. */
    widths.operand = clf__linear_row_operand(&session->transformer->decoder.projection);
    session->source_rows = most_source_rows(session);
    CLF__TRY(clf__workspace_reserve(&session->workspace, arena, most_rows(session), &widths));
    CLF__TRY(config->feature_size > 0 ? reserve_frames(session) : CLF_OK);
    CLF__TRY(reserve_slots(session));
    CLF__TRY(clf__upload_reserve(&session->source, arena,
                                 3 * (int64_t)session->source_rows + 4 * (int64_t)limits->sources +
                                     clf__global_blocks_upload(session)));
    CLF__TRY(clf__global_blocks_reserve(session));
    CLF__TRY(reserve_decoder(session));
    return reserve_attention(session);
}

/* Chooses how to run steps with few launches. */
static clf_status prepare_steps(struct clf__session *session)
{
    const struct clf__stack *decoder = &session->transformer->decoder;
    struct clf__tensor counters = session->counters;
    session->projection.counter = clf__tensor_columns(counters, counters.columns - 16, 1);
    CLF__TRY(clf__buffer_fill(counters.buffer, 0, clf__buffer_bytes(counters.buffer), 0.0f));
    session->persistent.failed = session->pairs.failed = clf__tensor_columns(session->read_back, 0, 1);
    CLF__TRY(clf__buffer_fill(session->read_back.buffer, 0, CLF__STEP_HEADER * sizeof(float), 0.0f));
    CLF__TRY(clf__linear_pairs_prepare(&session->pairs));
    size_t bytes = (CLF__STEP_HEADER + (size_t)clf__step_results(&session->limits)) * sizeof(float);
    for (int i = 0; i < 1 + session->limits.pipelined; i++) {
        CLF__TRY(clf__readback_create(&session->queued[i].results, session->transformer->device, bytes,
                                      "the candidates"));
    }
    CLF__TRY(clf__persistent_prepare(&session->persistent, decoder->layers, decoder->layer_count,
                                     session->layer_states, session->memory));
    return clf__decoder_layers_store_addresses(&session->layer_addresses, decoder->layers,
                                               session->layer_states, session->memory);
}

/* Allocates the reserved device memory. */
static clf_status allocate(struct clf__session *session)
{
    struct clf__transformer *transformer = session->transformer;
    const struct clf__session_limits *limits = &session->limits;
    CLF__TRY(clf__arena_allocate(&session->arena));
    session->results = clf__tensor_columns(session->read_back, CLF__STEP_HEADER,
                                           session->read_back.columns - CLF__STEP_HEADER);
    int source_rows = clf__session_source_rows(session, limits->source_length);
    int target_rows = clf__max_int(limits->positions, limits->target_length);
    CLF__TRY(clf__transformer_ensure_positions(transformer, clf__min_int(source_rows, CLF__FIRST_POSITIONS),
                                               clf__min_int(target_rows, CLF__FIRST_POSITIONS)));
    CLF__TRY(clf__gemm_reserve(transformer->device, most_gemm_rows(session),
                               most_inputs(&transformer->config), transformer->precision));
    CLF__TRY(clf__shortlists_fill(session));
    return limits->cache_rows > 0 ? prepare_steps(session) : CLF_OK;
}

/* Creates a session and reserves its device memory, but does not allocate it. */
static clf_status plan(struct clf__session **out, struct clf__transformer *transformer,
                       const struct clf__session_limits *limits)
{
    struct clf__session *session;
    CLF__TRY(clf__allocate(&session, 1, sizeof *session));
    session->transformer = transformer;
    session->limits = *limits;
    clf__arena_init(&session->arena, transformer->device);
    clf_status status = reserve(session);
    if (status != CLF_OK) {
        clf__session_free(session);
        return status;
    }
    *out = session;
    return CLF_OK;
}

clf_status clf__session_create(struct clf__session **out, struct clf__transformer *transformer,
                               const struct clf__session_limits *limits)
{
    CLF__LOCK_DEVICE(transformer->device);
    struct clf__session *session;
    CLF__TRY(plan(&session, transformer, limits));
    clf_status status = allocate(session);
    if (status != CLF_OK) {
        clf__session_free(session);
        return status;
    }
    *out = session;
    return CLF_OK;
}

clf_status clf__session_measure(struct clf__session_size *out, struct clf__transformer *transformer,
                                const struct clf__session_limits *limits)
{
    CLF__LOCK_DEVICE(transformer->device);
    struct clf__session *session;
    CLF__TRY(plan(&session, transformer, limits));
    *out = (struct clf__session_size){session->arena.bytes, session->arena.largest};
    clf__session_free(session);
    return CLF_OK;
}

void clf__session_free(struct clf__session *session)
{
    CLF__LOCK_DEVICE(session != NULL ? session->transformer->device : NULL);
    if (session == NULL) {
        return;
    }
    clf__session_drop(session);
    clf__readback_free(session->queued[0].results);
    clf__readback_free(session->queued[1].results);
    clf__arena_free(&session->arena);
    clf__free(session->memory);
    clf__free(session->layer_states);
    clf__free(session->layer_calls);
    clf__free(session->source_first);
    clf__free(session->slots);
    clf__free(session->occupied);
    clf__free(session->slot_numbers);
    clf__free(session->source.staging);
    clf__free(session->placed.staging);
    clf__free(session->target.staging);
    clf__free(session->other_staging);
    clf__shortlists_free(&session->shortlists);
    clf__free(session);
}
