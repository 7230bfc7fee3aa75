#include "train/dataset.h"

#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "text/npy.h"
#include "train/corpus.h"
#include "train/dataset_internal.h"

/* What takes longer than some seconds is said before. */
enum { MANY_LINES = 200000 };

/* What one loading needs. */
struct loading {
    struct clf__dataset *dataset;
    const struct clf__config *config;
    const struct clf__tokenizer *tokenizer;
    const struct clf__dataset_options *options;
    struct clf__dataset_report *report;
    struct clf__corpus corpus;
    struct clf__ids source, target; /* of the line at hand */
    char *path;                     /* of its frames */
    int frames;
    char first_reason[256]; /* why the first line that was left out was */
    int first_line;
};

static void leave_out(struct loading *loading, enum clf__left_out kind, int line, const char *reason)
{
    struct clf__dataset_report *report = loading->report;
    if (report->left_out[kind] < CLF__NAMED_LINES) {
        report->named_lines[kind][report->left_out[kind]] = line;
    }
    report->left_out[kind]++;
    if (loading->first_line == 0) {
        loading->first_line = line;
        snprintf(loading->first_reason, sizeof loading->first_reason, "%s", reason);
    }
    clf__log(CLF_LOG_DEBUG, "%s: line %d is left out: %s", loading->options->source_path, line, reason);
}

static clf_status encode_text(struct loading *loading, struct clf__ids *ids, struct clf__corpus_text line,
                              int target)
{
    if (loading->options->pieces) {
        return clf__tokenizer_encode_pieces(loading->tokenizer, ids, line.text, line.size, target);
    }
    return target ? clf__tokenizer_encode_target(loading->tokenizer, ids, line.text, line.size)
                  : clf__tokenizer_encode(loading->tokenizer, ids, line.text, line.size);
}

/* All of the file is read, though only its length is kept: a broken one is to be found before training. */
static clf_status measure_frames(struct loading *loading, struct clf__corpus_text name)
{
    float *values = NULL;
    loading->frames = 0;
    if (name.size == 0) {
        return CLF_OK;
    }
    CLF__TRY(clf__corpus_path(&loading->path, &loading->corpus, name));
    clf_status status =
        clf__npy_read(&values, &loading->frames, loading->path, loading->config->feature_size);
    clf__free(values);
    return status;
}

static int has_nul(struct clf__corpus_text line)
{
    return line.size > 0 && memchr(line.text, '\0', line.size) != NULL;
}

/* CLF_TEXT, CLF_FILE and CLF_FORMAT are the line's own fault. */
static clf_status encode(struct loading *loading, const struct clf__corpus_pair *pair)
{
    if (pair->is_torn) {
        return clf__fail(CLF_TEXT, "there is not one tab in it, between source and target");
    }
    if (has_nul(pair->source) || has_nul(pair->target)) {
        return clf__fail(CLF_TEXT, "there is a NUL byte in it");
    }
    CLF__TRY(encode_text(loading, &loading->target, pair->target, 1));
    if (loading->config->feature_size > 0) {
        return measure_frames(loading, pair->source);
    }
    return encode_text(loading, &loading->source, pair->source, 0);
}

static int source_length(const struct loading *loading)
{
    return loading->config->feature_size > 0 ? loading->frames : loading->source.count;
}

/* Tokens that stand for something: not those that frame a line. */
static int has_nothing(const struct loading *loading)
{
    const struct clf__config *config = loading->config;
    int framing = config->feature_size > 0 ? 0 : clf__config_framing(config);
    return source_length(loading) <= framing || loading->target.count <= 1;
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

static clf_status append(struct loading *loading)
{
    struct clf__dataset *dataset = loading->dataset;
    if (dataset->count == dataset->capacity) {
        int lines = loading->corpus.lines;
        int capacity = dataset->capacity > lines / 2 ? lines : 2 * dataset->capacity + 1;
        CLF__TRY(clf__resize(&dataset->pairs, (size_t)capacity, sizeof *dataset->pairs));
        if (dataset->feature_size > 0) {
            CLF__TRY(clf__resize(&dataset->paths, (size_t)capacity, sizeof *dataset->paths));
        }
        dataset->capacity = capacity;
    }
    struct clf__pair pair = {dataset->id_count, source_length(loading), loading->target.count};
    if (dataset->feature_size == 0) {
        CLF__TRY(append_ids(dataset, &loading->source));
    }
    CLF__TRY(append_ids(dataset, &loading->target));
    if (dataset->feature_size > 0) {
        dataset->paths[dataset->count] = loading->path;
        loading->path = NULL;
    }
    dataset->pairs[dataset->count++] = pair;
    return CLF_OK;
}

static clf_status take_pair(struct loading *loading, const struct clf__corpus_pair *pair)
{
    const struct clf__dataset_options *options = loading->options;
    clf_status status = encode(loading, pair);
    if (status == CLF_TEXT || status == CLF_FILE || status == CLF_FORMAT) {
        leave_out(loading, CLF__BROKEN, pair->line, clf_last_error());
        return CLF_OK;
    }
    CLF__TRY(status);
    if (has_nothing(loading)) {
        leave_out(loading, CLF__EMPTY, pair->line, "source or target is empty");
        return CLF_OK;
    }
    int source = source_length(loading), target = loading->target.count;
    if (source > options->max_source_length || target > options->max_target_length) {
        char reason[160];
        snprintf(reason, sizeof reason,
                 "it is %d and %d long, more than the %d and %d that source and target may be", source,
                 target, options->max_source_length, options->max_target_length);
        leave_out(loading, CLF__TOO_LONG, pair->line, reason);
        return CLF_OK;
    }
    return append(loading);
}

static clf_status fail_empty(const struct loading *loading)
{
    const struct clf__dataset_report *report = loading->report;
    const char *path = loading->options->source_path;
    if (report->lines == 0) {
        return clf__fail(CLF_FORMAT, "%s: has no pair that can be used: it is empty", path);
    }
    return clf__fail(CLF_FORMAT,
                     "%s: has no pair that can be used: of %d lines %d are empty, %d too long, %d broken; "
                     "line %d: %s",
                     path, report->lines, report->left_out[CLF__EMPTY], report->left_out[CLF__TOO_LONG],
                     report->left_out[CLF__BROKEN], loading->first_line, loading->first_reason);
}

static clf_status take_all(struct loading *loading)
{
    struct clf__corpus_pair pair;
    double start = clf__seconds();
    if (loading->corpus.lines >= MANY_LINES) {
        clf__log(CLF_LOG_NOTICE, "%s: cutting %d lines into tokens", loading->options->source_path,
                 loading->corpus.lines);
    }
    while (clf__corpus_next(&loading->corpus, &pair)) {
        clf_status status = take_pair(loading, &pair);
        clf__free(loading->path);
        loading->path = NULL;
        CLF__TRY(status);
    }
    struct clf__dataset_report *report = loading->report;
    report->lines = loading->corpus.lines;
    report->checksum = clf__corpus_checksum(&loading->corpus);
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
    for (int i = 0; dataset->paths && i < dataset->count; i++) {
        clf__free(dataset->paths[i]);
    }
    clf__free(dataset->paths);
    clf__free(dataset->pairs);
    clf__free(dataset->ids);
    clf__dataset_forget_plan(dataset);
    clf__free(dataset);
}
