#include "support/support.h"

#include <dirent.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/half.h"
#include "base/memory.h"
#include "reference/gemm.h"
#include "runtime/device/device.h"
#include "runtime/program/cache.h"

enum { MAX_OWNED = 4096, MAX_DEVICES = 18, MAX_FOLDERS = 64, MAX_FIXTURES = 256 };

static void *owned_arrays[MAX_OWNED];
static struct clf__buffer *owned_buffers[MAX_OWNED];
static int array_count, buffer_count;
static struct {
    struct clf_device *device;
    struct clf_device_options options;
} devices[MAX_DEVICES];
static int device_count;
static char folders[MAX_FOLDERS][64];
static int folder_count;

void support_assert_ok(clf_status status, const char *expression, const char *file, int line)
{
    if (status != CLF_OK) {
        print_error("%s: %s: %s\n", expression, clf_status_name(status), clf_last_error());
        _fail(file, line);
    }
}

void support_assert_fails(clf_status actual, clf_status expected, const char *part, const char *expression,
                          const char *file, int line)
{
    if (actual != expected || (part && strstr(clf_last_error(), part) == NULL)) {
        print_error("%s: expected %s with \"%s\", got %s: %s\n", expression, clf_status_name(expected),
                    part ? part : "", clf_status_name(actual), clf_last_error());
        _fail(file, line);
    }
}

static int shares_kernels(void)
{
    return getenv("CLFORMER_TEST_CACHE") != NULL;
}

/* Tests, and the commands they run, ignore the user's tuning. They also disable clformer's kernel cache,
 * because PoCL compiles each kernel a second time for it; set_cache_home() enables it. */
__attribute__((constructor)) static void set_environment(void)
{
    setenv("CLFORMER_TUNING", "off", 0);
    if (!shares_kernels()) {
        setenv("CLFORMER_CACHE_BYTES", "0", 0);
    }
}

int support_end(int failures)
{
    for (int i = 0; i < device_count; i++) {
        clf__program_cache_store_all(devices[i].device);
    }
    return failures;
}

/* Returns an open device whose options have the same effect, or NULL. Sharing devices saves time, because
 * PoCL compiles kernels again for each device that a process opens. */
static struct clf_device *find_same(const struct clf_device *device)
{
    const struct clf__caps *caps = clf__device_caps(device);
    for (int i = 0; i < device_count; i++) {
        const struct clf__caps *other = clf__device_caps(devices[i].device);
        if (other->variant == caps->variant && other->gemm == caps->gemm &&
            other->attention == caps->attention && other->level == caps->level &&
            other->asks_for_clblast == caps->asks_for_clblast) {
            return devices[i].device;
        }
    }
    return NULL;
}

static struct clf_device *device_of(struct clf_device_options options)
{
    /* Without the cache, tests also cover the driver's compiler. If a driver caches no kernels, the tests of
     * a run share them through clformer's cache. */
    options.use_program_cache = shares_kernels();
    for (int i = 0; i < device_count; i++) {
        if (memcmp(&devices[i].options, &options, sizeof options) == 0) {
            return devices[i].device;
        }
    }
    struct clf_device *device;
    assert_true(device_count < MAX_DEVICES);
    assert_ok(clf_device_open(&device, NULL, &options));
    struct clf_device *same = find_same(device);
    if (same != NULL) {
        clf_device_close(device);
        device = same;
    }
    /* Devices are never closed: an exit handler would run after the thread-local data of Oclgrind and PoCL's
     * LLVM has been destroyed, and would crash. */
    devices[device_count].options = options;
    devices[device_count].device = device;
    return devices[device_count++].device;
}

struct clf_device *support_device_with(clf_variant variant, clf_gemm gemm, clf_attention attention)
{
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.variant = variant;
    options.gemm = gemm;
    options.attention = attention;
    return device_of(options);
}

struct clf_device *support_device_at(clf_variant variant, clf_instructions instructions)
{
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.variant = variant;
    options.gemm = CLF_GEMM_NATIVE;
    options.attention = CLF_ATTENTION_FUSED;
    options.instructions = instructions;
    return device_of(options);
}

