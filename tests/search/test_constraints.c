/* Required phrases: with enough beams, the search finds all hypotheses that contain them, in order of score;
 * with few, it finds one. */
#include <stdio.h>

#include "search/internal.h"
#include "search/toy.h"

enum { VOCABULARY = 3, LENGTH = 6, BEAMS = 128 /* at least the number of hypotheses */, MOST_IDS = 12 };

struct entry {
    int32_t ids[LENGTH];
    int length;
    double sums[LENGTH]; /* log-probability up to and including each id */
    double score;
};

struct enumeration {
    const struct clf__search_options *options;
    const struct toy *toy;
    struct entry entries[BEAMS];
    int count, all;
};

/* Phrases with one or two forms each. */
struct phrases {
    int32_t ids[MOST_IDS];
    struct clf__phrase_form forms[2 * 4];
    struct clf__constraints constraints;
};

/* What an id is for the id after it: the start token and id 1 are words. */
static int place_of(void *user, int32_t id)
{
    (void)user;
    return id == 2 ? CLF__AFTER_OTHER : CLF__AFTER_WORD;
}

/* Id 2 continues a word of id 1. */
static int continues_word(void *user, int32_t before, int32_t id)
{
    (void)user;
    assert_int_equal(before, 1);
    return id == 2;
}

static void add_form(struct phrases *phrases, int phrase, int length, int places, uint32_t *random)
{
    struct clf__constraints *constraints = &phrases->constraints;
    int used = 0;
    for (int i = 0; i < constraints->form_count; i++) {
        used += phrases->forms[i].length;
    }
    assert_in_range(used + length, 1, MOST_IDS);
    for (int i = used; i < used + length; i++) {
        *random = toy_follow(*random, i);
        phrases->ids[i] = 1 + (int32_t)(*random >> 8) % 2;
    }
    phrases->forms[constraints->form_count++] = (struct clf__phrase_form){
        .ids = phrases->ids + used, .length = length, .phrase = phrase, .places = places};
}

/* Makes random phrases, which may overlap, be equal or contain each other. */
static void make_phrases(struct phrases *phrases, uint32_t seed)
{
    uint32_t random = toy_follow(7, (int)seed);
    int count = 1 + (int)(random >> 9) % 3, has_places = seed % 3 == 0;
    *phrases = (struct phrases){.constraints = {.phrase_count = count, .hypotheses = BEAMS}};
    phrases->constraints.forms = phrases->forms;
    phrases->constraints.place_of = has_places ? place_of : NULL;
    phrases->constraints.continues_word = has_places ? continues_word : NULL;
    for (int i = 0; i < count; i++) {
        random = toy_follow(random, i);
        int length = 1 + (int)(random >> 10) % (count == 1 ? 4 : 2), has_two = has_places && i == 0;
        add_form(phrases, i, length, has_two ? CLF__AFTER_WORD : CLF__AFTER_ALL, &random);
        if (has_two) {
            add_form(phrases, i, 1 + (int)(random >> 12) % 3, CLF__AFTER_OTHER, &random);
        }
    }
}

/* Returns whether ids[at] begins a form. */
static int is_form_at(const struct clf__constraints *constraints, const struct clf__phrase_form *form,
                      const int32_t *ids, int length, int at)
{
    int32_t before = at == 0 ? TOY_START : ids[at - 1];
    int place = constraints->place_of != NULL ? place_of(NULL, before) : CLF__AFTER_ALL, is_one = 1;
    for (int i = 0; i < form->length; i++) {
        is_one = is_one && at + i < length && ids[at + i] == form->ids[i];
    }
    int after = at + form->length;
    int is_continued =
        constraints->place_of != NULL && is_one && after < length && ids[after - 1] == 1 && ids[after] == 2;
    return is_one && !is_continued && (place & form->places) != 0;
}

/* Returns the phrases in a finished hypothesis: from left to right, the longest form of a new phrase. Sets
 * is_placed[i] for each of their ids, unless it is NULL. */
static int find_phrases(const struct clf__constraints *constraints, const int32_t *ids, int length,
                        int *is_placed)
{
    int met = 0;
    for (int at = 0; at < length;) {
        const struct clf__phrase_form *best = NULL;
        for (int i = 0; i < constraints->form_count; i++) {
            const struct clf__phrase_form *form = &constraints->forms[i];
            if ((met >> form->phrase & 1) == 0 && is_form_at(constraints, form, ids, length, at) &&
                (best == NULL || form->length > best->length)) {
                best = form;
            }
        }
        met |= best != NULL ? 1 << best->phrase : 0;
        for (int i = 0; is_placed != NULL && best != NULL && i < best->length; i++) {
            is_placed[at + i] = 1;
        }
        at += best != NULL ? best->length : 1;
    }
    return met;
}

