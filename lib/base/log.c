#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/memory.h"

/* Protects the hook and its argument. */
static pthread_mutex_t hook_lock = PTHREAD_MUTEX_INITIALIZER;
static clf_log_function *hook_function;
static void *hook_payload;

void clf_log_set(clf_log_function *function, void *payload)
{
    pthread_mutex_lock(&hook_lock);
    hook_function = function;
    hook_payload = payload;
    pthread_mutex_unlock(&hook_lock);
}

enum { ROOM = 512 };

/* Returns `some` if it is large enough, otherwise an allocated buffer. Falls back to `some` if memory is
 * exhausted: a truncated message is better than none. */
static char *room_for(size_t length, char some[ROOM], size_t *size)
{
    char *all = NULL;
    int is_some = length < ROOM || clf__allocate(&all, length + 1, 1) != CLF_OK;
    *size = is_some ? ROOM : length + 1;
    return is_some ? some : all;
}

/* Sends the message with terminal control characters escaped. */
void clf__log(clf_log_level level, const char *format, ...)
{
    pthread_mutex_lock(&hook_lock);
    clf_log_function *function = hook_function;
    void *payload = hook_payload;
    pthread_mutex_unlock(&hook_lock);
    if (!function) {
        return;
    }
    char some[ROOM] = "", some_shown[ROOM];
    size_t size, length;
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int needed = vsnprintf(NULL, 0, format, arguments);
    char *message = room_for(needed > 0 ? (size_t)needed : 0, some, &size);
    vsnprintf(message, size, format, again);
    va_end(again);
    va_end(arguments);
    length = strlen(message);
    char *shown = room_for(clf__escape(NULL, 0, message, length), some_shown, &size);
    clf__escape(shown, size, message, length);
    function(level, shown, payload);
    clf__free(shown != some_shown ? shown : NULL);
    clf__free(message != some ? message : NULL);
}