struct clf_device *support_matrix_device(void)
{
    clf_instructions best = clf_device_describe(support_device(CLF_VARIANT_GPU))->instructions;
    return support_device_at(CLF_VARIANT_GPU,
                             best >= CLF_INSTRUCTIONS_NV80 ? best : CLF_INSTRUCTIONS_EMULATED);
}

void support_hide_atomics(struct clf_device *device, int is_fenced)
{
    char *options = NULL;
    device->caps.has_device_atomics = 0;
    device->caps.has_fenced_atomics = is_fenced;
    assert_ok(clf__caps_build_options(&options, &device->list->devices[device->info->index], &device->caps));
    clf__free(device->build_options);
    device->build_options = options;
}

struct clf_device *support_device(clf_variant variant)
{
    return support_device_with(variant, CLF_GEMM_AUTO, CLF_ATTENTION_AUTO);
}

int support_first_variant(void)
{
    const char *variant = getenv("CLFORMER_VARIANT");
    return variant && strcmp(variant, "gpu") == 0 ? CLF_VARIANT_GPU : CLF_VARIANT_CPU;
}

int support_last_variant(void)
{
    const char *variant = getenv("CLFORMER_VARIANT");
    return variant && strcmp(variant, "cpu") == 0 ? CLF_VARIANT_CPU : CLF_VARIANT_GPU;
}

int support_small(void)
{
    return getenv("CLFORMER_TEST_SMALL") != NULL;
}

