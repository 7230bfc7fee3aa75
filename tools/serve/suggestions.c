#include "serve/suggestions.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"
#include "serve/q_field.h"

/* Clients can neither fill the disk nor store more than a few paragraphs at a time. */
enum { MOST_TEXT_BYTES = 10000, MOST_FILE_BYTES = 100 << 20, INSUFFICIENT_STORAGE = 507 };

struct suggestions {
    const char *path;
    int file;
    pthread_mutex_t lock; /* serialises writes */
};

clf_status suggestions_open(struct suggestions **out, const char *path)
{
    struct suggestions *suggestions = *out = calloc(1, sizeof *suggestions);
    if (suggestions == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "out of memory for the suggestions");
    }
    pthread_mutex_init(&suggestions->lock, NULL);
    suggestions->path = path;
    suggestions->file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    return suggestions->file >= 0 ? CLF_OK
                                  : clf__fail(CLF_FILE, "--suggestions %s: %s", path, strerror(errno));
}

void suggestions_close(struct suggestions *suggestions)
{
    if (suggestions != NULL) {
        if (suggestions->file >= 0) {
            close(suggestions->file);
        }
        pthread_mutex_destroy(&suggestions->lock);
    }
    free(suggestions);
}

/* Reads a text; returns NULL after setting the answer. */
static const json_t *read_text(const struct service *service, const struct fields *fields, const char *name,
                               struct answer *answer)
{
    const json_t *text = json_object_get(fields->object, name);
    if (!field_is_text(fields, name, answer)) {
        return NULL;
    }
    if (json_string_length(text) > MOST_TEXT_BYTES) {
        *answer =
            endpoints_error(400, "Invalid request: %s parameter exceeds %d bytes", name, MOST_TEXT_BYTES);
        return NULL;
    }
    json_t *array = json_pack("[O]", text);
    int is_admitted = texts_are_admitted(array, 0, service, answer);
    json_decref(array);
    return is_admitted ? text : NULL;
}

/* Returns the code of a language, or NULL after setting the answer. */
static const char *read_code(const struct service *service, const struct fields *fields, const char *name,
                             struct answer *answer)
{
    const char *code = json_string_value(json_object_get(fields->object, name));
    if (!field_is_text(fields, name, answer)) {
        return NULL;
    }
    if (strcmp(name, "source") == 0 && strcasecmp(code, "auto") == 0) {
        return "auto";
    }
    const struct language *language = routes_get(service->routes, code);
    if (language == NULL) {
        *answer = field_refuse_code(code);
        return NULL;
    }
    return language->code;
}

/* Returns the line of a suggestion with its line break, which the caller frees; NULL after setting the
 * answer. */
static char *read_line(const struct service *service, const struct fields *fields, struct answer *answer)
{
    const json_t *q = read_text(service, fields, "q", answer);
    const json_t *s = q != NULL ? read_text(service, fields, "s", answer) : NULL;
    const char *source = s != NULL ? read_code(service, fields, "source", answer) : NULL;
    const char *target = source != NULL ? read_code(service, fields, "target", answer) : NULL;
    if (target == NULL) {
        return NULL;
    }
    json_t *object = json_pack("{s:O, s:O, s:s, s:s}", "q", q, "s", s, "source", source, "target", target);
    char *line = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    size_t size = line != NULL ? strlen(line) : 0;
    char *grown = line != NULL ? realloc(line, size + 2) : NULL;
    if (grown == NULL) {
        free(line);
        *answer = endpoints_error(500, "out of memory");
        return NULL;
    }
    memcpy(grown + size, "\n", 2);
    return grown;
}

/* Appends a line; removes a part of it that a full disk has room for. Returns 0 after setting the answer. */
static int append(struct suggestions *suggestions, const char *line, struct answer *answer)
{
    struct stat file;
    size_t size = strlen(line);
    int has_size = fstat(suggestions->file, &file) == 0 && S_ISREG(file.st_mode);
    if (has_size && file.st_size + (off_t)size > MOST_FILE_BYTES) {
        *answer = endpoints_error(INSUFFICIENT_STORAGE, "The server has no room for further suggestions");
        return 0;
    }
    errno = 0;
    if (write(suggestions->file, line, size) == (ssize_t)size) {
        return 1;
    }
    fprintf(stderr, "clformer: warning: %s: %s; a suggestion is lost\n", suggestions->path,
            errno != 0 ? strerror(errno) : "the disk is full");
    if (has_size && ftruncate(suggestions->file, file.st_size) != 0) {
        fprintf(stderr, "clformer: warning: %s: %s; its last line is incomplete\n", suggestions->path,
                strerror(errno));
    }
    *answer = endpoints_error(INSUFFICIENT_STORAGE, "The suggestion could not be stored");
    return 0;
}

struct answer suggestions_add(struct service *service, const struct fields *fields)
{
    struct answer answer;
    struct suggestions *suggestions = service->suggestions;
    if (suggestions == NULL) {
        return endpoints_error(403, "Suggestions are disabled on this server.");
    }
    char *line = request_is_admitted(service, fields, &answer) ? read_line(service, fields, &answer) : NULL;
    if (line == NULL) {
        return answer;
    }
    pthread_mutex_lock(&suggestions->lock);
    int is_stored = append(suggestions, line, &answer);
    pthread_mutex_unlock(&suggestions->lock);
    free(line);
    return is_stored ? (struct answer){.status = 200, .text = strdup("{\"success\":true}")} : answer;
}
