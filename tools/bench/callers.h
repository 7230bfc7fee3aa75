/* Threads that call one translator at the same time, each with one line. */
#ifndef CLF_TOOLS_BENCH_CALLERS_H
#define CLF_TOOLS_BENCH_CALLERS_H

#include <clformer/translator.h>

struct callers;

/* Starts `count` threads that wait; the lines are borrowed. Stop them with callers_stop(), even on failure.
 */
clf_status callers_start(struct callers **out, struct clf_translator *translator,
                         const struct clf_line *lines, int count);

/* Lets every thread translate its line, and waits for all threads. Returns the first failure. *tokens: number
 * of generated tokens. */
clf_status callers_run(long long *tokens, struct callers *callers);

/* Ends the threads; NULL is ignored. */
void callers_stop(struct callers *callers);

#endif
