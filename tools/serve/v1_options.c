#include "serve/v1_options.h"

#include <math.h>
#include <string.h>

#include "base/suggest.h"
#include "serve/detection.h"
#include "serve/q_field.h"
#include "serve/texts.h"

/* More beams or samples would need more device memory than a client should be able to claim. */
enum { MOST_BEAMS = 16, MOST_LENGTH = 1 << 20 };

enum kind { WHOLE, NUMBER, SWITCH };

/* Fields that set a search option. */
static const struct option {
    const char *name;
    enum kind kind;
    size_t offset; /* in struct clf_translate_options */
    double low, high;
} search_options[] = {
#define OPTION(name) offsetof(struct clf_translate_options, name)
    {"beam", WHOLE, OPTION(beam), 1, MOST_BEAMS},
    {"n_best", WHOLE, OPTION(n_best), 1, MOST_BEAMS},
    {"alternatives", WHOLE, OPTION(alternatives), 0, MOST_BEAMS},
    {"min_length", WHOLE, OPTION(min_length), 0, MOST_LENGTH},
    {"max_length", WHOLE, OPTION(max_length), 1, MOST_LENGTH},
    {"length_penalty", NUMBER, OPTION(length_penalty), -100, 100},
    {"patience", NUMBER, OPTION(patience), 0.01, 8},
    {"no_repeat_ngram_size", WHOLE, OPTION(no_repeat_ngram_size), 0, MOST_LENGTH},
    {"repetition_penalty", NUMBER, OPTION(repetition_penalty), 1e-3, 1e3},
    {"sample", SWITCH, OPTION(sample), 0, 1},
    {"temperature", NUMBER, OPTION(temperature), 1e-3, 1e3},
    {"top_k", WHOLE, OPTION(top_k), 0, MOST_LENGTH},
    {"top_p", NUMBER, OPTION(top_p), 0, 1},
    {"min_p", NUMBER, OPTION(min_p), 0, 1},
    {"replace_unknown", SWITCH, OPTION(replace_unknown), 0, 1},
    {"bulk", SWITCH, OPTION(priority), 0, 1},
    {"alignment_layer", WHOLE, OPTION(alignment_layer), 0, MOST_LENGTH},
#undef OPTION
};
enum { SEARCH_OPTIONS = sizeof search_options / sizeof *search_options };

static const char *const other_fields[] = {"text", "source", "target",   "prefix", "sentences",
                                           "seed", "stream", "glossary", "api_key"};
enum { OTHER_FIELDS = sizeof other_fields / sizeof *other_fields };

static int refuse_unknown(const char *name, struct answer *answer)
{
    struct clf__suggestion nearest = clf__suggest_begin(name, (int)strlen(name));
    for (int i = 0; i < SEARCH_OPTIONS; i++) {
        clf__suggest_try(&nearest, search_options[i].name);
    }
    for (int i = 0; i < OTHER_FIELDS; i++) {
        clf__suggest_try(&nearest, other_fields[i]);
    }
    *answer = nearest.best != NULL
                  ? endpoints_error(400, "%.64s: unknown field; did you mean %s?", name, nearest.best)
                  : endpoints_error(400, "%.64s: unknown field; /openapi.json lists the fields", name);
    return 0;
}

static int set_option(struct clf_translate_options *options, const struct option *option, const json_t *value,
                      struct answer *answer)
{
    char *field = (char *)options + option->offset;
    double number = json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
    int has_type = option->kind == SWITCH  ? json_is_boolean(value)
                   : option->kind == WHOLE ? json_is_number(value) && floor(number) == number
                                           : json_is_number(value);
    if (!has_type || !(number >= option->low && number <= option->high)) {
        static const char *const words[] = {"an integer", "a number", "true or false"};
        *answer = option->kind == SWITCH
                      ? endpoints_error(400, "%s: must be %s", option->name, words[option->kind])
                      : endpoints_error(400, "%s: must be %s from %g to %g", option->name,
                                        words[option->kind], option->low, option->high);
        return 0;
    }
    if (option->kind == NUMBER) {
        memcpy(field, &number, sizeof number);
    } else {
        int whole = (int)number;
        memcpy(field, &whole, sizeof whole);
    }
    return 1;
}

