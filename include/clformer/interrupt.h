/* Interrupts long operations that have no callback parameter: loading, converting and averaging models, and
 * compiling. */
#ifndef CLFORMER_INTERRUPT_H
#define CLFORMER_INTERRUPT_H

#include <clformer/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns non-zero to stop the operation. */
typedef int clf_interrupt_function(void *payload);

/**
 * Sets the function that the library polls while it loads, converts or averages a model, before and
 * after it compiles a program, and before clf_device_close() caches a compiled program. If the function
 * returns non-zero, the operation fails with CLF_INTERRUPTED and removes the files that it has written. The
 * setting applies to the whole process.
 *
 * @param function called often, on any thread, but never concurrently. It must return quickly and must not
 *     call clf_interrupt_set(). NULL removes the function.
 * @param payload passed to function unchanged; owned by the caller and valid while the function is set.
 */
CLF_API void clf_interrupt_set(clf_interrupt_function *function, void *payload);

#ifdef __cplusplus
}
#endif
#endif
