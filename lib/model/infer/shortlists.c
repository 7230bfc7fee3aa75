/* Shortlists: decoding steps choose from a set of words for each source. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "math/ops/embedding.h"
#include "math/ops/shortlist.h"
#include "model/infer/internal.h"
#include "runtime/device/lock.h"

/* Minimum number of logits to compute at a time. */
enum { LEAST_LOGITS = 1 << 20 };

static int has_shortlists(const struct clf__session_limits *limits)
{
    return limits->shortlist_base + limits->shortlist_each > 0 && limits->cache_rows > 0;
}

/* Returns the maximum shortlist size of a source with `tokens` tokens. */
static int64_t most_words(const struct clf__session *session, int tokens)
{
    int64_t most = session->limits.shortlist_base + (int64_t)session->limits.shortlist_each * tokens;
    int all = session->transformer->config.target_vocabulary;
    return most < all ? most : all;
}

/* Returns the number of shortlist positions per memory row. A slot owns the positions of its rows, so every
 * row must have space for the base words of a source. */
static int64_t places_each(const struct clf__session_limits *limits)
{
    return (int64_t)limits->shortlist_base + limits->shortlist_each;
}

static int64_t place_of(const struct clf__session *session, int slot)
{
    return session->slots[slot].first * places_each(&session->limits);
}

clf_status clf__shortlists_reserve(struct clf__session *session)
{
    const struct clf__session_limits *limits = &session->limits;
    const struct clf__config *config = &session->transformer->config;
    struct clf__shortlists *shortlists = &session->shortlists;
    if (!has_shortlists(limits)) {
        return CLF_OK;
    }
    int64_t places = limits->source_tokens * places_each(limits);
    int64_t row = clf__max_int64(most_words(session, limits->source_length), limits->candidates);
    CLF__TRY(clf__arena_reserve(&session->arena, &shortlists->weight, CLF__F32, config->target_vocabulary,
                                config->d_model, "rows of the projection for shortlists"));
    CLF__TRY(clf__arena_reserve(&session->arena, &shortlists->ids, CLF__I32, 1,
                                clf__max_int64(places, config->target_vocabulary), "the sources' words"));
    CLF__TRY(clf__arena_reserve(&session->arena, &shortlists->logits, CLF__F32, 1,
                                clf__max_int64(row, LEAST_LOGITS), "logits of shortlists"));
    CLF__TRY(clf__allocate(&shortlists->host_ids, (size_t)places, sizeof *shortlists->host_ids));
    return clf__allocate(&shortlists->counts, (size_t)limits->sources, sizeof *shortlists->counts);
}

/* Copies the projection's weight, because its rows are not contiguous in the GEMM layout. */
clf_status clf__shortlists_fill(struct clf__session *session)
{
    struct clf__shortlists *shortlists = &session->shortlists;
    int words = shortlists->weight.rows;
    int32_t *all;
    if (!has_shortlists(&session->limits)) {
        return CLF_OK;
    }
    struct clf__tensor ids = clf__tensor_columns(shortlists->ids, 0, words);
    CLF__TRY(clf__allocate(&all, (size_t)words, sizeof *all));
    for (int i = 0; i < words; i++) {
        all[i] = i;
    }
    clf_status status = clf__tensor_write(ids, all);
    clf__free(all);
    CLF__TRY(status);
    return clf__embedding_forward(shortlists->weight, ids, session->transformer->decoder.projection.weight,
                                  1.0f, CLF__NO_TENSOR, CLF__NO_TENSOR);
}

void clf__shortlists_free(struct clf__shortlists *shortlists)
{
    clf__free(shortlists->host_ids);
    clf__free(shortlists->counts);
}

int64_t clf__shortlists_upload(const struct clf__session_limits *limits)
{
    return has_shortlists(limits) ? 3 * (int64_t)limits->cache_rows + 1 + limits->banned : 0;
}

clf_status clf__session_set_shortlist(struct clf__session *session, int slot, const int32_t *ids, int count)
{
    CLF__LOCK_DEVICE(session->transformer->device);
    struct clf__shortlists *shortlists = &session->shortlists;
    int64_t place = place_of(session, slot);
    assert(shortlists->weight.buffer != NULL && session->slots[slot].first >= 0);
    assert(count > 0 && count <= session->limits.shortlist_base +
                                     session->limits.shortlist_each * session->slots[slot].length);
    memcpy(shortlists->host_ids + place, ids, (size_t)count * sizeof *ids);
    shortlists->counts[slot] = count;
    return clf__tensor_write(clf__tensor_columns(shortlists->ids, (int)place, count), ids);
}

