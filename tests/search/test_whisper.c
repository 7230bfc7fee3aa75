/* Decoding of Whisper windows gives the results of openai/whisper's decoders and filters
 * (fixtures/speech/make_whispers.py) on logits computed in the same way. */
#include "search/whisper.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "reference/draw.h"
#include "support/support.h"

enum {
    V = 60,
    END = 20,
    START = 21,
    NO_SPEECH = 22,
    NO_TIMESTAMPS = 29,
    TIMES = 30,
    POSITIONS = 30,
    MOST_ROWS = 5,
    SLOTS = 3
};

/* The tokens that a row of the model has seen. */
struct history {
    int32_t ids[POSITIONS];
    int count;
};

struct toy {
    int seed;
    struct history rows[MOST_ROWS], next[MOST_ROWS];
};

static void compute_logits(float *logits, const struct toy *toy, const struct history *history)
{
    long long hash = toy->seed;
    for (int i = 0; i < history->count; i++) {
        hash = (hash * 31 + history->ids[i] + 7) % 1000003;
    }
    for (int v = 0; v < V; v++) {
        logits[v] = (float)((double)((hash * (v + 1) * 7919 + v * 104729) % 1000003) * 8e-6);
    }
}

/* Computes the k best of a range, and its statistics. */
static void look(float *values, int32_t *ids, float *statistics, const float *logits, int first, int end,
                 int k)
{
    double sum = 0;
    int taken[V] = {0};
    for (int c = 0; c < k; c++) {
        ids[c] = -1;
        values[c] = -INFINITY;
        for (int v = first; v < end; v++) {
            if (!taken[v] && logits[v] > values[c]) {
                values[c] = logits[v];
                ids[c] = v;
            }
        }
        if (ids[c] >= 0) {
            taken[ids[c]] = 1;
        }
    }
    for (int v = first; v < end; v++) {
        sum += ids[0] >= 0 ? exp((double)logits[v] - (double)values[0]) : 0;
    }
    statistics[0] = values[0];
    statistics[1] = ids[0] >= 0 ? (float)log(sum) : -INFINITY;
}

/* Draws a continuation of a row in each range. */
static void draw(struct clf__step *step, const float *logits, int d)
{
    const struct clf__draw *draw = &step->draws[d];
    for (int m = 0; m < step->ranges_each; m++) {
        const int32_t *range = step->ranges + 2 * (draw->row * step->ranges_each + m);
        int at = d * step->ranges_each + m;
        double value;
        int32_t id = reference_draw(&value, draw, logits, range[0], range[1]);
        step->draw_ids[at] = id;
        step->draw_values[at] = (float)value;
        step->draw_logits[at] = id < 0 ? -INFINITY : logits[id];
    }
}

static void fill_row(struct clf__step *step, const struct toy *toy, int r, int own)
{
    float logits[V];
    int k = step->candidates, each = step->ranges_each;
    compute_logits(logits, toy, &toy->next[own]);
    look(step->values + r * k, step->ids + r * k, step->statistics + r * 4, logits, 0, V, k);
    for (int m = 0; m < each; m++) {
        int at = r * each + m;
        if (m == step->ranges_before) {
            for (int32_t b = step->banned_offsets[r]; b < step->banned_offsets[r + 1]; b++) {
                logits[step->banned[b]] = -INFINITY;
            }
        }
        look(step->range_values + at * k, step->range_ids + at * k, step->range_statistics + at * 2, logits,
             step->ranges[2 * at], step->ranges[2 * at + 1], k);
    }
    for (int d = 0; d < step->draw_count; d++) {
        if (step->draws[d].row == r) {
            draw(step, logits, d);
        }
    }
}

