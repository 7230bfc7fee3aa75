/* Status codes and the description of the last error.
 *
 * For every function of the library: no pointer may be NULL unless the documentation of the function allows
 * it. A function that returns an object through a pointer first sets the caller's pointer to NULL, so that it
 * is NULL after a failure. */
#ifndef CLFORMER_STATUS_H
#define CLFORMER_STATUS_H

#include <clformer/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, value, meaning): the list of all status codes. */
#define CLF_STATUS_LIST(X)                                                                                   \
    X(OK, 0, "done")                                                                                         \
    X(BAD_ARGUMENT, 1, "an argument is invalid")                                                             \
    X(OUT_OF_MEMORY, 2, "out of host memory")                                                                \
    X(FILE, 3, "a file or folder cannot be read or written")                                                 \
    X(FORMAT, 4, "a file is damaged or has the wrong format")                                                \
    X(TEXT, 5, "a line of text cannot be used")                                                              \
    X(NO_DEVICE, 6, "no matching OpenCL device")                                                             \
    X(DEVICE, 7, "an OpenCL call failed")                                                                    \
    X(DEVICE_MEMORY, 8, "out of device memory")                                                              \
    X(BUILD, 9, "a kernel cannot be compiled")                                                               \
    X(UNSUPPORTED, 10, "the request is not supported")                                                       \
    X(INTERRUPTED, 11, "interrupted by the caller")                                                          \
    X(NETWORK, 12, "the ranks cannot communicate")

typedef enum clf_status {
#define CLF_STATUS_ENUM(name, value, meaning) CLF_##name = (value),
    CLF_STATUS_LIST(CLF_STATUS_ENUM)
#undef CLF_STATUS_ENUM
} clf_status;

/**
 * Returns the name of a status, such as "FORMAT".
 *
 * @param status any value; "UNKNOWN" if it is not a status.
 * @return a static string.
 */
CLF_API const char *clf_status_name(clf_status status);

/**
 * Returns a short description of a status.
 *
 * @param status any value.
 * @return a static string.
 */
CLF_API const char *clf_status_meaning(clf_status status);

/**
 * Returns the message of the last error on the calling thread: what failed, on which device, file, tensor or
 * line, and what to do.
 *
 * @return never NULL; owned by the library and valid until this thread's next call to the library; "" before
 *         the first failure. After a call that returned CLF_OK the content is unspecified. The message is
 *         safe to print on a terminal: control characters, which may come from a file, are escaped as \x1b.
 */
CLF_API const char *clf_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
