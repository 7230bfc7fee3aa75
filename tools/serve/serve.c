/* clformer serve */
#include "shared/command.h"

#ifdef CLF_HAS_SERVER
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/status.h"
#include "base/utf8.h"
#include "serve/client.h"
#include "serve/listen.h"
#include "serve/live_sessions.h"
#include "serve/server.h"
#include "serve/speech.h"
#include "serve/suggestions.h"
#include "serve/wyoming.h"
#endif

static const char help[] =
    "Usage: clformer serve -m [NAME=][SRC-TGT:]MODEL [-m ...] [FLAGS]\n"
    "\n"
    "Translates over HTTP with the APIs of LibreTranslate (/translate) and DeepL (/v2/translate), and\n"
    "with all options (/v1/translate). With a Whisper model, transcribes recordings with the APIs of\n"
    "OpenAI (/v1/audio/transcriptions), whisper.cpp's server (/inference) and whisper-asr-webservice\n"
    "(/asr). A browser shows a web page for texts, text files and recordings at the address.\n"
    "\n"
    "SRC-TGT are the languages of a model that does not name them, or the only languages to serve.\n"
    "With several models, each pair of languages is translated by a model that supports it, or else by\n"
    "several in sequence: fr-en and en-de together also translate fr to de. NAME is the model's name in\n"
    "answers. --wyoming opens a port for Home Assistant.\n"
    "\n"
    "Example:\n"
    "  $ clformer serve -m fr-en:opus-mt-fr-en --port 5000\n"
    "  clformer: serving opus-mt-fr-en at http://127.0.0.1:5000\n"
    "  $ curl http://127.0.0.1:5000/translate -d q='Je suis étudiant' -d source=fr -d target=en\n"
    "  {\"translatedText\":\"I'm a student.\"}\n"
    "  $ clformer serve -m whisper-small\n"
    "  $ curl http://127.0.0.1:5000/v1/audio/transcriptions -F file=@talk.mp3 -F response_format=srt\n"
    "\n"
    "On SIGTERM the server stops accepting connections, finishes the running requests and exits with\n"
    "status 0. There is no encryption: use a proxy to serve other machines.\n";

#ifdef CLF_HAS_SERVER

enum {
    DEFAULT_PORT = 5000,
    DEFAULT_GRACE = 10,
    DEFAULT_MAX_BODY = 10,
    DEFAULT_MAX_UPLOAD = 1024,
    DEFAULT_QUEUE = 1000000,
    DEFAULT_WAIT = 60,
    DEFAULT_TIME = 3600,
    WAIT_NANOSECONDS = 50000000
};

struct serving {
    struct flags flags;
    int listening; /* socket; -1: none */
    int speaking;  /* socket of the Wyoming server; -1: none */
    struct served_models models;
    struct routes *routes;
    struct service service;
};

static atomic_int is_given_up; /* the grace period for running requests is over */

static int given_up(void *unused)
{
    (void)unused;
    return atomic_load(&is_given_up);
}

/* Runs on the thread of a request, between steps of its translation. */
static int request_is_over(void *unused)
{
    return given_up(unused) || client_is_gone() || client_is_late();
}

static void give_up(void)
{
    atomic_store(&is_given_up, 1);
}

static int chosen(int flag, int otherwise)
{
    return flag >= 0 ? flag : otherwise;
}

/* `wyoming`: an address, or empty. */
static void report_start(const struct served_models *models, const char *address, const char *wyoming)
{
    fprintf(stderr, "clformer: serving");
    for (int i = 0; i < models->count; i++) {
        fprintf(stderr, "%s %s", i > 0 ? "," : "", models->items[i].folder);
    }
    fprintf(stderr, " at %s%s%s%s\n", address, *wyoming != '\0' ? " and " : "", wyoming,
            *wyoming != '\0' ? " (Wyoming)" : "");
}