/* For windows with `each` rows. */
static void fill(struct clf__step *step, struct toy *toys, int each)
{
    assert_in_range(step->rows, 1, SLOTS * MOST_ROWS);
    for (int r = 0; r < step->rows; r++) {
        struct toy *toy = &toys[step->slots[r]];
        int first = step->slots[r] * each, own = step->cache_rows[r] - first;
        int is_first_row = r == 0 || step->slots[r] != step->slots[r - 1];
        assert_int_equal(own, is_first_row ? 0 : step->cache_rows[r - 1] - first + 1);
        assert_in_range(own, 0, each - 1);
        struct history *history = &toy->next[own];
        *history = toy->rows[step->parents[r] - first];
        int given = step->prefill_offsets != NULL ? step->prefill_offsets[r] : 0;
        int given_end = step->prefill_offsets != NULL ? step->prefill_offsets[r + 1] : 0;
        if (step->positions[r] == given_end - given) {
            history->count = 0;
        }
        for (; given < given_end; given++) {
            history->ids[history->count++] = step->prefill[given];
        }
        assert_int_equal(step->positions[r], history->count);
        assert_in_range(step->tokens[r], 0, V - 1);
        history->ids[history->count++] = step->tokens[r];
        fill_row(step, toy, r, own);
    }
    for (int i = 0; i < SLOTS; i++) {
        memcpy(toys[i].rows, toys[i].next, sizeof toys[i].rows);
    }
}

static int integer_of(const json_t *one, const char *key)
{
    const json_t *value = json_object_get(one, key);
    return json_is_boolean(value) ? json_is_true(value) : (int)json_integer_value(value);
}

static int read_ids(int32_t *ids, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        ids[i] = (int32_t)json_integer_value(json_array_get(list, i));
    }
    return (int)json_array_size(list);
}

/* A recorded case, and its decoding options. */
struct task {
    const json_t *one;
    struct clf__whisper_rules rules;
    int32_t prompt[POSITIONS];
    int prompt_count;
};

static void read_task(struct task *task, const json_t *one)
{
    static const int32_t banned[] = {3, 5, START, NO_SPEECH, NO_TIMESTAMPS};
    static const int32_t first[] = {0, 3, 5, END, START, NO_SPEECH, NO_TIMESTAMPS};
    static const int32_t plain[] = {3, 5, START, NO_SPEECH}, plain_first[] = {0, 3, 5, END, START, NO_SPEECH};
    int is_timed = integer_of(one, "timestamps");
    const json_t *penalty = json_object_get(one, "penalty"), *latest = json_object_get(one, "first");
    task->one = one;
    task->rules = (struct clf__whisper_rules){
        .vocabulary = V,
        .end_id = END,
        .timestamp_begin = TIMES,
        .no_speech_id = NO_SPEECH,
        .start_id = START,
        .has_timestamps = is_timed,
        .first_timestamps = json_is_null(latest) ? 0 : integer_of(one, "first") + 1,
        .suppressed = is_timed ? banned : plain,
        .suppressed_count = is_timed ? 5 : 4,
        .suppressed_first = is_timed ? first : plain_first,
        .suppressed_first_count = is_timed ? 7 : 6,
        .most_tokens = integer_of(one, "most"),
        .beams = integer_of(one, "beams"),
        .samples = integer_of(one, "beams"),
        .patience = json_number_value(json_object_get(one, "patience")),
        .length_penalty = json_is_null(penalty) ? -1 : json_number_value(penalty),
        .temperature = json_number_value(json_object_get(one, "temperature")),
        .random_key = clf__draws_key((uint64_t)integer_of(one, "seed"), ((int64_t)1 << 33) + 7, 3),
    };
    task->prompt_count = read_ids(task->prompt, json_object_get(one, "prompt"));
}

static void check_result(const struct clf__whisper *whisper, int slot, const json_t *one)
{
    int32_t expected[POSITIONS];
    int count = read_ids(expected, json_object_get(one, "ids"));
    struct clf__whisper_result result = clf__whisper_result(whisper, slot);
    assert_int_equal(result.count, count);
    assert_memory_equal(result.ids, expected, (size_t)count * sizeof *expected);
    double sum = json_number_value(json_object_get(one, "log_probability"));
    assert_true(fabs(result.log_probability - sum) < 2e-5);
    assert_true(fabs(result.no_speech - json_number_value(json_object_get(one, "no_speech"))) < 2e-6);
}

