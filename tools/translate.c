/* clformer translate */
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include "command.h"
#include "lines.h"
#include "progress.h"

static const char help[] =
    "Usage: clformer translate -m MODEL [FLAGS] < lines > translations\n\n"
    "Translates each line of standard input, in order. An empty line stays empty. A speech model takes, as\n"
    "each line, the path of a .npy file of float32 frames.\n\n"
    "Example:\n"
    "  $ echo 'Je suis étudiant' | clformer translate -m tools/models/fr-en-small\n"
    "  I am a student.\n"
    "  $ clformer translate -m tools/models/fr-en-small --beam 5 --n-best 3 --json < french.txt\n\n"
    "With --n-best N > 1 a line gives N lines of `line number <tab> score <tab> text`; with --json the\n"
    "object holds them in `n_best`.\n";

/* Sorted by length inside a window; on a terminal each line is answered at once. */
enum { WINDOW_LINES = 4096, WINDOW_BYTES = 1 << 23 };

struct job {
    struct flags flags;
    struct setup setup;
    struct clf_translator *translator;
    struct line_reader reader;
    struct window window;
    struct progress progress;
    int failed_lines;
};

static json_t *hypothesis_object(const struct clf_model *model, const struct clf_hypothesis *hypothesis)
{
    json_t *tokens = json_array(), *ids = json_array();
    for (int i = 0; i < hypothesis->count; i++) {
        json_array_append_new(tokens, json_string(clf_target_piece(model, hypothesis->ids[i])));
        json_array_append_new(ids, json_integer(hypothesis->ids[i]));
    }
    return json_pack("{s:s, s:o, s:o, s:f, s:f}", "text", hypothesis->text, "tokens", tokens, "ids", ids,
                     "score", (double)hypothesis->score, "log_probability", hypothesis->log_probability);
}

static void print_json(const struct job *job, const struct clf_translation *translation)
{
    json_t *object;
    if (translation->count > 0) {
        object = hypothesis_object(job->setup.model, &translation->hypotheses[0]);
    } else {
        object =
            json_pack("{s:s, s:[], s:[], s:n, s:n}", "text", "", "tokens", "ids", "score", "log_probability");
    }
    if (translation->count > 1) {
        json_t *all = json_array();
        for (int i = 0; i < translation->count; i++) {
            json_array_append_new(all, hypothesis_object(job->setup.model, &translation->hypotheses[i]));
        }
        json_object_set_new(object, "n_best", all);
    }
    if (translation->status != CLF_OK) {
        json_object_set_new(object, "error", json_string(translation->problem));
    }
    json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(object);
}

static void print_text(const struct clf_translation *translation, int n_best, long long number)
{
    if (n_best == 1) {
        printf("%s\n", translation->count > 0 ? translation->hypotheses[0].text : "");
        return;
    }
    for (int i = 0; i < translation->count; i++) {
        const struct clf_hypothesis *hypothesis = &translation->hypotheses[i];
        printf("%lld\t%.9g\t%s\n", number, (double)hypothesis->score, hypothesis->text);
    }
}

static void print_warnings(struct job *job, const struct clf_translation *translation, long long number)
{
    if (translation->status != CLF_OK) {
        job->failed_lines++;
        fprintf(stderr, "clformer: line %lld: %s\n", number, translation->problem);
    } else if (translation->cut_from > 0 && !job->flags.quiet) {
        fprintf(stderr, "clformer: warning: line %lld: %d tokens were cut to the model's %d\n", number,
                translation->cut_from, clf_model_describe(job->setup.model)->max_source_length);
    }
}

static int translate_window(struct job *job)
{
    struct window *window = &job->window;
    struct clf_translation *translations;
    clf_status status = clf_translate(&translations, job->translator, window->lines, window->count);
    if (status != CLF_OK) {
        progress_end(&job->progress);
        return report_failure(status);
    }
    if (window->cut_line > 0 && !job->flags.quiet) {
        fprintf(stderr, "clformer: warning: line %lld: only its first %d bytes were read\n", window->cut_line,
                LINE_BYTES_KEPT);
    }
    for (int i = 0; i < window->count && !output_failed(); i++) {
        long long number = window->first_number + i;
        print_warnings(job, &translations[i], number);
        if (job->flags.json) {
            print_json(job, &translations[i]);
        } else {
            print_text(&translations[i], job->flags.translate.n_best, number);
        }
    }
    clf_translations_free(translations, window->count);
    fflush(stdout);
    return output_failed() ? EXIT_FAILED : EXIT_DONE;
}

static int translate_all(struct job *job)
{
    int interactive = isatty(STDIN_FILENO), status = EXIT_DONE;
    progress_begin(&job->progress, job->flags.quiet, stdin);
    while (status == EXIT_DONE && !job->reader.at_end) {
        status = window_read(&job->window, &job->reader, interactive ? 1 : WINDOW_LINES, WINDOW_BYTES);
        if (status == EXIT_DONE && signals_interrupted(NULL)) {
            progress_end(&job->progress);
            fprintf(stderr, "clformer: interrupted after line %lld\n", job->window.first_number - 1);
            status = EXIT_FAILED;
        }
        if (status == EXIT_DONE && job->window.count > 0) {
            status = translate_window(job);
        }
        progress_update(&job->progress, job->reader.line_number, job->reader.bytes);
    }
    progress_end(&job->progress);
    return status == EXIT_DONE && job->failed_lines > 0 ? EXIT_FAILED : status;
}

static void print_times(const struct job *job)
{
    struct clf_stage_times times;
    clf_translator_times(job->translator, &times);
    double elapsed = seconds_now() - job->progress.start;
    fprintf(
        stderr,
        "clformer: %lld lines, %lld source and %lld target tokens in %.3f s: %.1f lines/s, %.1f tokens/s\n"
        "clformer: tokenize %.3f s, encode %.3f s, decode %.3f s in %lld steps, search %.3f s, detokenize "
        "%.3f s; "
        "%lld batches\n",
        (long long)times.lines, (long long)times.source_tokens, (long long)times.target_tokens, elapsed,
        (double)times.lines / elapsed, (double)times.target_tokens / elapsed, times.tokenize, times.encode,
        times.decode, (long long)times.steps, times.search, times.detokenize, (long long)times.batches);
}

static int run(struct job *job)
{
    int status = flags_apply(&job->flags, job->setup.model);
    if (status >= 0) {
        return status;
    }
    clf_status created = clf_translator_create(&job->translator, job->setup.model, &job->flags.translate);
    if (created != CLF_OK) {
        return report_failure(created);
    }
    status = translate_all(job);
    if (job->flags.verbose) {
        print_times(job);
    }
    return status;
}

int verb_translate(int argc, char **argv)
{
    struct job job = {.reader = {.file = stdin, .name = "standard input"}};
    int takes = TAKES_MODEL | TAKES_DEVICE | TAKES_SEARCH | TAKES_LINES | TAKES_JSON;
    int status = flags_parse(&job.flags, argc, argv, takes, help);
    if (status < 0) {
        status = flags_operands(&job.flags, 0, 0, "translate reads standard input and takes only flags");
    }
    if (status >= 0) {
        return status;
    }
    status = setup_open(&job.setup, &job.flags);
    if (status == EXIT_DONE) {
        status = run(&job);
    }
    clf_translator_free(job.translator);
    flags_release(&job.flags);
    window_free(&job.window);
    setup_close(&job.setup);
    return status;
}
