#include "train/state.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"

enum { MAX_STATE_BYTES = 1 << 26, MAX_STATE_VALUES = 1 << 21, EXACT_DIGITS = 17 };

/* Whole numbers of state.json and their fields. The bounds of int fields fit an int. */
#define NUMBER_LIST(X)                                                                                       \
    X(update, INT64_MAX)                                                                                     \
    X(epoch, INT_MAX)                                                                                        \
    X(batch, INT_MAX)                                                                                        \
    X(pass, INT64_MAX)                                                                                       \
    X(skipped, INT64_MAX)                                                                                    \
    X(skipped_in_a_row, INT64_MAX)                                                                           \
    X(pairs, INT_MAX)                                                                                        \
    X(lines, INT_MAX)

void clf__train_state_free(struct clf__train_state *state)
{
    clf__free(state->history);
    *state = (struct clf__train_state){0};
}

clf_status clf__train_state_add(struct clf__train_state *state, const struct clf__validated *validated)
{
    CLF__TRY(clf__resize(&state->history, (size_t)state->count + 1, sizeof *state->history));
    state->history[state->count++] = *validated;
    return CLF_OK;
}

const struct clf__validated *clf__train_state_find(const struct clf__train_state *state, int64_t update)
{
    for (int i = 0; i < state->count; i++) {
        if (state->history[i].update == update) {
            return &state->history[i];
        }
    }
    return NULL;
}

int clf__validated_is_by_bleu(const struct clf__validated *a, const struct clf__validated *b,
                              enum clf__best by)
{
    return by == CLF__BEST_BLEU && a->bleu >= 0 && b->bleu >= 0 && a->bleu != b->bleu;
}

int clf__validated_is_better(const struct clf__validated *a, const struct clf__validated *b,
                             enum clf__best by)
{
    return clf__validated_is_by_bleu(a, b, by) ? a->bleu > b->bleu : a->loss < b->loss;
}

const struct clf__validated *clf__train_state_best(const struct clf__train_state *state, enum clf__best by)
{
    const struct clf__validated *best = NULL;
    for (int i = 0; i < state->count; i++) {
        if (!best || clf__validated_is_better(&state->history[i], best, by)) {
            best = &state->history[i];
        }
    }
    return best;
}

/* JSON cannot represent infinity, a possible loss of a diverged model. */
static json_t *real(double number)
{
    return json_real(isfinite(number) ? number : DBL_MAX);
}

static json_t *history_of(const struct clf__train_state *state)
{
    json_t *history = json_array();
    for (int i = 0; i < state->count; i++) {
        const struct clf__validated *entry = &state->history[i];
        json_t *item = json_pack("{sI si so so so sb}", "update", (json_int_t)entry->update, "epoch",
                                 entry->epoch, "loss", real(entry->loss), "nll", real(entry->nll), "bleu",
                                 real(entry->bleu), "cut", entry->is_cut);
        if (json_array_append_new(history, item) != 0) {
            json_decref(history);
            return NULL;
        }
    }
    return history;
}

static int set_checksum(json_t *root, const char *key, const char *checksum)
{
    return checksum[0] != '\0' && json_object_set_new(root, key, json_string(checksum)) != 0;
}

clf_status clf__train_state_write(const struct clf__train_state *state, json_t *files, const char *path)
{
    json_t *root = json_object();
    int failed = root == NULL;
#define SET(field, most) failed |= json_object_set_new(root, #field, json_integer((json_int_t)state->field));
    NUMBER_LIST(SET)
#undef SET
    failed |= set_checksum(root, "train_checksum", state->train_checksum);
    failed |= set_checksum(root, "valid_checksum", state->valid_checksum);
    failed |= json_object_set_new(root, "history", history_of(state));
    failed |= json_object_set(root, "files", files);
    clf_status status = clf__json_write(path, failed ? NULL : root, JSON_REAL_PRECISION(EXACT_DIGITS));
    json_decref(root);
    return status;
}

static clf_status fail(const struct clf__json *json, const char *key)
{
    return clf__fail(CLF_FORMAT, "%s: \"%s\" is missing or damaged", json->path, key);
}

static clf_status read_number(int64_t *out, const struct clf__json *json, const char *key, int64_t most)
{
    const json_t *value = json_object_get(json->root, key);
    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= 0 && *out <= most ? CLF_OK : fail(json, key);
}

static clf_status read_history(struct clf__train_state *state, const struct clf__json *json)
{
    json_t *history = json_object_get(json->root, "history");
    if (!json_is_array(history)) {
        return fail(json, "history");
    }
    for (size_t i = 0; i < json_array_size(history); i++) {
        json_int_t update;
        int epoch;
        struct clf__validated entry = {.is_cut = 0};
        if (json_unpack(json_array_get(history, i), "{sI si sF sF sF s?b}", "update", &update, "epoch",
                        &epoch, "loss", &entry.loss, "nll", &entry.nll, "bleu", &entry.bleu, "cut",
                        &entry.is_cut) != 0) {
            return fail(json, "history");
        }
        entry.update = update;
        entry.epoch = epoch;
        CLF__TRY(clf__train_state_add(state, &entry));
    }
    return CLF_OK;
}

/* Versions without checksums did not write this key. */
static clf_status read_checksum(char out[CLF__CHECKSUM_TEXT], const struct clf__json *json, const char *key)
{
    const char *text = "";
    CLF__TRY(clf__json_string(json, key, &text));
    snprintf(out, CLF__CHECKSUM_TEXT, "%s", text);
    return strlen(text) < CLF__CHECKSUM_TEXT ? CLF_OK : fail(json, key);
}

static clf_status read_state(struct clf__train_state *state, const struct clf__json *json)
{
    int64_t number;
#define READ(field, most)                                                                                    \
    CLF__TRY(read_number(&number, json, #field, most));                                                      \
    state->field = number;
    NUMBER_LIST(READ)
#undef READ
    CLF__TRY(read_checksum(state->train_checksum, json, "train_checksum"));
    CLF__TRY(read_checksum(state->valid_checksum, json, "valid_checksum"));
    if (!json_is_object(json_object_get(json->root, "files"))) {
        return fail(json, "files");
    }
    return read_history(state, json);
}

clf_status clf__train_state_read(struct clf__train_state *out, json_t **files, const char *path)
{
    *out = (struct clf__train_state){0};
    *files = NULL;
    struct clf__json json;
    struct clf__json_limits limits = {MAX_STATE_BYTES, MAX_STATE_VALUES};
    CLF__TRY(clf__json_load(&json, path, limits));
    clf_status status = read_state(out, &json);
    if (status == CLF_OK) {
        *files = json_incref(json_object_get(json.root, "files"));
    } else {
        clf__train_state_free(out);
    }
    clf__json_free(&json);
    return status;
}
