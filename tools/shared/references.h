/* Pairs lines of standard input with lines of a reference file. */
#ifndef CLF_TOOLS_REFERENCES_H
#define CLF_TOOLS_REFERENCES_H

#include "shared/command.h"

/* Compares `count` lines with their references and prints the result; returns an exit status. */
typedef int compare_lines(const char *const *lines, const char *const *references, int count,
                          const struct flags *flags);

/* Reads standard input and the reference file, which is the only operand, and calls `compare`. Both must have
 * the same number of lines. Reports failures and returns an exit status. */
int with_references(const struct flags *flags, compare_lines *compare);

#endif
