#include "translate/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/utf8.h"
#include "model/model.h"
#include "shared/input.h"
#include "shared/made_of.h"
#include "shared/sink.h"
#include "text/tokenizers/tokenizer.h"
#include "translate/documents/format.h"
#include "translate/file_arguments.h"

static const char *name_of(const struct file *file)
{
    return strcmp(file->path, "-") == 0 ? "standard input" : file->path;
}

/* --- Input and output. --- */

static clf_status open_document(struct file *file, const struct job *job, const char *bytes, size_t size)
{
    const struct flags *flags = job->flags;
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = name_of(file);
    options.format = flags->document_format;
    options.elements = flags->elements;
    options.inline_elements = flags->inline_elements;
    options.encoding = flags->encoding;
    options.kept_terms = job->kept_terms;
    options.all = flags->all;
    options.source_language = flags->source_language;
    options.target_language = flags->target_language;
    options.subtitle_width = flags->subtitle_width >= 0 ? flags->subtitle_width : options.subtitle_width;
    if (!isnan(flags->reading_speed)) {
        options.reading_speed = flags->reading_speed == FLAG_NONE ? 0 : flags->reading_speed;
    }
    CLF__TRY(clf_document_open(&file->document, bytes, size, &options));
    if (job->memory != NULL) {
        CLF__TRY(clf_document_recall(file->document, job->memory, &file->recalled));
    }
    const struct clf_document_format *format = clf_document_format_of(file->document);
    const struct clf__format *named = file->output != NULL ? clf__format_of_name(file->output) : NULL;
    if (named != NULL && strcmp(named->shown.name, format->name) != 0) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: the output keeps the format of %s, which is %s; give it a suffix such as %s",
                         file->output, name_of(file), format->name, format->suffixes);
    }
    return CLF_OK;
}

/* Reads the terms of --do-not-translate. Returns -1, or the exit status of a failure. */
static int read_terms(struct job *job)
{
    enum { MOST_BYTES = 64 << 20 };
    const char *path = job->flags->kept_terms;
    size_t size;
    if (path == NULL) {
        return -1;
    }
    clf_status status = clf__file_read(&job->kept_terms, &size, path, MOST_BYTES);
    if (status == CLF_OK) {
        status = clf__utf8_check(job->kept_terms, size);
        status = status != CLF_OK ? clf__fail_in(status, "%s", path) : CLF_OK;
    }
    return status == CLF_OK ? -1 : report_failure(status);
}

/* Opens the translation memory of --memory. Returns -1, or the exit status of a failure. */
static int open_memory(struct job *job)
{
    const struct flags *flags = job->flags;
    char *bytes;
    size_t size;
    if (flags->memory == NULL) {
        return -1;
    }
    clf_status status = clf__file_read(&bytes, &size, flags->memory, CLF__DOCUMENT_MOST_BYTES);
    if (status == CLF_OK) {
        struct clf_memory_options options;
        clf_memory_options_init(&options);
        options.name = flags->memory;
        options.source_language = flags->source_language;
        options.target_language = flags->target_language;
        status = clf_memory_open(&job->memory, bytes, size, &options);
        clf__free(bytes);
    }
    return status == CLF_OK ? -1 : report_failure(status);
}

/* Reads all files. Returns EXIT_DONE, or EXIT_FAILED if some cannot be read. */
static int open_all(struct job *job)
{
    int result = EXIT_DONE;
    for (int i = 0; i < job->flags->operand_count; i++) {
        struct file *file = &job->files[i];
        char *bytes;
        size_t size;
        int status = input_read_all(&bytes, &size, file->path, CLF__DOCUMENT_MOST_BYTES);
        file->source = status == EXIT_DONE ? clf__fnv(CLF__FNV_BEGIN, bytes, size) : 0;
        clf_status opened = status == EXIT_DONE ? open_document(file, job, bytes, size) : CLF_FILE;
        if (opened != CLF_OK) {
            clf_document_free(file->document);
            file->document = NULL;
            result = status == EXIT_DONE ? report_failure(opened) : status;
        }
        free(bytes);
    }
    return result;
}

/* Writes to a device or pipe. */
static clf_status write_sink(const char *path, const char *bytes, size_t size)
{
    struct sink sink;
    CLF__TRY(sink_open(&sink, path));
    fwrite(bytes, 1, size, sink.file);
    return sink_close(&sink, NULL, CLF_OK, NULL);
}

