/* Error handling: a status with a message. */
#ifndef CLF_BASE_STATUS_H
#define CLF_BASE_STATUS_H

#include <clformer/status.h>

/* Records the message for clf_last_error() and returns status, which makes a failure a single statement:
 * `return clf__fail(CLF_FORMAT, "%s: header is %zu bytes, the file has %zu; download it again", ...)`. */
clf_status clf__fail(clf_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prepends "<context>: " to the recorded message and returns status unchanged. */
clf_status clf__fail_in(clf_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A saved status with its message: preserves an error during cleanup that may also fail, or passes it to
 * another thread. */
enum { CLF__ERROR_BYTES = 2048 }; /* longer messages are truncated and end in "..." */
struct clf__failure {
    clf_status status;
    char sentence[CLF__ERROR_BYTES];
};
/* Saves the last recorded message; status may be CLF_OK. */
struct clf__failure clf__failure_keep(clf_status status);
/* Records the message again and returns the status. */
clf_status clf__failure_again(const struct clf__failure *failure);

/* Returns whether a failure is specific to one device; if so, another device may succeed. */
int clf__is_device_failure(clf_status status);

/* Returns from the calling function if an expression fails. */
#define CLF__TRY(expression)                                                                                 \
    do {                                                                                                     \
        clf_status clf__try_status = (expression);                                                           \
        if (clf__try_status != CLF_OK) {                                                                     \
            return clf__try_status;                                                                          \
        }                                                                                                    \
    } while (0)

#endif
