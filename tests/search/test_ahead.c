/* Steps that are prepared before the results of the previous step are known. */
#include "search/toy.h"

enum { SLOTS = 3, LENGTH = 8 };

static struct clf__search *create(const struct clf__search_options *options, int ahead)
{
    struct clf__search *search;
    struct clf__search_limits limits = clf__search_limits_for(options, SLOTS);
    limits.ahead = ahead;
    assert_ok(clf__search_create(&search, &limits));
    return search;
}

/* Fills in a step in which every row continues with `id`, or row `special` with another id. */
static void fill(struct clf__step *step, int32_t id, int special, int32_t special_id)
{
    for (int row = 0; row < step->rows; row++) {
        for (int rank = 0; rank < step->candidates; rank++) {
            step->values[row * step->candidates + rank] = -(float)rank;
            step->ids[row * step->candidates + rank] =
                rank == 0 ? row == special ? special_id : id : rank + 20;
        }
        for (int i = 0; i < 4; i++) {
            step->statistics[4 * row + i] = i % 2 == 0 ? 0.0f : 1.0f;
        }
    }
}

/* The row of a source that has ended is in the next step ahead, but not in the one after it, where the rows
 * of other sources move up; a source that was added meanwhile starts there. */
static void test_rows(void **state)
{
    (void)state;
    struct clf__search_options options = toy_options(40, 1, 1, LENGTH);
    options.min_length = 2;
    struct clf__search *search = create(&options, 1);
    struct clf__search_result found;
    for (int slot = 0; slot < 2; slot++) {
        assert_ok(clf__search_add(search, slot, &options, slot));
    }
    struct clf__step *step = clf__search_prepare(search);
    assert_int_equal(step->is_ahead, 0);
    assert_int_equal(step->token_rows[0], -1);
    fill(step, 5, -1, 0);
    clf__search_advance(search);
    step = clf__search_prepare(search);
    assert_int_equal(step->is_ahead, 0);
    struct clf__step *ahead = clf__search_prepare_ahead(search);
    assert_non_null(ahead);
    assert_null(clf__search_prepare_ahead(search)); /* at most one */
    assert_int_equal(ahead->is_ahead, 1);
    assert_int_equal(ahead->rows, 2);
    for (int row = 0; row < 2; row++) {
        assert_int_equal(ahead->token_rows[row], row);
        assert_int_equal(ahead->positions[row], 2);
        assert_int_equal(ahead->cache_rows[row], row);
        assert_int_equal(ahead->parents[row], row);
        assert_int_equal(ahead->slots[row], row);
    }
    assert_int_equal(step->banned_offsets[2], 0); /* the second token may be the end */
    fill(step, 6, 0, TOY_END);
    clf__search_advance(search);
    assert_int_equal(clf__search_take(search, &found), 1);
    assert_int_equal(found.tag, 0);
    assert_int_equal(found.hypotheses[0].length, 2);
    assert_ok(clf__search_add(search, 2, &options, 2));
    step = clf__search_prepare(search);
    assert_int_equal(step->is_ahead, 1);
    assert_int_equal(step->rows, 2); /* one of an ended source, none of the new one */
    ahead = clf__search_prepare_ahead(search);
    assert_int_equal(ahead->rows, 2);
    assert_int_equal(ahead->slots[0], 1);
    assert_int_equal(ahead->token_rows[0], 1);
    assert_int_equal(ahead->positions[0], 3);
    assert_int_equal(ahead->slots[1], 2);
    assert_int_equal(ahead->token_rows[1], -1);
    assert_int_equal(ahead->tokens[1], TOY_START);
    assert_int_equal(ahead->positions[1], 0);
    assert_int_equal(ahead->banned_offsets[1], 0);
    assert_int_equal(ahead->banned_offsets[2], 1); /* the end is too early for the new source */
    clf__search_free(search);
}

