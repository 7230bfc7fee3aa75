#include "shared/stream.h"

#include "base/minmax.h"
#include "base/status.h"
#include "cluster/ranks.h"
#include "translate/internal.h"

/* Lines are sorted by length inside a window. The first one is small, so that there is something to see soon.
 */
enum { FIRST_WINDOW_LINES = 512, WINDOW_LINES = 4096, FRAMES_WINDOW_LINES = 128, WINDOW_BYTES = 1 << 23 };
enum { USUAL_TOKENS = 32 }; /* of a line */

static long long lines_done(const struct stream *stream)
{
    return clf_translator_times(stream->translator)->lines + deal_lines_elsewhere(&stream->deal);
}

/* For clf_translate_options, with the stream as user: keeps the progress line moving and the other ranks at
 * work, and tells an interrupt. */
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
    if (stream_is_first(stream)) {
        progress_update(&stream->progress, lines, bytes);
    }
    return deal_attend(&stream->deal) || signals_interrupted(NULL);
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

/* Makes the translator, told of interrupts, and what deals the lines out. Returns an exit status. */
static int make_translator(struct stream *stream)
{
    struct flags *flags = &stream->flags;
    int status = flags_apply(flags, stream->setup.model);
    if (status >= 0) {
        return status;
    }
    flags->translate.interrupted = is_interrupted;
    flags->translate.user = stream;
    flags->translate.streamed = stream->streamed;
    flags->translate.sentence_translated = stream->sentence_translated;
    stream->deal = (struct deal){.ranks = clf__ranks_communicator(stream->ranks),
                                 .work = work,
                                 .user = stream,
                                 .times = times,
                                 .sides = stream->sides};
    clf_status created = setup_translator(&stream->translator, &stream->setup, flags);
    if (created == CLF_OK) {
        const struct clf_translator *first = stream->translator;
        stream->deal.batch_tokens =
            clf__min_int(first->options.batch_tokens, USUAL_TOKENS * first->max_lines);
        created = deal_begin(&stream->deal);
    }
    if (created == CLF_OK && flags->verbose) {
        print_batch_sizes(stream->translator);
    }
    return created == CLF_OK ? EXIT_DONE : report_failure(created);
}

/* Opens the model and makes the translator. Returns an exit status: EXIT_DONE where every rank is ready. */
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
    clf_status own = status == EXIT_DONE ? CLF_OK : clf__fail(CLF_BAD_ARGUMENT, "the flags do not fit");
    clf_status all = clf_ranks_agree(stream->ranks, own);
    if (own == CLF_OK && all != CLF_OK) {
        return ranks_report(stream->ranks, all);
    }
    for (int side = 0; side < STREAM_SIDES; side++) {
        stream->readers[side].quiet = flags->quiet;
    }
    flags->quiet = stream->is_quiet; /* what is said of lines is said by whoever has them */
    return status;
}

