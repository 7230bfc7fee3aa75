/* A progress line on a terminal, nothing in a pipe. */
#ifndef CLF_TOOLS_PROGRESS_H
#define CLF_TOOLS_PROGRESS_H

struct progress {
    int shown;                      /* stderr is a terminal and not --quiet */
    double start, last;             /* seconds */
    unsigned long long total_bytes; /* of the input, 0 where unknown */
};

/* `input` is the descriptor that the lines come from. */
void progress_begin(struct progress *progress, int quiet, int input);
/* After some lines: rate, and the time left where the input's size is known. */
void progress_update(struct progress *progress, long long lines, unsigned long long bytes);
/* Wipes the line, so that something else can be printed there. */
void progress_clear(const struct progress *progress);

double seconds_now(void);

#endif
