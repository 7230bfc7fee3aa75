#include "serve/texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "serve/marked_texts.h"
#include "shared/results.h"
#include "text/sentences/sentences.h"

/* Requests with more lines are bulk work, so that they do not delay interactive requests. */
enum { MOST_INTERACTIVE_LINES = 32 };

/* A line of a text and the bytes of its line break: 0 to 2. */
struct text_line {
    struct clf_line line;
    size_t break_size;
};

/* Takes the next line of a text; returns 0 at the end. */
static int next_line(struct text_line *out, struct clf_line *rest)
{
    const char *start = rest->text, *end = memchr(start, '\n', rest->size);
    size_t size = end != NULL ? (size_t)(end - start) : rest->size, break_size = end != NULL;
    if (size > 0 && end != NULL && start[size - 1] == '\r') {
        size--;
        break_size++;
    }
    *out = (struct text_line){{start, size}, break_size};
    *rest = (struct clf_line){start + size + break_size, rest->size - size - break_size};
    return size + break_size > 0;
}

static struct clf_line bytes_of(const json_t *text)
{
    return (struct clf_line){json_string_value(text), json_string_length(text)};
}

size_t texts_count_lines(const json_t *array)
{
    size_t count = 0, index;
    const json_t *text;
    struct text_line found;
    json_array_foreach((json_t *)array, index, text)
    {
        for (struct clf_line rest = bytes_of(text); next_line(&found, &rest);) {
            count += found.line.size > 0;
        }
    }
    return count;
}

int64_t texts_estimate_tokens(const json_t *array)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        bytes += (int64_t)json_string_length(json_array_get(array, i));
    }
    return bytes / 3 + (int64_t)json_array_size(array);
}

int *texts_line_owners(const json_t *array)
{
    int *owners = calloc(texts_count_lines(array) + 1, sizeof *owners), *next = owners;
    struct text_line found;
    for (size_t i = 0; i < json_array_size(array) && owners != NULL; i++) {
        for (struct clf_line rest = bytes_of(json_array_get(array, i)); next_line(&found, &rest);) {
            if (found.line.size > 0) {
                *next++ = (int)i;
            }
        }
    }
    return owners;
}

static void take_lines(struct clf_line *lines, const json_t *array)
{
    size_t index;
    const json_t *text;
    struct text_line found;
    json_array_foreach((json_t *)array, index, text)
    {
        for (struct clf_line rest = bytes_of(text); next_line(&found, &rest);) {
            if (found.line.size > 0) {
                *lines++ = found.line;
            }
        }
    }
}

/* Joins the translations of a text's lines; *next is the translation of its first line. */
static json_t *join(struct clf_line text, const struct clf_translation **next)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&bytes, &size);
    struct text_line found;
    if (file == NULL) {
        return NULL;
    }
    while (next_line(&found, &text)) {
        const struct clf_translation *translation = found.line.size > 0 ? (*next)++ : NULL;
        if (translation != NULL && translation->count > 0) {
            fputs(translation->hypotheses[0].text, file);
        } else {
            fwrite(found.line.text, 1, found.line.size, file);
        }
        fwrite(found.line.text + found.line.size, 1, found.break_size, file);
    }
    int failed = ferror(file);
    json_t *joined = fclose(file) == 0 && !failed ? result_text(bytes, size) : NULL;
    free(bytes);
    return joined;
}

/* Calls clf_translate(); also fails if a line cannot be translated. */
static clf_status translate_lines(struct clf_translation **out, struct clf_translator *translator,
                                  const struct clf_line *lines, int count)
{
    *out = NULL;
    clf_status status = clf_translate(out, translator, lines, count);
    for (int i = 0; i < count && status == CLF_OK; i++) {
        const struct clf_translation *translation = &(*out)[i];
        if (translation->status != CLF_OK) {
            status = clf__fail(CLF_TEXT, "%s", translation->problem != NULL ? translation->problem : "");
        }
    }
    if (status != CLF_OK) {
        clf_translations_free(*out, count);
        *out = NULL;
    }
    return status;
}

static clf_status no_memory(void)
{
    return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the texts of a request");
}

clf_status texts_translate_by(json_t **out, const json_t *array, struct clf_translator *translator)
{
    size_t count = texts_count_lines(array);
    struct clf_line *lines = calloc(count + 1, sizeof *lines);
    struct clf_translation *translations = NULL;
    *out = NULL;
    if (lines == NULL) {
        return no_memory();
    }
    take_lines(lines, array);
    clf_status status = translate_lines(&translations, translator, lines, (int)count);
    json_t *result = status == CLF_OK ? json_array() : NULL;
    const struct clf_translation *next = translations;
    for (size_t i = 0; i < json_array_size(array) && result != NULL; i++) {
        result = result_append(result, join(bytes_of(json_array_get(array, i)), &next));
    }
    clf_translations_free(translations, (int)count);
    free(lines);
    *out = result;
    return status == CLF_OK && result == NULL ? no_memory() : status;
}

clf_priority texts_priority(const json_t *array)
{
    return texts_count_lines(array) > MOST_INTERACTIVE_LINES ? CLF_PRIORITY_BULK : CLF_PRIORITY_INTERACTIVE;
}

static clf_status translate_plain(json_t **out, const json_t *array, const struct hop *hop)
{
    struct clf_translator *translator;
    const struct pool_key key = {hop->source, hop->target, 0, texts_priority(array)};
    *out = NULL;
    CLF__TRY(pool_acquire(&translator, hop->model->pool, &key));
    clf_status status = texts_translate_by(out, array, translator);
    pool_release(hop->model->pool, translator);
    return status;
}

