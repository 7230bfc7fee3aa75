/* The access log: a line per request, without its text. Any number of threads may call these functions. */
#ifndef CLF_TOOLS_SERVE_ACCESS_LOG_H
#define CLF_TOOLS_SERVE_ACCESS_LOG_H

#include <stddef.h>

#include <clformer/clformer.h>

struct access_log;

/* An answered request. */
struct access {
    const char *request; /* method and path, printable */
    const char *address; /* client's address */
    unsigned status;
    double seconds;
    size_t characters;
    int is_lost; /* 1: the connection was lost */
};

/* Opens a log.
 *
 * @param path a file to append to; NULL: standard error.
 * @param is_json 1: each line is a JSON object.
 * @return CLF_FILE. */
clf_status access_log_open(struct access_log **out, const char *path, int is_json);
void access_log_close(struct access_log *log);

/* Writes a line. The first failure, such as a full disk, prints a warning; later lines are still
 * attempted. */
void access_log_write(struct access_log *log, const struct access *access);

/* Reopens the file, for programs that rotate logs by renaming. If that fails, prints a warning and keeps the
 * old file. */
void access_log_reopen(struct access_log *log);

#endif