/* Results of an ended source in the step ahead do not reach another source in the same slot. */
static void test_used_slot(void **state)
{
    (void)state;
    struct clf__search_options options = toy_options(40, 1, 1, LENGTH);
    struct clf__search *search = create(&options, 1);
    struct clf__search_result found;
    int tag, count;
    assert_ok(clf__search_add(search, 0, &options, 0));
    assert_ok(clf__search_add(search, 1, &options, 1));
    struct clf__step *step = clf__search_prepare(search);
    assert_non_null(clf__search_prepare_ahead(search));
    fill(step, 6, 0, TOY_END);
    clf__search_advance(search);
    assert_int_equal(clf__search_take(search, &found), 1);
    assert_ok(clf__search_add(search, 0, &options, 5));
    fill(clf__search_prepare(search), 9, -1, 0);
    clf__search_advance(search);
    assert_non_null(clf__search_look(search, 0, &tag, &count));
    assert_int_equal(tag, 5);
    assert_int_equal(count, 0);
    const int32_t *ids = clf__search_look(search, 1, &tag, &count);
    assert_int_equal(count, 2);
    assert_int_equal(ids[1], 9);
    clf__search_free(search);
}

/* A step ahead without sources is dropped; withdrawn steps are prepared again with tokens that are now known.
 */
static void test_dropped(void **state)
{
    (void)state;
    struct clf__search_options options = toy_options(40, 1, 1, LENGTH);
    struct clf__search *search = create(&options, 1);
    assert_ok(clf__search_add(search, 0, &options, 0));
    struct clf__step *step = clf__search_prepare(search);
    assert_non_null(clf__search_prepare_ahead(search));
    fill(step, 6, -1, 0);
    clf__search_advance(search);
    assert_int_equal(clf__search_prepare(search)->is_ahead, 1);
    assert_non_null(clf__search_prepare_ahead(search));
    clf__search_withdraw(search);
    step = clf__search_prepare(search);
    assert_int_equal(step->is_ahead, 0);
    assert_int_equal(step->rows, 1);
    assert_int_equal(step->tokens[0], 6);
    assert_int_equal(step->token_rows[0], -1);
    assert_int_equal(step->positions[0], 1);
    assert_non_null(clf__search_prepare_ahead(search));
    fill(step, 8, -1, 0);
    clf__search_advance(search);
    clf__search_remove(search, 0);
    assert_ok(clf__search_add(search, 1, &options, 1));
    step = clf__search_prepare(search);
    assert_int_equal(step->is_ahead, 0);
    assert_int_equal(step->rows, 1);
    assert_int_equal(step->slots[0], 1);
    clf__search_free(search);
}

/* Forced tokens are known; a source that ends with the prepared step is not in the step ahead. */
static void test_forced(void **state)
{
    (void)state;
    static const int32_t prefix[] = {11, 12};
    struct clf__search_options options = toy_options(40, 1, 1, 4);
    options.prefix = prefix;
    options.prefix_count = 2;
    options.forced_last = TOY_END;
    struct clf__search *search = create(&options, 1);
    assert_ok(clf__search_add(search, 0, &options, 0));
    for (int i = 0; i < 2; i++) {
        struct clf__step *step = clf__search_prepare(search), *ahead = clf__search_prepare_ahead(search);
        assert_int_equal(step->is_ahead, i > 0);
        assert_int_equal(ahead->tokens[0], prefix[i]);
        assert_int_equal(ahead->token_rows[0], -1);
        fill(step, 30, -1, 0);
        clf__search_advance(search);
    }
    struct clf__step *step = clf__search_prepare(search);
    assert_null(clf__search_prepare_ahead(search)); /* the fourth token is forced and the last */
    fill(step, 30, -1, 0);
    clf__search_advance(search);
    assert_int_equal(clf__search_prepare(search)->rows, 0);
    assert_null(clf__search_prepare_ahead(search));
    clf__search_advance(search);
    struct clf__search_result found;
    assert_int_equal(clf__search_take(search, &found), 1);
    const int32_t expected[] = {11, 12, 30, TOY_END};
    assert_int_equal(found.hypotheses[0].length, 4);
    assert_memory_equal(found.hypotheses[0].ids, expected, sizeof expected);
    clf__search_free(search);
}

/* The model chooses the rows of beams: from one row, then from the rows of all beams, whose scores the host
 * does not know. */
