/* Stopping what takes long and has no callback of its own: loading, converting and averaging models, and
 * compiling.
 */
#ifndef CLFORMER_INTERRUPT_H
#define CLFORMER_INTERRUPT_H

#ifdef __cplusplus
extern "C" {
#endif

typedef int clf_interrupt_function(void *user);

/**
 * Sets the function that the library asks whether to stop while it loads, converts or averages a model, and
 * before it compiles a program. The call then fails with CLF_INTERRUPTED and removes what it has written.
 *
 * @param function returns 1 to stop; called on any thread, often, so it must return at once; NULL for none.
 * @param user     passed to function unchanged; must outlive its use.
 */
void clf_interrupt_set(clf_interrupt_function *function, void *user);

#ifdef __cplusplus
}
#endif
#endif
