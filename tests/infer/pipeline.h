/* Runs the steps of a search as a lane of an engine does, one at a time or two at a time. */
#ifndef CLF_TESTS_INFER_PIPELINE_H
#define CLF_TESTS_INFER_PIPELINE_H

#include <string.h>

#include "model/infer/internal.h"
#include "search/options.h"
#include "search/search.h"
#include "support/model_fixture.h"
#include "support/support.h"

enum { SLOTS = 3, LENGTH = 9 };

/* A search of some sources, which are admitted to free slots. */
struct run {
    int pipelined;
    int most;                /* maximum number of sources that are admitted before a step; 0: no limit */
    int failing_step, stage; /* the persistent launch of this step fails after a stage; -1: none */
    int shortlist;           /* words of each source's shortlist; 0: none */
    int dropping_step;       /* the session and the search drop this step and the one ahead; -1: none */
    /* Filled in: */
    int32_t ids[32][LENGTH];
    int lengths[32];
    float scores[32];
    double sums[32]; /* of the log-probabilities of all hypotheses, with weights */
    int not_finite[32];
    int steps, rows, ahead, voids;
};

/* Each source has other words, so an id has another position in each shortlist. */
static inline void set_shortlist(const struct run *run, struct clf__session *session, int slot, int source)
{
    int32_t ids[256];
    int vocabulary = session->transformer->config.target_vocabulary;
    if (run->shortlist == 0) {
        return;
    }
    for (int i = 0; i < run->shortlist; i++) { /* ascending */
        ids[i] = i < 4 ? i : 4 + (i - 4) * (vocabulary - 4) / (run->shortlist - 4 + source % 2);
    }
    assert_ok(clf__session_set_shortlist(session, slot, ids, run->shortlist - source % 3));
}

static inline void admit(struct run *run, struct clf__session *session, struct clf__search *search,
                         const struct clf__sequences *sources, const struct clf__search_options *options,
                         int *next)
{
    int count = 0;
    for (int slot = 0; slot < SLOTS && *next < sources->count && (run->most == 0 || count < run->most);
         slot++) {
        int first = sources->first[*next], length = sources->first[*next + 1] - first;
        const int alone[2] = {0, length};
        const struct clf__sequences one = {.count = 1, .first = alone, .ids = sources->ids + first};
        if (!clf__search_is_free(search, slot) || !clf__session_reserve(session, slot, length)) {
            continue;
        }
        assert_ok(clf__session_encode(session, &one));
        assert_ok(clf__session_cache(session, &slot));
        set_shortlist(run, session, slot, *next);
        assert_ok(clf__search_add(search, slot, options, (*next)++));
        count++;
    }
}

static inline void take_results(struct run *run, struct clf__session *session, struct clf__search *search,
                                int *done)
{
    struct clf__search_result found;
    while (clf__search_take(search, &found)) {
        clf__session_release(session, found.slot);
        run->not_finite[found.tag] = found.is_not_finite;
        if (found.count > 0) {
            const struct clf__hypothesis *hypothesis = found.hypotheses;
            run->lengths[found.tag] = hypothesis->length;
            run->sums[found.tag] = 0.0;
            for (int i = 0; i < found.count; i++) {
                run->sums[found.tag] += (i + 1) * hypothesis[i].log_probability;
            }
            run->scores[found.tag] = hypothesis->score;
            memcpy(run->ids[found.tag], hypothesis->ids, (size_t)hypothesis->length * sizeof(int32_t));
        }
        (*done)++;
    }
}

/* Runs a step as an engine's lane does. */
static inline clf_status run_step(struct run *run, struct clf__session *session, struct clf__search *search)
{
    int is_void = 0;
    struct clf__step *step = clf__search_prepare(search), *ahead = NULL;
    session->persistent.fails_at = run->steps == run->failing_step ? run->stage : -1;
    if (step->rows > 0 && !step->is_ahead) {
        clf__session_drop(session);
        CLF__TRY(clf__session_enqueue(session, step));
    }
    if (step->rows > 0 && clf__session_can_enqueue(session) &&
        (ahead = clf__search_prepare_ahead(search)) != NULL) {
        CLF__TRY(clf__session_enqueue(session, ahead));
        run->ahead++;
    }
    if (run->steps == run->dropping_step) {
        run->dropping_step = -1;
        clf__session_drop(session);
        clf__search_withdraw(search);
        return CLF_OK;
    }
    CLF__TRY(step->rows > 0 ? clf__session_finish(session, step, &is_void) : CLF_OK);
    if (is_void) {
        run->voids++;
        run->failing_step = -1;
        clf__search_withdraw(search);
        return CLF_OK;
    }
    run->rows += step->rows;
    run->steps++;
    clf__search_advance(search);
    return CLF_OK;
}

