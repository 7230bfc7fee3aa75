/* Steps that are enqueued before the previous one has ended give the results of separate steps, bit for bit.
 * The two functions below replace functions of the OpenCL loader and record the order of calls. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/save.h"
#include "runtime/device/buffer.h"
#include "runtime/device/device.h"
#include "runtime/opencl/testing.h"

#include "infer/pipeline.h"
#include "model/folder.h"

enum { MOST_READS = 64 };

/* Non-blocking reads, and how many had been enqueued when the host began to wait for each of them. */
static cl_event reads[MOST_READS];
static int read_count, enqueued_before_wait[MOST_READS];

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t offset, size_t size,
                           void *target, cl_uint waited, const cl_event *list, cl_event *event)
{
    cl_int (*enqueue)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *,
                      cl_event *);
    *(void **)&enqueue = dlsym(RTLD_NEXT, "clEnqueueReadBuffer");
    cl_int error = enqueue(queue, buffer, blocks, offset, size, target, waited, list, event);
    if (!blocks && read_count < MOST_READS) {
        enqueued_before_wait[read_count] = 0;
        reads[read_count++] = *event;
    }
    return error;
}

cl_int clWaitForEvents(cl_uint count, const cl_event *events)
{
    cl_int (*wait)(cl_uint, const cl_event *);
    *(void **)&wait = dlsym(RTLD_NEXT, "clWaitForEvents");
    for (int i = read_count - 1; i >= 0; i--) {
        if (reads[i] == *events) {
            enqueued_before_wait[i] = read_count;
            break;
        }
    }
    return wait(count, events);
}

/* Compares both ways of running the steps, with the end token that ends the sources at different steps: an id
 * that occurs early in one of them. */
static void check_sources(struct clf__transformer *transformer, const struct clf__sequences *sources,
                          int beams)
{
    struct clf__search_options options = options_for(transformer);
    options.beams = options.n_best = beams;
    struct run expected = one_at_a_time, found = in_pairs;
    search_all(&expected, transformer, sources, &options);
    search_all(&found, transformer, sources, &options);
    assert_same(&found, &expected, sources->count);
    assert_true(found.ahead > 0);
    options.end_id = expected.ids[1][expected.lengths[1] / 2];
    options.min_length = 2;
    for (int most = 0; most < 3; most++) {
        expected = one_at_a_time;
        found = in_pairs;
        expected.most = found.most = most;
        search_all(&expected, transformer, sources, &options);
        search_all(&found, transformer, sources, &options);
        assert_same(&found, &expected, sources->count);
        assert_in_range(found.rows, expected.rows, expected.rows + sources->count * beams);
        assert_in_range(found.ahead, found.steps / 2, found.steps);
    }
    for (int step = 2; step < 6; step++) {
        found = in_pairs;
        found.dropping_step = step;
        search_all(&found, transformer, sources, &options);
        assert_same(&found, &expected, sources->count);
        assert_int_equal(found.dropping_step, -1);
    }
}

/* Steps that choose from shortlists. */
static void test_shortlists(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        struct clf__transformer *transformer;
        assert_ok(clf__transformer_load(&transformer, device, support_fixture("models/marian"),
                                        CLF_PRECISION_FP32));
        struct model_fixture fixture = model_fixture_load("marian", 0);
        const struct clf__sequences sources = make_sources(&fixture.cases[0], 8);
        for (int beams = 1; beams <= 3; beams += 2) {
            struct clf__search_options options = options_for(transformer);
            struct run whole = one_at_a_time, expected = one_at_a_time, found = in_pairs;
            options.beams = options.n_best = beams;
            expected.shortlist = found.shortlist = 12;
            search_all(&whole, transformer, &sources, &options);
            search_all(&expected, transformer, &sources, &options);
            search_all(&found, transformer, &sources, &options);
            assert_same(&found, &expected, sources.count);
            assert_in_range(found.ahead, found.steps / 2, found.steps);
            assert_true(memcmp(whole.ids, expected.ids, sizeof whole.ids) != 0);
        }
        clf__transformer_free(transformer);
        support_free_all();
    }
}

static void check_fixture(struct clf_device *device, const char *name, clf_precision precision)
{
    char path[512];
    snprintf(path, sizeof path, "models/%s", name);
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, device, support_fixture(path), precision));
    if (transformer->config.feature_size == 0) {
        struct model_fixture fixture = model_fixture_load(name, 0);
        const struct clf__sequences sources = make_sources(&fixture.cases[0], 8);
        check_sources(transformer, &sources, 1);
        check_sources(transformer, &sources, 3);
    }
    clf__transformer_free(transformer);
    support_free_all();
}

static void test_same_results(void **state)
{
    (void)state;
    static const char *const few[] = {"clformer-padding-aware", "marian", NULL};
    FOR_EACH_VARIANT(device)
    {
        const char *const *name = support_small() ? few : support_fixture_folders("models", "expected.json");
        for (; *name != NULL; name++) {
            check_fixture(device, *name, CLF_PRECISION_FP32);
        }
        check_fixture(device, "marian", CLF_PRECISION_INT8);
    }
}