static struct clf__whisper *make_whisper(int slots, int beams, int samples, int wanted)
{
    struct clf__whisper *whisper;
    struct clf__whisper_limits limits = {
        .slots = slots,
        .beams = beams,
        .samples = samples,
        .positions = POSITIONS,
        .wanted = wanted,
        .finished = 2 * MOST_ROWS,
        .banned = 7,
    };
    assert_ok(clf__whisper_create(&whisper, &limits));
    return whisper;
}

static int is_drawn(const json_t *one)
{
    return json_number_value(json_object_get(one, "temperature")) > 0;
}

/* Up to SLOTS windows, the last of which are added a few steps later. */
static void search_together(struct clf__whisper *whisper, int each, const struct task *tasks, int count)
{
    struct toy toys[SLOTS] = {{0}};
    struct clf__step *step;
    for (int begun = 0, turn = 0; begun < count || turn > 0; turn++) {
        if (begun < count && turn % 2 == 0) {
            toys[begun].seed = integer_of(tasks[begun].one, "seed");
            clf__whisper_begin(whisper, &tasks[begun].rules, tasks[begun].prompt, tasks[begun].prompt_count,
                               begun);
            begun++;
        }
        if ((step = clf__whisper_prepare(whisper)) != NULL) {
            fill(step, toys, each);
            clf__whisper_advance(whisper);
        } else if (begun == count) {
            break;
        }
    }
    for (int i = 0; i < count; i++) {
        check_result(whisper, i, tasks[i].one);
    }
}

static void check_case(const json_t *one)
{
    struct task task;
    int rows = integer_of(one, "beams"), drawn = is_drawn(one);
    int wanted = clf__whisper_wanted(rows, json_number_value(json_object_get(one, "patience")));
    /* The number of beams differs from the number of samples. */
    struct clf__whisper *whisper = make_whisper(1, drawn ? 2 : rows, drawn ? rows : 0, wanted);
    read_task(&task, one);
    for (int pass = 0; pass < 2; pass++) { /* decoding starts again */
        search_together(whisper, drawn && rows < 2 ? 2 : rows, &task, 1);
    }
    clf__whisper_free(whisper);
}

/* Windows with different numbers of beams and samples in one search, up to its limits. */
static void test_together(void **state)
{
    (void)state;
    static const int beams[] = {1, 2, 3, 5}, samples[] = {1, 3, 5};
    json_t *cases = json_load_file(support_fixture("speech/passages.json"), 0, NULL);
    int total = (int)json_array_size(cases), done = 0;
    for (int variant = 0; variant < 12; variant++) {
        int b = beams[variant % 4], s = samples[variant % 3], count = 0;
        struct clf__whisper *whisper = make_whisper(SLOTS, b, s, 2 * b);
        struct task tasks[SLOTS];
        for (int i = 0; i < total; i++) {
            const json_t *one = json_array_get(cases, (size_t)(i * 31 % total)); /* kinds mixed */
            if (integer_of(one, "beams") <= (is_drawn(one) ? s : b)) {
                read_task(&tasks[count++], one);
            }
            if (count == SLOTS) {
                search_together(whisper, b > s ? b : s, tasks, count);
                done += count;
                count = 0;
            }
        }
        clf__whisper_free(whisper);
    }
    assert_true(done > 150);
    json_decref(cases);
}

static void test_recorded(void **state)
{
    (void)state;
    json_t *cases = json_load_file(support_fixture("speech/passages.json"), 0, NULL);
    assert_true(json_array_size(cases) >= 70);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        check_case(json_array_get(cases, i));
    }
    json_decref(cases);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct clf__whisper_limits limits = {
        .slots = 1, .beams = 2, .samples = 3, .positions = 9, .finished = 3, .banned = 3};
    struct clf__whisper *whisper = NULL;
    int failures = 0;
    for (uint64_t n = 1; whisper == NULL; n++, failures++) {
        clf__memory_fail_at(n);
        clf_status status = clf__whisper_create(&whisper, &limits);
        clf__memory_fail_at(0);
        assert_true(status == CLF_OK || (status == CLF_OUT_OF_MEMORY && whisper == NULL));
    }
    assert_true(failures > 10);
    clf__whisper_free(whisper);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_recorded, support_teardown),
        cmocka_unit_test_teardown(test_together, support_teardown),
        cmocka_unit_test_teardown(test_no_memory, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
