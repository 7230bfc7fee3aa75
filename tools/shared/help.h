/* The rows of a verb's --help. */
#ifndef CLF_TOOLS_HELP_H
#define CLF_TOOLS_HELP_H

#include <stdio.h>

enum { HELP_COLUMN = 42, HELP_WIDTH = 100 }; /* where meanings begin, and where lines end at the latest */

/* Prints "  -d, --device DEVICE   meaning", the meaning broken between words. `letter` may be 0 and `value`
 * NULL.
 */
void help_print_flag(FILE *file, char letter, const char *name, const char *value, const char *meaning);

#endif