int v1_key_check(const struct fields *fields, struct answer *answer)
{
    const json_t *key = json_object_get(fields->object, "api_key");
    if (key != NULL && !json_is_null(key) && !json_is_string(key)) {
        *answer = endpoints_error(400, "api_key: must be a string");
        return 0;
    }
    return 1;
}

/* Sets the search options, and refuses unknown fields. */
static int read_options(struct v1_request *request, const struct fields *fields, struct answer *answer)
{
    const char *name;
    json_t *value;
    json_object_foreach(fields->object, name, value)
    {
        int i = 0, j = 0;
        while (i < SEARCH_OPTIONS && strcmp(search_options[i].name, name) != 0) {
            i++;
        }
        while (j < OTHER_FIELDS && strcmp(other_fields[j], name) != 0) {
            j++;
        }
        if (i == SEARCH_OPTIONS && j == OTHER_FIELDS) {
            return refuse_unknown(name, answer);
        }
        if (i < SEARCH_OPTIONS && !json_is_null(value) &&
            !set_option(&request->options, &search_options[i], value, answer)) {
            return 0;
        }
    }
    const json_t *seed = json_object_get(fields->object, "seed");
    if (seed != NULL && !json_is_null(seed) && !(json_is_integer(seed) && json_integer_value(seed) >= 0)) {
        *answer = endpoints_error(400, "seed: must be a non-negative integer");
        return 0;
    }
    request->options.seed = (uint64_t)json_integer_value(seed);
    return v1_key_check(fields, answer);
}

