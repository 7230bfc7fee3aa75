#include "open/barrier_stress.h"

#include "base/memory.h"
#include "base/minmax.h"
#include "math/layers/grid_barrier.h"
#include "math/ops/arguments.h"
#include "runtime/device/buffer.h"
#include "runtime/program/launch.h"

/* Tasks per round for every compute unit of large GPUs, and more than one compute unit runs at once. */
enum {
    LEAST_BLOCKS = 8,
    MOST_BLOCKS = 64,
    TASKS_OF_BLOCK = CLF__BARRIER_COLUMNS / CLF__BARRIER_TILE,
    BLOCK_WORDS = CLF__BARRIER_ROWS * CLF__BARRIER_COLUMNS
};

struct buffers {
    struct clf__buffer *counters, *words;
};

static clf_status create_buffers(struct buffers *out, struct clf_device *device, int blocks)
{
    static const char what[] = "the trial of waiting work-groups";
    size_t bytes = 2 * (size_t)blocks * BLOCK_WORDS * sizeof(uint32_t);
    CLF__TRY(clf__buffer_create(&out->counters, device, CLF__BARRIER_COUNTERS * sizeof(uint32_t), what));
    CLF__TRY(clf__buffer_create(&out->words, device, bytes, what));
    return clf__buffer_fill(out->words, 0, bytes, 0.0f);
}

static clf_status launch(struct clf_device *device, const struct buffers *buffers,
                         const struct clf__barrier_sizes *sizes, int rounds)
{
    size_t tasks = (size_t)sizes->blocks * TASKS_OF_BLOCK * (size_t)rounds;
    const struct clf__argument arguments[] = {
        CLF__LOCAL(sizeof(int32_t)),
        CLF__BUFFER(buffers->counters),
        CLF__BUFFER(buffers->words),
        CLF__STRUCT(*sizes),
    };
    const struct clf__launch launch = {
        .program = "probe_barrier",
        .defines = "-DGROUPS_TOGETHER -DHAS_FENCED_ATOMICS",
        .gpu = {.kernel = "probe_barrier_gpu", .groups = {tasks}, .local = {CLF__TILE_GROUP}},
        CLF__ARGUMENTS(arguments),
    };
    CLF__TRY(clf__buffer_fill(buffers->counters, 0, CLF__BARRIER_COUNTERS * sizeof(uint32_t), 0.0f));
    return clf__launch(device, &launch);
}

static clf_status check_counters(const struct buffers *buffers)
{
    uint32_t counters[CLF__BARRIER_COUNTERS];
    CLF__TRY(clf__buffer_read(buffers->counters, 0, sizeof counters, counters));
    if (counters[CLF__BARRIER_FAILED] != 0) {
        return clf__fail(CLF_UNSUPPORTED, "work-groups waited too long for other work-groups");
    }
    if (counters[CLF__BARRIER_WRONG] != 0) {
        return clf__fail(CLF_UNSUPPORTED, "work-groups read %u old words in rows of other work-groups",
                         (unsigned)counters[CLF__BARRIER_WRONG]);
    }
    return CLF_OK;
}

/* Checks the words of the last round, which no work-group has read. */
static clf_status check_words(const struct buffers *buffers, const struct clf__barrier_sizes *sizes,
                              int rounds)
{
    size_t count = (size_t)sizes->blocks * BLOCK_WORDS, first = (size_t)((rounds - 1) % 2) * count;
    uint32_t *words;
    CLF__TRY(clf__allocate(&words, count, sizeof *words));
    clf_status status = clf__buffer_read(buffers->words, first * sizeof *words, count * sizeof *words, words);
    uint32_t start = (uint32_t)(sizes->seed + rounds - 1) * 0x9e3779b1u;
    for (size_t i = 0; status == CLF_OK && i < count; i++) {
        uint32_t row = (uint32_t)(i / CLF__BARRIER_COLUMNS), column = (uint32_t)(i % CLF__BARRIER_COLUMNS);
        if (words[i] != start + row * 0x85ebca77u + column) {
            status = clf__fail(CLF_UNSUPPORTED, "work-groups wrote wrong words");
        }
    }
    clf__free(words);
    return status;
}

static clf_status run(struct clf_device *device, const struct buffers *buffers, int blocks,
                      const struct clf__barrier_stress *stress)
{
    struct clf__barrier_sizes sizes = {.blocks = blocks,
                                       .most_looks = clf__grid_barrier_looks(device, 0),
                                       .fails_at = stress->fails_at,
                                       .spoiled_task = stress->spoiled_task};
    for (int i = 0; i < stress->launches; i++) {
        sizes.seed = i * stress->rounds;
        CLF__TRY(launch(device, buffers, &sizes, stress->rounds));
        CLF__TRY(check_counters(buffers));
        CLF__TRY(check_words(buffers, &sizes, stress->rounds));
    }
    return CLF_OK;
}

clf_status clf__barrier_stress(struct clf_device *device, const struct clf__barrier_stress *stress)
{
    int blocks = clf__max_int(LEAST_BLOCKS, clf__min_int(MOST_BLOCKS, (int)device->caps.compute_units));
    struct buffers buffers = {NULL, NULL};
    clf_status status = create_buffers(&buffers, device, blocks);
    if (status == CLF_OK) {
        status = run(device, &buffers, blocks, stress);
    }
    clf__buffer_free(buffers.words);
    clf__buffer_free(buffers.counters);
    return status;
}