static uint64_t next_random(struct support_random *random)
{
    /* splitmix64 (Steele, Lea, Flood 2014) */
    uint64_t z = (random->state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

float support_uniform(struct support_random *random)
{
    return (float)(next_random(random) >> 40) / (float)(1 << 23) - 1.0f;
}

int support_integer(struct support_random *random, int bound)
{
    return (int)(next_random(random) % (uint64_t)bound);
}

void *support_array(size_t count, size_t size)
{
    assert_true(array_count < MAX_OWNED);
    void *array = calloc(count > 0 ? count : 1, size);
    assert_non_null(array);
    owned_arrays[array_count++] = array;
    return array;
}

float *support_uniform_array(struct support_random *random, size_t count, float scale)
{
    float *array = support_array(count, sizeof *array);
    for (size_t i = 0; i < count; i++) {
        array[i] = scale * support_uniform(random);
    }
    return array;
}

static const void *halves_of(const float *values, size_t count)
{
    uint16_t *halves = support_array(count, sizeof *halves);
    for (size_t i = 0; i < count; i++) {
        halves[i] = clf__fp16_of(values[i]);
    }
    return halves;
}

struct clf__tensor support_tensor(struct clf_device *device, enum clf__type type, int rows, int columns,
                                  const void *values)
{
    struct clf__tensor tensor = {.type = type, .rows = rows, .columns = columns, .stride = columns};
    size_t count = (size_t)rows * (size_t)columns;
    assert_true(buffer_count < MAX_OWNED);
    assert_ok(
        clf__buffer_create(&tensor.buffer, device, (count > 0 ? count : 1) * 4, "the tensor of a test"));
    owned_buffers[buffer_count++] = tensor.buffer;
    if (values == NULL) {
        union {
            float real;
            int32_t integer;
        } *poison = support_array(count, sizeof *poison);
        for (size_t i = 0; i < count; i++) {
            if (type != CLF__I32) {
                poison[i].real = NAN;
            } else {
                poison[i].integer = INT32_MIN;
            }
        }
        values = poison;
    }
    assert_ok(clf__tensor_write(tensor, type == CLF__F16 ? halves_of(values, count) : values));
    return tensor;
}

float *support_read(struct clf__tensor tensor)
{
    size_t count = (size_t)tensor.rows * (size_t)tensor.columns;
    float *values = support_array(count, sizeof *values);
    if (tensor.type == CLF__F16) {
        uint16_t *halves = support_array(count, sizeof *halves);
        assert_ok(clf__tensor_read(tensor, halves));
        for (size_t i = 0; i < count; i++) {
            values[i] = clf__float_of_fp16(halves[i]);
        }
    } else {
        assert_ok(clf__tensor_read(tensor, values));
    }
    return values;
}

float *support_round_halves(const float *values, size_t count)
{
    float *rounded = support_array(count, sizeof *rounded);
    for (size_t i = 0; i < count; i++) {
        rounded[i] = reference_round(CLF__PRECISION_FP16, values[i]);
    }
    return rounded;
}

int32_t *support_read_integers(struct clf__tensor tensor)
{
    int32_t *values = support_array((size_t)tensor.rows * (size_t)tensor.columns, sizeof *values);
    assert_ok(clf__tensor_read(tensor, values));
    return values;
}

void support_assert_close(const float *actual, const double *expected, size_t count, double tolerance,
                          const char *file, int line)
{
    double difference = 0, norm = 0, worst = -1;
    size_t where = 0;
    for (size_t i = 0; i < count; i++) {
        double d = fabs((double)actual[i] - expected[i]);
        if (!(d <= worst)) { /* NaN counts as the worst */
            worst = d;
            where = i;
        }
        difference += d * d;
        norm += expected[i] * expected[i];
    }
    double relative = sqrt(difference) / (norm > 0 ? sqrt(norm) : 1);
    if (!(relative <= tolerance)) {
        print_error("relative error %g > %g over %zu values; worst at %zu: %.9g, expected %.9g\n", relative,
                    tolerance, count, where, (double)actual[where], expected[where]);
        _fail(file, line);
    }
}

void support_free_all(void)
{
    while (array_count > 0) {
        free(owned_arrays[--array_count]);
    }
    while (buffer_count > 0) {
        clf__buffer_free(owned_buffers[--buffer_count]);
    }
}

int support_teardown(void **state)
{
    (void)state;
    support_free_all();
    return 0;
}

const char *support_fixture(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/tests/fixtures/%s", CLF_SOURCE_FOLDER, name);
    return path;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *const *support_fixture_folders(const char *folder, const char *file)
{
    static char names[MAX_FIXTURES][256];
    static const char *list[MAX_FIXTURES + 1];
    DIR *entries = opendir(support_fixture(folder));
    assert_non_null(entries);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s/%s", folder, entry->d_name, file);
        if (entry->d_name[0] != '.' && access(support_fixture(path), F_OK) == 0) {
            assert_true(count < MAX_FIXTURES);
            snprintf(names[count], sizeof names[count], "%s", entry->d_name);
            list[count] = names[count];
            count++;
        }
    }
    closedir(entries);
    assert_true(count > 0);
    qsort(list, (size_t)count, sizeof *list, compare_names);
    list[count] = NULL;
    return list;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static void remove_folders(void)
{
    for (int i = 0; i < folder_count; i++) {
        nftw(folders[i], remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    }
}

const char *support_temporary_folder(void)
{
    assert_true(folder_count < MAX_FOLDERS);
    if (folder_count == 0) {
        atexit(remove_folders);
    }
    char *folder = folders[folder_count++];
    strcpy(folder, "/tmp/clformer-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return folder;
}

char *support_temporary_path(const char *name)
{
    char *path = support_array(256, 1);
    snprintf(path, 256, "%s/%s", support_temporary_folder(), name);
    return path;
}

struct clf_device *support_open_profiled(clf_variant variant, clf_instructions instructions)
{
    struct clf_device *device = NULL;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.variant = variant;
    options.gemm = CLF_GEMM_NATIVE;
    options.instructions = instructions;
    options.profile = 1;
    assert_ok(clf_device_open(&device, NULL, &options));
    return device;
}

int64_t support_launches(struct clf_device *device, const char *kernel)
{
    const struct clf_kernel_time *kernels;
    int count;
    int64_t launches = 0;
    assert_ok(clf_device_profile(&kernels, &count, device));
    for (int i = 0; i < count; i++) {
        int is_counted = kernel == NULL || strcmp(kernels[i].name, kernel) == 0;
        launches += is_counted ? kernels[i].launches : 0;
    }
    return launches;
}

void support_colliding_word(char word[81], int i)
{
    /* one of two blocks at each of 16 positions */
    static const char blocks[6][2][6] = {{"1d18d", "d7038"}, {"4a0f5", "bec20"}, {"198eb", "52938"},
                                         {"19f8a", "89aa0"}, {"0789b", "489c8"}, {"289db", "67828"}};
    for (int place = 0; place < 16; place++) { /* after block 3, the hash repeats every 3 blocks */
        memcpy(word + 5 * place, blocks[place < 3 ? place : 3 + place % 3][i >> place & 1], 5);
    }
    word[80] = '\0';
}