/* Says on stderr what became of a line: why it could not be used, or that it was cut. */
static void report_line(struct stream *stream, long long number, const struct answer *answer,
                        const char *problem)
{
    struct line_cut cut = answer->cut;
    if (answer->has_failed) {
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

static int work_on_window(struct stream *stream)
{
    const struct window *window = &stream->windows[0];
    clf_status status = deal_window(&stream->deal, stream->windows);
    if (status != CLF_OK && signals_interrupted(NULL)) {
        return EXIT_DONE; /* told by the loop below */
    }
    if (status != CLF_OK) {
        stream->failure = clf__failure_keep(status);
        return EXIT_FAILED;
    }
    for (int i = 0; i < window->count && !output_failed() && !ferror(stream->sink.file); i++) {
        const struct dealt *line = &stream->deal.lines[i];
        report_line(stream, window->first_number + i, line->answer, line->text + line->answer->text_size);
        fwrite(line->text, 1, line->answer->text_size, stream->sink.file);
    }
    stream->failure = clf__failure_keep(sink_flush(&stream->sink));
    stream->lines_printed += window->count;
    return output_failed() || stream->failure.status != CLF_OK ? EXIT_FAILED : EXIT_DONE;
}

/* Of frames, which are large, windows are small; what is shown as it grows comes line by line. Every rank is
 * to have as many as one alone has. */
static int window_lines(const struct stream *stream, int usual)
{
    int lines = clf_model_describe(stream->setup.model)->feature_size > 0 ? FRAMES_WINDOW_LINES : usual;
    return stream->flags.stream ? 1 : lines * clf_ranks_size(stream->ranks);
}

/* What a status of several thousand lines stands for is said last, where it is seen. */
static int report_incomplete(const struct stream *stream)
{
    if (stream->cut_lines > 0 && !stream->flags.quiet) {
        fprintf(stderr, "clformer: %lld of %lld lines %s cut to the model's limit\n", stream->cut_lines,
                stream->lines_printed, stream->cut_lines == 1 ? "was" : "were");
    }
    return stream->failed_lines > 0 ? EXIT_FAILED : stream->cut_lines > 0 ? EXIT_CUT : EXIT_DONE;
}

static int run_windows(struct stream *stream)
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
            status = work_on_window(stream);
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
    if (status == EXIT_DONE) {
        stream->failure = clf__failure_keep(sink_close(&stream->sink, CLF_OK));
        status = report_incomplete(stream);
    } else { /* at once: whoever waits for a rank that was killed is killed soon, too */
        sink_close(&stream->sink, CLF_INTERRUPTED);
    }
    return status;
}

static void print_times(const struct stream *stream)
{
    struct clf_stage_times times = *clf_translator_times(stream->translator);
    double elapsed = seconds_now() - stream->progress.start;
    int size = clf_ranks_size(stream->ranks);
    for (int rank = 1; rank < size; rank++) {
        clf__times_add(&times, &stream->deal.others[rank]);
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
            rank == 0 ? clf_translator_times(stream->translator) : &stream->deal.others[rank];
        fprintf(stderr, "clformer: rank %d: %lld lines, %lld source and %lld target tokens in %lld batches\n",
                rank, (long long)its->lines, (long long)its->source_tokens, (long long)its->target_tokens,
                (long long)its->batches);
    }
    print_device_shares(&stream->setup, stream->translator);
}

/* What this rank does until there is no more to do; then all agree on how it ended. */
static int run_rank(struct stream *stream)
{
    int status = EXIT_DONE;
    if (stream_is_first(stream)) {
        status = run_windows(stream);
    } else {
        stream->failure = clf__failure_keep(deal_serve(&stream->deal));
    }
    clf_status ended = deal_end(&stream->deal, clf__failure_again(&stream->failure));
    stream->failure = clf__failure_keep(ended);
    return ended != CLF_OK && !signals_interrupted(NULL) ? ranks_report(stream->ranks, ended) : status;
}

int stream_run(struct stream *stream, stream_function *function, int takes, int status)
{
    stream->work = function;
    if (status == EXIT_DONE && stream_is_first(stream)) {
        clf_status opened = sink_open(&stream->sink, stream->flags.output);
        status = opened == CLF_OK ? EXIT_DONE : report_failure(opened);
    }
    status = begin(stream, takes, status);
    if (status != EXIT_DONE) {
        return status;
    }
    status = run_rank(stream);
    if (stream->flags.verbose) {
        print_times(stream);
    }
    return print_all_kernel_times(&stream->setup, status);
}

void stream_free(struct stream *stream)
{
    sink_close(&stream->sink, CLF_INTERRUPTED); /* which leaves nothing half-written */
    clf_translator_free(stream->translator);
    for (int i = 0; i < STREAM_SIDES; i++) {
        window_free(&stream->windows[i]);
        line_reader_close(&stream->readers[i]);
    }
    flags_release(&stream->flags);
    setup_close(&stream->setup);
    deal_free(&stream->deal);
    clf_ranks_leave(stream->ranks, stream->failure.status);
}
