#include "serve/v1_attention.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "serve/failures.h"
#include "serve/q_field.h"
#include "serve/v1_options.h"
#include "shared/results.h"

/* The maps of all layers and heads are in memory at the same time: (layers, heads, tokens, tokens). */
enum { MOST_BYTES = 600, MOST_REQUESTS = 32, BUSY = 503 };

/* A checked request. */
struct attention_request {
    struct v1_request texts; /* owned; `texts` contains one text */
    struct clf_line source, target;
    int layer, layers; /* decoder layer, counted from 1, and their number */
};

static int refuse_unknown(const struct fields *fields, struct answer *answer)
{
    static const char *const known[] = {"text", "translation", "source", "target", "layer", "api_key"};
    const char *name;
    json_t *value;
    json_object_foreach(fields->object, name, value)
    {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(known[i], name) != 0) {
            i++;
        }
        if (i == sizeof known / sizeof *known) {
            *answer = endpoints_error(400, "%.64s: unknown field; /openapi.json lists the fields", name);
            return 0;
        }
    }
    return 1;
}

static int read_line(struct clf_line *out, const struct fields *fields, const char *name,
                     struct answer *answer)
{
    const json_t *value = json_object_get(fields->object, name);
    *out = (struct clf_line){json_string_value(value), json_string_length(value)};
    if (out->text == NULL) {
        *answer = endpoints_error(400, "%s: must be a string", name);
    } else if (out->size > MOST_BYTES) {
        *answer = endpoints_error(400, "%s: must be a sentence of at most %d bytes", name, MOST_BYTES);
    } else {
        return 1;
    }
    return 0;
}

/* Reads the layer; the default is that of `clformer translate --alignments`. */
static int read_layer(struct attention_request *request, const struct fields *fields, struct answer *answer)
{
    const json_t *value = json_object_get(fields->object, "layer");
    double number = json_number_value(value);
    request->layer = request->layers - (request->layers > 1);
    if (value == NULL || json_is_null(value)) {
        return 1;
    }
    if (!json_is_number(value) || floor(number) != number || number < 1 || number > request->layers) {
        *answer = endpoints_error(400, "layer: must be an integer from 1 to %d", request->layers);
        return 0;
    }
    request->layer = (int)number;
    return 1;
}

static int read_request(struct attention_request *request, struct service *service,
                        const struct fields *fields, struct answer *answer)
{
    if (!refuse_unknown(fields, answer) || !read_line(&request->source, fields, "text", answer) ||
        !read_line(&request->target, fields, "translation", answer)) {
        return 0;
    }
    request->texts.texts = json_pack("[O]", json_object_get(fields->object, "text"));
    if (!texts_are_admitted(request->texts.texts, 0, service, answer) ||
        !v1_languages_read(&request->texts, service, fields, answer)) {
        return 0;
    }
    const struct v1_request *texts = &request->texts;
    if (texts->route.count != 1) {
        *answer = endpoints_error(
            400, "target: %s (%s) is translated to %s (%s) by several models in sequence",
            texts->source->name, texts->source->code, texts->target->name, texts->target->code);
        return 0;
    }
    request->layers = clf_model_describe(texts->route.hops[0].model->first)->decoder_layers;
    return read_layer(request, fields, answer) && v1_key_check(fields, answer);
}

static json_t *list_tokens(char *const *tokens, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count; i++) {
        array = result_append(array, result_text(tokens[i], strlen(tokens[i])));
    }
    return array;
}

/* Returns the mean of the heads of a layer: for each token of the translation, the weights of the source
 * tokens while the token is generated. */
static json_t *list_weights(const struct clf_attention_maps *maps, int layer)
{
    size_t heads = (size_t)maps->decoder_heads, sources = (size_t)maps->source_count;
    size_t map = sources * (size_t)maps->target_count;
    const float *first = maps->cross + (size_t)(layer - 1) * heads * map;
    json_t *rows = json_array();
    for (size_t i = 0; i + 1 < (size_t)maps->target_count; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < sources; j++) {
            double sum = 0;
            for (size_t head = 0; head < heads; head++) {
                sum += (double)first[head * map + i * sources + j];
            }
            row = result_append(row, result_number(round(sum / (double)heads * 1e4) / 1e4));
        }
        rows = result_append(rows, row);
    }
    return rows;
}

static struct answer answer_maps(const struct attention_request *request,
                                 const struct clf_attention_maps *maps)
{
    /* The first target token is the start token, whose row belongs to the token after it. The row of the last
     * token belongs to the end token. */
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:i, s:i, s:s, s:s, s:s}", "source_tokens",
                  list_tokens(maps->source_tokens, maps->source_count), "target_tokens",
                  list_tokens(maps->target_tokens + 1, maps->target_count - 1), "weights",
                  list_weights(maps, request->layer), "layer", request->layer, "layers", request->layers,
                  "source", request->texts.source->code, "target", request->texts.target->code, "model",
                  request->texts.route.hops[0].model->name);
    struct answer answer = {.status = 200,
                            .text = object != NULL ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(4))
                                                   : NULL};
    json_decref(object);
    return answer;
}

static clf_status attend(struct clf_attention_maps **maps, const struct attention_request *request)
{
    const struct hop *hop = &request->texts.route.hops[0];
    const struct pool_key key = {hop->source, hop->target, 0, CLF_PRIORITY_INTERACTIVE};
    struct clf_translator *translator;
    *maps = NULL;
    CLF__TRY(pool_acquire(&translator, hop->model->pool, &key));
    clf_status status = clf_attend(maps, translator, &request->source, &request->target);
    pool_release(hop->model->pool, translator);
    return status;
}

/* Computes the maps of one request at a time, which bounds their memory. */
static struct answer run(struct service *service, const struct attention_request *request)
{
    struct clf_attention_maps *maps = NULL;
    const struct gate_wait wait = {service->limits.wait, MOST_REQUESTS, service->request_is_over, NULL};
    enum gate_result result = gate_enter(service->attending, 1, &wait);
    if (result != GATE_ENTERED) {
        return result == GATE_IS_BUSY ? endpoints_error(BUSY, "The server is busy; try again later")
                                      : failure_answer(service, CLF_INTERRUPTED);
    }
    clf_status status = attend(&maps, request);
    struct answer answer = status == CLF_OK ? answer_maps(request, maps) : failure_answer(service, status);
    clf_attention_maps_free(maps);
    gate_leave(service->attending, 1);
    return answer;
}

struct answer v1_attention(struct service *service, const struct fields *fields)
{
    struct attention_request request = {.layer = 0};
    struct answer answer;
    if (!fields->is_json) {
        return endpoints_error(415, "Content-Type: must be application/json");
    }
    if (request_is_admitted(service, fields, &answer) && read_request(&request, service, fields, &answer)) {
        answer = run(service, &request);
        answer.characters = q_field_characters(request.texts.texts);
    }
    v1_request_free(&request.texts);
    return answer;
}
