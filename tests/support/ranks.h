/* Runs programs as several ranks. */
#ifndef CLF_TESTS_SUPPORT_RANKS_H
#define CLF_TESTS_SUPPORT_RANKS_H

#include "support/process.h"

/* Skips the test with a reason if the library was built without MPI or mpirun cannot start two trivial
 * processes. */
void ranks_need(void);

/* Returns the number of cases to run: each case takes seconds, so only the first one with
 * $CLFORMER_TEST_SMALL. */
int ranks_cases(size_t count);

/* Runs mpirun with `count` ranks of `program` (NULL: build/clformer). */
struct process_result ranks_run(int count, const char *program, const char *arguments);

/* Runs mpirun with `count` ranks of build/clformer and the other settings of `process`. */
struct process_result ranks_run_process(int count, struct process process, const char *arguments);

/* Starts a command that runs in parallel with the test, like coprocess_start(). */
struct coprocess ranks_start(int count, const char *arguments);

/* Runs two ranks with different arguments. */
struct process_result ranks_run_unlike(const char *program, const char *first, const char *second);

#endif
