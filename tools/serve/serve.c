/* clformer serve */
#include "shared/command.h"

#ifdef CLF_HAS_SERVER
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/status.h"
#include "serve/client.h"
#include "serve/listen.h"
#include "serve/server.h"
#include "serve/speech.h"
#endif

static const char help[] =
    "Usage: clformer serve -m [SRC-TGT:]MODEL [FLAGS]\n"
    "\n"
    "Translates over HTTP with the API of LibreTranslate. The requests of all clients share batches.\n"
    "SRC-TGT are the languages of a model that does not name them, or the only languages to serve.\n"
    "\n"
    "Example:\n"
    "  $ clformer serve -m fr-en:opus-mt-fr-en --port 5000\n"
    "  clformer: serving opus-mt-fr-en at http://127.0.0.1:5000\n"
    "  $ curl http://127.0.0.1:5000/translate -d q='Je suis étudiant' -d source=fr -d target=en\n"
    "  {\"translatedText\":\"I'm a student.\"}\n"
    "\n"
    "Also GET /languages, /frontend/settings, /health and /ready. On SIGTERM the server stops accepting\n"
    "connections, finishes the running requests and exits with status 0. There is no encryption and no\n"
    "password: use a proxy to serve other machines.\n";

#ifdef CLF_HAS_SERVER

enum {
    DEFAULT_PORT = 5000,
    DEFAULT_GRACE = 10,
    DEFAULT_MAX_BODY = 10,
    DEFAULT_MAX_UPLOAD = 1024,
    WAIT_NANOSECONDS = 50000000
};

struct serving {
    struct flags flags;
    struct language_pair pair;
    int listening; /* socket; -1: none */
    struct setup setup;
    struct languages languages;
    struct clf_engine *engine;
    struct service service;
};

static atomic_int is_given_up; /* the time for running requests is over */

static int given_up(void *unused)
{
    (void)unused;
    return atomic_load(&is_given_up);
}

/* Runs on the thread of a request, between the steps of its translation. */
static int request_is_over(void *unused)
{
    return given_up(unused) || client_is_gone();
}

static void give_up(void)
{
    atomic_store(&is_given_up, 1);
}

static int chosen(int flag, int otherwise)
{
    return flag >= 0 ? flag : otherwise;
}

/* Creates the engine, the translators, and the device memory of the first pair of languages. */
static clf_status create_engine(struct serving *serving)
{
    const struct setup *setup = &serving->setup;
    struct clf_translate_options *options = &serving->flags.translate;
    struct clf_model *const *models = setup->devices != NULL ? setup->models : &setup->model;
    clf_status status = clf_engine_create(&serving->engine, models, setup->count, NULL);
    options->split_sentences = 1;
    options->n_best = 1;
    options->interrupted = request_is_over;
    if (status == CLF_OK) {
        status = pool_create(&serving->service.pool, serving->engine, options, SERVER_MOST_CONNECTIONS);
    }
    const struct language *source = NULL, *target = NULL;
    for (int i = 0; i < serving->languages.count; i++) {
        const struct language *language = &serving->languages.items[i];
        source = language->is_source ? language : source;
        target = language->is_target ? language : target;
    }
    struct clf_translator *translator = NULL;
    if (status == CLF_OK) {
        status = pool_acquire(&translator, serving->service.pool, source, target, 0);
    }
    if (status == CLF_OK) {
        status = clf_translator_prepare(translator);
        pool_release(serving->service.pool, translator);
    }
    if (status == CLF_OK && serving->flags.metrics) {
        status = metrics_create(&serving->service.metrics);
    }
    return status;
}

