/* A progress line on a terminal; nothing is printed to a file or pipe. */
#ifndef CLF_TOOLS_PROGRESS_H
#define CLF_TOOLS_PROGRESS_H

struct progress {
    int shown;                      /* 1 if stderr is a terminal and --quiet is not given */
    double start, last;             /* seconds */
    unsigned long long total_bytes; /* size of the input, 0 if unknown */
    long long total_texts;          /* of all documents; 0: lines are counted */
};

/* `input` is the descriptor from which lines are read. */
void progress_begin(struct progress *progress, int quiet, int input);
/* Updates the line after some input lines: the rate and, if the input's size is known, the remaining time. */
void progress_update(struct progress *progress, long long lines, unsigned long long bytes);
/* Erases the line, so that other output can be printed. */
void progress_clear(const struct progress *progress);

double seconds_now(void);

#endif
