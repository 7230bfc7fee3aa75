#include "shared/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "shared/command.h"

json_t *result_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *result_text(const char *text, size_t size)
{
    json_t *string = json_stringn(text, size);
    char *copy = string == NULL ? malloc(size + 1) : NULL;
    if (copy != NULL) {
        memcpy(copy, text, size);
        for (size_t i = 0; i < size; i++) {
            copy[i] = (unsigned char)copy[i] < 0x80 ? copy[i] : '?';
        }
        string = json_stringn(copy, size);
        free(copy);
    }
    return string;
}

json_t *result_append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0) { /* takes ownership of the value, even on failure */
        json_decref(array);
        return NULL;
    }
    return array;
}

json_t *result_ids(const int32_t *ids, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count; i++) {
        array = result_append(array, json_integer(ids[i]));
    }
    return array;
}

int result_add_missing(json_t *object, const struct clf_translation *translation)
{
    json_t *array = json_object_get(object, "missing_terms");
    int failed = 0;
    if (array == NULL && translation->missing_count > 0) {
        array = json_array();
        failed = json_object_set_new(object, "missing_terms", array) != 0;
    }
    for (int i = 0; i < translation->missing_count && !failed; i++) {
        const char *term = translation->missing_terms[i];
        failed = json_array_append_new(array, result_text(term, strlen(term))) != 0;
    }
    return !failed;
}

json_t *result_tokens(const struct clf_model *model, const int32_t *ids, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count; i++) {
        const char *token = clf_model_token(model, ids[i]);
        array = result_append(array, result_text(token, strlen(token)));
    }
    return array;
}

json_t *result_remarks(json_t *object, int cut_from, const char *problem)
{
    int failed = object == NULL;
    failed |= !failed && cut_from > 0 && json_object_set_new(object, "cut_from", json_integer(cut_from)) != 0;
    if (problem != NULL && !failed) {
        failed = json_object_set_new(object, "error", result_text(problem, strlen(problem))) != 0;
    }
    if (failed) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* Returns an array with the aligned source token, or null, for each id. */
static json_t *alignment_array(const struct clf_hypothesis *hypothesis)
{
    json_t *array = json_array();
    for (int i = 0; i < hypothesis->count; i++) {
        int source = hypothesis->alignment[i];
        array = result_append(array, source >= 0 ? json_integer(source) : json_null());
    }
    return array;
}

static json_t *hypothesis_object(const struct clf_model *model, const struct clf_hypothesis *hypothesis)
{
    json_t *object = json_pack(
        "{s:o, s:o, s:o, s:o, s:o}", "text", result_text(hypothesis->text, strlen(hypothesis->text)),
        "tokens", result_tokens(model, hypothesis->ids, hypothesis->count), "ids",
        result_ids(hypothesis->ids, hypothesis->count), "score", result_number((double)hypothesis->score),
        "log_probability", result_number(hypothesis->log_probability));
    if (object != NULL && hypothesis->alignment != NULL &&
        json_object_set_new(object, "alignment", alignment_array(hypothesis)) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *n_best_array(const struct clf_model *model, const struct clf_translation *translation)
{
    json_t *all = json_array();
    for (int i = 0; i < translation->count; i++) {
        all = result_append(all, hypothesis_object(model, &translation->hypotheses[i]));
    }
    return all;
}

json_t *result_sentence(const struct clf_sentence *sentence)
{
    return json_pack("{s:o, s:o}", "source", result_text(sentence->source, sentence->source_size), "text",
                     result_text(sentence->text, strlen(sentence->text)));
}

json_t *result_translation(const struct clf_model *model, const struct clf_translation *translation,
                           int has_n_best, const json_t *sentences)
{
    json_t *object = translation->count > 0 ? hypothesis_object(model, &translation->hypotheses[0])
                                            : json_pack("{s:s, s:[], s:[], s:n, s:n}", "text", "", "tokens",
                                                        "ids", "score", "log_probability");
    int failed = object == NULL;
    if (!failed && has_n_best) {
        failed = json_object_set_new(object, "n_best", n_best_array(model, translation)) != 0;
    }
    if (!failed && sentences != NULL) {
        failed = json_object_set(object, "sentences", (json_t *)sentences) != 0;
    }
    failed = failed || !result_add_missing(object, translation);
    if (failed) {
        json_decref(object);
        object = NULL;
    }
    return result_remarks(object, translation->cut_from,
                          translation->status != CLF_OK ? translation->problem : NULL);
}

static json_t *words_array(const struct clf_word *words, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count; i++) {
        const struct clf_word *word = &words[i];
        array = result_append(array, json_pack("{s:o, s:o, s:o, s:o}", "word",
                                               result_text(word->text, strlen(word->text)), "start",
                                               result_number(word->start), "end", result_number(word->end),
                                               "probability", result_number(word->probability)));
    }
    return array;
}

json_t *result_live_event(const struct clf_live_event *event)
{
    static const char *const kinds[] = {
        [CLF_LIVE_WORDS] = "words", [CLF_LIVE_SEGMENT] = "segment", [CLF_LIVE_UNSTABLE] = "unstable"};
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:s, s:o}", "type", kinds[event->kind], "start",
                     result_number(event->start), "end", result_number(event->end), "text",
                     result_text(event->text, strlen(event->text)), "words",
                     words_array(event->words, event->word_count), "language", event->language, "received",
                     result_number(event->received));
}

clf_status result_write(FILE *file, json_t *object)
{
    if (object == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for a result as JSON");
    }
    json_dumpf(object, file, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putc('\n', file);
    json_decref(object);
    return CLF_OK;
}

int result_print(json_t *object)
{
    clf_status status = result_write(stdout, object);
    return status == CLF_OK ? EXIT_DONE : report_failure(status);
}