/* Starts the servers, and prints their addresses. */
static clf_status start(struct server **server, struct wyoming **wyoming, struct serving *serving)
{
    const struct flags *flags = &serving->flags;
    const struct server_options options = {(size_t)chosen(flags->max_body, DEFAULT_MAX_BODY) << 20,
                                           (size_t)chosen(flags->max_upload, DEFAULT_MAX_UPLOAD) << 20};
    char address[128], second[128] = "";
    CLF__TRY(socket_listen(serving->listening, "http", address, sizeof address));
    if (serving->speaking >= 0) {
        CLF__TRY(socket_listen(serving->speaking, "tcp", second, sizeof second));
        int speaking = serving->speaking;
        serving->speaking = -1;
        CLF__TRY(wyoming_start(wyoming, speaking, &serving->service, options.max_upload));
    }
    int listening = serving->listening;
    serving->listening = -1;
    CLF__TRY(server_start(server, listening, &serving->service, &options));
    log_once_to_stderr(flags);
    report_start(&serving->models, address, second);
    return CLF_OK;
}

/* Answers requests until a signal arrives. */
static clf_status answer_requests(struct serving *serving)
{
    struct server *server = NULL;
    struct wyoming *wyoming = NULL;
    clf_interrupt_set(given_up, NULL); /* after a signal, running requests may still compile kernels */
    clf_status status = start(&server, &wyoming, serving);
    if (status != CLF_OK) {
        wyoming_stop(wyoming);
        wyoming_free(wyoming);
        return status;
    }
    while (!signals_interrupted(NULL)) {
        nanosleep(&(struct timespec){.tv_nsec = WAIT_NANOSECONDS}, NULL);
        if (serving->service.log != NULL && signals_take_hangup()) {
            access_log_reopen(serving->service.log);
        }
        live_sessions_remove_idle(serving->service.live);
    }
    wyoming_stop(wyoming);
    server_stop(server, chosen(serving->flags.grace, DEFAULT_GRACE), give_up);
    wyoming_free(wyoming);
    signals_accept_stop();
    return CLF_OK;
}

/* Rejects a value that cannot be the origin of a page: scheme, host and port, without a path. */
static clf_status check_origin(const char *origin)
{
    const char *host = origin != NULL ? strstr(origin, "://") : NULL;
    if (origin == NULL || strcmp(origin, "*") == 0 ||
        (host != NULL && host > origin && host[3] != '\0' && strpbrk(host + 3, "/ ,\t\r\n") == NULL)) {
        return CLF_OK;
    }
    return clf__fail(CLF_BAD_ARGUMENT, "--cors %s: is not an origin, such as https://example.org, or *",
                     origin);
}

/* Checks the files of --memory and --do-not-translate when the server starts, not when a client names one. */
static clf_status check_named_files(const struct service *service)
{
    for (int i = 0; i < service->term_lists.count; i++) {
        const struct named_file *file = &service->term_lists.items[i];
        clf_status status = clf__utf8_check(file->bytes, file->size);
        CLF__TRY(status == CLF_OK ? CLF_OK : clf__fail_in(status, "--do-not-translate %s", file->name));
    }
    for (int i = 0; i < service->memories.count; i++) {
        const struct named_file *file = &service->memories.items[i];
        const struct clf_memory_options options = {.size = sizeof options, .name = file->name};
        struct clf_memory *memory;
        CLF__TRY(clf_memory_open(&memory, file->bytes, file->size, &options));
        clf_memory_free(memory);
    }
    return CLF_OK;
}

/* Opens the log and the files that flags name, before the models are loaded. */
static clf_status create_service(struct service *service, const struct flags *flags)
{
    service->cors = flags->cors;
    service->allows_load = flags->allow_load;
    service->changes_text = flags->libretranslate_text;
    service->request_is_over = request_is_over;
    service->limits.characters = chosen(flags->most_characters, 0);
    service->limits.texts = chosen(flags->most_texts, 0);
    service->limits.wait = chosen(flags->wait, DEFAULT_WAIT);
    service->limits.time = chosen(flags->time_limit, DEFAULT_TIME);
    int queue = chosen(flags->most_queued, DEFAULT_QUEUE);
    CLF__TRY(check_origin(flags->cors));
    if (flags->needs_key && flags->keys == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "--require-api-key: requires --api-keys");
    }
    if (flags->wyoming >= 0 && flags->needs_key) { /* its clients have no keys */
        return clf__fail(CLF_BAD_ARGUMENT,
                         "--wyoming: the protocol has no keys; remove --require-api-key or --wyoming");
    }
    if (queue == 0 || service->limits.time == 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "--queue-limit and --time-limit must be at least 1");
    }
    CLF__TRY(
        clients_create(&service->clients, flags->keys, flags->needs_key, chosen(flags->most_requests, 0)));
    CLF__TRY(gate_create(&service->gate, queue));
    CLF__TRY(gate_create(&service->attending, 1));
    CLF__TRY(files_create(&service->files));
    CLF__TRY(glossaries_load(&service->glossaries, &flags->glossaries));
    CLF__TRY(named_files_load(&service->term_lists, "do-not-translate", &flags->term_lists));
    CLF__TRY(named_files_load(&service->memories, "memory", &flags->memories));
    CLF__TRY(check_named_files(service));
    CLF__TRY(live_sessions_create(&service->live));
    if (flags->suggestions != NULL) {
        CLF__TRY(suggestions_open(&service->suggestions, flags->suggestions));
    }
    if (flags->access_log != NULL || flags->verbose || flags->json) {
        CLF__TRY(access_log_open(&service->log, flags->access_log, flags->json));
    }
    if (flags->access_log != NULL) {
        signals_keep_hangup();
    }
    return flags->metrics ? metrics_create(&service->metrics) : CLF_OK;
}

