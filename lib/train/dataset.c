#include "train/dataset.h"

#include <limits.h>
#include <string.h>

#include "audio/npy.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "model/config/config.h"
#include "train/corpus.h"
#include "train/dataset_internal.h"

/* Loading more lines than this takes seconds, so it is announced. */
enum { MANY_LINES = 200000 };

/* The state of loading a dataset. */
struct loading {
    struct clf__dataset *dataset;
    const struct clf__config *config;
    const struct clf__tokenizer *tokenizer;
    const struct clf__dataset_options *options;
    struct clf__dataset_report *report;
    struct clf__corpus corpus;
    struct clf__ids source, target; /* ids of the current line */
    struct clf__frame_source frame_source;
    struct clf__recording recording; /* the source of the current line */
    int frames;
    int made_anew; /* number of recordings whose frames are not kept */
};

/* Reports a skipped line. `path`: the file at fault; NULL: the pair is at fault. */
static void leave_out(struct loading *loading, enum clf__left_out kind, int line, const char *path,
                      const char *reason)
{
    struct clf__dataset_report *report = loading->report;
    if (report->left_out[kind] < CLF__NAMED_LINES) {
        report->named_lines[kind][report->left_out[kind]] = line;
    }
    if (report->left_out[kind]++ == 0) {
        struct clf__left_out_line *first = &report->first[kind];
        *first = (struct clf__left_out_line){.line = line, .path = path};
        snprintf(first->reason, sizeof first->reason, "%s", reason);
    }
    clf__log(CLF_LOG_DEBUG, "%s: line %d is skipped: %s", path ? path : loading->options->source_path, line,
             reason);
}

static clf_status measure_recording(struct loading *loading)
{
    struct clf__frame_layout layout = clf__frame_layout_of(loading->config);
    CLF__TRY(clf__recording_read(&loading->recording, &layout, loading->frame_source.path,
                                 loading->options->max_source_length));
    loading->frames = loading->recording.rows < INT_MAX ? (int)loading->recording.rows : INT_MAX;
    return CLF_OK;
}

/* Reads the whole file, so that damage is found before training. */
static clf_status measure_frames(struct loading *loading, struct clf__corpus_text name)
{
    struct clf__frame_source *source = &loading->frame_source;
    float *values = NULL;
    int is_stored;
    loading->frames = 0;
    if (name.size == 0) {
        return CLF_OK;
    }
    CLF__TRY(clf__corpus_path(&source->path, &loading->corpus, name));
    CLF__TRY(clf__frames_are_stored(&is_stored, source->path));
    source->is_recording = !is_stored;
    if (source->is_recording) {
        return measure_recording(loading);
    }
    clf_status status = clf__npy_read(&values, &loading->frames, source->path, loading->config->feature_size);
    clf__free(values);
    return status;
}

static clf_status encode_side(struct loading *loading, struct clf__corpus_text line, int target)
{
    if (line.size > 0 && memchr(line.text, '\0', line.size)) {
        return clf__fail(CLF_TEXT, "the line contains a NUL byte");
    }
    if (!target && loading->config->feature_size > 0) {
        return measure_frames(loading, line);
    }
    return clf__tokenizer_encode(loading->tokenizer, target ? &loading->target : &loading->source, line.text,
                                 line.size, target, loading->options->tokens);
}

/* Encodes a pair. CLF_TEXT, CLF_FILE and CLF_FORMAT mean that the line, or the file *path, is unusable. */
static clf_status encode(const char **path, struct loading *loading, const struct clf__corpus_pair *pair)
{
    const struct clf__dataset_options *options = loading->options;
    *path = options->source_path;
    if (pair->is_torn) {
        return clf__fail(CLF_TEXT, "the line does not have exactly one tab, between source and target");
    }
    CLF__TRY(encode_side(loading, pair->source, 0));
    *path = options->target_path ? options->target_path : options->source_path;
    return encode_side(loading, pair->target, 1);
}

static int source_length(const struct loading *loading)
{
    return loading->config->feature_size > 0 ? loading->frames : loading->source.count;
}

/* Returns the name of the side of a pair that has only framing tokens; NULL: neither. */
static const char *find_emptiness(const struct loading *loading)
{
    const struct clf__config *config = loading->config;
    int framing = config->feature_size > 0 ? 0 : clf__config_framing(config);
    return source_length(loading) <= framing ? "the source is empty"
           : loading->target.count <= 1      ? "the target is empty"
                                             : NULL;
}