/* The length rule applies separately to the ids of phrases, as if they were as many as the source ids, and to
 * the others. */
static double score_of(const struct entry *entry, const int *is_placed, double penalty, int sources)
{
    double phrases = 0.0;
    int others = entry->length;
    for (int i = 0; i < entry->length; i++) {
        phrases += is_placed[i] ? entry->sums[i] - (i > 0 ? entry->sums[i - 1] : 0.0) : 0.0;
        others -= is_placed[i];
    }
    return phrases / pow(sources, penalty) +
           (entry->sums[entry->length - 1] - phrases) / pow(others > 0 ? others : 1, penalty);
}

static void enumerate(struct enumeration *all, struct entry made, double sum, uint32_t state)
{
    const struct clf__search_options *options = all->options;
    float logits[VOCABULARY];
    double total = 0.0;
    toy_logits(logits, all->toy, state);
    for (int id = 0; id < VOCABULARY; id++) {
        total += exp((double)logits[id]);
    }
    for (int id = 0; id < VOCABULARY; id++) {
        struct entry longer = made;
        longer.ids[longer.length++] = id;
        double longer_sum = sum + (double)logits[id] - log(total);
        longer.sums[longer.length - 1] = longer_sum;
        if (id != options->end_id && longer.length < options->max_length) {
            enumerate(all, longer, longer_sum, toy_follow(state, id));
            continue;
        }
        all->all++;
        int is_placed[LENGTH] = {0};
        int met = find_phrases(options->constraints, longer.ids, longer.length, is_placed);
        longer.score = score_of(&longer, is_placed, options->length_penalty, all->toy->source_count);
        if (met == (1 << options->constraints->phrase_count) - 1) {
            assert_true(all->count < BEAMS);
            all->entries[all->count++] = longer;
        }
    }
}

static int by_score(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    return (left->score < right->score) - (left->score > right->score);
}

/* Without a hypothesis that contains all phrases, the search returns one that lacks some. */
static void check_missing(const struct clf__constraints *constraints, const struct clf__hypothesis *found)
{
    uint64_t missing;
    int met = find_phrases(constraints, found->ids, found->length, NULL);
    assert_true(found->length > 0);
    assert_ok(clf__constraints_missing(&missing, constraints, TOY_START, found->ids, found->length));
    assert_int_equal(missing, ~met & ((1 << constraints->phrase_count) - 1));
}

/* Returns the number of hypotheses that contain the phrases. */
static int check(const struct clf__search_options *options, int seed)
{
    struct toy toy = toy_for(options, 1, &seed);
    toy.source_count = 1 + seed % 5;
    struct enumeration all = {.options = options, .toy = &toy};
    enumerate(&all, (struct entry){.length = 0}, 0.0, toy_follow(toy_follow(0, seed), options->start_id));
    assert_in_range(all.all, 1, BEAMS);
    qsort(all.entries, (size_t)all.count, sizeof *all.entries, by_score);
    struct toy_result result;
    assert_ok(toy_search(&result, &toy, 1));
    for (int i = 0; i < options->n_best && all.count > 0; i++) {
        const struct clf__hypothesis *found = &result.hypotheses[i];
        if (i >= all.count) {
            assert_int_equal(found->length, 0);
            continue;
        }
        const struct entry *best = &all.entries[i];
        assert_int_equal(found->length, best->length);
        assert_memory_equal(found->ids, best->ids, (size_t)best->length * sizeof *best->ids);
        assert_true(fabs((double)found->score - best->score) <= 1e-5 * fmax(1.0, fabs(best->score)));
    }
    check_missing(options->constraints, &result.hypotheses[0]);
    toy_result_free(&result);
    return all.count;
}

static void test_finds_all_hypotheses(void **state)
{
    (void)state;
    static const double penalties[] = {0.0, 1.0, 0.6};
    int impossible = 0, possible = 0;
    for (int round = 0; round < (support_small() ? 200 : 2000); round++) {
        struct phrases phrases;
        make_phrases(&phrases, (uint32_t)round);
        struct clf__search_options options = toy_options(VOCABULARY, BEAMS, BEAMS, 3 + round % (LENGTH - 2));
        options.length_penalty = penalties[round % 3];
        options.early_stopping = (enum clf__early_stopping)(round / 3 % 3);
        options.constraints = &phrases.constraints;
        int count = check(&options, round);
        possible += count > 0;
        impossible += count == 0;
    }
    assert_true(possible > 100 && impossible > 5);
}

