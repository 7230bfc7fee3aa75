#include "shared/stream.h"

#include "base/hash.h"
#include "base/minmax.h"
#include "base/status.h"
#include "engine/times.h"
#include "runtime/cluster/ranks.h"
#include "shared/made_of.h"

/* Windows are large if their results can be printed as they are computed, because batches become smaller near
 * the end of a window. Otherwise, a window consists of a few batches, so that results are printed early. */
enum {
    EARLY_WINDOW_LINES = 8192,
    LATE_WINDOW_LINES = 512,
    LATE_WINDOW_BATCHES = 2,
    FRAMES_WINDOW_LINES = 128,
    WINDOW_BYTES = 1 << 23
};
enum { USUAL_TOKENS = 32 }; /* tokens of a typical line */

/* Counts a line that failed or was truncated, and reports it on stderr. */
static void report_line(struct stream *stream, long long number, const struct answer *answer,
                        const char *problem)
{
    struct line_cut cut = answer->cut;
    if (answer->has_failed) {
        progress_clear(&stream->progress);
        fprintf(stderr, "clformer: line %lld: %s\n", number, problem);
        stream->done.failed++;
        return;
    }
    stream->done.cut += cut.from > 0;
    if (cut.from > 0 && !stream->flags.quiet) {
        const struct clf_model_info *info = clf_model_describe(stream->setup.model);
        progress_clear(&stream->progress);
        fprintf(stderr,
                "clformer: warning: line %lld: the %s of %d %s was truncated to the model's limit of %d\n",
                number, cut.is_target ? "target" : "source", cut.from,
                info->feature_size > 0 && !cut.is_target ? "frames" : "tokens",
                cut.is_target ? info->max_target_length : info->max_source_length);
    }
}

static void count_line(struct part_state *done, const struct window *windows, int sides, int line)
{
    for (int side = 0; side < sides; side++) {
        const struct clf_line *read = &windows[side].lines[line];
        done->inputs[side] = clf__fnv(clf__fnv(done->inputs[side], read->text, read->size), "\n", 1);
    }
    done->lines++;
}

/* Prints the answers to the next lines of the window, up to the first line without an answer. */
static void print_ready(struct stream *stream)
{
    const struct window *window = &stream->windows[0];
    FILE *file = stream->sink.file;
    int before = stream->window_printed;
    while (stream->window_printed < window->count && !output_failed() && !ferror(file)) {
        const struct answered_line *line = &stream->scheduler.lines[stream->window_printed];
        if (line->answer == NULL) {
            break;
        }
        report_line(stream, window->first_number + stream->window_printed, line->answer,
                    line->text + line->answer->text_size);
        fwrite(line->text, 1, line->answer->text_size, file);
        count_line(&stream->done, stream->windows, stream->sides, stream->window_printed++);
    }
    if (stream->window_printed > before && stream->failure.status == CLF_OK) {
        stream->failure = clf__failure_keep(sink_flush(&stream->sink, &stream->done));
    }
}

static long long lines_done(const struct stream *stream)
{
    return clf_translator_times(stream->translator)->lines + scheduler_lines_elsewhere(&stream->scheduler);
}

/* A callback of clf_translate_options: updates the progress line and serves the other ranks. */
static void poll_stream(void *payload)
{
    struct stream *stream = payload;
    const struct window *window = &stream->windows[0];
    long long before = window->first_number - 1, lines = lines_done(stream);
    unsigned long long bytes = stream->readers[0].bytes;
    if (window->count > 0 && bytes >= window->size) {
        double share = (double)(lines - before) / window->count;
        share = share < 1 ? share : 1; /* finished sentences count as lines until their line is complete */
        bytes -= (unsigned long long)((1.0 - share) * (double)window->size);
    }
    if (stream_is_first(stream)) {
        progress_update(&stream->progress, lines, bytes);
    }
    stream->is_stopped = scheduler_attend(&stream->scheduler);
    if (stream_is_first(stream)) {
        print_ready(stream);
    }
}

static int is_interrupted(void *payload)
{
    const struct stream *stream = payload;
    return stream->is_stopped || stream->failure.status != CLF_OK || output_failed() ||
           signals_interrupted(NULL);
}

int stream_is_first(const struct stream *stream)
{
    return clf_ranks_rank(stream->ranks) == 0;
}

