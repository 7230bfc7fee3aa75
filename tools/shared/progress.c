#include "shared/progress.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "shared/erase_line.h"

double seconds_now(void)
{
    return clf__seconds();
}

void progress_begin(struct progress *progress, int quiet, int input)
{
    struct stat status;
    int is_file = fstat(input, &status) == 0 && S_ISREG(status.st_mode);
    *progress = (struct progress){
        .shown = !quiet && isatty(STDERR_FILENO) && !isatty(input),
        .start = seconds_now(),
        .total_bytes = is_file && status.st_size > 0 ? (unsigned long long)status.st_size : 0,
    };
}

void progress_update(struct progress *progress, long long lines, unsigned long long bytes)
{
    double now = seconds_now(), elapsed = now - progress->start;
    if (!progress->shown || now - progress->last < 0.2 || elapsed <= 0) {
        return;
    }
    progress->last = now;
    erase_line();
    if (progress->total_texts > 0) {
        fprintf(stderr, "%lld of %lld texts, %.1f texts/s", lines, progress->total_texts,
                (double)lines / elapsed);
    } else {
        fprintf(stderr, "%lld lines, %.1f lines/s", lines, (double)lines / elapsed);
    }
    if (progress->total_bytes > bytes && bytes > 0) {
        double left = elapsed * (double)(progress->total_bytes - bytes) / (double)bytes;
        fprintf(stderr, ", %d:%02d left", (int)left / 60, (int)left % 60);
    }
    fflush(stderr);
}

void progress_clear(const struct progress *progress)
{
    if (progress->shown) {
        erase_line();
    }
}
