/* The endpoints of the server. */
#ifndef CLF_TOOLS_SERVE_ENDPOINTS_H
#define CLF_TOOLS_SERVE_ENDPOINTS_H

#include <stdatomic.h>

#include "serve/access_log.h"
#include "serve/clients.h"
#include "serve/fields.h"
#include "serve/files.h"
#include "serve/gate.h"
#include "serve/glossaries.h"
#include "serve/metrics.h"
#include "serve/named_files.h"
#include "serve/routes.h"

/* The state shared by all requests; any number of threads may use it. */
struct service {
    const struct served_models *models;
    const struct routes *routes;
    struct metrics *metrics; /* NULL: none */
    const char *cors;        /* origin whose pages may use the server; "*": all; NULL: none */
    struct clients *clients;
    struct gate *gate;
    struct gate *attending; /* for attention maps */
    struct files *files;    /* translated files */
    struct glossaries glossaries;
    struct named_files memories, term_lists;
    struct suggestions *suggestions;      /* NULL: disabled */
    int changes_text;                     /* 1: --libretranslate-text */
    int (*request_is_over)(void *unused); /* whether to end this thread's request */
    struct access_log *log;               /* NULL: none */
    struct speech_models *speech;         /* NULL: none */
    struct live_sessions *live;           /* live transcriptions; NULL: none */
    int allows_load;                      /* 1: --allow-load */
    struct speech_model *_Atomic loaded;  /* selected by /load; NULL: none */
    struct {
        int characters; /* per text; 0: no limit */
        int texts;      /* per request; 0: no limit */
        double wait;    /* seconds at the gate */
        double time;    /* seconds per request */
    } limits;
    atomic_llong characters; /* total over all requests */
    atomic_int running;      /* requests that are not answered completely */
    atomic_int is_stopping;
};

struct answer {
    unsigned status;
    char *text;                    /* JSON, or `type`, or empty; the caller frees it; NULL: out of memory */
    char *error;                   /* instead of the text: the message of an error; the caller frees it */
    const char *error_key;         /* key of the message in the answer's JSON, or NULL: "error" */
    const char *allow;             /* value of the header Allow, or NULL */
    const char *type;              /* media type, or NULL: JSON */
    size_t characters;             /* characters to translate */
    int retry_after;               /* value of the header Retry-After in seconds; 0: none */
    struct MHD_Response *response; /* instead of the text, with its own headers; NULL: none */
    int closes;                    /* 1: close the connection without an answer */
    const struct page_file *file;  /* file of the web page, or NULL */
};

/* Answers a request. `path` excludes the query; the fields are read from `connection` and the body. */
struct answer endpoints_answer(struct service *service, struct MHD_Connection *connection, const char *method,
                               const char *path, const char *body, size_t size);
/* Returns the path of an endpoint, "/" for a file of the web page, or "other". */
const char *endpoints_name(const char *path);
/* An error with a message; its text is {"error": "..."}. */
struct answer endpoints_error(unsigned status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns the text of an answer, which the caller frees, and frees the message of an error; NULL: out of
 * memory.
 */
char *answer_text(struct answer *answer);

#endif
