/* Lines of standard input beside those of a file of references. */
#ifndef CLF_TOOLS_REFERENCES_H
#define CLF_TOOLS_REFERENCES_H

#include "shared/command.h"

/* Compares `count` lines with their references and prints what comes of it; returns an exit status. */
typedef int compare_lines(const char *const *lines, const char *const *references, int count,
                          const struct flags *flags);

/* Reads standard input and the file that is the one operand, which must have as many lines, and compares
 * them. Reports failures; returns an exit status. */
int with_references(const struct flags *flags, compare_lines *compare);

#endif
