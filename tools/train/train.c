/* clformer train */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <clformer/interrupt.h>

#include "base/file.h"
#include "base/json.h"
#include "shared/command.h"
#include "shared/page.h"
#include "shared/ranks.h"
#include "train/arguments.h"
#include "train/history.h"
#include "train/log.h"
#include "train/page.h"
#include "train/terminal.h"

struct job {
    struct flags flags;
    struct clf_recipe *recipe;
    int chooses; /* 1 if any option was set */
    struct clf_ranks *ranks;
    clf_status ended; /* status of training on this rank, for the other ranks */
    struct setup setup;
    struct terminal terminal;
    FILE *log;
    json_t *start; /* start of the run, until it is written with the first line */
    struct train_history history;
    int page_is_begun; /* this run has written the page */
    struct clf_train_times times;
    int made_folder, made_log;
    int failed; /* exit status of the log or the page, whose failures do not end the training */
};

/* Adds the content of a JSON file to the start object of the log. */
static void add_file(json_t *start, const char *key, const char *folder, const char *name)
{
    struct clf__json settings;
    if (clf__json_load_in(&settings, folder, name) == CLF_OK) {
        json_object_set(start, key, settings.root);
        clf__json_free(&settings);
    }
}

/* Begins a new history, separate from the other runs in the log. */
static void begin_history(struct job *job)
{
    history_free(&job->history);
    job->history.name = job->flags.output;
}

/* Writes a line to the log, to standard output with --json, and to the curves. Takes ownership of the line.
 */
static void tell(struct job *job, json_t *line)
{
    if (line == NULL) {
        terminal_clear(&job->terminal);
        fprintf(stderr, "clformer: not enough host memory for the log\n");
        job->failed = EXIT_FAILED;
        return;
    }
    if (job->log != NULL && !log_write(job->log, line)) {
        terminal_clear(&job->terminal);
        fprintf(stderr, "clformer: %s: cannot be written: %s; training continues without the log\n",
                job->flags.log, strerror(errno));
        fclose(job->log);
        job->log = NULL;
        job->failed = EXIT_FAILED;
    }
    if (job->flags.json && !output_failed()) {
        log_write(stdout, line);
    }
    if (history_ends_before(&job->history, line)) {
        begin_history(job);
    }
    if (history_add(&job->history, line, "the log") != EXIT_DONE) {
        job->failed = EXIT_FAILED;
    }
    json_decref(line);
}

/* Links an existing page to an unused name: PATH.N, or PATH.N.2 and so on. The new page then replaces PATH.
 * Returns 0 on failure. */
static int keep_under(char *kept, size_t size, const char *path, long long last)
{
    enum { MOST_NAMES = 1000 };
    for (int i = 1; i <= MOST_NAMES; i++) {
        snprintf(kept, size, i == 1 ? "%s.%lld" : "%s.%lld.%d", path, last, i);
        if (link(path, kept) == 0) {
            return 1;
        }
        if (errno != EEXIST && clf__file_is_missing(kept)) { /* the file system does not support links */
            return rename(path, kept) == 0;
        }
    }
    return 0;
}

/* Without a log, the page of a resumed run lacks the earlier updates. Keeps the existing page under another
 * name. */
static void keep_page(const struct job *job)
{
    const char *path = job->flags.html;
    long long first = (long long)job->history.points[0].update;
    size_t size = strlen(path) + 48;
    char *kept = malloc(size);
    if (first == 1 || kept == NULL) {
        free(kept);
        return;
    }
    struct stat status;
    int is_kept =
        stat(path, &status) == 0 && S_ISREG(status.st_mode) && keep_under(kept, size, path, first - 1);
    if (!job->flags.quiet) {
        fprintf(stderr,
                "clformer: warning: %s: begins at update %lld, because there is no --log with the earlier "
                "updates%s%s\n",
                path, first, is_kept ? "; the existing page was renamed to " : "", is_kept ? kept : "");
    }
    free(kept);
}

