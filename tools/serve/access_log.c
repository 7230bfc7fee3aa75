#include "serve/access_log.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/status.h"

struct access_log {
    const char *path; /* NULL: standard error */
    int is_json;
    pthread_mutex_t lock; /* guards the members below */
    FILE *file;
    int has_failed;
};

clf_status access_log_open(struct access_log **out, const char *path, int is_json)
{
    struct access_log *log = *out = calloc(1, sizeof *log);
    if (log == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the access log");
    }
    log->path = path;
    log->is_json = is_json;
    pthread_mutex_init(&log->lock, NULL);
    log->file = path != NULL ? fopen(path, "ae") : stderr;
    return log->file != NULL ? CLF_OK : clf__fail(CLF_FILE, "%s: %s", path, strerror(errno));
}

void access_log_close(struct access_log *log)
{
    if (log != NULL) {
        if (log->file != NULL && log->path != NULL) {
            fclose(log->file);
        }
        pthread_mutex_destroy(&log->lock);
    }
    free(log);
}

static void warn(struct access_log *log, const char *problem)
{
    if (!log->has_failed) {
        fprintf(stderr, "clformer: warning: %s: %s; requests are answered without being logged\n",
                log->path != NULL ? log->path : "standard error", problem);
    }
    log->has_failed = 1;
}

/* Formats a UTC time as ISO 8601. */
static void write_time(char *out, size_t size)
{
    struct timespec now;
    struct tm parts;
    char seconds[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(out, size, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
}

static char *json_line(const struct access *access, const char *when)
{
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:i, s:f, s:I, s:b}", "time", when, "client", access->address, "request",
                  access->request, "status", (int)access->status, "seconds", access->seconds, "characters",
                  (json_int_t)access->characters, "connection_lost", access->is_lost);
    char *line = object != NULL ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    json_decref(object);
    return line;
}

void access_log_write(struct access_log *log, const struct access *access)
{
    char when[64];
    write_time(when, sizeof when);
    char *line = log->is_json ? json_line(access, when) : NULL;
    pthread_mutex_lock(&log->lock);
    errno = 0;
    int size = line != NULL ? fprintf(log->file, "%s\n", line)
                            : fprintf(log->file, "%s %s %u %.1f ms %zu characters, client %s%s\n",
                                      log->path != NULL ? when : "clformer:", access->request, access->status,
                                      1e3 * access->seconds, access->characters, access->address,
                                      access->is_lost ? ", connection lost" : "");
    if (size < 0 || fflush(log->file) != 0) {
        warn(log, strerror(errno));
        clearerr(log->file);
    } else {
        log->has_failed = 0;
    }
    pthread_mutex_unlock(&log->lock);
    free(line);
}

void access_log_reopen(struct access_log *log)
{
    if (log->path == NULL) {
        return;
    }
    FILE *file = fopen(log->path, "ae");
    pthread_mutex_lock(&log->lock);
    if (file == NULL) {
        warn(log, strerror(errno));
    } else {
        fclose(log->file);
        log->file = file;
    }
    pthread_mutex_unlock(&log->lock);
}