static inline struct clf__session *create_session(const struct run *run, struct clf__transformer *transformer,
                                                  const struct clf__sequences *sources,
                                                  const struct clf__search_limits *search)
{
    int longest = 1;
    for (int i = 0; i < sources->count; i++) {
        int length = sources->first[i + 1] - sources->first[i];
        longest = length > longest ? length : longest;
    }
    const struct clf__session_limits limits = {.sources = SLOTS,
                                               .source_tokens = SLOTS * longest,
                                               .source_length = longest,
                                               .pipelined = search->ahead,
                                               .cache_rows = SLOTS * search->beams,
                                               .positions = LENGTH,
                                               .shortlist_base = run->shortlist,
                                               .candidates = search->beams > 1 ? 2 * search->beams : 1,
                                               .banned = SLOTS * search->beams * search->banned};
    struct clf__session *session;
    assert_ok(clf__session_create(&session, transformer, &limits));
    return session;
}

/* Searches all sources, and frees the session while a step may still be enqueued. */
static inline void search_all(struct run *run, struct clf__transformer *transformer,
                              const struct clf__sequences *sources, const struct clf__search_options *options)
{
    struct clf__search_limits limits = clf__search_limits_for(options, SLOTS);
    struct clf__search *search;
    int next = 0, done = 0;
    limits.ahead = run->pipelined;
    assert_true(sources->count <= 32);
    assert_ok(clf__search_create(&search, &limits));
    struct clf__session *session = create_session(run, transformer, sources, &limits);
    while (done < sources->count) {
        admit(run, session, search, sources, options, &next);
        assert_ok(run_step(run, session, search));
        take_results(run, session, search, &done);
    }
    clf__session_free(session);
    clf__search_free(search);
}

static inline struct clf__search_options options_for(const struct clf__transformer *transformer)
{
    const struct clf__config *config = &transformer->config;
    int start = config->decoder_start_id >= 0 ? config->decoder_start_id : config->start_id;
    return (struct clf__search_options){.beams = 1,
                                        .n_best = 1,
                                        .vocabulary = config->target_vocabulary,
                                        .start_id = start,
                                        .end_id = config->end_id,
                                        .max_length = LENGTH,
                                        .length_penalty = 1.0,
                                        .forced_last = -1,
                                        .repetition_penalty = 1.0f,
                                        .source_repetition_penalty = 1.0f,
                                        .decay_factor = 1.0f};
}

static inline void assert_same(const struct run *found, const struct run *expected, int count)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(found->lengths[i], expected->lengths[i]);
        assert_memory_equal(found->ids[i], expected->ids[i], (size_t)found->lengths[i] * sizeof(int32_t));
        assert_memory_equal(&found->sums[i], &expected->sums[i], sizeof found->sums[i]);
        assert_memory_equal(&found->scores[i], &expected->scores[i], sizeof found->scores[i]);
        assert_int_equal(found->not_finite[i], expected->not_finite[i]);
    }
}

static const struct run one_at_a_time = {.failing_step = -1, .dropping_step = -1},
                        in_pairs = {.pipelined = 1, .failing_step = -1, .dropping_step = -1};

/* Sources of different lengths, with ids of the fixture. */
static inline struct clf__sequences make_sources(const struct fixture_case *fixture_case, int count)
{
    int *first = support_array((size_t)count + 1, sizeof *first);
    const struct clf__sequences *given = &fixture_case->sources;
    int32_t *ids = support_array((size_t)(count * given->first[given->count]), sizeof *ids);
    for (int i = 0; i < count; i++) {
        int from = given->first[i % given->count], length = given->first[i % given->count + 1] - from;
        int cut = length > 1 + i % 3 ? i / given->count % 3 : 0; /* without some of the first ids */
        first[i + 1] = first[i] + length - cut;
        memcpy(ids + first[i], given->ids + from + cut, (size_t)(length - cut) * sizeof *ids);
    }
    return (struct clf__sequences){.count = count, .first = first, .ids = ids};
}

#endif