/* Penalties change the scores of phrases, too. */
static void test_penalised(void **state)
{
    (void)state;
    static const int32_t ids[] = {2}, biased[] = {2}, offsets[] = {0, 1};
    static const float biases[] = {1.5f};
    const struct clf__phrase_form form = {ids, 1, 0, CLF__AFTER_ALL};
    const struct clf__constraints constraints = {
        .phrase_count = 1, .forms = &form, .form_count = 1, .hypotheses = 4};
    struct clf__search_options options = toy_options(24, 4, 1, 5);
    struct toy_result plain, result;
    int seed = 3;
    options.biased = biased;
    options.biased_offsets = offsets;
    options.biases = biases;
    options.biased_count = 1;
    options.constraints = &constraints;
    struct toy toy = toy_for(&options, 1, &seed);
    assert_ok(toy_search(&result, &toy, 1));
    options.biased_count = 0;
    struct toy without = toy_for(&options, 1, &seed);
    assert_ok(toy_search(&plain, &without, 1));
    int is_same = plain.hypotheses[0].length == result.hypotheses[0].length &&
                  memcmp(plain.hypotheses[0].ids, result.hypotheses[0].ids,
                         (size_t)plain.hypotheses[0].length * sizeof(int32_t)) == 0;
    assert_true(!is_same || plain.hypotheses[0].score < result.hypotheses[0].score);
    assert_int_equal(find_phrases(&constraints, result.hypotheses[0].ids, result.hypotheses[0].length, NULL),
                     1);
    toy_result_free(&plain);
    toy_result_free(&result);
}

enum { SOURCES = 24, WORDS = 48 };

/* Sources with and without phrases of random ids, which are seldom among the candidates. */
struct mixture {
    struct clf__search_options options[SOURCES];
    struct clf__constraints constraints[SOURCES];
    struct clf__phrase_form forms[SOURCES][3];
    int32_t ids[SOURCES][3][3];
    int seeds[SOURCES];
};

static void make_mixture(struct mixture *mixture)
{
    uint32_t random = 5;
    for (int i = 0; i < SOURCES; i++) {
        struct clf__constraints *constraints = &mixture->constraints[i];
        int phrases = i % 4, tokens = 0;
        mixture->seeds[i] = 100 + i;
        mixture->options[i] = toy_options(WORDS, i % 3 == 0 ? 1 : 4, 1, 16);
        *constraints = (struct clf__constraints){.phrase_count = phrases,
                                                 .forms = mixture->forms[i],
                                                 .form_count = phrases,
                                                 .hypotheses = mixture->options[i].beams};
        for (int k = 0; k < phrases; k++) {
            int length = 1 + (i + k) % 3;
            for (int j = 0; j < length; j++) {
                random = toy_follow(random, j);
                mixture->ids[i][k][j] = 2 + (int32_t)(random >> 8) % (WORDS - 2);
            }
            mixture->forms[i][k] = (struct clf__phrase_form){mixture->ids[i][k], length, k, CLF__AFTER_ALL};
            tokens += length;
        }
        if (phrases > 0) {
            mixture->options[i].constraints = constraints;
            mixture->options[i].beams = tokens + 1 > mixture->options[i].beams ? tokens + 1 : 4;
        }
    }
}

static void search_mixture(struct toy_result *result, const struct mixture *mixture, int slots, int ahead)
{
    struct toy toy = toy_for(mixture->options, SOURCES, mixture->seeds);
    toy.options_each = 1;
    toy.end_bonus = 2;
    toy.ahead = ahead;
    assert_ok(toy_search(result, &toy, slots));
}

/* Every source contains its phrases, and its result does not depend on its neighbours. */
static void test_mixture(void **state)
{
    (void)state;
    static struct mixture mixture;
    struct toy_result together, alone, few;
    make_mixture(&mixture);
    search_mixture(&together, &mixture, SOURCES, 0);
    search_mixture(&few, &mixture, 3, 1);
    toy_assert_same(together.hypotheses, few.hypotheses, SOURCES);
    for (int i = 0; i < SOURCES; i++) {
        const struct clf__hypothesis *found = &together.hypotheses[i];
        struct toy toy = toy_for(&mixture.options[i], 1, &mixture.seeds[i]);
        toy.end_bonus = 2;
        assert_ok(toy_search(&alone, &toy, 1));
        toy_assert_same(found, alone.hypotheses, 1);
        int phrases = mixture.constraints[i].phrase_count;
        assert_int_equal(find_phrases(&mixture.constraints[i], found->ids, found->length, NULL),
                         (1 << phrases) - 1);
        toy_result_free(&alone);
    }
    toy_result_free(&together);
    toy_result_free(&few);
}

