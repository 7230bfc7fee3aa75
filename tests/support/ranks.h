/* Running programs as several ranks. */
#ifndef CLF_TESTS_SUPPORT_RANKS_H
#define CLF_TESTS_SUPPORT_RANKS_H

#include "support/process.h"

/* Skips the test, saying why, where the library was built without MPI or where mpirun cannot start even two
 * processes that do nothing. */
void ranks_need(void);

/* How many of so many cases are tried: each takes seconds, and with $CLFORMER_TEST_SMALL the first one does.
 */
int ranks_cases(size_t count);

/* mpirun with `count` ranks of `program` (NULL: build/clformer). */
struct process_result ranks_run(int count, const char *program, const char *arguments);

/* The same of build/clformer as `process` says, whose launcher and environment are set here. */
struct process_result ranks_run_process(int count, struct process process, const char *arguments);

/* A command that runs beside the test, as one of coprocess_start(). */
struct coprocess ranks_start(int count, const char *arguments);

/* The same with two ranks whose arguments differ. */
struct process_result ranks_run_unlike(const char *program, const char *first, const char *second);

#endif