static clf_status append_ids(struct clf__dataset *dataset, const struct clf__ids *ids)
{
    size_t wanted = dataset->id_count + (size_t)ids->count;
    if (wanted > dataset->id_capacity) {
        size_t capacity = wanted + wanted / 2;
        CLF__TRY(clf__resize(&dataset->ids, capacity, sizeof *dataset->ids));
        dataset->id_capacity = capacity;
    }
    if (ids->count > 0) {
        memcpy(dataset->ids + dataset->id_count, ids->data, (size_t)ids->count * sizeof *ids->data);
    }
    dataset->id_count = wanted;
    return CLF_OK;
}

/* Starts computing the frames of the current recording if they can be kept in memory. */
static clf_status keep_frames(struct loading *loading)
{
    struct clf__dataset *dataset = loading->dataset;
    struct clf__frame_source *source = &loading->frame_source;
    size_t count = (size_t)loading->frames * (size_t)dataset->feature_size;
    int64_t bytes = (int64_t)(count * sizeof *source->kept);
    if (dataset->maker == NULL) {
        CLF__TRY(clf__frame_maker_create(&dataset->maker, loading->options->device, dataset->layout));
    }
    if (bytes > loading->options->kept_bytes - dataset->kept_bytes) {
        loading->made_anew++;
        return CLF_OK;
    }
    CLF__TRY(clf__allocate(&source->kept, count, sizeof *source->kept));
    dataset->kept_bytes += bytes;
    return clf__frame_maker_add(dataset->maker, source->kept, loading->frames, loading->recording.samples,
                                loading->recording.count);
}

static clf_status append(struct loading *loading)
{
    struct clf__dataset *dataset = loading->dataset;
    if (dataset->count == dataset->capacity) {
        int lines = loading->corpus.lines;
        int capacity = dataset->capacity > lines / 2 ? lines : 2 * dataset->capacity + 1;
        CLF__TRY(clf__resize(&dataset->pairs, (size_t)capacity, sizeof *dataset->pairs));
        if (dataset->feature_size > 0) {
            CLF__TRY(clf__resize(&dataset->frame_sources, (size_t)capacity, sizeof *dataset->frame_sources));
        }
        dataset->capacity = capacity;
    }
    struct clf__pair pair = {dataset->id_count, source_length(loading), loading->target.count};
    if (dataset->feature_size == 0) {
        CLF__TRY(append_ids(dataset, &loading->source));
    }
    CLF__TRY(append_ids(dataset, &loading->target));
    if (loading->frame_source.is_recording) {
        CLF__TRY(keep_frames(loading));
    }
    if (dataset->feature_size > 0) {
        dataset->frame_sources[dataset->count] = loading->frame_source;
        loading->frame_source = (struct clf__frame_source){.path = NULL};
    }
    dataset->pairs[dataset->count++] = pair;
    return CLF_OK;
}

static clf_status take_pair(struct loading *loading, const struct clf__corpus_pair *pair)
{
    const struct clf__dataset_options *options = loading->options;
    const char *path;
    clf_status status = encode(&path, loading, pair);
    if (status == CLF_TEXT || status == CLF_FILE || status == CLF_FORMAT) {
        leave_out(loading, CLF__BROKEN, pair->line, path, clf_last_error());
        return CLF_OK;
    }
    if (status == CLF_UNSUPPORTED) { /* the file is a recording, but this build cannot read recordings */
        return clf__fail_in(status, "%s: line %d", options->source_path, pair->line);
    }
    CLF__TRY(status);
    const char *emptiness = find_emptiness(loading);
    if (emptiness) {
        leave_out(loading, CLF__EMPTY, pair->line, NULL, emptiness);
        return CLF_OK;
    }
    int source = source_length(loading), target = loading->target.count;
    if (source > options->max_source_length || target > options->max_target_length) {
        char reason[160];
        snprintf(reason, sizeof reason,
                 "its source and target lengths are %d and %d; the limits are %d and %d", source, target,
                 options->max_source_length, options->max_target_length);
        leave_out(loading, CLF__TOO_LONG, pair->line, NULL, reason);
        return CLF_OK;
    }
    return append(loading);
}

static const struct clf__left_out_line *find_first(const struct clf__dataset_report *report)
{
    const struct clf__left_out_line *first = NULL;
    for (int i = 0; i < CLF__LEFT_OUT_KINDS; i++) {
        const struct clf__left_out_line *line = &report->first[i];
        first = line->line > 0 && (!first || line->line < first->line) ? line : first;
    }
    return first;
}

