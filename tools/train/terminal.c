#include "train/terminal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "shared/erase_line.h"
#include "shared/progress.h"

enum { TEXT = 32, COLUMNS = 80 };

/* "1:02:03" or "2:03". */
static const char *format_time(char text[TEXT], double seconds)
{
    long long whole = seconds > 0 ? (long long)(seconds + 0.5) : 0;
    if (whole >= 3600) {
        snprintf(text, TEXT, "%lld:%02d:%02d", whole / 3600, (int)(whole / 60 % 60), (int)(whole % 60));
    } else {
        snprintf(text, TEXT, "%d:%02d", (int)(whole / 60), (int)(whole % 60));
    }
    return text;
}

/* Formats tokens per second: "98.7k" or "950". */
static const char *format_speed(char text[TEXT], double speed)
{
    if (speed >= 1e4) {
        snprintf(text, TEXT, speed >= 1e5 ? "%.0fk" : "%.1fk", 1e-3 * speed);
    } else {
        snprintf(text, TEXT, "%.0f", speed);
    }
    return text;
}

/* Formats "4.3 million" or "950". */
static const char *format_count(char text[TEXT], int64_t count)
{
    if (count >= 1000000) {
        snprintf(text, TEXT, "%.1f million", 1e-6 * (double)count);
    } else {
        snprintf(text, TEXT, "%lld", (long long)count);
    }
    return text;
}

void terminal_begin(struct terminal *terminal, int quiet)
{
    *terminal = (struct terminal){.quiet = quiet, .live = !quiet && isatty(STDERR_FILENO)};
    terminal->begun = seconds_now();
}

void terminal_clear(struct terminal *terminal)
{
    if (terminal->is_drawn) {
        erase_line();
        terminal->is_drawn = 0;
    }
}

void terminal_started(struct terminal *terminal, const struct clf_train_start *start, const char *device)
{
    char parameters[TEXT];
    terminal->begun = terminal->drawn = seconds_now();
    terminal->last = start->first_update - 1;
    terminal->ranks = start->ranks;
    if (terminal->quiet) {
        return;
    }
    terminal_clear(terminal);
    fprintf(stderr, "%d pair%s of %d lines, %d pair%s for validation; %s parameters; %.0f MiB on %s",
            start->pairs, start->pairs == 1 ? "" : "s", start->lines, start->validation_pairs,
            start->validation_pairs == 1 ? "" : "s", format_count(parameters, start->parameters),
            (double)start->device_bytes / 1048576, device);
    if (start->host_bytes > 0) {
        fprintf(stderr, " and %.0f MiB for gradient sums", (double)start->host_bytes / 1048576);
    }
    if (start->ranks > 1) {
        fprintf(stderr, ", on each of %d ranks", start->ranks);
    }
    putc('\n', stderr);
    if (start->first_update > 1) {
        fprintf(stderr, "resuming at update %lld\n", (long long)start->first_update);
    }
    if (terminal->live) {
        fprintf(stderr,
                "columns: updates, loss in nats per label, gradient norm, learning rate, source and target "
                "tokens "
                "per\n"
                "second, remaining time (less if --patience ends the run)%s\n",
                start->ranks > 1 ? ", number of ranks,\nfraction of the time in which rank 0 waits" : "");
    }
}

/* A line limited to the width of the terminal: fields are added while they fit. */
struct line {
    char text[512];
    size_t width, limit;
};

__attribute__((format(printf, 2, 3))) static void add_part(struct line *line, const char *format, ...)
{
    char part[128];
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): version 14 does not recognise va_start() */
    vsnprintf(part, sizeof part, format, arguments);
    va_end(arguments);
    size_t size = strlen(part) + (line->width > 0 ? 2 : 0);
    if (line->width + size <= line->limit) {
        snprintf(line->text + line->width, sizeof line->text - line->width, "%s%s",
                 line->width > 0 ? "  " : "", part);
        line->width += size;
    } else {
        line->limit = line->width; /* omits all fields after one that does not fit */
    }
}

static size_t columns(void)
{
    struct winsize size;
    int known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return known ? (size_t)size.ws_col : COLUMNS;
}

/* Returns the seconds until the last update; 0: not known yet. */
static double seconds_left(const struct terminal *terminal, const struct clf_train_update *update, double now)
{
    int64_t left = update->expected_updates - update->update;
    return left > 0 && terminal->updates > 1
               ? (now - terminal->first) / (double)(terminal->updates - 1) * (double)left
               : 0;
}

