#include "base/interrupt.h"

#include <pthread.h>
#include <stddef.h>

/* Protects the hook and its argument. */
static pthread_mutex_t hook_lock = PTHREAD_MUTEX_INITIALIZER;
static clf_interrupt_function *hook_function;
static void *hook_payload;

void clf_interrupt_set(clf_interrupt_function *function, void *payload)
{
    pthread_mutex_lock(&hook_lock);
    hook_function = function;
    hook_payload = payload;
    pthread_mutex_unlock(&hook_lock);
}

clf_status clf__interrupt_check(void)
{
    pthread_mutex_lock(&hook_lock);
    int stops = hook_function != NULL && hook_function(hook_payload);
    pthread_mutex_unlock(&hook_lock);
    return stops ? clf__fail(CLF_INTERRUPTED, "interrupted") : CLF_OK;
}