int stream_join(struct stream *stream)
{
    stream->is_quiet = stream->flags.quiet;
    return ranks_join(&stream->ranks, &stream->flags);
}

static clf_status work(void *user, const struct batch *batch, struct answers *answers)
{
    struct stream *stream = user;
    return stream->work(stream, batch, answers);
}

static const struct clf_stage_times *times(const void *user)
{
    return clf_translator_times(((const struct stream *)user)->translator);
}

/* Creates the translator with the interrupt callback, and the work scheduler. Returns an exit status. */
static int make_translator(struct stream *stream)
{
    struct flags *flags = &stream->flags;
    int status = flags_apply(flags, stream->setup.model);
    if (status >= 0) {
        return status;
    }
    flags->translate.poll = poll_stream;
    flags->translate.interrupted = is_interrupted;
    flags->translate.payload = stream;
    flags->translate.streamed = stream->streamed;
    flags->translate.sentence_translated = stream->sentence_translated;
    flags->translate.translated = stream->translated;
    stream->scheduler = (struct scheduler){.ranks = clf__ranks_communicator(stream->ranks),
                                           .work = work,
                                           .user = stream,
                                           .times = times,
                                           .sides = stream->sides};
    clf_status created = setup_translator(&stream->translator, &stream->setup, flags);
    if (created == CLF_OK) {
        const struct clf_translator_device *first = clf_translator_device_at(stream->translator, 0);
        stream->scheduler.batch_tokens = clf__min_int(first->batch_tokens, USUAL_TOKENS * first->batch_lines);
        created = scheduler_begin(&stream->scheduler);
    }
    if (created == CLF_OK && flags->verbose) {
        print_batch_sizes(stream->translator);
    }
    return created == CLF_OK ? EXIT_DONE : report_failure(created);
}

/* Creates or opens the output file, after the model and the options were checked. */
static int begin_part(struct stream *stream, int takes)
{
    json_t *made_of;
    if (!stream->sink.is_part) {
        return EXIT_DONE;
    }
    clf_status status = made_of_describe(&made_of, stream->verb, &stream->flags, takes);
    if (status == CLF_OK) {
        status = sink_begin_part(&stream->sink, made_of, stream->sides, stream->flags.resume, &stream->done);
    }
    stream->failed_before = stream->done.failed;
    return status == CLF_OK ? EXIT_DONE : report_failure(status);
}

/* Opens the model and creates the translator. Returns an exit status: EXIT_DONE if every rank is ready. */
static int begin(struct stream *stream, int takes, int status)
{
    struct flags *flags = &stream->flags;
    status = ranks_open_device(stream->ranks, &stream->setup, flags, status);
    if (status != EXIT_DONE) {
        return status;
    }
    clf_status checked = ranks_check(stream->ranks, flags, takes);
    if (checked != CLF_OK) {
        return ranks_report(stream->ranks, checked);
    }
    status = make_translator(stream);
    if (status == EXIT_DONE && stream_is_first(stream)) {
        status = begin_part(stream, takes);
    }
    clf_status own =
        status == EXIT_DONE ? CLF_OK : clf__fail(CLF_BAD_ARGUMENT, "the model does not support the flags");
    clf_status all = clf_ranks_agree(stream->ranks, own);
    if (own == CLF_OK && all != CLF_OK) {
        return ranks_report(stream->ranks, all);
    }
    for (int side = 0; side < STREAM_SIDES; side++) {
        stream->readers[side].quiet = flags->quiet;
    }
    flags->quiet = stream->is_quiet; /* each rank prints the warnings about its lines */
    return status;
}

static int work_on_window(struct stream *stream)
{
    stream->window_printed = 0;
    clf_status status = scheduler_window(&stream->scheduler, stream->windows);
    if (status == CLF_OK) {
        print_ready(stream);
    }
    if (stream->failure.status != CLF_OK || output_failed()) {
        return EXIT_FAILED;
    }
    if (status != CLF_OK && signals_interrupted(NULL)) {
        return EXIT_DONE; /* run_windows() reports the interrupt */
    }
    stream->failure = clf__failure_keep(status);
    return status == CLF_OK ? EXIT_DONE : EXIT_FAILED;
}

