/* Tokens that rows take from the previous step. */
#include "math/ops/next_tokens.h"

#include <string.h>

#include "support/support.h"

enum { ROWS = 150, CHOSEN = 130, K = 3, MARGIN = 2, PAD = 11, PAD_POSITION = 1, OFF = -2 };

/* Returns columns MARGIN to MARGIN + ROWS - 1 of a table, whose other elements are poison. */
static struct clf__tensor view(struct clf__tensor *whole, struct clf_device *device, const int32_t *values)
{
    int32_t padded[ROWS + 2 * MARGIN];
    for (int i = 0; i < ROWS + 2 * MARGIN; i++) {
        padded[i] = i < MARGIN || i >= MARGIN + ROWS ? INT32_MIN : values[i - MARGIN];
    }
    *whole = support_tensor(device, CLF__I32, 1, ROWS + 2 * MARGIN, padded);
    return clf__tensor_columns(*whole, MARGIN, ROWS);
}

static void check_view(struct clf__tensor whole, const int32_t *expected)
{
    const int32_t *found = support_read_integers(whole);
    assert_memory_equal(found + MARGIN, expected, ROWS * sizeof *expected);
    for (int i = 0; i < MARGIN; i++) {
        assert_int_equal(found[i], INT32_MIN);
        assert_int_equal(found[MARGIN + ROWS + i], INT32_MIN);
    }
}

/* Every third row keeps its token, and rows -1 and beyond the last one do not exist. */
static void check(struct clf_device *device, int pad)
{
    int32_t tokens[ROWS], positions[ROWS], from[ROWS], chosen[CHOSEN * K];
    for (int i = 0; i < CHOSEN * K; i++) {
        chosen[i] = i % K == 0 ? i / K % 14 - 1 : PAD;
    }
    for (int r = 0; r < ROWS; r++) {
        tokens[r] = 100 + r;
        positions[r] = 7 + r;
        from[r] = r % 3 == 0 ? -1 : r % 10 == 1 ? CHOSEN + r % 20 : 37 * r % CHOSEN;
    }
    struct clf__tensor whole[3];
    struct clf__tensor taken = view(&whole[0], device, tokens), placed = view(&whole[1], device, positions);
    assert_ok(clf__next_tokens(taken, placed, support_tensor(device, CLF__I32, CHOSEN, K, chosen),
                               view(&whole[2], device, from), pad, PAD_POSITION));
    int pads = 0;
    for (int r = 0; r < ROWS; r++) {
        if (from[r] >= 0 && from[r] < CHOSEN) {
            tokens[r] = chosen[from[r] * K];
            positions[r] = tokens[r] == pad ? PAD_POSITION : positions[r];
            pads += tokens[r] == PAD;
        }
    }
    assert_true(pads > 0);
    check_view(whole[0], tokens);
    check_view(whole[1], positions);
    check_view(whole[2], from);
}

static void test_tokens(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        check(device, PAD);
        check(device, OFF);
    }
}

static void test_no_rows(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor some = support_tensor(device, CLF__I32, 1, 1, (const int32_t[]){3});
        struct clf__tensor none = clf__tensor_columns(some, 0, 0);
        assert_ok(clf__next_tokens(none, none, some, none, PAD, PAD_POSITION));
        assert_int_equal(support_read_integers(some)[0], 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_tokens, support_teardown),
        cmocka_unit_test_teardown(test_no_rows, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
