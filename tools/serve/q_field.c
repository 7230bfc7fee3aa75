#include "serve/q_field.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "base/utf8.h"
#include "serve/texts.h"

enum { SHOWN_BYTES = 64 };

int field_is_empty(const json_t *value)
{
    return value == NULL || json_is_null(value) ||
           (json_is_string(value) && json_string_length(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0);
}

int field_is_text(const struct fields *fields, const char *name, struct answer *answer)
{
    const json_t *value = json_object_get(fields->object, name);
    if (field_is_empty(value)) {
        *answer = endpoints_error(400, "Invalid request: missing %s parameter", name);
        return 0;
    }
    if (!json_is_string(value)) {
        *answer = endpoints_error(400, "Invalid request: %s parameter is not a string", name);
        return 0;
    }
    return 1;
}

size_t field_shown_size(const char *word)
{
    size_t size = strlen(word);
    return size < SHOWN_BYTES ? size : clf__utf8_cut(word, SHOWN_BYTES);
}

struct answer field_refuse_code(const char *code)
{
    char lower[SHOWN_BYTES];
    size_t size = field_shown_size(code);
    for (size_t i = 0; i < size; i++) {
        lower[i] = (char)tolower((unsigned char)code[i]);
    }
    return endpoints_error(400, "%.*s is not supported", (int)size, lower);
}

enum client_verdict request_admit(int *limit, const struct service *service, const struct fields *fields)
{
    const json_t *q = json_object_get(fields->object, "q");
    size_t texts = json_array_size(q != NULL ? q : json_object_get(fields->object, "text"));
    int cost = texts == 0 ? 1 : texts < INT_MAX ? (int)texts : INT_MAX;
    return clients_admit(limit, service->clients, fields->key, fields->address, cost);
}

int request_is_admitted(const struct service *service, const struct fields *fields, struct answer *answer)
{
    int limit = 0;
    switch (request_admit(&limit, service, fields)) {
    case CLIENT_IS_ADMITTED:
        return 1;
    case CLIENT_HAS_WRONG_KEY:
        *answer = endpoints_error(403, "Invalid API key");
        break;
    case CLIENT_LACKS_KEY:
        *answer = endpoints_error(400, "Please contact the server operator to get an API key");
        break;
    case CLIENT_IS_TOO_FAST:
        *answer = endpoints_error(429, "Slowdown: %d per 1 minute", limit);
        break;
    }
    return 0;
}

int texts_are_admitted(const json_t *array, int is_array, const struct service *service,
                       struct answer *answer)
{
    size_t texts = json_array_size(array), longest = 0, lines = texts_count_lines(array);
    size_t most_texts = (size_t)service->limits.texts, most_characters = (size_t)service->limits.characters;
    for (size_t i = 0; i < texts; i++) {
        const json_t *text = json_array_get(array, i);
        size_t characters = clf__utf8_count(json_string_value(text), json_string_length(text));
        longest = characters > longest ? characters : longest;
    }
    if (most_texts > 0 && is_array && texts > most_texts) {
        *answer = endpoints_error(400, "Invalid request: request (%zu) exceeds text limit (%zu)", texts,
                                  most_texts);
    } else if (most_characters > 0 && longest > most_characters) {
        *answer = endpoints_error(400, "Invalid request: request (%zu) exceeds text limit (%zu)", longest,
                                  most_characters);
    } else if (lines > TEXTS_MOST_LINES) {
        *answer = endpoints_error(400, "Invalid request: request (%zu lines) exceeds line limit (%d)", lines,
                                  TEXTS_MOST_LINES);
    } else {
        return 1;
    }
    return 0;
}

json_t *q_field_read(int *is_array, const struct fields *fields, struct answer *answer)
{
    const json_t *q = json_object_get(fields->object, "q");
    *is_array = json_is_array(q);
    if (field_is_empty(q)) {
        *answer = endpoints_error(400, "Invalid request: missing q parameter");
        return NULL;
    }
    json_t *array = *is_array ? json_copy((json_t *)q) : json_pack("[O]", q);
    if (array == NULL) {
        *answer = endpoints_error(500, "out of memory");
    }
    for (size_t i = 0; i < json_array_size(array); i++) {
        if (!json_is_string(json_array_get(array, i))) {
            *answer =
                endpoints_error(400, "Invalid request: q parameter is not a string or an array of strings");
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

size_t q_field_characters(const json_t *array)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *text = json_array_get(array, i);
        count += clf__utf8_count(json_string_value(text), json_string_length(text));
    }
    return count;
}