static clf_status fail_empty(const struct loading *loading)
{
    const struct clf__dataset_options *options = loading->options;
    const struct clf__dataset_report *report = loading->report;
    const char *source = options->source_path, *target = options->target_path;
    const char *and = target ? " and " : "";
    target = target ? target : "";
    if (report->lines == 0) {
        return clf__fail(CLF_FORMAT, "%s%s%s: no usable pairs: there are no lines", source, and, target);
    }
    const struct clf__left_out_line *first = find_first(report);
    return clf__fail(
        CLF_FORMAT,
        "%s%s%s: no usable pairs: of %d lines, %d are empty, %d too long and %d invalid; line %d%s%s: %s",
        source, and, target, report->lines, report->left_out[CLF__EMPTY], report->left_out[CLF__TOO_LONG],
        report->left_out[CLF__BROKEN], first->line, first->path ? " of " : "", first->path ? first->path : "",
        first->reason);
}

static void free_source(struct clf__frame_source *source)
{
    clf__free(source->path);
    clf__free(source->kept);
    *source = (struct clf__frame_source){.path = NULL};
}

/* Frees the state for recordings; frees the device memory unless batches need frames to be computed again. */
static clf_status finish_frames(struct loading *loading)
{
    struct clf__dataset *dataset = loading->dataset;
    if (dataset->maker == NULL) {
        return CLF_OK;
    }
    CLF__TRY(clf__frame_maker_finish(dataset->maker));
    if (loading->made_anew == 0) {
        clf__frame_maker_free(dataset->maker);
        dataset->maker = NULL;
    } else {
        clf__log(CLF_LOG_INFO,
                 "%s: the frames of %d recordings are computed again for each batch, because at most %lld "
                 "MiB of frames are kept in memory",
                 loading->options->source_path, loading->made_anew, (long long)(dataset->kept_bytes >> 20));
    }
    return CLF_OK;
}

static clf_status take_all(struct loading *loading)
{
    struct clf__corpus_pair pair;
    clf_status status = CLF_OK;
    double start = clf__seconds();
    if (loading->corpus.lines >= MANY_LINES) {
        clf__log(CLF_LOG_NOTICE, "%s: tokenizing %d lines", loading->options->source_path,
                 loading->corpus.lines);
    }
    while (clf__corpus_next(&status, &loading->corpus, &pair)) {
        status = take_pair(loading, &pair);
        free_source(&loading->frame_source);
        clf__recording_free(&loading->recording);
        CLF__TRY(status);
    }
    CLF__TRY(status);
    CLF__TRY(finish_frames(loading));
    struct clf__dataset_report *report = loading->report;
    report->lines = loading->corpus.lines;
    CLF__TRY(clf__corpus_checksum(&report->checksum, &loading->corpus));
    report->pairs = loading->dataset->count;
    if (report->pairs == 0) {
        return fail_empty(loading);
    }
    CLF__TRY(clf__resize(&loading->dataset->ids, loading->dataset->id_count, sizeof *loading->dataset->ids));
    loading->dataset->id_capacity = loading->dataset->id_count;
    clf__log(CLF_LOG_INFO, "%s: %d pairs of %d lines, %zu tokens, in %.1f s", loading->options->source_path,
             report->pairs, report->lines, loading->dataset->id_count, clf__seconds() - start);
    return CLF_OK;
}

static clf_status load(struct loading *loading)
{
    const struct clf__dataset_options *options = loading->options;
    CLF__TRY(clf__corpus_open(&loading->corpus, options->source_path, options->target_path));
    clf_status status = take_all(loading);
    clf__corpus_close(&loading->corpus);
    clf__ids_free(&loading->source);
    clf__ids_free(&loading->target);
    return status;
}

clf_status clf__dataset_load(struct clf__dataset **out, const struct clf__config *config,
                             const struct clf__tokenizer *tokenizer,
                             const struct clf__dataset_options *options, struct clf__dataset_report *report)
{
    *out = NULL;
    *report = (struct clf__dataset_report){0};
    struct clf__dataset *dataset = NULL;
    CLF__TRY(clf__allocate(&dataset, 1, sizeof *dataset));
    dataset->feature_size = config->feature_size;
    dataset->layout = clf__frame_layout_of(config);
    dataset->decoder_start_id = config->decoder_start_id;
    struct loading loading = {
        .dataset = dataset, .config = config, .tokenizer = tokenizer, .options = options, .report = report};
    clf_status status = load(&loading);
    if (status != CLF_OK) {
        clf__dataset_free(dataset);
        return status;
    }
    *out = dataset;
    return CLF_OK;
}

void clf__dataset_free(struct clf__dataset *dataset)
{
    if (!dataset) {
        return;
    }
    for (int i = 0; dataset->frame_sources && i < dataset->count; i++) {
        free_source(&dataset->frame_sources[i]);
    }
    clf__free(dataset->frame_sources);
    clf__frame_maker_free(dataset->maker);
    clf__free(dataset->pairs);
    clf__free(dataset->ids);
    clf__dataset_forget_plan(dataset);
    clf__free(dataset);
}