/* Returns the texts with elements (1), or the others (0). */
static json_t *select_texts(const json_t *array, const struct marks *marks, int has_elements)
{
    json_t *selected = json_array();
    for (size_t i = 0; i < json_array_size(array) && selected != NULL; i++) {
        if ((marks->texts[i].count > 0) == has_elements) {
            selected = result_append(selected, json_incref(json_array_get(array, i)));
        }
    }
    return selected;
}

/* Returns the two selections in the order of the texts. */
static json_t *merge_texts(const struct marks *marks, const json_t *with_elements, const json_t *others)
{
    json_t *merged = json_array();
    size_t next[2] = {0, 0};
    for (size_t i = 0; i < marks->count && merged != NULL; i++) {
        int has_elements = marks->texts[i].count > 0;
        const json_t *from = has_elements ? with_elements : others;
        merged = result_append(merged, json_incref(json_array_get(from, next[has_elements]++)));
    }
    return merged;
}

/* Translates texts with an alignment if they have elements, which are moved to their translations. */
static clf_status translate_marked(json_t **out, const json_t *array, const struct hop *hop,
                                   struct marks *marks)
{
    json_t *plain = select_texts(array, marks, 0), *marked = select_texts(array, marks, 1);
    json_t *plain_out = NULL, *marked_out = NULL;
    clf_status status = plain != NULL && marked != NULL ? CLF_OK : no_memory();
    if (status == CLF_OK) {
        status = translate_plain(&plain_out, plain, hop);
    }
    if (status == CLF_OK) {
        status = marked_texts_translate(&marked_out, marked, hop, marks);
    }
    *out = status == CLF_OK ? merge_texts(marks, marked_out, plain_out) : NULL;
    json_decref(plain);
    json_decref(marked);
    json_decref(plain_out);
    json_decref(marked_out);
    return status == CLF_OK && *out == NULL ? no_memory() : status;
}

static int have_elements(const struct marks *marks)
{
    int count = 0;
    for (size_t i = 0; marks != NULL && i < marks->count; i++) {
        count |= marks->texts[i].count;
    }
    return count != 0;
}

static clf_status translate_hop(json_t **out, const json_t *array, const struct hop *hop, struct marks *marks)
{
    return have_elements(marks) ? translate_marked(out, array, hop, marks) : translate_plain(out, array, hop);
}

clf_status texts_translate(json_t **out, json_t **before, const struct texts *texts)
{
    json_t *current = json_incref((json_t *)texts->array), *last = json_incref(current);
    clf_status status = CLF_OK;
    for (int i = 0; i < texts->route->count && status == CLF_OK; i++) {
        json_decref(last);
        last = current;
        current = NULL;
        status = translate_hop(&current, last, &texts->route->hops[i], texts->marks);
    }
    if (before != NULL) {
        *before = json_incref(last);
    }
    json_decref(last);
    *out = current;
    return status;
}

static int is_one_sentence(const json_t *text)
{
    const char *bytes = json_string_value(text);
    size_t size = json_string_length(text);
    return size > 0 && strchr(bytes, '\n') == NULL && !clf__sentences_are_several(bytes, size);
}

/* Returns the hypotheses that differ from the best translation and from each other. */
static json_t *list_alternatives(const struct clf_translation *translation, int wanted, const json_t *best)
{
    json_t *list = json_array();
    for (int i = 0; i < translation->count && list != NULL; i++) {
        const char *text = translation->hypotheses[i].text;
        int is_known = strcmp(json_string_value(best), text) == 0 || json_array_size(list) == (size_t)wanted;
        for (int j = 0; j < i; j++) {
            is_known |= strcmp(translation->hypotheses[j].text, text) == 0;
        }
        list = is_known ? list : result_append(list, result_text(text, strlen(text)));
    }
    return list;
}

clf_status texts_alternatives(json_t **out, const json_t *before, const struct hop *hop, int wanted,
                              const json_t *best)
{
    size_t all = json_array_size(before);
    int count = 0;
    struct clf_line *lines = calloc(all + 1, sizeof *lines);
    struct clf_translation *translations = NULL;
    *out = NULL;
    if (lines == NULL) {
        return no_memory();
    }
    for (size_t i = 0; i < all; i++) {
        const json_t *text = json_array_get(before, i);
        if (is_one_sentence(text)) {
            lines[count++] = (struct clf_line){json_string_value(text), json_string_length(text)};
        }
    }
    struct clf_translator *translator = NULL;
    const struct pool_key key = {hop->source, hop->target, wanted, CLF_PRIORITY_INTERACTIVE};
    clf_status status = pool_acquire(&translator, hop->model->pool, &key);
    if (status == CLF_OK) {
        status = translate_lines(&translations, translator, lines, count);
        pool_release(hop->model->pool, translator);
    }
    if (status == CLF_BAD_ARGUMENT || status == CLF_TEXT) { /* the model or a line has no alternatives */
        status = CLF_OK;
    }
    json_t *result = status == CLF_OK ? json_array() : NULL;
    const struct clf_translation *next = translations;
    for (size_t i = 0; i < all && result != NULL; i++) {
        int has_any = next != NULL && is_one_sentence(json_array_get(before, i));
        result = result_append(result, has_any ? list_alternatives(next++, wanted, json_array_get(best, i))
                                               : json_array());
    }
    clf_translations_free(translations, count);
    free(lines);
    *out = result;
    return status == CLF_OK && result == NULL ? no_memory() : status;
}