/* In a run of 100000 updates, all fields except the skipped updates and the epoch fit into 80 columns. */
static void draw(struct terminal *terminal, const struct clf_train_update *update, double now)
{
    char text[TEXT];
    struct line line = {.limit = terminal->live ? columns() - 1 : sizeof line.text - 1};
    line.limit = line.limit < sizeof line.text ? line.limit : sizeof line.text - 1;
    if (update->expected_updates > 0) {
        add_part(&line, "%lld/%lld", (long long)update->update, (long long)update->expected_updates);
    } else {
        add_part(&line, "update %lld", (long long)update->update);
    }
    add_part(&line, "loss %.3f", update->loss);
    add_part(&line, "norm %.2g", update->gradient_norm);
    add_part(&line, "rate %.2g", update->learning_rate);
    add_part(&line, "%s tok/s",
             format_speed(text, terminal->seconds > 0 ? terminal->tokens / terminal->seconds : 0));
    double left = seconds_left(terminal, update, now);
    if (left > 0) {
        add_part(&line, "%s left", format_time(text, left));
    }
    if (terminal->ranks > 1) {
        add_part(&line, "%d ranks wait %.0f%%", terminal->ranks,
                 terminal->seconds > 0 ? 100 * terminal->waited / terminal->seconds : 0);
    }
    if (update->skipped > 0) {
        add_part(&line, "%lld skipped", (long long)update->skipped);
    }
    add_part(&line, "epoch %d", update->epoch);
    if (terminal->live) {
        erase_line();
        fputs(line.text, stderr);
        fflush(stderr);
        terminal->is_drawn = 1;
    } else {
        fprintf(stderr, "%s\n", line.text);
    }
}

/* Warns once, when the speed is known, if the run would take more than a day. */
static void warn_of_days(struct terminal *terminal, const struct clf_train_update *update, double now)
{
    enum { UPDATES = 20, DAY = 86400 };
    double left = seconds_left(terminal, update, now);
    if (terminal->quiet || terminal->has_warned || terminal->updates < UPDATES || left <= DAY) {
        return;
    }
    terminal->has_warned = 1;
    terminal_clear(terminal);
    fprintf(stderr,
            "clformer: warning: at this speed, %lld updates take %.1f days unless --patience ends the run "
            "sooner; use --size, --max-updates or --minutes for a shorter run\n",
            (long long)update->expected_updates, left / DAY);
}

void terminal_updated(struct terminal *terminal, const struct clf_train_update *update)
{
    enum { RECENT = 20 }; /* number of recent updates in the mean speed */
    double keep = 1.0 - 1.0 / RECENT, now = seconds_now();
    terminal->tokens = keep * terminal->tokens + (double)(update->source_tokens + update->target_tokens);
    terminal->seconds = keep * terminal->seconds + update->seconds;
    terminal->waited = keep * terminal->waited + update->waited;
    if (terminal->updates++ == 0) {
        terminal->first = now;
    }
    terminal->last = update->update;
    warn_of_days(terminal, update, now);
    if (!terminal->quiet && now - terminal->drawn >= (terminal->live ? 0.2 : 30)) {
        terminal->drawn = now;
        draw(terminal, update, now);
    }
}

void terminal_validated(struct terminal *terminal, const struct clf_train_validation *validation)
{
    if (terminal->quiet) {
        return;
    }
    char elapsed[TEXT];
    terminal_clear(terminal);
    fprintf(stderr, "%s  update %lld, epoch %d: validation loss %.4f, perplexity %.3f",
            format_time(elapsed, seconds_now() - terminal->begun), (long long)validation->update,
            validation->epoch, validation->loss, validation->perplexity);
    if (validation->bleu >= 0) {
        fprintf(stderr, ", BLEU %.2f", validation->bleu);
    }
    /* a BLEU of 0.00 is not reported as the best */
    int is_reported = validation->better_by != NULL &&
                      (strcmp(validation->better_by, "BLEU") != 0 || validation->bleu >= 0.005);
    if (is_reported) {
        fprintf(stderr, ", the best so far by %s", validation->better_by);
    }
    putc('\n', stderr);
}

void terminal_done(struct terminal *terminal, const char *output)
{
    char elapsed[TEXT];
    terminal_clear(terminal);
    if (!terminal->quiet) {
        fprintf(stderr, "%s  done after update %lld; the model is in %s\n",
                format_time(elapsed, seconds_now() - terminal->begun), (long long)terminal->last, output);
    }
}
