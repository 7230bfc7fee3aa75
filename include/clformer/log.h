/* Logging of warnings and build logs. The library itself never prints. */
#ifndef CLFORMER_LOG_H
#define CLFORMER_LOG_H

#include <clformer/version.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum clf_log_level {
    CLF_LOG_WARNING = 0, /* an unexpected condition; the operation continues */
    CLF_LOG_NOTICE = 1,  /* logged once, for example before a long operation */
    CLF_LOG_INFO = 2,    /* choices and their reasons */
    CLF_LOG_DEBUG = 3,   /* full build logs and other details */
} clf_log_level;

/* Receives one message; the string is valid during the call. */
typedef void clf_log_function(clf_log_level level, const char *message, void *payload);

/**
 * Sets the function that receives every log message of the process; without a function, messages are
 * discarded.
 *
 * @param function called on the logging thread, possibly by several threads at the same time. A message is
 *     complete and has no trailing newline; control characters other than newline and tab are escaped as
 *     \x1b. NULL discards messages.
 * @param payload passed to function unchanged; owned by the caller and valid while the function is set.
 */
CLF_API void clf_log_set(clf_log_function *function, void *payload);

#ifdef __cplusplus
}
#endif
#endif