/* Returns the number of lines per window. Windows of frames are small because frames are large; streamed
 * output uses single lines. The number grows with the number of ranks. */
static int window_lines(const struct stream *stream)
{
    int comes_early = stream->translated != NULL && !stream->flags.alignments &&
                      !stream->flags.replace_unknown && stream->flags.translate.alternatives == 0;
    int lines = clf_model_describe(stream->setup.model)->feature_size > 0 ? FRAMES_WINDOW_LINES
                : comes_early
                    ? EARLY_WINDOW_LINES
                    : clf__max_int(LATE_WINDOW_LINES,
                                   LATE_WINDOW_BATCHES *
                                       clf_translator_device_at(stream->translator, 0)->batch_lines);
    return stream->flags.stream ? 1 : lines * clf_ranks_size(stream->ranks);
}

/* Reports the number of truncated and failed lines at the end, where the user sees it. */
static int report_incomplete(const struct stream *stream)
{
    const struct part_state *done = &stream->done;
    if (done->cut > 0 && !stream->flags.quiet) {
        fprintf(stderr, "clformer: %lld of %lld lines %s truncated to the model's limit\n", done->cut,
                done->lines, done->cut == 1 ? "was" : "were");
    }
    if (stream->failed_before > 0) {
        fprintf(stderr, "clformer: %lld of %lld lines failed, %lld of them in the earlier run\n",
                done->failed, done->lines, stream->failed_before);
    }
    return done->failed > 0 ? EXIT_FAILED : done->cut > 0 ? EXIT_CUT : EXIT_DONE;
}

/* Skips the finished lines of the input and checks their hash. */
static int skip_finished(struct stream *stream)
{
    struct part_state read = {.inputs = {CLF__FNV_BEGIN, CLF__FNV_BEGIN}};
    long long lines = stream->done.lines;
    while (read.lines < lines && !stream->readers[0].at_end && !signals_interrupted(NULL)) {
        long long left = lines - read.lines;
        int next = left < EARLY_WINDOW_LINES ? (int)left : EARLY_WINDOW_LINES;
        struct window_limits limits = {next, WINDOW_BYTES, 1};
        if (windows_read(stream->windows, stream->readers, stream->sides, &limits) != EXIT_DONE) {
            return EXIT_FAILED;
        }
        for (int i = 0; i < stream->windows[0].count; i++) {
            count_line(&read, stream->windows, stream->sides, i);
        }
    }
    stream->windows[0].count = 0;
    if (signals_interrupted(NULL)) {
        return EXIT_DONE; /* run_windows() reports the interrupt */
    }
    for (int side = 0; side < stream->sides; side++) {
        if (read.lines < lines || read.inputs[side] != stream->done.inputs[side]) {
            stream->failure = clf__failure_keep(clf__fail(
                CLF_BAD_ARGUMENT,
                "%s: the input differs: %s %s %lld finished lines; use the same input, or remove --resume to "
                "start "
                "again",
                stream->sink.part.path, stream->readers[side].name,
                read.lines < lines ? "ends before the end of the" : "has changed within the", lines));
            return EXIT_FAILED;
        }
    }
    stream->failure = clf__failure_keep(part_continue(&stream->sink.part, &stream->done));
    return stream->failure.status == CLF_OK ? EXIT_DONE : EXIT_FAILED;
}

/* Completes the output, or keeps it as incomplete, depending on the exit status so far. */
static int end_output(struct stream *stream, int status)
{
    if (status == EXIT_DONE) {
        stream->failure = clf__failure_keep(sink_close(&stream->sink, &stream->done, CLF_OK, &stream->kept));
        return report_incomplete(stream);
    }
    /* Saves the output now, because MPI soon kills a process that waits for a killed rank. */
    sink_close(&stream->sink, &stream->done, CLF_INTERRUPTED, &stream->kept);
    return status;
}

