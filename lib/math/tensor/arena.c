#include <inttypes.h>

#include "base/memory.h"
#include "math/tensor/tensor.h"
#include "runtime/device/caps.h"

struct clf__arena_entry {
    struct clf__tensor *tensor; /* owned by the caller; becomes valid at allocation */
    struct clf__buffer *buffer;
    size_t bytes;
    const char *what;
    int is_joined;
};

void clf__arena_init(struct clf__arena *arena, struct clf_device *device)
{
    *arena = (struct clf__arena){.device = device, .joined = {.device = device}};
}

/* Returns the stride of a matrix with this many columns. */
static int64_t spread(int64_t columns, enum clf__type type)
{
    enum { LINE = 64, LEAST = 1024 };
    int64_t elements = LINE / (int64_t)clf__type_bytes(type), lines = (columns + elements - 1) / elements;
    return lines * LINE < LEAST ? columns : (lines | 1) * elements;
}

clf_status clf__arena_reserve(struct clf__arena *arena, struct clf__tensor *tensor, enum clf__type type,
                              int64_t rows, int64_t columns, const char *what)
{
    rows = rows > 0 ? rows : 1;
    columns = columns > 0 ? columns : 1;
    int64_t stride = arena->is_swept && rows > 1 ? spread(columns, type) : columns;
    if (rows > INT32_MAX / stride) {
        return clf__fail(CLF_DEVICE_MEMORY,
                         "%s: %" PRId64 " rows of %" PRId64 " numbers exceed the limit of %" PRId32
                         " elements; use a smaller --batch-tokens, --beam or --max-length",
                         what, rows, stride, INT32_MAX);
    }
    CLF__TRY(clf__resize(&arena->entries, (size_t)arena->count + 1, sizeof *arena->entries));
    *tensor =
        (struct clf__tensor){.type = type, .rows = (int)rows, .columns = (int)columns, .stride = (int)stride};
    size_t bytes = (size_t)rows * (size_t)stride * clf__type_bytes(type);
    arena->entries[arena->count++] = (struct clf__arena_entry){
        .tensor = tensor, .bytes = bytes, .what = what, .is_joined = arena->is_joined};
    arena->bytes += bytes;
    arena->largest = bytes > arena->largest ? bytes : arena->largest;
    return CLF_OK;
}

static clf_status create_buffer(struct clf__arena *arena, struct clf__arena_entry *entry)
{
    if (entry->is_joined) {
        return clf__pool_reserve(&entry->buffer, &arena->joined, entry->bytes, entry->what);
    }
    return arena->is_swept
               ? clf__buffer_create_large(&entry->buffer, arena->device, entry->bytes, entry->what)
               : clf__buffer_create(&entry->buffer, arena->device, entry->bytes, entry->what);
}

clf_status clf__arena_allocate(struct clf__arena *arena)
{
    uint64_t left = clf__device_free_bytes(arena->device);
    if (arena->bytes > left) {
        return clf__fail(CLF_DEVICE_MEMORY,
                         "device memory: a batch needs %" PRIu64 " bytes, but only %" PRIu64 " of %" PRIu64
                         " are free; use a smaller --batch-tokens, --beam or --max-length",
                         arena->bytes, left, clf__device_caps(arena->device)->memory_bytes);
    }
    for (int i = 0; i < arena->count; i++) {
        struct clf__arena_entry *entry = &arena->entries[i];
        CLF__TRY(create_buffer(arena, entry));
        entry->tensor->buffer = entry->buffer;
    }
    return clf__pool_allocate(&arena->joined, "the caches of keys and values");
}

void clf__arena_free(struct clf__arena *arena)
{
    for (int i = 0; i < arena->count; i++) {
        clf__buffer_free(arena->entries[i].buffer);
    }
    clf__pool_free(&arena->joined);
    clf__free(arena->entries);
    clf__arena_init(arena, arena->device);
}
