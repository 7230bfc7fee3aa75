#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/utf8.h"

/* A fixed buffer per thread: reporting a failed allocation must not need an allocation. */
static _Thread_local char last_error[CLF__ERROR_BYTES];

static const struct {
    const char *name, *meaning;
} statuses[] = {
#define CLF_STATUS_ROW(name, value, meaning) [CLF_##name] = {#name, meaning},
    CLF_STATUS_LIST(CLF_STATUS_ROW)
#undef CLF_STATUS_ROW
};
enum { STATUS_COUNT = sizeof statuses / sizeof *statuses };

const char *clf_status_name(clf_status status)
{
    return (unsigned)status < STATUS_COUNT ? statuses[status].name : "UNKNOWN";
}

const char *clf_status_meaning(clf_status status)
{
    return (unsigned)status < STATUS_COUNT ? statuses[status].meaning : "invalid status";
}

const char *clf_last_error(void)
{
    return last_error;
}

/* Ends a truncated message with "...", without splitting a code point. */
static void mark_cut(char *sentence)
{
    size_t length = strlen(sentence), most = sizeof last_error - sizeof "...";
    size_t end = clf__utf8_cut(sentence, length < most ? length : most);
    memcpy(sentence + end, "...", sizeof "...");
}

/* Formats into a second buffer first, because the arguments may point into last_error. Escapes control
 * characters, because messages may contain names from untrusted model files and are printed on
 * terminals. */
static void record(const char *context_format, va_list arguments, const char *rest)
{
    char sentence[sizeof last_error];
    int length = vsnprintf(sentence, sizeof sentence, context_format, arguments);
    size_t used = length < 0 ? 0 : (size_t)length;
    if (used < sizeof sentence && rest) {
        used += (size_t)snprintf(sentence + used, sizeof sentence - used, ": %s", rest);
    }
    size_t kept = used < sizeof sentence ? used : clf__utf8_cut(sentence, sizeof sentence - 1);
    if (clf__escape(last_error, sizeof last_error, sentence, kept) >= sizeof last_error || used > kept) {
        mark_cut(last_error);
    }
}

clf_status clf__fail(clf_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(format, arguments, NULL);
    va_end(arguments);
    return status;
}

clf_status clf__fail_in(clf_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(format, arguments, last_error);
    va_end(arguments);
    return status;
}

struct clf__failure clf__failure_keep(clf_status status)
{
    struct clf__failure failure = {.status = status};
    if (status != CLF_OK) {
        memcpy(failure.sentence, last_error, sizeof last_error);
    }
    return failure;
}

clf_status clf__failure_again(const struct clf__failure *failure)
{
    return failure->status == CLF_OK ? CLF_OK : clf__fail(failure->status, "%s", failure->sentence);
}

int clf__is_device_failure(clf_status status)
{
    return status == CLF_DEVICE || status == CLF_DEVICE_MEMORY || status == CLF_BUILD;
}