static int run_windows(struct stream *stream)
{
    struct line_reader *first = &stream->readers[0];
    struct window_limits limits = {window_lines(stream), WINDOW_BYTES, 0};
    int status = stream->done.lines > 0 ? skip_finished(stream) : EXIT_DONE;
    progress_begin(&stream->progress, stream->flags.quiet, first->descriptor);
    while (status == EXIT_DONE && !first->at_end) {
        if (!signals_interrupted(NULL)) { /* after an earlier interrupt, do not wait for input */
            status = windows_read(stream->windows, stream->readers, stream->sides, &limits);
        }
        if (status == EXIT_DONE && stream->windows[0].count > 0 && !signals_interrupted(NULL)) {
            status = work_on_window(stream);
        }
        if (status == EXIT_DONE && signals_interrupted(NULL)) {
            progress_clear(&stream->progress);
            fprintf(stderr, "clformer: interrupted after line %lld\n", stream->done.lines);
            status = EXIT_FAILED;
        }
        progress_update(&stream->progress, first->line_number, first->bytes);
    }
    progress_clear(&stream->progress);
    return end_output(stream, status);
}

static void print_times(const struct stream *stream)
{
    struct clf_stage_times times = *clf_translator_times(stream->translator);
    double elapsed = seconds_now() - stream->progress.start;
    int size = clf_ranks_size(stream->ranks);
    for (int rank = 1; rank < size; rank++) {
        clf__times_add(&times, &stream->scheduler.others[rank]);
    }
    fprintf(
        stderr,
        "clformer: %lld lines, %lld source and %lld target tokens in %.3f s: %.1f lines/s, %.1f tokens/s\n",
        (long long)times.lines, (long long)times.source_tokens, (long long)times.target_tokens, elapsed,
        (double)times.lines / elapsed, (double)times.target_tokens / elapsed);
    print_stage_times(&times);
    fprintf(stderr, "; %lld batches\n", (long long)times.batches);
    for (int rank = 0; size > 1 && rank < size; rank++) {
        const struct clf_stage_times *its =
            rank == 0 ? clf_translator_times(stream->translator) : &stream->scheduler.others[rank];
        fprintf(stderr, "clformer: rank %d: %lld lines, %lld source and %lld target tokens in %lld batches\n",
                rank, (long long)its->lines, (long long)its->source_tokens, (long long)its->target_tokens,
                (long long)its->batches);
    }
    print_device_shares(&stream->setup, stream->translator);
}

/* Runs this rank's part; then all ranks agree on the status. */
static int run_rank(struct stream *stream)
{
    int status = EXIT_DONE;
    if (stream_is_first(stream)) {
        status = run_windows(stream);
    } else {
        stream->failure = clf__failure_keep(scheduler_serve(&stream->scheduler));
    }
    clf_status ended = scheduler_end(&stream->scheduler, clf__failure_again(&stream->failure));
    stream->failure = clf__failure_keep(ended);
    return ended != CLF_OK && !signals_interrupted(NULL) ? ranks_report(stream->ranks, ended) : status;
}

int stream_run(struct stream *stream, stream_function *function, int takes, int status)
{
    stream->work = function;
    if (status == EXIT_DONE && stream_is_first(stream)) {
        clf_status opened = sink_open(&stream->sink, stream->flags.output);
        if (opened == CLF_OK && stream->flags.resume && !stream->sink.is_part) {
            opened = clf__fail(CLF_BAD_ARGUMENT, "--resume: requires an output file; add --output FILE");
        }
        status = opened == CLF_OK ? EXIT_DONE : report_failure(opened);
    }
    status = begin(stream, takes, status);
    if (status != EXIT_DONE) {
        return status;
    }
    status = run_rank(stream);
    if (stream->kept > 0 && status != EXIT_WRONG_CALL && !stream->flags.quiet) {
        fprintf(stderr, "clformer: %s.part: contains the first %lld line%s; add --resume to continue\n",
                stream->flags.output, stream->kept, stream->kept == 1 ? "" : "s");
    }
    if (stream->flags.verbose) {
        print_times(stream);
    }
    return print_all_kernel_times(&stream->setup, status);
}

void stream_free(struct stream *stream)
{
    sink_close(&stream->sink, &stream->done, CLF_INTERRUPTED, NULL);
    clf_translator_free(stream->translator);
    for (int i = 0; i < STREAM_SIDES; i++) {
        window_free(&stream->windows[i]);
        line_reader_close(&stream->readers[i]);
    }
    flags_release(&stream->flags);
    setup_close(&stream->setup);
    scheduler_free(&stream->scheduler);
    clf_ranks_leave(stream->ranks, stream->failure.status);
}