/* The pad token that a step chooses has another position than other tokens. */
static void test_pad_tokens(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        struct clf__transformer *transformer;
        assert_ok(clf__transformer_load(
            &transformer, device, support_fixture("models/clformer-padding-aware"), CLF_PRECISION_FP32));
        struct model_fixture fixture = model_fixture_load("clformer-padding-aware", 0);
        const struct clf__sequences sources = make_sources(&fixture.cases[0], 5);
        struct clf__search_options options = options_for(transformer);
        struct run usual = one_at_a_time, expected = one_at_a_time, found = in_pairs;
        options.min_length = LENGTH;
        search_all(&usual, transformer, &sources, &options);
        assert_true(transformer->config.position_padding_aware);
        transformer->config.pad_id = usual.ids[0][2];
        search_all(&expected, transformer, &sources, &options);
        search_all(&found, transformer, &sources, &options);
        assert_same(&found, &expected, sources.count);
        assert_true(memcmp(&usual.sums[0], &expected.sums[0], sizeof usual.sums[0]) != 0);
        clf__transformer_free(transformer);
        support_free_all();
    }
}

/* Logits become NaN at a step: its sources end there in both ways, and others before it. */
static void test_not_finite(void **state)
{
    (void)state;
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, support_device(CLF_VARIANT_AUTO),
                                    support_fixture("models/clformer-learned"), CLF_PRECISION_FP32));
    struct model_fixture fixture = model_fixture_load("clformer-learned", 0);
    const struct clf__sequences sources = make_sources(&fixture.cases[0], 6);
    struct clf__search_options options = options_for(transformer);
    struct run usual = one_at_a_time, expected = one_at_a_time, found = in_pairs;
    search_all(&usual, transformer, &sources, &options);
    options.end_id = usual.ids[0][1];
    struct clf__tensor table = transformer->decoder.embedder.positions;
    size_t row = (size_t)clf__position_rows(&transformer->config, CLF__DECODER).first + 3;
    assert_true(row < (size_t)table.rows);
    assert_ok(clf__buffer_fill(table.buffer, (table.offset + row * (size_t)table.stride) * sizeof(float),
                               (size_t)table.stride * sizeof(float), NAN));
    search_all(&expected, transformer, &sources, &options);
    search_all(&found, transformer, &sources, &options);
    assert_same(&found, &expected, sources.count);
    int ended = 0, failed = 0;
    for (int i = 0; i < sources.count; i++) {
        failed += found.not_finite[i];
        ended += found.lengths[i] > 0;
    }
    assert_true(ended > 0 && failed > 0);
    clf__transformer_free(transformer);
    support_free_all();
}

/* Before the host waits for a step, the next one is enqueued; it takes one more launch than a step whose
 * tokens the host knows. */
static void check_order(int beams)
{
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_device *device = support_open_profiled((clf_variant)variant, CLF_INSTRUCTIONS_AUTO);
        struct clf__transformer *transformer;
        assert_ok(clf__transformer_load(&transformer, device, support_fixture("models/marian"),
                                        CLF_PRECISION_FP32));
        struct model_fixture fixture = model_fixture_load("marian", 0);
        struct clf__sequences sources = make_sources(&fixture.cases[0], SLOTS);
        struct clf__search_options options = options_for(transformer);
        struct run runs[2] = {one_at_a_time, in_pairs};
        int64_t launches[2];
        options.min_length = LENGTH; /* no source ends early */
        options.beams = options.n_best = beams;
        search_all(&runs[0], transformer, &sources, &options); /* uploads tables of positions */
        for (int i = 0; i < 2; i++) {
            runs[i].ahead = 0;
            assert_ok(clf_device_profile_reset(device));
            read_count = 0;
            search_all(&runs[i], transformer, &sources, &options);
            assert_int_equal(read_count, LENGTH);
            for (int step = 0; step < LENGTH; step++) {
                int is_before_next = i == 0 || step + 1 == LENGTH;
                assert_int_equal(enqueued_before_wait[step], step + (is_before_next ? 1 : 2));
            }
            launches[i] = support_launches(device, NULL);
        }
        assert_same(&runs[1], &runs[0], sources.count);
        assert_int_equal(runs[1].ahead, LENGTH - 1);
        assert_int_equal(launches[1], launches[0] + LENGTH - 1);
        clf__transformer_free(transformer);
        clf_device_close(device);
        support_free_all();
    }
}

static void test_order(void **state)
{
    (void)state;
    check_order(1);
    check_order(3);
}

/* Every OpenCL call of two enqueued steps fails once: the step fails, and the session and the search can
 * start again.
 */