static int write_document(struct file *file, const struct flags *flags)
{
    char *bytes;
    size_t size;
    int is_quiet = flags->quiet;
    clf_status status = clf_document_write(&bytes, &size, file->document);
    if (status == CLF_OK && !is_quiet && flags->memory != NULL) {
        fprintf(stderr, "clformer: %s: %d of %d texts are in %s\n", name_of(file), file->recalled,
                clf_document_count(file->document), flags->memory);
    }
    for (int i = 0; status == CLF_OK && !is_quiet && clf_document_warning(file->document, i) != NULL; i++) {
        fprintf(stderr, "clformer: warning: %s\n", clf_document_warning(file->document, i));
    }
    if (status == CLF_OK && file->output == NULL) {
        fwrite(bytes, 1, size, stdout);
    } else if (status == CLF_OK && sink_is_file(file->output)) {
        status = clf__file_write(file->output, bytes, size);
    } else if (status == CLF_OK) {
        status = write_sink(file->output, bytes, size);
    }
    clf_string_free(bytes);
    return status == CLF_OK ? EXIT_DONE : report_failure(status);
}

/* --- Translation. --- */

static int is_interrupted(void *payload)
{
    const struct job *job = payload;
    return job->failure.status != CLF_OK || output_failed() || signals_interrupted(NULL);
}

static void show_progress(void *payload)
{
    struct job *job = payload;
    progress_update(&job->progress, job->done, job->bytes);
}

/* Counts a segment, and reports a failure; a callback of clf_translate_options. */
static void take_segment(int index, const struct clf_translation *translation, void *payload)
{
    struct job *job = payload;
    const struct clf_document_segment *segment = clf_document_segment_at(job->current->document, index);
    job->done++;
    job->bytes += segment->text_size;
    if (job->finished.part.file != NULL && job->failure.status == CLF_OK) {
        job->failure = clf__failure_keep(finished_add(&job->finished, index, translation));
    }
    if (translation->status != CLF_OK) {
        progress_clear(&job->progress);
        fprintf(stderr, "clformer: %s: line %d: %s\n", name_of(job->current), segment->line,
                translation->problem != NULL ? translation->problem
                                             : clf_status_meaning(translation->status));
        job->failed++;
    } else if (translation->cut_from > 0) {
        job->cut++;
        if (!job->flags->quiet) {
            progress_clear(&job->progress);
            fprintf(stderr,
                    "clformer: warning: %s: line %d: the source of %d tokens was truncated to the model's "
                    "limit of %d\n",
                    name_of(job->current), segment->line, translation->cut_from,
                    clf_model_describe(job->setup.model)->max_source_length);
        }
    }
}

static void begin_progress(struct job *job)
{
    job->progress =
        (struct progress){.shown = !job->flags->quiet && isatty(STDERR_FILENO), .start = seconds_now()};
    for (int i = 0; i < job->flags->operand_count; i++) {
        const struct clf_document *document = job->files[i].document;
        for (int k = 0; document != NULL && k < clf_document_count(document); k++) {
            const struct clf_document_segment *segment = clf_document_segment_at(document, k);
            job->progress.total_bytes += segment->translation == NULL ? segment->text_size : 0;
            job->progress.total_texts += segment->translation == NULL;
        }
    }
}

static int keeps_finished(const struct file *file)
{
    return file->document != NULL && file->output != NULL && sink_is_file(file->output);
}

/* Opens the finished texts of the current file, and leaves them out of the progress. */
static clf_status begin_file(struct job *job)
{
    const struct file *file = job->current;
    if (!keeps_finished(file)) {
        return CLF_OK;
    }
    if (job->made_of == NULL) {
        CLF__TRY(made_of_describe(&job->made_of, "translate", job->flags, job->takes));
    }
    CLF__TRY(finished_open(&job->finished, file->document, file->source, file->output, job->made_of,
                           job->flags->resume));
    const struct part_state *state = &job->finished.state;
    job->failed += state->failed;
    job->cut += state->cut;
    job->progress.total_texts -= state->lines;
    job->progress.total_bytes -= job->finished.known_bytes;
    return CLF_OK;
}

static clf_status translate_file(struct job *job)
{
    long long kept = 0;
    clf_status status = begin_file(job);
    if (status == CLF_OK) {
        status = clf_document_translate(job->current->document, job->engine, &job->flags->translate);
        status = job->failure.status != CLF_OK ? clf__failure_again(&job->failure) : status;
    }
    status = finished_close(&job->finished, status, &kept);
    progress_clear(&job->progress);
    job->kept += kept;
    return status;
}

/* Removes the finished texts of all files, because their outputs are complete. */
static int remove_finished(const struct job *job)
{
    clf_status status = CLF_OK;
    for (int i = 0; i < job->flags->operand_count && status == CLF_OK; i++) {
        status = keeps_finished(&job->files[i]) ? finished_remove(job->files[i].output) : CLF_OK;
    }
    return status == CLF_OK ? EXIT_DONE : report_failure(status);
}

