#include "engine/windows.h"

#include <assert.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "engine/lane.h"
#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"

/* Default numbers of slots: more do not use the device better. */
enum { CPU_SLOTS = 8, GPU_SLOTS = 32 };
/* The default uses up to 1/4 of the free memory: other processes may use the GPU. */
enum { MEMORY_SHARE = 4 };

struct clf__window_capacity clf__window_capacity_join(const struct clf__window_capacity *a,
                                                      const struct clf__window_capacity *b)
{
    struct clf__window_capacity joined = *a;
    const struct clf__whisper_limits *limits = &b->search;
    struct clf__whisper_limits *search = &joined.search;
    search->beams = clf__max_int(search->beams, limits->beams);
    search->samples = clf__max_int(search->samples, limits->samples);
    search->positions = clf__max_int(search->positions, limits->positions);
    search->wanted = clf__max_int(search->wanted, limits->wanted);
    search->finished = clf__max_int(search->finished, limits->finished);
    search->banned = clf__max_int(search->banned, limits->banned);
    search->logits = clf__max_int(search->logits, limits->logits);
    joined.inputs = clf__max_int(joined.inputs, b->inputs);
    return joined;
}

int clf__windows_serve(const struct clf__windows *windows, const struct clf__window *window)
{
    const struct clf__whisper_limits *has = &windows->capacity.search, *needs = &window->capacity->search;
    return windows->session != NULL && has->beams >= needs->beams && has->samples >= needs->samples &&
           has->positions >= needs->positions && has->wanted >= needs->wanted &&
           has->finished >= needs->finished && has->banned >= needs->banned && has->logits >= needs->logits &&
           windows->capacity.inputs >= window->capacity->inputs;
}

static struct clf__session_limits limits_of(const struct clf__windows *windows)
{
    const struct clf__whisper_limits *search = &windows->capacity.search;
    int slots = windows->slots, rows = clf__whisper_rows(search), inputs = windows->capacity.inputs;
    return (struct clf__session_limits){
        .sources = slots,
        .source_tokens = slots * CLF__WINDOW_FRAMES,
        .source_length = CLF__WINDOW_FRAMES,
        .cache_rows = slots * rows,
        .positions = search->positions,
        .candidates = clf__whisper_candidates(search),
        .prefill = slots * search->positions,
        .banned = slots * rows * search->banned,
        .ranges = CLF__WHISPER_RANGES,
        .draws = slots * search->samples,
        .target_tokens = inputs,
        .target_length = inputs,
        .aligns = inputs > 0,
        .logits = search->logits > 0,
    };
}

/* Chooses the default number of slots. Creating the session fails later if a single slot does not fit. */
static clf_status choose_slots(struct clf__windows *windows, struct clf__transformer *transformer)
{
    uint64_t room = clf__device_free_bytes(transformer->device) / MEMORY_SHARE;
    const struct clf__caps *caps = clf__device_caps(transformer->device);
    windows->slots = caps->variant == CLF_VARIANT_GPU ? GPU_SLOTS : CPU_SLOTS;
    for (int fits = 0; !fits && windows->slots > 1;) {
        struct clf__session_limits limits = limits_of(windows);
        struct clf__session_size size = {0};
        clf_status status = clf__session_measure(&size, transformer, &limits);
        if (status != CLF_DEVICE_MEMORY) { /* a tensor that kernels cannot index */
            CLF__TRY(status);
            fits = size.bytes <= room && size.largest_buffer <= caps->max_buffer_bytes;
        }
        windows->slots = fits ? windows->slots : windows->slots / 2;
    }
    return CLF_OK;
}

static clf_status make_session(struct clf__windows *windows, struct clf__transformer *transformer)
{
    size_t slots = (size_t)windows->slots;
    struct clf__whisper_limits search = windows->capacity.search;
    struct clf__session_limits limits = limits_of(windows);
    search.slots = windows->slots;
    CLF__TRY(clf__allocate(&windows->units, slots, sizeof *windows->units));
    CLF__TRY(clf__allocate(&windows->chosen, slots, sizeof *windows->chosen));
    CLF__TRY(clf__allocate(&windows->chosen_slots, slots, sizeof *windows->chosen_slots));
    CLF__TRY(clf__whisper_create(&windows->whisper, &search));
    return clf__session_create(&windows->session, transformer, &limits);
}

clf_status clf__windows_fit(struct clf__lane *lane, const struct clf__window_capacity *capacity, int wanted)
{
    struct clf__windows *windows = &lane->windows;
    struct clf__transformer *transformer = lane->model->transformer;
    clf__windows_release(windows);
    windows->capacity = clf__window_capacity_join(&windows->capacity, capacity);
    windows->slots = wanted;
    clf_status status = wanted == 0 ? choose_slots(windows, transformer) : CLF_OK;
    if (status == CLF_OK && windows->maker == NULL) {
        status =
            clf__window_maker_create(&windows->maker, transformer->device, transformer->config.feature_size);
    }
    if (status == CLF_OK) {
        status = make_session(windows, transformer);
    }
    if (status != CLF_OK) {
        clf__windows_release(windows);
    }
    return status;
}