static void test_failures(void **state)
{
    (void)state;
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, support_device(CLF_VARIANT_AUTO),
                                    support_fixture("models/marian"), CLF_PRECISION_FP32));
    struct model_fixture fixture = model_fixture_load("marian", 0);
    const struct clf__sequences sources = make_sources(&fixture.cases[0], SLOTS);
    const struct clf__search_options options = options_for(transformer);
    struct clf__search_limits limits = clf__search_limits_for(&options, SLOTS);
    struct clf__search *search;
    limits.ahead = 1;
    assert_ok(clf__search_create(&search, &limits));
    struct clf__session *session = create_session(&in_pairs, transformer, &sources, &limits);
    clf_status status = CLF_DEVICE;
    int failures = 0;
    for (uint64_t n = 1; status != CLF_OK; n++) {
        struct run run = in_pairs;
        int next = 0, done = 0;
        admit(&run, session, search, &sources, &options, &next);
        assert_ok(run_step(&run, session, search));
        clf__device_fail_at(n);
        status = run_step(&run, session, search);
        clf__device_fail_at(0);
        failures += status != CLF_OK;
        assert_true(status == CLF_OK || session->queued_count == 0);
        clf__search_withdraw(search);
        while (status == CLF_OK && done < SLOTS) {
            assert_ok(run_step(&run, session, search));
            take_results(&run, session, search, &done);
        }
        for (int slot = 0; slot < SLOTS; slot++) {
            clf__search_remove(search, slot);
        }
        clf__session_release_all(session);
    }
    assert_true(failures > 6);
    clf__session_free(session);
    clf__search_free(search);
    clf__transformer_free(transformer);
    support_free_all();
}

/* Persistent launches fail while another step is enqueued: both steps run again, with separate launches; with
 * beams, their sources start again. */
static void check_persistent(int beams)
{
    struct clf_device *device = support_open_profiled(CLF_VARIANT_GPU, CLF_INSTRUCTIONS_EMULATED);
    if (!device->caps.has_device_atomics || device->caps.max_work_group < CLF__STAGE_GROUP) {
        clf_device_close(device);
        return; /* does not support persistent launches */
    }
    const char *folder = support_temporary_folder();
    folder_write_text(
        folder, "config.json",
        "{\"model_type\": \"clformer\", \"preset\": \"paper\", \"d_model\": 64, \"encoder_layers\": "
        "1, \"decoder_layers\": 2, \"encoder_ffn_dim\": 48, \"decoder_ffn_dim\": 100, "
        "\"encoder_attention_heads\": 2, \"decoder_attention_heads\": 2, "
        "\"max_position_embeddings\": 600, \"vocab_size\": 90}");
    assert_ok(clf__model_initialise(folder, 3, NULL, NULL));
    static const int first[] = {0, 3, 9, 14, 18};
    static const int32_t ids[18] = {4, 9, 2, 5, 6, 7, 8, 30, 2, 11, 12, 13, 14, 2, 5, 50, 51, 2};
    static const struct clf__sequences sources = {.count = 4, .first = first, .ids = ids};
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, device, folder, CLF_PRECISION_FP16));
    struct clf__search_options options = options_for(transformer);
    options.start_id = 1;
    struct run expected = one_at_a_time;
    options.beams = options.n_best = beams;
    search_all(&expected, transformer, &sources, &options);
    assert_int_equal(device->persistent_proofs, CLF__PERSISTENT_PROOFS);
    options.end_id = expected.ids[1][4];
    expected = one_at_a_time;
    search_all(&expected, transformer, &sources, &options);
    device->persistent_proofs = 0; /* these steps are not pipelined */
    for (int step = 1; step < 7; step += support_small() ? 3 : 1) {
        struct run found = in_pairs;
        found.failing_step = step;
        found.stage = 2 * step;
        search_all(&found, transformer, &sources, &options);
        assert_same(&found, &expected, sources.count);
        assert_true(device->has_no_persistent_launches);
        assert_true(found.voids > 0 || step < CLF__PERSISTENT_PROOFS);
        assert_int_equal(device->claims, 0);
        device->has_no_persistent_launches = 0;
    }
    int64_t before = support_launches(device, "decoder_layers_gpu");
    struct run found = in_pairs;
    search_all(&found, transformer, &sources, &options);
    assert_same(&found, &expected, sources.count);
    assert_true(support_launches(device, "decoder_layers_gpu") - before >= found.steps);
    assert_int_equal(device->claims, 0);
    clf__transformer_free(transformer);
    clf_device_close(device);
    support_free_all();
}

static void test_persistent(void **state)
{
    (void)state;
    check_persistent(1);
    check_persistent(3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_same_results, support_teardown),
        cmocka_unit_test_teardown(test_pad_tokens, support_teardown),
        cmocka_unit_test_teardown(test_shortlists, support_teardown),
        cmocka_unit_test_teardown(test_not_finite, support_teardown),
        cmocka_unit_test_teardown(test_order, support_teardown),
        cmocka_unit_test_teardown(test_failures, support_teardown),
        cmocka_unit_test_teardown(test_persistent, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
