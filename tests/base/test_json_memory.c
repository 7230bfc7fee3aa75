/* The estimate of jansson's memory, which limits a JSON file, against jansson's allocations. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"

/* Memory of jansson with malloc's overhead on 64-bit machines. */
static size_t jansson_bytes, jansson_peak;

static size_t block_bytes(size_t size)
{
    size_t bytes = (size + 8 + 15) / 16 * 16;
    return bytes < 32 ? 32 : bytes;
}

static void *allocate_counted(size_t size)
{
    size_t *block = malloc(size + 16);
    if (!block) {
        return NULL;
    }
    *block = size;
    jansson_bytes += block_bytes(size);
    jansson_peak = jansson_bytes > jansson_peak ? jansson_bytes : jansson_peak;
    return block + 2;
}

static void free_counted(void *memory)
{
    if (memory) {
        size_t *block = (size_t *)memory - 2;
        jansson_bytes -= block_bytes(*block);
        free(block);
    }
}

/* The estimate before calling jansson covers its peak memory, and is not much larger. */
static void check_bound(const char *text, size_t size, clf_status expected)
{
    static const struct clf__json_limits limits = {1 << 24, 1 << 22};
    size_t bytes;
    json_t *value;
    assert_ok(clf__json_scan(&bytes, text, size, "x.json", limits));
    jansson_bytes = jansson_peak = 0;
    json_set_alloc_funcs(allocate_counted, free_counted);
    clf_status status = clf__json_parse(&value, text, size, "x.json", limits);
    json_decref(value);
    json_set_alloc_funcs(malloc, free);
    assert_int_equal(status, expected);
    assert_int_equal(jansson_bytes, 0);
    assert_in_range(jansson_peak, 1, bytes);
    if (expected == CLF_OK) {
        assert_in_range(bytes, 1, 4 * jansson_peak + 8192);
    }
}

/* `count` repetitions of a part, with '#' replaced by the index. */
static void check_bound_of_many(const char *first, const char *part, const char *last, int count)
{
    char *text = malloc(strlen(first) + strlen(last) + (size_t)count * (strlen(part) + 12) + 1);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, "%s", first), start = used;
    for (int i = 0; i < count; i++) {
        for (const char *at = part; *at; at++) {
            used += (size_t)(*at == '#' ? sprintf(text + used, "%d", i) : sprintf(text + used, "%c", *at));
        }
    }
    used -= used > start && text[used - 1] == ','; /* none after the last */
    sprintf(text + used, "%s", last);
    check_bound(text, used + strlen(last), CLF_OK);
    check_bound(text, used, CLF_FORMAT); /* without its end */
    free(text);
}

static void test_the_memory_that_jansson_needs(void **state)
{
    (void)state;
    /* tables last grew at 8, 16, ..., 16384 */
    static const int counts[] = {1, 8, 9, 16, 17, 33, 257, 4097, 16385};
    static const char *const parts[][3] = {
        {"[", "[],", "]"},
        {"[", "{},", "]"},
        {"[", "{\"\":[]},", "]"},
        {"[", "0,", "]"},
        {"[", "0.5e-3,", "]"},
        {"[", "true,", "]"},
        {"[", "\"\",", "]"},
        {"[", "\"seven b\",", "]"},
        {"[", "\"h\\u00e9\\ud83d\\ude00 and more of it, # in all\",", "]"},
        {"[1000000000000000019884624838656,", "1,", "]"},
        {"{", "\"#\":1,", "}"},
        {"{", "\"#\" : null,", "}"},
        {"{", "\"a key of some length, #\":\"#\",", "}"},
        {"{", "\"#\":{\"a\":{\"b\":{}}},", "}"},
        {"[[[", "[[0,1,2,3,4,5,6,7,8]],", "]]]"},
        {"\"", "x", "\""},
        {"{\"", "x", "\":1}"},
        {"{\"a\":{\"b\":{\"", "x", "\":\"y\"}}}"},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            check_bound_of_many(parts[i][0], parts[i][1], parts[i][2], counts[k]);
        }
    }
    /* a key for each of a hundred open objects */
    enum { DEPTH = 100, KEY = 1000, STEP = KEY + 4 };
    static char text[DEPTH * (STEP + 1)];
    for (int i = 0; i < DEPTH; i++) {
        memset(text + i * STEP, 'k', STEP);
        memcpy(text + i * STEP, "{\"", 2);
        memcpy(text + i * STEP + KEY + 2, "\":", 2);
    }
    memcpy(text + (DEPTH - 1) * STEP, "{  ", 3);
    memset(text + (DEPTH - 1) * STEP + 3, ' ', STEP - 3);
    memset(text + DEPTH * STEP, '}', DEPTH);
    check_bound(text, sizeof text, CLF_OK);
    check_bound(text, DEPTH * STEP, CLF_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_memory_that_jansson_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
