/* Logging. */
#ifndef CLF_BASE_LOG_H
#define CLF_BASE_LOG_H

#include <clformer/log.h>

void clf__log(clf_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