/* Writes the page. If this fails, the run continues without the page. */
static void write_page(struct job *job)
{
    if (job->flags.html != NULL && job->history.count > 0) {
        terminal_clear(&job->terminal);
        if (!job->page_is_begun) {
            keep_page(job);
            job->page_is_begun = 1;
        }
        if (train_page_write(job->flags.html, &job->history, 1) != EXIT_DONE) {
            job->flags.html = NULL;
            job->failed = EXIT_FAILED;
        }
    }
}

static void started(const struct clf_train_start *start, void *user)
{
    struct job *job = user;
    const char *device = clf_device_describe(job->setup.device)->name;
    terminal_started(&job->terminal, start, device);
    job->start = log_start(start, device, job->flags.output);
    if (job->start != NULL) {
        add_file(job->start, "recipe", job->flags.output, "recipe.json");
        /* With --from, the recipe does not contain the configuration. */
        add_file(job->start, "config", start->checkpoint, "config.json");
    }
}

static void updated(const struct clf_train_update *update, void *user)
{
    struct job *job = user;
    clf_interrupt_set(NULL, NULL); /* an interrupt now saves a checkpoint before the run ends */
    tell(job, log_update(update, job->start));
    json_decref(job->start);
    job->start = NULL;
    terminal_updated(&job->terminal, update);
}

static void validated(const struct clf_train_validation *validation, void *user)
{
    struct job *job = user;
    terminal_validated(&job->terminal, validation);
    tell(job, log_validation(validation, history_find(&job->history, validation->update)));
    write_page(job);
}

static void ended(const struct clf_train_times *times, void *user)
{
    struct job *job = user;
    job->times = *times;
}

/* A closed standard output ends the run, as in other verbs. */
static int interrupted(void *user)
{
    const struct job *job = user;
    return signals_interrupted(NULL) || (job->flags.json && output_failed());
}

/* Erases the progress line before printing a log message. */
static void print_message(clf_log_level level, const char *message, void *user)
{
    struct job *job = user;
    if (level <= CLF_LOG_NOTICE ? !job->flags.quiet : job->flags.verbose) {
        terminal_clear(&job->terminal);
        fprintf(stderr, "clformer: %s%s\n", level == CLF_LOG_WARNING ? "warning: " : "", message);
    }
}

/* Reads the log of the run to be resumed: the last run in the log, if it has the same output folder. */
static int read_log(struct job *job)
{
    struct train_history *runs = NULL;
    int count = 0, status = history_read(&runs, &count, job->flags.log);
    for (int i = 0; i < count; i++) {
        const char *output = json_string_value(json_object_get(runs[i].start, "output"));
        int is_own = output == NULL || strcmp(output, job->flags.output) == 0;
        if (i == count - 1 && is_own) {
            job->history = runs[i];
        } else {
            history_free(&runs[i]);
        }
    }
    job->history.name = job->flags.output;
    free(runs);
    return status;
}

/* Opens the log and adds the results of earlier runs. Returns an exit status. */
static int open_log(struct job *job)
{
    if (job->flags.log == NULL) {
        return EXIT_DONE;
    }
    struct stat status;
    job->made_log = lstat(job->flags.log, &status) != 0 && errno == ENOENT;
    job->log = log_open(job->flags.log);
    if (job->log == NULL || fstat(fileno(job->log), &status) != 0) {
        return EXIT_FAILED;
    }
    return S_ISREG(status.st_mode) ? read_log(job) : EXIT_DONE;
}

/* Checks that the page does not overwrite the log. Returns -1 on success, or an exit status for invalid
 * usage. */
static int check_page(const struct flags *flags)
{
    if (flags->log == NULL || flags->html == NULL) {
        return -1;
    }
    int is_log = strcmp(flags->log, flags->html) == 0 || clf__file_is(flags->html, flags->log);
    return is_log ? report_wrong_call("--log and --html name the same file, %s; name different files",
                                      flags->html)
                  : -1;
}

