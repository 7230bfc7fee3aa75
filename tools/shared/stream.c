#include "shared/stream.h"

/* Lines are sorted by length inside a window. The first one is small, so that there is something to see soon.
 */
enum { FIRST_WINDOW_LINES = 512, WINDOW_LINES = 4096, FRAMES_WINDOW_LINES = 128, WINDOW_BYTES = 1 << 23 };

static long long lines_done(const struct stream *stream)
{
    return clf_translator_times(stream->translator)->lines;
}

/* For clf_translate_options, with the stream as user: keeps the progress line moving, and tells an interrupt.
 */
static int is_interrupted(void *user)
{
    struct stream *stream = user;
    const struct window *window = &stream->windows[0];
    long long before = window->first_number - 1, lines = lines_done(stream);
    unsigned long long bytes = stream->readers[0].bytes;
    if (window->count > 0 && bytes >= window->size) {
        double share = (double)(lines - before) / window->count;
        share = share < 1 ? share : 1; /* sentences count as lines until theirs is whole */
        bytes -= (unsigned long long)((1.0 - share) * (double)window->size);
    }
    progress_update(&stream->progress, lines, bytes);
    return signals_interrupted(NULL);
}

/* Opens the model and makes the translator, told of interrupts. Returns an exit status. */
static int begin(struct stream *stream)
{
    struct flags *flags = &stream->flags;
    int status = setup_open_several(&stream->setup, flags);
    if (status == EXIT_DONE) {
        status = flags_apply(flags, stream->setup.model);
    }
    if (status >= 0) {
        return status;
    }
    flags->translate.interrupted = is_interrupted;
    flags->translate.user = stream;
    flags->translate.streamed = stream->streamed;
    clf_status created = setup_translator(&stream->translator, &stream->setup, flags);
    if (created != CLF_OK) {
        return report_failure(created);
    }
    for (int side = 0; side < STREAM_SIDES; side++) {
        stream->readers[side].quiet = flags->quiet;
    }
    return EXIT_DONE;
}

void stream_report_line(struct stream *stream, int index, clf_status status, const char *problem,
                        struct stream_cut cut)
{
    long long number = stream->windows[0].first_number + index;
    if (status != CLF_OK) {
        progress_clear(&stream->progress);
        fprintf(stderr, "clformer: line %lld: %s\n", number, problem);
        stream->failed_lines++;
        return;
    }
    stream->cut_lines += cut.from > 0;
    if (cut.from > 0 && !stream->flags.quiet) {
        const struct clf_model_info *info = clf_model_describe(stream->setup.model);
        progress_clear(&stream->progress);
        fprintf(stderr, "clformer: warning: line %lld: the %s's %d %s were cut to the model's limit of %d\n",
                number, cut.is_target ? "target" : "source", cut.from,
                info->feature_size > 0 && !cut.is_target ? "frames" : "tokens",
                cut.is_target ? info->max_target_length : info->max_source_length);
    }
}

static int work_on_window(struct stream *stream, stream_function *work)
{
    clf_status status = work(stream);
    if (status != CLF_OK && signals_interrupted(NULL)) {
        return EXIT_DONE; /* told by the loop below */
    }
    if (status != CLF_OK) {
        progress_clear(&stream->progress);
        return report_failure(status);
    }
    stream->lines_printed += stream->windows[0].count;
    fflush(stdout);
    return output_failed() ? EXIT_FAILED : EXIT_DONE;
}

/* Of frames, which are large, windows are small. */
static int window_lines(const struct stream *stream, int usual)
{
    return clf_model_describe(stream->setup.model)->feature_size > 0 ? FRAMES_WINDOW_LINES : usual;
}

/* What a status of several thousand lines stands for is said last, where it is seen. */
static int report_incomplete(const struct stream *stream)
{
    if (stream->cut_lines > 0 && !stream->flags.quiet) {
        fprintf(stderr, "clformer: %lld of %lld lines were cut to the model's limit\n", stream->cut_lines,
                stream->lines_printed);
    }
    return stream->failed_lines > 0 ? EXIT_FAILED : stream->cut_lines > 0 ? EXIT_CUT : EXIT_DONE;
}

static int run_windows(struct stream *stream, stream_function *work)
{
    struct line_reader *first = &stream->readers[0];
    struct window_limits limits = {window_lines(stream, FIRST_WINDOW_LINES), WINDOW_BYTES, 0};
    int status = EXIT_DONE;
    progress_begin(&stream->progress, stream->flags.quiet, first->descriptor);
    while (status == EXIT_DONE && !first->at_end) {
        if (!signals_interrupted(NULL)) { /* an interrupt until here must not wait for a line */
            status = windows_read(stream->windows, stream->readers, stream->sides, &limits);
        }
        if (status == EXIT_DONE && stream->windows[0].count > 0 && !signals_interrupted(NULL)) {
            status = work_on_window(stream, work);
        }
        if (status == EXIT_DONE && signals_interrupted(NULL)) {
            progress_clear(&stream->progress);
            fprintf(stderr, "clformer: interrupted after line %lld\n", stream->lines_printed);
            status = EXIT_FAILED;
        }
        progress_update(&stream->progress, first->line_number, first->bytes);
        limits.lines = window_lines(stream, WINDOW_LINES);
    }
    progress_clear(&stream->progress);
    return status == EXIT_DONE ? report_incomplete(stream) : status;
}

static void print_times(const struct stream *stream)
{
    const struct clf_stage_times *times = clf_translator_times(stream->translator);
    double elapsed = seconds_now() - stream->progress.start;
    fprintf(
        stderr,
        "clformer: %lld lines, %lld source and %lld target tokens in %.3f s: %.1f lines/s, %.1f tokens/s\n",
        (long long)times->lines, (long long)times->source_tokens, (long long)times->target_tokens, elapsed,
        (double)times->lines / elapsed, (double)times->target_tokens / elapsed);
    print_stage_times(times);
    fprintf(stderr, "; %lld batches\n", (long long)times->batches);
    print_device_shares(&stream->setup, stream->translator);
}

int stream_run(struct stream *stream, stream_function *work)
{
    int status = begin(stream);
    if (status != EXIT_DONE) {
        return status;
    }
    status = run_windows(stream, work);
    if (stream->flags.verbose) {
        print_times(stream);
    }
    return print_all_kernel_times(&stream->setup, status);
}

void stream_free(struct stream *stream)
{
    clf_translator_free(stream->translator);
    for (int i = 0; i < STREAM_SIDES; i++) {
        window_free(&stream->windows[i]);
        line_reader_close(&stream->readers[i]);
    }
    flags_release(&stream->flags);
    setup_close(&stream->setup);
}
