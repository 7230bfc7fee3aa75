#include "shared/erase_line.h"

#include <stdio.h>
#include <unistd.h>

void erase_line(void)
{
    static const char sequence[] = "\r\033[K";
    fflush(stderr);
    if (write(STDERR_FILENO, sequence, sizeof sequence - 1) < 0) {
        return; /* a failure of standard error cannot be reported */
    }
}
