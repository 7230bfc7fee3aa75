/* Where the library's warnings and build logs go. The library itself never prints. */
#ifndef CLFORMER_LOG_H
#define CLFORMER_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum clf_log_level {
    CLF_LOG_WARNING, /* something is unusual and the work goes on */
    CLF_LOG_NOTICE,  /* said once, such as that something will take long */
    CLF_LOG_INFO,    /* what was chosen, and why */
    CLF_LOG_DEBUG,   /* full build logs and the like */
} clf_log_level;

typedef void clf_log_function(void *user, clf_log_level level, const char *message);

/**
 * Sets the function that receives every message; without one, messages are dropped.
 *
 * @param function called on the thread that logs, with one whole message that has no newline at its end; in
 * it, control characters other than newline and tab are written as \x1b; NULL drops messages.
 * @param user     passed to function unchanged; must outlive its use.
 */
void clf_log_set(clf_log_function *function, void *user);

#ifdef __cplusplus
}
#endif
#endif
