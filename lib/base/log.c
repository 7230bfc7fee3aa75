#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/visible.h"

/* The hook and its argument change together. */
static pthread_mutex_t hook_lock = PTHREAD_MUTEX_INITIALIZER;
static clf_log_function *hook_function;
static void *hook_user;

void clf_log_set(clf_log_function *function, void *user)
{
    pthread_mutex_lock(&hook_lock);
    hook_function = function;
    hook_user = user;
    pthread_mutex_unlock(&hook_lock);
}

/* With what a terminal would obey made visible. */
static void send(clf_log_function *function, void *user, clf_log_level level, const char *message)
{
    char short_text[512];
    char *long_text = NULL;
    size_t size = strlen(message), length = clf__visible(NULL, 0, message, size);
    if (length == size) {
        function(user, level, message);
        return;
    }
    if (length >= sizeof short_text && clf__allocate(&long_text, length + 1, 1) == CLF_OK) {
        clf__visible(long_text, length + 1, message, size);
    } else {
        clf__visible(short_text, sizeof short_text, message, size);
    }
    function(user, level, long_text ? long_text : short_text);
    clf__free(long_text);
}

void clf__log(clf_log_level level, const char *format, ...)
{
    pthread_mutex_lock(&hook_lock);
    clf_log_function *function = hook_function;
    void *user = hook_user;
    pthread_mutex_unlock(&hook_lock);
    if (!function) {
        return;
    }
    char short_message[512];
    char *long_message = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(short_message, sizeof short_message, format, arguments);
    va_end(arguments);
    /* Without memory for a long message its beginning is better than nothing. */
    if (length >= (int)sizeof short_message &&
        clf__allocate(&long_message, (size_t)length + 1, 1) == CLF_OK) {
        va_start(arguments, format);
        vsnprintf(long_message, (size_t)length + 1, format, arguments);
        va_end(arguments);
    }
    send(function, user, level, long_message ? long_message : short_message);
    clf__free(long_message);
}