static void test_banks(void **state)
{
    (void)state;
    static const struct {
        int beams, banks, counts[4], sizes[4];
    } cases[] = {
        {8, 4, {9, 9, 9, 9}, {2, 2, 2, 2}}, {10, 4, {9, 9, 9, 9}, {2, 2, 2, 4}}, /* the last bank gets the
                                                                                    remainder */
        {8, 4, {9, 9, 0, 1}, {2, 5, 0, 1}}, /* what a bank leaves goes to the bank before it */
        {8, 4, {1, 0, 9, 9}, {1, 0, 2, 5}}, /* and then to the last banks */
        {2, 4, {9, 9, 0, 0}, {0, 2, 0, 0}}, /* fewer beams than banks: the last banks that have candidates */
        {2, 4, {9, 0, 0, 0}, {2, 0, 0, 0}}, {8, 4, {1, 2, 1, 0}, {1, 2, 1, 0}},  {3, 1, {9}, {3}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int sizes[4] = {0};
        clf__banks_divide(sizes, cases[i].counts, cases[i].banks, cases[i].beams);
        assert_memory_equal(sizes, cases[i].sizes, sizeof sizes);
    }
}

/* A begun phrase continues or is abandoned; another may begin within it. */
static void test_follows(void **state)
{
    (void)state;
    static const int32_t aab[] = {2, 2, 3}, bc[] = {3, 4};
    const struct clf__phrase_form forms[] = {{aab, 3, 0, CLF__AFTER_ALL}, {bc, 2, 1, CLF__AFTER_ALL}};
    const struct clf__constraints constraints = {
        .phrase_count = 2, .forms = forms, .form_count = 2, .hypotheses = 1};
    static const int32_t ids[] = {TOY_START, 2, 2, 2, 3, 4, 3, 4, 5};
    static const struct {
        int tokens, met, next_count, next[2];
    } steps[] = {{1, 0, 1, {2}}, {2, 0, 1, {3}}, {2, 0, 1, {3}}, {3, 0, 1, {3}},
                 {3, 1, 1, {3}}, {4, 1, 1, {4}}, {5, 1, 0, {0}}, {5, 3, 0, {0}}};
    struct clf__phrase_state phrases = {.begun = 1};
    int32_t next[2];
    assert_int_equal(clf__constraints_tokens(&constraints), 5);
    assert_int_equal(clf__phrases_next(next, &phrases, &constraints, ids, 0), 2);
    assert_int_equal(next[0], 2);
    assert_int_equal(next[1], 3);
    for (int i = 0; i < 8; i++) {
        clf__phrases_follow(&phrases, &constraints, ids, i + 1);
        assert_int_equal(phrases.tokens, steps[i].tokens);
        assert_int_equal(phrases.met, steps[i].met);
        assert_int_equal(clf__phrases_next(next, &phrases, &constraints, ids, i + 1), steps[i].next_count);
        assert_true(steps[i].next_count == 0 || next[0] == steps[i].next[0]);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    static const int32_t ids[] = {2, 3}, end[] = {TOY_END}, large[] = {99};
    struct clf__phrase_form form = {ids, 2, 0, CLF__AFTER_ALL};
    struct clf__constraints constraints = {
        .phrase_count = 1, .forms = &form, .form_count = 1, .hypotheses = 2};
    struct clf__search_options options = toy_options(8, 4, 1, 6);
    options.constraints = &constraints;
    assert_ok(clf__search_check(&options));
#define REFUSE(change, message)                                                                              \
    do {                                                                                                     \
        const struct clf__search_options kept = options;                                                     \
        const struct clf__constraints kept_constraints = constraints;                                        \
        const struct clf__phrase_form kept_form = form;                                                      \
        change;                                                                                              \
        assert_int_equal(clf__search_check(&options), CLF_BAD_ARGUMENT);                                     \
        assert_non_null(strstr(clf_last_error(), message));                                                  \
        options = kept;                                                                                      \
        constraints = kept_constraints;                                                                      \
        form = kept_form;                                                                                    \
    } while (0)
    REFUSE(options.beams = 1, "cannot be combined with greedy search");
    REFUSE(options.sampling.is_on = 1, "cannot be combined with sampling");
    REFUSE((options.groups = 2, options.diversity_penalty = 1.0f), "cannot be combined with beam groups");
    REFUSE(options.early_stopping = CLF__STOP_ALL, "cannot be combined with early stopping \"all\"");
    REFUSE(constraints.hypotheses = 5, "5 is out of range");
    REFUSE(constraints.phrase_count = 0, "phrases: 0 are out of range");
    REFUSE(constraints.phrase_count = CLF__PHRASES_LIMIT + 1, "phrases: 65");
    REFUSE(constraints.phrase_count = 2, "one has no form");
    REFUSE(form.length = 0, "phrase 1: is empty");
    REFUSE((form.ids = end, form.length = 1), "phrase 1: is empty, or has an end id");
    REFUSE((form.ids = large, form.length = 1), "outside the vocabulary of 8");
#undef REFUSE
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_all_hypotheses),
        cmocka_unit_test(test_penalised),
        cmocka_unit_test(test_mixture),
        cmocka_unit_test(test_banks),
        cmocka_unit_test(test_follows),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("search/constraints", tests, NULL, NULL);
}