void clf__windows_release(struct clf__windows *windows)
{
    clf__session_free(windows->session);
    clf__whisper_free(windows->whisper);
    clf__free(windows->units);
    clf__free(windows->chosen);
    clf__free(windows->chosen_slots);
    windows->session = NULL;
    windows->whisper = NULL;
    windows->units = windows->chosen = NULL;
    windows->chosen_slots = NULL;
    windows->slots = 0;
}

void clf__windows_free(struct clf__windows *windows)
{
    clf__windows_release(windows);
    clf__window_maker_free(windows->maker);
}

/* Begins an attempt to decode the window in a slot. */
static clf_status begin(const struct clf__windows *windows, int slot)
{
    struct clf__window *window = windows->units[slot]->window;
    const struct clf__whisper_rules *rules = NULL;
    const struct clf__ids *prompt = NULL;
    CLF__TRY(window->kind->begin(window->context, &rules, &prompt));
    clf__whisper_begin(windows->whisper, rules, prompt->data, prompt->count, slot);
    return CLF_OK;
}

/* Returns a failure of the device; any other one is kept by the window. */
static clf_status keep_failure(struct clf__unit *unit, clf_status status)
{
    if (status == CLF_OK || clf__is_device_failure(status)) {
        return status;
    }
    unit->window->failure = clf__failure_keep(status);
    return CLF_OK;
}

clf_status clf__windows_run(struct clf__lane *lane, struct clf__unit *unit)
{
    double start = clf__seconds();
    struct clf__window *window = unit->window;
    window->failure = (struct clf__failure){.status = CLF_OK};
    clf_status status = keep_failure(unit, window->kind->task(window->context, lane->windows.maker));
    lane->times.encode += clf__seconds() - start;
    return status;
}

/* How a window joins the session. */
enum entry { ENCODES, IS_KEPT, WAS_KEPT, ENTRIES };

static enum entry entry_of(const struct clf__window *window)
{
    return window->kind->load == NULL ? WAS_KEPT : window->encoding != NULL ? IS_KEPT : ENCODES;
}

/* Windows that join in the same way. */
struct group {
    int count;
    int *slots;                       /* (count) */
    int *first;                       /* (count + 1) their first frames in the batch */
    struct clf__encoding **encodings; /* (count) */
};

static void choose_group(struct group *group, const struct clf__windows *windows, int count, enum entry entry)
{
    group->count = 0;
    for (int i = 0; i < count; i++) {
        const struct clf__window *window = windows->chosen[i]->window;
        if (entry_of(window) == entry) {
            int frames = window->frames > 0 ? window->frames : CLF__WINDOW_FRAMES;
            group->slots[group->count] = windows->chosen_slots[i];
            group->encodings[group->count] = window->encoding;
            group->first[group->count + 1] = group->first[group->count] + frames;
            group->count++;
        }
    }
}

static clf_status encode_group(const struct clf__windows *windows, const struct group *group)
{
    struct clf__tensor frames = clf__session_frames(windows->session);
    for (int i = 0; i < group->count; i++) {
        const struct clf__window *window = windows->units[group->slots[i]]->window;
        int first = group->first[i], length = group->first[i + 1] - first;
        CLF__TRY(
            window->kind->load(window->context, windows->maker, clf__tensor_rows(frames, first, length)));
    }
    struct clf__sequences sequences = {.count = group->count, .first = group->first};
    return clf__session_encode(windows->session, &sequences);
}

/* Caches the keys and values of a group. */
static clf_status cache_group(const struct clf__windows *windows, const struct group *group, enum entry entry)
{
    struct clf__session *session = windows->session;
    for (int i = 0; i < group->count; i++) {
        int rows = entry == WAS_KEPT
                       ? group->encodings[i]->rows.rows
                       : clf__session_source_rows(session, group->first[i + 1] - group->first[i]);
        clf__session_shorten(session, group->slots[i], rows);
    }
    return clf__session_cache(session, group->slots);
}

static clf_status add_group(const struct clf__windows *windows, const struct group *group, enum entry entry)
{
    struct clf__session *session = windows->session;
    if (group->count == 0) {
        return CLF_OK;
    }
    CLF__TRY(entry == WAS_KEPT ? clf__session_load(session, group->encodings, group->count)
                               : encode_group(windows, group));
    for (int i = 0; i < group->count && entry == IS_KEPT; i++) {
        CLF__TRY(keep_failure(windows->units[group->slots[i]],
                              clf__encoding_save(group->encodings[i], session, i)));
    }
    return entry == IS_KEPT ? CLF_OK : cache_group(windows, group, entry);
}