/* Answers requests until a signal arrives. */
static clf_status answer_requests(struct serving *serving)
{
    struct server *server = NULL;
    char address[128];
    const struct flags *flags = &serving->flags;
    const struct server_options options = {(size_t)chosen(flags->max_body, DEFAULT_MAX_BODY) << 20,
                                           (size_t)chosen(flags->max_upload, DEFAULT_MAX_UPLOAD) << 20,
                                           flags->verbose};
    clf_interrupt_set(given_up, NULL); /* after a signal, running requests may still compile kernels */
    clf_status status = socket_listen(serving->listening, address, sizeof address);
    if (status == CLF_OK) {
        status = server_start(&server, serving->listening, &serving->service, &options);
        serving->listening = -1;
    }
    if (status != CLF_OK) {
        return status;
    }
    fprintf(stderr, "clformer: serving %s at %s\n", flags->model, address);
    while (!signals_interrupted(NULL)) {
        nanosleep(&(struct timespec){.tv_nsec = WAIT_NANOSECONDS}, NULL);
    }
    server_stop(server, chosen(flags->grace, DEFAULT_GRACE), give_up);
    signals_accept_stop();
    return CLF_OK;
}

/* Prepares the model: speech, or else translation. */
static clf_status open_model(struct serving *serving)
{
    struct clf_model *model = serving->setup.model;
    const char *slash = strrchr(serving->flags.model, '/');
    if (strcmp(clf_model_describe(model)->architecture, "whisper") != 0) {
        clf_status status = languages_find(&serving->languages, model, &serving->pair);
        return status == CLF_OK ? create_engine(serving) : status;
    }
    clf_status status = serving->flags.metrics ? metrics_create(&serving->service.metrics) : CLF_OK;
    const char *name = slash != NULL && slash[1] != '\0' ? slash + 1 : serving->flags.model;
    return status == CLF_OK ? speech_models_add(&serving->service.speech, name, model) : status;
}

static int run_model(struct serving *serving)
{
    int status = flags_apply(&serving->flags, serving->setup.model);
    if (status >= 0) {
        return status;
    }
    serving->service.languages = &serving->languages;
    clf_status result = open_model(serving);
    result = result == CLF_OK ? answer_requests(serving) : result;
    status = result == CLF_OK ? EXIT_DONE : report_failure(result);
    metrics_free(serving->service.metrics);
    speech_models_free(serving->service.speech);
    pool_free(serving->service.pool);
    clf_engine_free(serving->engine);
    languages_free(&serving->languages);
    return status;
}

/* Refuses a value that no browser compares equal to the origin of a page: scheme, host and port, without a
 * path. */
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

static int serve(struct serving *serving)
{
    struct flags *flags = &serving->flags;
    serving->service.cors = flags->cors;
    flags->model = language_pair_parse(&serving->pair, flags->model);
    clf_status result = check_origin(flags->cors);
    if (result == CLF_OK) {
        result = socket_bind(&serving->listening, flags->host != NULL ? flags->host : "127.0.0.1",
                             chosen(flags->port, DEFAULT_PORT));
    }
    int status = result == CLF_OK ? setup_open_several(&serving->setup, flags) : report_failure(result);
    if (status == EXIT_DONE) {
        status = run_model(serving);
        flags_release(flags);
        setup_close(&serving->setup);
    }
    if (serving->listening >= 0) {
        close(serving->listening);
    }
    return status;
}

int verb_serve(int argc, char **argv)
{
    struct serving serving = {.listening = -1};
    int status = flags_parse(&serving.flags, argc, argv, TAKES_MODEL | TAKES_DEVICES | TAKES_SERVE, help);
    if (status < 0) {
        status = flags_operands(&serving.flags, 0, 0, "serve takes only flags");
    }
    return status >= 0 ? status : serve(&serving);
}

#else

int verb_serve(int argc, char **argv)
{
    struct flags flags;
    int status = flags_parse(&flags, argc, argv, TAKES_MODEL | TAKES_DEVICES | TAKES_SERVE, help);
    if (status >= 0) {
        return status;
    }
    fprintf(stderr,
            "clformer: serve: built without libmicrohttpd; install it (Debian: libmicrohttpd-dev) and "
            "build again\n");
    return EXIT_FAILED;
}

#endif