/* Returns a new array of the strings of a field; NULL after setting the answer. */
static json_t *read_strings(int *is_array, const struct fields *fields, const char *name,
                            struct answer *answer)
{
    json_t *value = json_object_get(fields->object, name);
    *is_array = json_is_array(value);
    json_t *array = *is_array ? json_copy(value) : json_pack("[O]", value);
    for (size_t i = 0; array == NULL || i < json_array_size(array); i++) {
        if (array == NULL || !json_is_string(json_array_get(array, i))) {
            *answer = endpoints_error(400, "%s: must be a string or an array of strings", name);
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static int read_texts(struct v1_request *request, const struct fields *fields, struct answer *answer)
{
    const json_t *prefix = json_object_get(fields->object, "prefix");
    int is_array = 0;
    request->texts = read_strings(&request->is_array, fields, "text", answer);
    if (request->texts == NULL) {
        return 0;
    }
    if (prefix != NULL && !json_is_null(prefix)) {
        request->prefixes = read_strings(&is_array, fields, "prefix", answer);
        if (request->prefixes == NULL) {
            return 0;
        }
        if (is_array != request->is_array ||
            json_array_size(request->prefixes) != json_array_size(request->texts)) {
            *answer = endpoints_error(400, "prefix: must be a string or an array like text");
            return 0;
        }
    }
    return 1;
}

static int read_glossary(struct v1_request *request, const struct service *service,
                         const struct fields *fields, struct answer *answer)
{
    const json_t *value = json_object_get(fields->object, "glossary");
    const char *name = json_string_value(value);
    if (value == NULL || json_is_null(value)) {
        return 1;
    }
    request->options.glossary = name != NULL ? glossaries_find(&service->glossaries, name) : NULL;
    if (request->options.glossary == NULL) {
        *answer = name == NULL
                      ? endpoints_error(400, "glossary: must be the name of a glossary")
                      : endpoints_error(400, "glossary: %.64s is not a glossary of this server", name);
        return 0;
    }
    return 1;
}

/* Reads "sentences"; the default is 1 unless another field requires whole texts. */
static int read_sentences(struct v1_request *request, const struct fields *fields, struct answer *answer)
{
    const json_t *value = json_object_get(fields->object, "sentences");
    const struct clf_translate_options *options = &request->options;
    const char *whole = options->n_best > 1            ? "n_best"
                        : options->alternatives > 0    ? "alternatives"
                        : options->alignment_layer > 0 ? "alignment_layer"
                        : request->prefixes != NULL    ? "prefix"
                                                       : NULL;
    request->sentences = value != NULL && !json_is_null(value) ? json_is_true(value) : whole == NULL;
    if (value != NULL && !json_is_null(value) && !json_is_boolean(value)) {
        *answer = endpoints_error(400, "sentences: must be true or false");
    } else if (request->sentences && whole != NULL) {
        *answer = endpoints_error(400, "%s: requires whole texts; set sentences to false", whole);
    } else {
        request->options.split_sentences = request->sentences;
        return 1;
    }
    return 0;
}

static int read_stream(struct v1_request *request, const struct fields *fields, struct answer *answer)
{
    const json_t *value = json_object_get(fields->object, "stream");
    request->is_streamed = json_is_true(value);
    if (value != NULL && !json_is_null(value) && !json_is_boolean(value)) {
        *answer = endpoints_error(400, "stream: must be true or false");
    } else if (request->is_streamed && request->is_array) {
        *answer = endpoints_error(400, "stream: requires a single text");
    } else {
        return 1;
    }
    return 0;
}

static const struct language *read_language(const struct service *service, const struct fields *fields,
                                            const char *name, struct answer *answer)
{
    const json_t *value = json_object_get(fields->object, name);
    if (!json_is_string(value)) {
        *answer = endpoints_error(400, "%s: must be a language code; GET /languages lists them", name);
        return NULL;
    }
    const struct language *language = routes_get(service->routes, json_string_value(value));
    if (language == NULL) {
        *answer =
            endpoints_error(400, "%s: %.64s is not a language of this server; GET /languages lists them",
                            name, json_string_value(value));
    }
    return language;
}

int v1_languages_read(struct v1_request *out, const struct service *service, const struct fields *fields,
                      struct answer *answer)
{
    const char *source = json_string_value(json_object_get(fields->object, "source"));
    out->confidence = NAN;
    out->source = source != NULL && strcmp(source, "auto") == 0
                      ? detection_source(&out->confidence, service->routes, out->texts, answer)
                      : read_language(service, fields, "source", answer);
    out->target = out->source != NULL ? read_language(service, fields, "target", answer) : NULL;
    if (out->target == NULL) {
        return 0;
    }
    if (!routes_find(&out->route, service->routes, out->source, out->target) || out->route.count == 0) {
        *answer = endpoints_error(400, "target: no model translates %s (%s) to %s (%s)", out->source->name,
                                  out->source->code, out->target->name, out->target->code);
        return 0;
    }
    return 1;
}

int v1_request_read(struct v1_request *out, struct service *service, const struct fields *fields,
                    struct answer *answer)
{
    *out = (struct v1_request){.texts = NULL};
    if (!read_texts(out, fields, answer) || !texts_are_admitted(out->texts, out->is_array, service, answer) ||
        !v1_languages_read(out, service, fields, answer)) {
        return 0;
    }
    const struct hop *last = &out->route.hops[out->route.count - 1];
    out->options = last->model->flags.translate;
    out->options.source_language = last->source->model_code;
    out->options.target_language = last->target->model_code;
    if (!read_options(out, fields, answer)) {
        return 0;
    }
    int wanted = out->options.n_best;
    const json_t *beam = json_object_get(fields->object, "beam");
    if ((beam == NULL || json_is_null(beam)) && out->options.beam < wanted && !out->options.sample) {
        out->options.beam = wanted;
    }
    return read_glossary(out, service, fields, answer) && read_sentences(out, fields, answer) &&
           read_stream(out, fields, answer);
}

void v1_request_free(struct v1_request *request)
{
    json_decref(request->texts);
    json_decref(request->prefixes);
}