/* Adds the chosen windows in groups, because an encoder batch is read or cached as a whole. */
static clf_status add_groups(const struct clf__windows *windows, int count)
{
    struct group group = {.count = 0};
    clf_status status = clf__allocate(&group.slots, (size_t)count, sizeof *group.slots);
    status = status == CLF_OK ? clf__allocate(&group.first, (size_t)count + 1, sizeof *group.first) : status;
    status = status == CLF_OK ? clf__allocate(&group.encodings, (size_t)count, sizeof(struct clf__encoding *))
                              : status;
    for (enum entry entry = ENCODES; entry < ENTRIES && status == CLF_OK; entry++) {
        choose_group(&group, windows, count, entry);
        status = add_group(windows, &group, entry);
    }
    clf__free(group.slots);
    clf__free(group.first);
    clf__free(group.encodings);
    return status;
}

clf_status clf__windows_add(struct clf__lane *lane, int count)
{
    double start = clf__seconds();
    struct clf__windows *windows = &lane->windows;
    for (int i = 0; i < count; i++) {
        int slot = windows->chosen_slots[i];
        int is_reserved = clf__session_reserve(windows->session, slot, CLF__WINDOW_FRAMES);
        assert(is_reserved); /* slots have the same size, so that free rows are never too few */
        (void)is_reserved;
        windows->units[slot] = windows->chosen[i];
        windows->units[slot]->window->failure = (struct clf__failure){.status = CLF_OK};
    }
    windows->searched += count;
    CLF__TRY(add_groups(windows, count));
    for (int i = 0; i < count; i++) {
        int slot = windows->chosen_slots[i];
        int is_searched = windows->units[slot]->window->kind->begin != NULL;
        CLF__TRY(is_searched ? keep_failure(windows->units[slot], begin(windows, slot)) : CLF_OK);
    }
    lane->times.batches++;
    lane->times.source_tokens += (int64_t)count * CLF__WINDOW_FRAMES;
    lane->times.encode += clf__seconds() - start;
    return CLF_OK;
}

clf_status clf__windows_step(struct clf__lane *lane)
{
    const struct clf__windows *windows = &lane->windows;
    double start = clf__seconds();
    struct clf__step *step = clf__whisper_prepare(windows->whisper);
    double prepared = clf__seconds(), decoded = prepared;
    if (step != NULL) {
        CLF__TRY(clf__session_step(windows->session, step));
        decoded = clf__seconds();
        clf__whisper_advance(windows->whisper);
        lane->times.decode += decoded - prepared;
        lane->times.steps++;
        lane->times.step_rows += step->rows;
    }
    lane->times.search += prepared - start + clf__seconds() - decoded;
    return CLF_OK;
}

/* Ends the attempt in a slot; begins the next one, or else sets *is_done. */
static clf_status go_on(int *is_done, struct clf__lane *lane, int slot)
{
    const struct clf__windows *windows = &lane->windows;
    const struct clf__window *window = windows->units[slot]->window;
    const struct clf__window_place place = {windows->session, slot};
    if (window->kind->begin != NULL) {
        struct clf__whisper_result result = clf__whisper_result(windows->whisper, slot);
        int again = 0;
        lane->times.target_tokens += result.count;
        CLF__TRY(window->kind->end(window->context, &again, &result));
        if (again) {
            return begin(windows, slot);
        }
    }
    *is_done = 1;
    return window->kind->leave != NULL ? window->kind->leave(window->context, &place) : CLF_OK;
}

clf_status clf__windows_take(struct clf__lane *lane, struct clf__unit **out)
{
    struct clf__windows *windows = &lane->windows;
    *out = NULL;
    for (int slot = 0; slot < windows->slots; slot++) {
        struct clf__unit *unit = windows->units[slot];
        if (unit == NULL || !clf__whisper_is_over(windows->whisper, slot)) {
            continue;
        }
        int is_done = unit->window->failure.status != CLF_OK;
        CLF__TRY(is_done ? CLF_OK : keep_failure(unit, go_on(&is_done, lane, slot)));
        if (is_done || unit->window->failure.status != CLF_OK) {
            *out = unit;
            clf__windows_remove(windows, slot);
            lane->times.lines++;
            return CLF_OK;
        }
    }
    return CLF_OK;
}

void clf__windows_remove(struct clf__windows *windows, int slot)
{
    clf__whisper_remove(windows->whisper, slot);
    clf__session_release(windows->session, slot);
    windows->units[slot] = NULL;
    windows->searched--;
}

void clf__windows_clear(struct clf__windows *windows)
{
    for (int slot = 0; slot < windows->slots; slot++) {
        clf__whisper_remove(windows->whisper, slot);
        windows->units[slot] = NULL;
    }
    if (windows->session != NULL) {
        clf__session_release_all(windows->session);
    }
    windows->searched = 0;
}