static void free_service(struct service *service)
{
    metrics_free(service->metrics);
    access_log_close(service->log);
    suggestions_close(service->suggestions);
    glossaries_free(&service->glossaries);
    named_files_free(&service->memories);
    named_files_free(&service->term_lists);
    files_free(service->files);
    gate_free(service->gate);
    gate_free(service->attending);
    clients_free(service->clients);
}

/* Many systems allow 1024 open files unless the program asks for more. */
static void allow_files(void)
{
    static const rlim_t wanted = SERVER_MOST_CONNECTIONS + 1024; /* with models, logs and uploads */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int run_models(struct serving *serving)
{
    if (serving->speaking >= 0 && serving->service.speech == NULL) {
        return report_failure(
            clf__fail(CLF_BAD_ARGUMENT, "--wyoming: requires a Whisper model; add -m MODEL"));
    }
    clf_status result = routes_create(&serving->routes, &serving->models);
    serving->service.models = &serving->models;
    serving->service.routes = serving->routes;
    result = result == CLF_OK ? answer_requests(serving) : result;
    routes_free(serving->routes);
    return result == CLF_OK ? EXIT_DONE : report_failure(result);
}

static int serve(struct serving *serving)
{
    const struct flags *flags = &serving->flags;
    clf_status result = models_parse(&serving->models, flags);
    result = result == CLF_OK ? create_service(&serving->service, flags) : result;
    const char *host = flags->host != NULL ? flags->host : "127.0.0.1";
    if (result == CLF_OK) {
        result = socket_bind(&serving->listening, host, chosen(flags->port, DEFAULT_PORT));
    }
    if (result == CLF_OK && flags->wyoming >= 0) {
        result = socket_bind(&serving->speaking, host, flags->wyoming);
    }
    int status = result == CLF_OK ? models_load(&serving->models, &serving->service.speech, flags,
                                                request_is_over, SERVER_MOST_CONNECTIONS)
                                  : report_failure(result);
    if (status == EXIT_DONE) {
        status = run_models(serving);
    }
    live_sessions_free(serving->service.live); /* before the models */
    speech_models_free(serving->service.speech);
    models_free(&serving->models);
    free_service(&serving->service);
    if (serving->listening >= 0) {
        close(serving->listening);
    }
    if (serving->speaking >= 0) {
        close(serving->speaking);
    }
    return status;
}

int verb_serve(int argc, char **argv)
{
    struct serving serving = {.listening = -1, .speaking = -1};
    int status = flags_parse(&serving.flags, argc, argv,
                             TAKES_MODELS | TAKES_DEVICES | TAKES_SEARCH | TAKES_SERVE | TAKES_JSON, help);
    if (status < 0) {
        status = flags_operands(&serving.flags, 0, 0, "serve takes only flags");
    }
    if (status >= 0) {
        return status;
    }
    allow_files();
    return serve(&serving);
}

#else

int verb_serve(int argc, char **argv)
{
    struct flags flags;
    int status = flags_parse(&flags, argc, argv,
                             TAKES_MODELS | TAKES_DEVICES | TAKES_SEARCH | TAKES_SERVE | TAKES_JSON, help);
    if (status >= 0) {
        return status;
    }
    fprintf(stderr,
            "clformer: serve: built without libmicrohttpd; install it (Debian: libmicrohttpd-dev) and "
            "build again\n");
    return EXIT_FAILED;
}

#endif
