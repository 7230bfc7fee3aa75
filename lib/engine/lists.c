#include "engine/lists.h"

#include <limits.h>

#include "base/memory.h"
#include "text/tokenizers/tokenizer.h"

static clf_status add_ids(struct clf__ids *ids, const int32_t *added, int count)
{
    for (int i = 0; i < count; i++) {
        CLF__TRY(clf__ids_append(ids, added[i]));
    }
    return CLF_OK;
}

/* Takes the array of a list, or frees it if the list failed. */
static clf_status take(clf_status status, const int32_t **out, struct clf__ids *ids)
{
    if (status != CLF_OK) {
        clf__ids_free(ids);
        return status;
    }
    *out = ids->data;
    return CLF_OK;
}

/* Joins the suppressed ids: those without a token, the model's own, and the caller's. */
static clf_status join_suppressed(struct clf__settings *settings, const struct clf__search_options *own)
{
    const struct clf_translate_options *options = &settings->options;
    struct clf__ids ids = {.count = 0};
    size_t own_count = (size_t)own->suppressed_count, more = (size_t)options->suppressed_count;
    if (own_count + more > INT_MAX) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "suppressed ids: %zu in addition to the model's own %zu are too many; pass fewer",
                         more, own_count);
    }
    clf_status status = clf__tokenizer_spare(settings->model->tokenizer, &ids);
    if (status == CLF_OK) {
        status = add_ids(&ids, own->suppressed, own->suppressed_count);
    }
    if (status == CLF_OK) {
        status = add_ids(&ids, options->suppressed, options->suppressed_count);
    }
    settings->search.suppressed_count = ids.count;
    return take(status, &settings->search.suppressed, &ids);
}

static clf_status check_sequences(const struct clf_translate_options *options)
{
    int count = options->banned_count;
    if (count < 0 || (count > 0 && (options->banned_ids == NULL || options->banned_offsets == NULL))) {
        return clf__fail(CLF_BAD_ARGUMENT, "banned_count: is %d, %s", count,
                         count < 0 ? "but cannot be negative" : "but banned_ids or banned_offsets is NULL");
    }
    for (int i = 0; i < count; i++) {
        int32_t first = options->banned_offsets[i], last = options->banned_offsets[i + 1];
        if (first < 0 || last <= first || (i == 0 && first != 0)) {
            return clf__fail(
                CLF_BAD_ARGUMENT,
                "banned_offsets: sequence %d is [%d, %d); each must have one id or more, and the "
                "first begins at 0",
                i, (int)first, (int)last);
        }
    }
    return CLF_OK;
}

/* Joins the banned sequences: the model's own, then the caller's. */
static clf_status join_sequences(struct clf__settings *settings, const struct clf__search_options *own)
{
    const struct clf_translate_options *options = &settings->options;
    struct clf__ids ids = {.count = 0}, offsets = {.count = 0};
    int more = options->banned_count;
    if (more == 0) {
        return CLF_OK; /* the model's lists stay */
    }
    int32_t before = own->bad_word_count > 0 ? own->bad_word_offsets[own->bad_word_count] : 0;
    clf_status status = clf__ids_append(&offsets, 0);
    for (int i = 1; status == CLF_OK && i <= own->bad_word_count; i++) {
        status = clf__ids_append(&offsets, own->bad_word_offsets[i]);
    }
    for (int i = 1; status == CLF_OK && i <= more; i++) {
        status = clf__ids_append(&offsets, before + options->banned_offsets[i]);
    }
    if (status == CLF_OK) {
        status = add_ids(&ids, own->bad_words, before);
    }
    if (status == CLF_OK) {
        status = add_ids(&ids, options->banned_ids, options->banned_offsets[more]);
    }
    if (status != CLF_OK) {
        clf__ids_free(&ids);
        clf__ids_free(&offsets);
        return status;
    }
    settings->owns_sequences = 1;
    settings->search.bad_word_count = own->bad_word_count + more;
    settings->search.bad_words = ids.data;
    settings->search.bad_word_offsets = offsets.data;
    return CLF_OK;
}

/* Replaces the model's end ids by the caller's, if there are any. */
static clf_status replace_ends(struct clf__settings *settings)
{
    const struct clf_translate_options *options = &settings->options;
    struct clf__search_options *search = &settings->search;
    struct clf__ids others = {.count = 0};
    int count = options->end_count;
    if (count < 0 || (count > 0 && options->end_ids == NULL)) {
        return clf__fail(CLF_BAD_ARGUMENT, "end_count: is %d, %s", count,
                         count < 0 ? "but cannot be negative" : "but end_ids is NULL");
    }
    if (count == 0) {
        return CLF_OK;
    }
    search->end_id = options->end_ids[0];
    search->other_end_count = count - 1;
    search->other_end_ids = NULL;
    settings->owns_ends = 1;
    return take(add_ids(&others, options->end_ids + 1, count - 1), &search->other_end_ids, &others);
}

clf_status clf__lists_join(struct clf__settings *settings, const struct clf__search_options *own)
{
    settings->search.suppressed = NULL;
    CLF__TRY(check_sequences(&settings->options));
    CLF__TRY(join_suppressed(settings, own));
    CLF__TRY(join_sequences(settings, own));
    return replace_ends(settings);
}

void clf__lists_free(struct clf__settings *settings)
{
    struct clf__search_options *search = &settings->search;
    clf__free((void *)search->suppressed);
    if (settings->owns_sequences) {
        clf__free((void *)search->bad_words);
        clf__free((void *)search->bad_word_offsets);
    }
    if (settings->owns_ends) {
        clf__free((void *)search->other_end_ids);
    }
}