static int train(struct job *job)
{
    const struct flags *flags = &job->flags;
    struct clf_train_hooks hooks = {.size = sizeof hooks,
                                    .started = started,
                                    .updated = updated,
                                    .validated = validated,
                                    .ended = ended,
                                    .interrupted = interrupted,
                                    .payload = job,
                                    .ranks = job->ranks};
    const struct clf_train_times *times = &job->times;
    clf_log_set(print_message, job);
    clf_status done = clf_train(job->setup.device, job->recipe, flags->output, &hooks);
    job->ended = done;
    clf_interrupt_set(signals_interrupted, NULL);
    terminal_clear(&job->terminal);
    write_page(job);
    if (flags->verbose) {
        fprintf(
            stderr,
            "clformer: data %.3f s, forward and backward passes %.3f s, optimizer %.3f s, validation %.3f s, "
            "checkpoints %.3f s\n",
            times->data, times->passes, times->update, times->validation, times->checkpoint);
    }
    if (done != CLF_OK) {
        return ranks_report(job->ranks, done);
    }
    terminal_done(&job->terminal, flags->output);
    return print_kernel_times(job->setup.device, job->failed);
}

/* Removes an empty log and an empty folder that a failed run created. */
static void discard(const struct job *job)
{
    struct stat status;
    if (job->log != NULL && job->made_log && fstat(fileno(job->log), &status) == 0 && status.st_size == 0) {
        unlink(job->flags.log);
    }
    if (job->made_folder) {
        rmdir(job->flags.output); /* fails if the folder is not empty */
    }
}

static int check_call(const struct flags *flags)
{
    if (flags->output == NULL || flags->output[0] == '\0') {
        return report_wrong_call("train: requires an output folder; add -o FOLDER");
    }
    if (flags->html != NULL && strcmp(flags->html, "-") == 0) {
        return report_wrong_call("--html: train updates the page repeatedly; name a regular file");
    }
    return -1;
}

/* Opens the files that only rank 0 writes. Returns an exit status. */
static int open_files(struct job *job)
{
    const struct flags *flags = &job->flags;
    if (flags->log != NULL || flags->html != NULL) {
        job->made_folder = mkdir(flags->output, 0777) == 0; /* the log and the page may be in this folder */
    }
    int status = open_log(job);
    return status == EXIT_DONE && flags->html != NULL ? page_check(flags->html) : status;
}

/* Opens files and device. Returns EXIT_DONE if every rank is ready. */
static int open_all(struct job *job)
{
    int status = ranks_join(&job->ranks, &job->flags);
    if (status != EXIT_DONE) {
        return status;
    }
    if (clf_ranks_rank(job->ranks) > 0) { /* only rank 0 writes */
        job->flags.log = job->flags.html = NULL;
        job->flags.json = 0;
    }
    terminal_begin(&job->terminal, job->flags.quiet);
    status = open_files(job);
    return ranks_open_device(job->ranks, &job->setup, &job->flags, status);
}

static int run(struct job *job)
{
    struct flags *flags = &job->flags;
    int status = check_page(flags);
    if (status >= 0) {
        return status;
    }
    int makes_page = !job->chooses && flags->output == NULL && flags->html != NULL && flags->log != NULL;
    if (makes_page) {
        char *log = (char *)flags->log;
        return curves_write(flags->html, &log, 1);
    }
    status = check_call(flags);
    if (status >= 0) {
        return status;
    }
    job->history.name = flags->output;
    status = open_all(job);
    status = status == EXIT_DONE ? train(job) : status;
    if (status != EXIT_DONE) {
        discard(job);
    }
    return status;
}

int verb_train(int argc, char **argv)
{
    struct job job = {.recipe = NULL};
    clf_status created = clf_recipe_create(&job.recipe);
    int status = created == CLF_OK ? train_arguments(&job.flags, job.recipe, &job.chooses, argc, argv)
                                   : report_failure(created);
    if (status < 0) {
        status = run(&job);
    }
    if (job.log != NULL && fclose(job.log) != 0 && status == EXIT_DONE) {
        status = EXIT_FAILED; /* every line was flushed, and failures were reported */
    }
    clf_log_set(NULL, NULL);
    json_decref(job.start);
    history_free(&job.history);
    setup_close(&job.setup);
    clf_recipe_free(job.recipe);
    clf_ranks_leave(job.ranks, job.ended);
    return status;
}
