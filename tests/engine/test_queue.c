/* The order in which a lane takes units, without a device. */
#include <string.h>

#include "engine/internal.h"
#include "support/support.h"

enum { MOST_UNITS = 100 };

/* An engine with one lane. */
static struct clf_engine engine;
static struct clf__lane lane;
static struct clf_translate_options options;
static struct clf__settings settings;

/* A job with its units. */
struct work {
    struct clf__job job;
    struct clf__unit units[MOST_UNITS];
};

static void begin(void)
{
    memset(&engine, 0, sizeof engine);
    memset(&lane, 0, sizeof lane);
    pthread_mutex_init(&engine.lock, NULL);
    clf__condition_init(&engine.work);
    engine.lanes = &lane;
    engine.count = 1;
    lane.engine = &engine;
}

static void end(void)
{
    clf__queue_end(&engine);
    pthread_cond_destroy(&engine.work);
    pthread_mutex_destroy(&engine.lock);
}

static void add(struct work *work, int count, int is_bulk)
{
    memset(work, 0, sizeof *work);
    for (int i = 0; i < count; i++) {
        work->units[i].cost = 1;
        work->units[i].settings = &settings;
    }
    work->job =
        (struct clf__job){.units = work->units, .count = count, .is_bulk = is_bulk, .options = &options};
    assert_ok(clf__job_prepare(&engine, &work->job));
    assert_ok(clf__queue_add(&engine, &work->job));
}

static void leave(struct work *work)
{
    clf__queue_remove(&engine, &work->job);
    clf__job_end(&work->job);
}

/* Takes the next unit and returns the job that it belongs to. */
static const struct clf__job *take(void)
{
    struct clf__unit *unit = clf__queue_next(&engine, &lane, 0);
    if (unit == NULL) {
        return NULL;
    }
    clf__queue_hold(unit, &lane);
    return unit->job;
}

/* Interactive units come before those of a bulk job that was first and holds fewer. */
static void test_interactive_first(void **state)
{
    (void)state;
    static struct work bulk, first, second, third;
    begin();
    add(&bulk, 2, 1);
    add(&first, 3, 0);
    add(&second, 1, 0);
    assert_ptr_equal(take(), &first.job);
    assert_ptr_equal(take(), &second.job);
    assert_ptr_equal(take(), &first.job);
    assert_ptr_equal(take(), &first.job);
    assert_ptr_equal(take(), &bulk.job);
    add(&third, 1, 0);
    assert_ptr_equal(take(), &third.job);
    assert_ptr_equal(take(), &bulk.job);
    assert_null(take());
    leave(&bulk);
    leave(&first);
    leave(&second);
    leave(&third);
    end();
}

/* While interactive units wait, one unit in 33 is bulk, whatever the number of bulk jobs. */
static void test_bulk_goes_on(void **state)
{
    (void)state;
    static struct work first, second, interactive;
    int taken = 0, at[2] = {0};
    begin();
    add(&first, 1, 1);
    add(&second, 1, 1);
    add(&interactive, MOST_UNITS, 0);
    for (int i = 0; i < 70; i++) {
        const struct clf__job *job = take();
        if (job->is_bulk) {
            assert_in_range(taken, 0, 1);
            at[taken++] = i;
        }
    }
    assert_int_equal(taken, 2);
    assert_int_equal(at[0], 32);
    assert_int_equal(at[1], 65);
    leave(&first);
    leave(&second);
    leave(&interactive);
    end();
}

/* A unit that was returned is the next again. */
static void test_returned(void **state)
{
    (void)state;
    static struct work bulk, interactive;
    begin();
    add(&bulk, 1, 1);
    add(&interactive, 2, 0);
    assert_ptr_equal(take(), &interactive.job);
    clf__queue_return(&interactive.units[0]);
    assert_ptr_equal(clf__queue_next(&engine, &lane, 0), &interactive.units[0]);
    leave(&bulk);
    leave(&interactive);
    end();
}

/* While an interactive line waits for a larger session, a bulk line that has room is not taken. */
static void test_larger_session(void **state)
{
    (void)state;
    static struct work bulk, longer, fits;
    begin();
    lane.session = (struct clf__session *)&lane; /* not used */
    lane.source_length = 10;
    add(&bulk, 1, 1);
    assert_ptr_equal(clf__queue_next(&engine, &lane, 1), &bulk.units[0]);
    add(&longer, 1, 0);
    longer.job.longest_source = 11;
    assert_null(clf__queue_next(&engine, &lane, 1));
    assert_ptr_equal(clf__queue_next(&engine, &lane, 0), &longer.units[0]);
    add(&fits, 1, 0);
    assert_ptr_equal(clf__queue_next(&engine, &lane, 1), &fits.units[0]);
    leave(&bulk);
    leave(&longer);
    leave(&fits);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interactive_first),
        cmocka_unit_test(test_bulk_goes_on),
        cmocka_unit_test(test_returned),
        cmocka_unit_test(test_larger_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
