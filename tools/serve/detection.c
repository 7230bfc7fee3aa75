#include "serve/detection.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "serve/detector.h"
#include "serve/q_field.h"
#include "shared/results.h"

enum { READ_BYTES = 1 << 16 /* only the beginning of the texts is examined */ };

/* Detects the languages of all texts together; returns the count. */
static int detect(struct detected_language out[DETECTOR_LANGUAGES], const json_t *texts)
{
    char *bytes = malloc(READ_BYTES);
    size_t size = 0;
    for (size_t i = 0; i < json_array_size(texts) && bytes != NULL; i++) {
        const json_t *text = json_array_get(texts, i);
        size_t length = json_string_length(text), room = READ_BYTES - 1 - size;
        length = length <= room ? length : clf__utf8_cut(json_string_value(text), room);
        memcpy(bytes + size, json_string_value(text), length);
        size += length;
        if (size + 1 < READ_BYTES) {
            bytes[size++] = '\n';
        }
    }
    for (size_t i = 0; i < size; i++) { /* CLD2 rejects text with control characters */
        bytes[i] = (unsigned char)bytes[i] < ' ' || bytes[i] == 127 ? ' ' : bytes[i];
    }
    int count = bytes != NULL ? detector_find(out, bytes, size) : 0;
    free(bytes);
    return count;
}

/* Finds a language detected by CLD2 among those of the models: by its code, an alternative code, or else a
 * variant. */
static const struct language *find_language(const struct routes *routes, const char *code)
{
    static const char *const others[][2] = {{"iw", "he"},           {"no", "nb"},      {"jw", "jv"},
                                            {"tl", "fil"},          {"zh", "zh-Hans"}, {"zh", "zh-Hant"},
                                            {"zh-Hant", "zh-Hans"}, {"pt", "pt-BR"}};
    const struct language *language = routes_get(routes, code);
    for (size_t i = 0; i < sizeof others / sizeof *others && language == NULL; i++) {
        language = strcmp(others[i][0], code) == 0 ? routes_get(routes, others[i][1]) : NULL;
    }
    return language;
}

/* Returns the models' code of a language, or else LibreTranslate's. */
static const char *shown_code(const struct routes *routes, const char *code)
{
    static const char *const others[][2] = {{"iw", "he"}, {"no", "nb"}, {"jw", "jv"}, {"zh", "zh-Hans"}};
    const struct language *language = find_language(routes, code);
    for (size_t i = 0; i < sizeof others / sizeof *others && language == NULL; i++) {
        code = strcmp(others[i][0], code) == 0 ? others[i][1] : code;
    }
    return language != NULL ? language->code : code;
}

struct answer detect_request(struct service *service, const struct fields *fields)
{
    struct answer answer = {.status = 200};
    struct detected_language found[DETECTOR_LANGUAGES];
    int is_array;
    if (!detector_exists()) {
        return endpoints_error(501, "This server was built without language detection");
    }
    if (!request_is_admitted(service, fields, &answer)) {
        return answer;
    }
    json_t *texts = q_field_read(&is_array, fields, &answer);
    if (texts == NULL) {
        return answer;
    }
    int count = detect(found, texts);
    json_t *list = count > 0 ? json_array() : json_pack("[{s:f, s:s}]", "confidence", 0.0, "language", "en");
    for (int i = 0; i < count && list != NULL; i++) {
        list = result_append(list, json_pack("{s:f, s:s}", "confidence", (double)found[i].percent, "language",
                                             shown_code(service->routes, found[i].code)));
    }
    answer.text = list != NULL ? json_dumps(list, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    answer.characters = q_field_characters(texts);
    json_decref(list);
    json_decref(texts);
    return answer;
}

const struct language *detection_source(double *confidence, const struct routes *routes, const json_t *texts,
                                        struct answer *answer)
{
    struct detected_language found[DETECTOR_LANGUAGES];
    const struct language *source = languages_only_source(routes_languages(routes));
    if (!detector_exists()) {
        *confidence = 100;
        if (source == NULL) {
            *answer = endpoints_error(400, "auto is not supported");
        }
        return source;
    }
    int count = detect(found, texts);
    for (int i = 0; i < count; i++) {
        const struct language *language = find_language(routes, found[i].code);
        if (language != NULL && language->is_source) {
            *confidence = found[i].percent;
            return language;
        }
    }
    *confidence = 0;
    if (count > 0) {
        *answer = endpoints_error(400, "The detected language (%s) is not available as a source language",
                                  shown_code(routes, found[0].code));
        return NULL;
    }
    source = source != NULL ? source : routes_get(routes, "en");
    if (source == NULL || !source->is_source) {
        *answer = endpoints_error(400, "The language of the text could not be detected; set source");
        return NULL;
    }
    return source;
}