static void test_beams(void **state)
{
    (void)state;
    static const int32_t other_ends[] = {7};
    struct clf__search_options options = toy_options(40, 3, 1, LENGTH),
                               greedy = toy_options(40, 1, 1, LENGTH);
    options.other_end_ids = other_ends;
    options.other_end_count = 1;
    struct clf__search *search = create(&options, 1);
    assert_ok(clf__search_add(search, 0, &greedy, 0));
    assert_ok(clf__search_add(search, 1, &options, 1));
    struct clf__step *step = clf__search_prepare(search), *ahead = clf__search_prepare_ahead(search);
    assert_int_equal(step->rows, 2);
    assert_int_equal(step->choice_count, 0);
    assert_int_equal(ahead->rows, 4);
    assert_int_equal(ahead->token_rows[0], 0);
    assert_int_equal(ahead->choice_count, 1);
    assert_int_equal(ahead->previous_rows, 2);
    assert_true(ahead->previous_scores[1] == 0.0f);
    const struct clf__beam_choice first = {.from_row = 1,
                                           .from_rows = 1,
                                           .ranks = 9,
                                           .row = 1,
                                           .beams = 3,
                                           .cache_row = 3,
                                           .knows_scores = 1,
                                           .ends = {TOY_END, 7, -1, -1}};
    assert_memory_equal(ahead->choices, &first, sizeof first);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ahead->slots[1 + i], 1);
        assert_int_equal(ahead->positions[1 + i], 1);
        assert_int_equal(ahead->cache_rows[1 + i], 3 + i);
        assert_int_equal(ahead->token_rows[1 + i], -1);
    }
    fill(step, 5, -1, 0);
    clf__search_advance(search);
    assert_int_equal(clf__search_prepare(search)->is_ahead, 1);
    ahead = clf__search_prepare_ahead(search);
    assert_int_equal(ahead->choice_count, 1);
    const struct clf__beam_choice second = {.from_row = 1,
                                            .from_rows = 3,
                                            .ranks = 9,
                                            .row = 1,
                                            .beams = 3,
                                            .cache_row = 3,
                                            .ends = {TOY_END, 7, -1, -1}};
    assert_memory_equal(ahead->choices, &second, sizeof second);
    clf__search_withdraw(search); /* the beams start again, the greedy source goes on */
    step = clf__search_prepare(search);
    assert_int_equal(step->rows, 2);
    assert_int_equal(step->positions[0], 1);
    assert_int_equal(step->tokens[0], 5);
    assert_int_equal(step->positions[1], 0);
    assert_int_equal(step->tokens[1], TOY_START);
    clf__search_free(search);
}

static void check_impossible(const struct clf__search_options *options, int ahead)
{
    struct clf__search *search = create(options, ahead);
    assert_ok(clf__search_add(search, 0, options, 0));
    clf__search_prepare(search);
    assert_null(clf__search_prepare_ahead(search));
    clf__search_free(search);
}

static void test_impossible(void **state)
{
    (void)state;
    static const int32_t word[] = {3, 4}, offsets[] = {0, 2}, ends[] = {5, 6, 7, 8};
    struct clf__search_options greedy = toy_options(40, 1, 1, LENGTH), options = greedy;
    check_impossible(&greedy, 0);
    options.max_length = 1; /* ends with the first step */
    check_impossible(&options, 1);
    options = toy_options(40, 2, 1, LENGTH);
    options.early_stopping = CLF__STOP_ALL;
    check_impossible(&options, 1);
    options.early_stopping = CLF__STOP_SHRINK;
    check_impossible(&options, 1);
    options.early_stopping = CLF__STOP_TRUE;
    options.other_end_ids = ends;
    options.other_end_count = CLF__CHOICE_ENDS;
    check_impossible(&options, 1);
    options.other_end_count = 0;
    options.groups = 2;
    options.diversity_penalty = 1.0f;
    check_impossible(&options, 1);
    options.groups = 1;
    options.prefix = word; /* the prepared step is forced, and its beams go on */
    options.prefix_count = 1;
    check_impossible(&options, 1);
    options = toy_options(40, 12, 1, LENGTH); /* too many candidates */
    check_impossible(&options, 1);
    options = greedy;
    options.sampling.is_on = 1;
    check_impossible(&options, 1);
    options = greedy;
    options.no_repeat_ngram = 2;
    check_impossible(&options, 1);
    options = greedy;
    options.source_no_repeat_ngram = 2;
    check_impossible(&options, 1);
    options = greedy;
    options.bad_words = word;
    options.bad_word_offsets = offsets;
    options.bad_word_count = 1;
    check_impossible(&options, 1);
    options = greedy;
    options.repetition_penalty = 1.5f;
    check_impossible(&options, 1);
    options = greedy;
    options.coverage_penalty = 0.5;
    check_impossible(&options, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),   cmocka_unit_test(test_used_slot), cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_forced), cmocka_unit_test(test_beams),     cmocka_unit_test(test_impossible),
    };
    return cmocka_run_group_tests_name("search/ahead", tests, NULL, NULL);
}