static void report_kept(const struct job *job)
{
    if (job->kept > 0 && !job->flags->quiet) {
        fprintf(stderr, "clformer: %lld finished text%s kept beside the output; add --resume to continue\n",
                job->kept, job->kept == 1 ? " is" : "s are");
    }
}

static int translate_all(struct job *job)
{
    struct clf_translate_options *options = &job->flags->translate;
    int result = EXIT_DONE;
    options->interrupted = is_interrupted;
    options->poll = show_progress;
    options->translated = take_segment;
    options->payload = job;
    begin_progress(job);
    for (int i = 0; i < job->flags->operand_count; i++) {
        job->current = &job->files[i];
        if (job->current->document == NULL) {
            continue;
        }
        clf_status status = translate_file(job);
        int written = status == CLF_OK ? write_document(job->current, job->flags) : report_failure(status);
        result = written != EXIT_DONE ? written : result;
        if (status != CLF_OK) { /* the other files would fail in the same way */
            break;
        }
    }
    if (result != EXIT_DONE) {
        report_kept(job);
        return result;
    }
    result = remove_finished(job);
    return result != EXIT_DONE ? result : job->failed > 0 ? EXIT_FAILED : job->cut > 0 ? EXIT_CUT : EXIT_DONE;
}

static clf_status create_engine(struct job *job)
{
    struct clf_engine_options options;
    struct clf_model *const *models = job->setup.devices != NULL ? job->setup.models : &job->setup.model;
    clf_engine_options_init(&options);
    options.batch_tokens = job->flags->translate.batch_tokens;
    job->flags->translate.batch_tokens = 0;
    return clf_engine_create(&job->engine, models, job->setup.count, &options);
}

/* Returns whether the languages are those of a translation memory or of a file. */
static int has_file_languages(const struct job *job)
{
    int has_some = job->memory != NULL;
    for (int i = 0; i < job->flags->operand_count; i++) {
        const struct clf_document *document = job->files[i].document;
        has_some |= document != NULL && strcmp(clf_document_format_of(document)->name, "tmx") == 0;
    }
    return has_some;
}

/* Languages of files need not be settings of the model: a model of one language pair has none. */
static void drop_languages(struct job *job)
{
    const struct clf__tokenizer *tokenizer = job->setup.model->tokenizer;
    if (has_file_languages(job) && tokenizer != NULL && clf__tokenizer_languages(tokenizer) == 0) {
        job->flags->translate.source_language = job->flags->translate.target_language = NULL;
    }
}

/* Opens the devices and the model, and translates. */
static int run(struct job *job)
{
    int status = setup_open_several(&job->setup, job->flags);
    if (status != EXIT_DONE) {
        return status;
    }
    status = flags_apply(job->flags, job->setup.model);
    if (status < 0) {
        drop_languages(job);
        clf_status created = create_engine(job);
        status = created == CLF_OK ? translate_all(job) : report_failure(created);
    }
    clf_engine_free(job->engine);
    flags_release(job->flags);
    return print_all_kernel_times(&job->setup, status);
}

/* Creates the folder for the outputs, and removes it again if nothing was written. */
static int run_to_folder(struct job *job)
{
    const char *folder = job->flags->output;
    if (!file_arguments_have_folder(job->flags)) {
        return run(job);
    }
    size_t missing = clf__folder_missing(folder);
    clf_status status = clf__folder_create(folder);
    int result = status == CLF_OK ? run(job) : report_failure(status);
    clf__folder_remove_empty(folder, missing);
    return result;
}

static int count_documents(const struct job *job)
{
    int count = 0;
    for (int i = 0; i < job->flags->operand_count; i++) {
        count += job->files[i].document != NULL;
    }
    return count;
}

int files_translate(struct flags *flags, int takes)
{
    struct job job = {.flags = flags, .takes = takes};
    int status = file_arguments_check(flags);
    if (status >= 0) {
        return status;
    }
    job.files = calloc((size_t)flags->operand_count, sizeof *job.files);
    if (job.files == NULL) {
        fprintf(stderr, "clformer: out of memory\n");
        return EXIT_FAILED;
    }
    status = file_arguments_name_outputs(&job);
    status = status < 0 ? read_terms(&job) : status;
    status = status < 0 ? open_memory(&job) : status;
    if (status < 0) {
        int opened = open_all(&job);
        status = count_documents(&job) > 0 ? run_to_folder(&job) : opened;
        status = opened != EXIT_DONE && status != EXIT_WRONG_CALL ? opened : status;
    }
    for (int i = 0; i < flags->operand_count; i++) {
        clf_document_free(job.files[i].document);
        clf_string_free(job.files[i].output);
    }
    free(job.files);
    json_decref(job.made_of);
    clf__free(job.kept_terms);
    clf_memory_free(job.memory);
    setup_close(&job.setup);
    return status;
}
