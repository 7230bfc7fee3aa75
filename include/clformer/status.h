/* Status codes and the sentence that explains the last failure.
 *
 * This holds for every function of the library: no pointer may be NULL unless its description says what NULL
 * means; and a function that hands out an object sets the caller's pointer to NULL first, so that a failure
 * leaves NULL there.
 */
#ifndef CLFORMER_STATUS_H
#define CLFORMER_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, meaning): every status, in one place. */
#define CLF_STATUS_LIST(X)                                                                                   \
    X(OK, "done")                                                                                            \
    X(BAD_ARGUMENT, "an argument of the call is out of range")                                               \
    X(OUT_OF_MEMORY, "the host has no memory left")                                                          \
    X(FILE, "a file or folder cannot be read or written")                                                    \
    X(FORMAT, "a file does not hold what its format says")                                                   \
    X(TEXT, "a line of text cannot be used")                                                                 \
    X(NO_DEVICE, "no OpenCL device fits")                                                                    \
    X(DEVICE, "an OpenCL call failed")                                                                       \
    X(DEVICE_MEMORY, "the device has no memory left")                                                        \
    X(BUILD, "a kernel does not compile")                                                                    \
    X(UNSUPPORTED, "the request is understood but not supported")                                            \
    X(INTERRUPTED, "the caller asked to stop")                                                               \
    X(NETWORK, "the ranks of a run cannot reach each other")

typedef enum clf_status {
#define CLF_STATUS_ENUM(name, meaning) CLF_##name,
    CLF_STATUS_LIST(CLF_STATUS_ENUM)
#undef CLF_STATUS_ENUM
} clf_status;

/**
 * The name of a status, such as "FORMAT".
 *
 * @param status any value; one that is no status gives "UNKNOWN".
 * @return a static string.
 */
const char *clf_status_name(clf_status status);

/**
 * What a status means, in a few words.
 *
 * @param status any value.
 * @return a static string.
 */
const char *clf_status_meaning(clf_status status);

/**
 * The sentence about the last failure on the calling thread: what failed, on which device, file, tensor or
 * line, and what to do.
 *
 * @return borrowed, never NULL, valid until this thread's next call of the library; "" before the first
 * failure. After a call that gave CLF_OK it means nothing: what failed may have been done another way. It
 * can be printed on a terminal: control characters in it, which may come from a file, are written as \x1b.
 */
const char *clf_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
