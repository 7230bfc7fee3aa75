#include "serve/v1_translate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "serve/failures.h"
#include "serve/q_field.h"
#include "serve/texts.h"
#include "serve/v1_options.h"
#include "shared/results.h"

/* Collects the sentences of each text. */
struct sentences {
    json_t *lists; /* an array of sentences for each text; NULL: out of memory */
    int *owners;   /* the text of each line */
};

static void take_sentence(int line, const struct clf_sentence *sentence, void *user)
{
    struct sentences *sentences = user;
    json_t *list = json_array_get(sentences->lists, (size_t)sentences->owners[line]);
    if (json_array_append_new(list, result_sentence(sentence)) != 0) {
        json_decref(sentences->lists);
        sentences->lists = NULL;
    }
}

static clf_status no_memory(void)
{
    return clf__fail(CLF_OUT_OF_MEMORY, "out of memory for a request");
}

/* Translates texts sentence by sentence: an object with "text" and "sentences" for each. */
static clf_status translate_sentences(json_t **out, struct v1_request *request, const json_t *texts,
                                      struct clf_engine *engine)
{
    struct sentences sentences = {json_array(), texts_line_owners(texts)};
    struct clf_translator *translator = NULL;
    json_t *translated = NULL;
    size_t count = json_array_size(texts);
    for (size_t i = 0; i < count && sentences.lists != NULL; i++) {
        sentences.lists = result_append(sentences.lists, json_array());
    }
    clf_status status = sentences.lists != NULL && sentences.owners != NULL ? CLF_OK : no_memory();
    request->options.sentence_translated = take_sentence;
    request->options.payload = &sentences;
    if (status == CLF_OK) {
        status = clf_translator_create_shared(&translator, engine, &request->options);
    }
    if (status == CLF_OK) {
        status = texts_translate_by(&translated, texts, translator);
    }
    clf_translator_free(translator);
    json_t *array = status == CLF_OK && sentences.lists != NULL ? json_array() : NULL;
    for (size_t i = 0; i < count && array != NULL; i++) {
        array = result_append(array, json_pack("{s:O, s:O}", "text", json_array_get(translated, i),
                                               "sentences", json_array_get(sentences.lists, i)));
    }
    json_decref(translated);
    json_decref(sentences.lists);
    free(sentences.owners);
    *out = array;
    return status == CLF_OK && array == NULL ? no_memory() : status;
}

static struct clf_line *list_lines(const json_t *texts)
{
    struct clf_line *lines = calloc(json_array_size(texts) + 1, sizeof *lines);
    for (size_t i = 0; i < json_array_size(texts) && lines != NULL; i++) {
        const json_t *text = json_array_get(texts, i);
        lines[i] = (struct clf_line){json_string_value(text), json_string_length(text)};
    }
    return lines;
}

/* Translates each text as one line: the object of `clformer translate --json` for each. */
static clf_status translate_whole(json_t **out, const struct v1_request *request, const json_t *texts,
                                  const struct served_model *model)
{
    int count = (int)json_array_size(texts);
    int has_n_best = request->options.n_best > 1 || request->options.alternatives > 1;
    struct clf_line *lines = list_lines(texts), *prefixes = list_lines(request->prefixes);
    struct clf_translator *translator = NULL;
    struct clf_translation *translations = NULL;
    clf_status status = lines != NULL && prefixes != NULL ? CLF_OK : no_memory();
    if (status == CLF_OK) {
        status = clf_translator_create_shared(&translator, model->engine, &request->options);
    }
    if (status == CLF_OK) {
        const struct clf_line *given = request->prefixes != NULL ? prefixes : NULL;
        status = clf_translate_prefixed(&translations, translator, lines, given, count);
    }
    clf_translator_free(translator);
    json_t *array = status == CLF_OK ? json_array() : NULL;
    for (int i = 0; i < count && array != NULL; i++) {
        array = result_append(array, result_translation(model->first, &translations[i], has_n_best, NULL));
    }
    clf_translations_free(translations, count);
    free(lines);
    free(prefixes);
    *out = array;
    return status == CLF_OK && array == NULL ? no_memory() : status;
}

/* Translates by all models of the route; the options of the request are those of the last. */
static clf_status translate(json_t **out, struct v1_request *request)
{
    struct route before = request->route;
    const struct hop *last = &request->route.hops[--before.count];
    json_t *texts = NULL;
    *out = NULL;
    CLF__TRY(texts_translate(&texts, NULL, &(struct texts){request->texts, &before}));
    clf_status status = request->sentences ? translate_sentences(out, request, texts, last->model->engine)
                                           : translate_whole(out, request, texts, last->model);
    json_decref(texts);
    return status;
}

static json_t *list_models(const struct route *route)
{
    json_t *array = json_array();
    for (int i = 0; i < route->count; i++) {
        array = result_append(array, json_string(route->hops[i].model->name));
    }
    return array;
}

static struct answer run(struct service *service, struct v1_request *request)
{
    json_t *translations;
    int64_t tokens = texts_estimate_tokens(request->texts);
    if (!gate_enter(service->gate, tokens, service->limits.wait, service->request_is_over)) {
        return failure_at_gate(service, 503);
    }
    clf_status status = translate(&translations, request);
    gate_leave(service->gate, tokens);
    if (status != CLF_OK) {
        return failure_answer(service, status);
    }
    json_t *object =
        json_pack("{s:o, s:s, s:s, s:o}", "translations", translations, "source", request->source->code,
                  "target", request->target->code, "models", list_models(&request->route));
    if (object != NULL && !isnan(request->confidence)) {
        json_object_set_new(object, "confidence", json_real(request->confidence));
    }
    struct answer answer = {.status = 200,
                            .text = object != NULL ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9))
                                                   : NULL};
    json_decref(object);
    return answer;
}

struct answer v1_translate(struct service *service, const struct fields *fields)
{
    struct v1_request request = {.texts = NULL};
    struct answer answer;
    if (!fields->is_json) {
        answer = endpoints_error(415, "Content-Type: must be application/json");
    } else if (request_is_admitted(service, fields, &answer) &&
               v1_request_read(&request, service, fields, &answer)) {
        answer = run(service, &request);
        answer.characters = q_field_characters(request.texts);
    }
    v1_request_free(&request);
    return answer;
}
