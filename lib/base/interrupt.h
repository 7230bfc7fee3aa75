/* Interrupts long operations on request (see include/clformer/interrupt.h). */
#ifndef CLF_BASE_INTERRUPT_H
#define CLF_BASE_INTERRUPT_H

#include <clformer/interrupt.h>

#include "base/status.h"

/* Returns CLF_INTERRUPTED if the calling program has requested a stop. */
clf_status clf__interrupt_check(void);

#endif
