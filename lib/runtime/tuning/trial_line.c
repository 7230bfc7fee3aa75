#include "runtime/tuning/trial_line.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static const char failed[] = "failed ", retry[] = "retry ";

void clf__trial_copy_failure(char out[CLF__TRIAL_FAILURE], const char *reason)
{
    snprintf(out, CLF__TRIAL_FAILURE, "%s", *reason != '\0' ? reason : "unknown reason");
    for (char *at = out; *at != '\0'; at++) {
        *at = (char)(iscntrl((unsigned char)*at) ? ' ' : *at);
    }
}

clf_status clf__trial_format_failure(char **out, const char *failure, int is_lasting)
{
    return clf__format(out, "%s%s\n", is_lasting ? failed : retry, failure);
}

const char *clf__trial_last_line(const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || text[length - 1] != '\n') {
        return NULL;
    }
    const char *line = text + length - 1;
    while (line > text && line[-1] != '\n') {
        line--;
    }
    return line;
}

int clf__trial_parse_failure(char out[CLF__TRIAL_FAILURE], int *is_lasting, const char *line)
{
    *is_lasting = strncmp(line, failed, strlen(failed)) == 0;
    if (!*is_lasting && strncmp(line, retry, strlen(retry)) != 0) {
        return 0;
    }
    const char *reason = line + (*is_lasting ? strlen(failed) : strlen(retry));
    char failure[CLF__TRIAL_FAILURE];
    snprintf(failure, sizeof failure, "%.*s", (int)strcspn(reason, "\n"), reason);
    clf__trial_copy_failure(out, failure);
    return 1;
}