/* Returns the position of an id in an ascending list, or -1. */
static int find(const int32_t *ids, int count, int32_t id)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (ids[middle] < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && ids[low] == id ? low : -1;
}

int clf__shortlists_find(const struct clf__session *session, int slot, int32_t id)
{
    const struct clf__shortlists *shortlists = &session->shortlists;
    return find(shortlists->host_ids + place_of(session, slot), shortlists->counts[slot], id);
}

void clf__shortlists_take_rows(struct clf__shortlisted_rows *rows, struct clf__session *session,
                               const struct clf__step *step)
{
    const struct clf__shortlists *shortlists = &session->shortlists;
    struct clf__upload *upload = &session->target;
    int32_t *starts, *counts, *offsets, *banned;
    rows->starts = clf__upload_take(upload, step->rows, &starts);
    rows->counts = clf__upload_take(upload, step->rows, &counts);
    rows->banned_offsets = clf__upload_take(upload, step->rows + 1, &offsets);
    rows->banned = clf__upload_take(upload, step->banned_offsets[step->rows], &banned);
    rows->most = step->candidates;
    int kept = 0;
    for (int r = 0; r < step->rows; r++) {
        int slot = step->slots[r];
        starts[r] = (int32_t)place_of(session, slot);
        counts[r] = shortlists->counts[slot];
        rows->most = clf__max_int(rows->most, counts[r]);
        offsets[r] = kept;
        for (int32_t i = step->banned_offsets[r]; i < step->banned_offsets[r + 1]; i++) {
            int place = find(shortlists->host_ids + starts[r], counts[r], step->banned[i]);
            if (place >= 0) {
                banned[kept++] = place;
            }
        }
    }
    offsets[step->rows] = kept;
}

/* Scatters the shortlist logits of rows to the whole vocabulary; other words get -inf. */
static clf_status spread_logits(struct clf__step *step, const struct clf__session *session,
                                struct clf__tensor logits, int first)
{
    size_t words = (size_t)session->transformer->config.target_vocabulary, width = (size_t)logits.columns;
    float *packed;
    CLF__TRY(clf__allocate(&packed, (size_t)logits.rows * width, sizeof *packed));
    clf_status status = clf__tensor_read(logits, packed);
    for (int i = 0; i < logits.rows && status == CLF_OK; i++) {
        int slot = step->slots[first + i];
        const int32_t *ids = session->shortlists.host_ids + place_of(session, slot);
        float *row = step->logits + (size_t)(first + i) * words;
        for (size_t v = 0; v < words; v++) {
            row[v] = -INFINITY;
        }
        for (int j = 0; j < session->shortlists.counts[slot]; j++) {
            row[ids[j]] = packed[(size_t)i * width + (size_t)j];
        }
    }
    clf__free(packed);
    return status;
}

clf_status clf__shortlists_top_k(const struct clf__step_results *results, const struct clf__session *session,
                                 const struct clf__step_views *views,
                                 const struct clf__projection *projection, struct clf__step *step)
{
    const struct clf__shortlists *shortlists = &session->shortlists;
    const struct clf__shortlisted_rows *rows = &views->shortlisted;
    int at_once = shortlists->logits.columns / rows->most;
    for (int first = 0; first < step->rows; first += at_once) {
        int count = clf__min_int(at_once, step->rows - first);
        struct clf__tensor logits = clf__tensor_packed(shortlists->logits, count, rows->most);
        CLF__TRY(clf__shortlist_logits(logits, clf__tensor_rows(session->workspace.x, first, count),
                                       shortlists->weight, projection->bias, projection->scale,
                                       shortlists->ids, clf__tensor_columns(rows->starts, first, count),
                                       clf__tensor_columns(rows->counts, first, count)));
        CLF__TRY(step->wants_logits ? spread_logits(step, session, logits, first) : CLF_OK);
        CLF__TRY(clf__session_pick_logits(results, step, views, logits, first));
        CLF__TRY(clf__top_k_forward(
            clf__tensor_rows(results->values, first, count), clf__tensor_rows(results->ids, first, count),
            clf__tensor_rows(results->statistics, first, count), logits, rows->banned,
            clf__tensor_columns(rows->banned_offsets, first, count + 1), step->both_statistics));
    }
    return clf__shortlist_words(results->ids, shortlists->ids, rows->starts, rows->counts);
}
