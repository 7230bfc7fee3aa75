#include <math.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/log.h"
#include "base/memory.h"
#include "model/aliases.h"
#include "model/config/architectures/architecture.h"
#include "model/formats/format.h"
#include "model/parameters.h"
#include "model/tree.h"

/* A parameter and its stored tensor. */
struct entry {
    const struct clf__parameter *parameter;
    const struct clf__stored_tensor *stored; /* NULL: zeros */
};

struct clf__parameters {
    struct clf__weights *weights;
    struct clf__parameter_list list;
    struct entry *entries; /* in the order of the list */
};

/* The state of loading; `claimed` has one byte per stored tensor. */
struct loading {
    const struct clf__config *config;
    const struct clf__weights *weights;
    const struct clf__tensor_names *names;
    uint8_t *claimed;
};

static const struct clf__architecture *architecture_of(const struct loading *loading)
{
    return clf__architecture_of(loading->config->architecture);
}

enum { NAME_BYTES = 128 };

/* The remedy for weights that do not match the configuration. */
static const char save_both[] = "download or save both files again";

static int has_shape(const struct clf__stored_tensor *tensor, const struct clf__parameter *parameter)
{
    /* A linear layer saved as a convolution has a third dimension of 1; MarianMT's logits bias has a first
     * dimension of 1. */
    const int64_t *shape = tensor->shape;
    int dimensions = tensor->dimensions, kernel = parameter->kernel;
    if (kernel > 0) {
        return dimensions == 3 && shape[0] == parameter->rows && shape[1] == parameter->columns / kernel &&
               shape[2] == kernel;
    }
    if (dimensions == 3 && shape[2] == 1) {
        dimensions = 2;
    }
    if (dimensions == 2) {
        return shape[0] == parameter->rows && shape[1] == parameter->columns;
    }
    return dimensions == 1 && parameter->rows == 1 && shape[0] == parameter->columns;
}

static void write_shape(const struct clf__stored_tensor *tensor, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < tensor->dimensions && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i > 0 ? ", " : "",
                                 (long long)tensor->shape[i]);
    }
    if (used < size) {
        snprintf(text + used, size - used, ")");
    }
}

static clf_status check_stored(const struct clf__stored_tensor *tensor,
                               const struct clf__parameter *parameter)
{
    if (!clf__stored_tensor_is_real(tensor)) {
        return clf__fail(CLF_FORMAT,
                         "%s: tensor \"%s\" has dtype %s, but only floats of 16, 32 or 64 bits are "
                         "supported; convert the tensor",
                         tensor->file, tensor->name, tensor->type_name);
    }
    if (!has_shape(tensor, parameter)) {
        char shape[192];
        write_shape(tensor, shape, sizeof shape);
        if (parameter->rows == 1) {
            return clf__fail(CLF_FORMAT, "%s: tensor \"%s\" has shape %s, but config.json requires (%d); %s",
                             tensor->file, tensor->name, shape, parameter->columns, save_both);
        }
        if (parameter->kernel > 0) {
            return clf__fail(CLF_FORMAT,
                             "%s: tensor \"%s\" has shape %s, but config.json requires (%d, %d, %d); %s",
                             tensor->file, tensor->name, shape, parameter->rows,
                             parameter->columns / parameter->kernel, parameter->kernel, save_both);
        }
        return clf__fail(CLF_FORMAT, "%s: tensor \"%s\" has shape %s, but config.json requires (%d, %d); %s",
                         tensor->file, tensor->name, shape, parameter->rows, parameter->columns, save_both);
    }
    return CLF_OK;
}

static const struct clf__stored_tensor *find_by_name(const struct loading *loading, const char *canonical)
{
    char stored[NAME_BYTES];
    const struct clf__stored_tensor *found = NULL;
    for (int i = 0; found == NULL && clf__names_stored(loading->names, canonical, i, stored, sizeof stored);
         i++) {
        found = clf__weights_find(loading->weights, stored);
    }
    return found;
}

static void mark_claimed(const struct loading *loading, const struct clf__stored_tensor *tensor)
{
    loading->claimed[tensor - clf__weights_at(loading->weights, 0)] = 1;
}

static clf_status claim(const struct loading *loading, struct entry *entry,
                        const struct clf__stored_tensor *tensor)
{
    CLF__TRY(check_stored(tensor, entry->parameter));
    mark_claimed(loading, tensor);
    const struct clf__stored_tensor *first = entry->stored;
    int same = 1;
    if (first) {
        CLF__TRY(clf__stored_tensor_same(&same, first, tensor));
    }
    if (!same) {
        return clf__fail(CLF_FORMAT,
                         "%s: tensors \"%s\" and \"%s\" differ, but are shared according to config.json; %s",
                         tensor->file, first->name, tensor->name, save_both);
    }
    if (!first) {
        entry->stored = tensor;
    }
    return CLF_OK;
}

/* Claims every tensor stored under a canonical name. */
static clf_status claim_all(const struct loading *loading, struct entry *entry, const char *canonical)
{
    char stored[NAME_BYTES];
    for (int n = 0; clf__names_stored(loading->names, canonical, n, stored, sizeof stored); n++) {
        const struct clf__stored_tensor *tensor = clf__weights_find(loading->weights, stored);
        if (tensor) {
            CLF__TRY(claim(loading, entry, tensor));
        }
    }
    return CLF_OK;
}

/* Claims the first stored substitute if `entry` has no tensor yet. The file may also contain the shared
 * matrix, which is then unused. */
static clf_status claim_substitutes(const struct loading *loading, struct entry *entry,
                                    const struct clf__aliases *aliases)
{
    for (int i = aliases->same; i < aliases->count; i++) {
        const struct clf__stored_tensor *tensor = find_by_name(loading, aliases->names[i]);
        if (tensor && !entry->stored) {
            CLF__TRY(claim(loading, entry, tensor));
        } else if (tensor) {
            mark_claimed(loading, tensor);
        }
    }
    return CLF_OK;
}

static clf_status find_stored(const struct loading *loading, struct entry *entry)
{
    const char *name = entry->parameter->name;
    struct clf__aliases aliases = clf__aliases_of(loading->config, name);
    char wanted[NAME_BYTES];
    for (int i = 0; i < aliases.same; i++) {
        CLF__TRY(claim_all(loading, entry, aliases.names[i]));
    }
    CLF__TRY(claim_substitutes(loading, entry, &aliases));
    int is_optional =
        architecture_of(loading)->has_fixed_logits_bias && strcmp(name, "final_logits_bias") == 0;
    if (!entry->stored && !is_optional) {
        return clf__fail(CLF_FORMAT, "%s: tensor \"%s\" is missing, but config.json requires it; %s",
                         clf__weights_path(loading->weights),
                         clf__names_stored(loading->names, name, 0, wanted, sizeof wanted) ? wanted : name,
                         save_both);
    }
    return CLF_OK;
}

static clf_status check_unknown(const struct loading *loading)
{
    for (int i = 0; i < clf__weights_count(loading->weights); i++) {
        const struct clf__stored_tensor *tensor = clf__weights_at(loading->weights, i);
        if (!loading->claimed[i] && !clf__names_are_frozen(loading->names, tensor->name)) {
            return clf__fail(
                CLF_FORMAT, "%s: tensor \"%.200s\" is not part of a %s model with this config.json; %s",
                tensor->file, tensor->name, clf__architecture_word(loading->config->architecture), save_both);
        }
    }
    return CLF_OK;
}

/* Returns 1 if some of an architecture's own names are also canonical names, which makes the kind of names in
 * a file ambiguous. */
static int keeps_canonical(const struct clf__tensor_names *names)
{
    static const char name[] = "model.shared.weight";
    char stored[NAME_BYTES];
    int is_kept = 0;
    for (int n = 0; !is_kept && clf__names_stored(names, name, n, stored, sizeof stored); n++) {
        is_kept = strcmp(stored, name) == 0;
    }
    return is_kept;
}

/* Folders written by clformer use canonical names for every preset. */
static const struct clf__tensor_names *choose_names(const struct clf__weights *weights,
                                                    enum clf__architecture_id id)
{
    const struct clf__tensor_names *own = clf__architecture_of(id)->names;
    for (int i = 0; i < clf__weights_count(weights) && !keeps_canonical(own); i++) {
        if (strncmp(clf__weights_at(weights, i)->name, "model.", strlen("model.")) == 0) {
            return &clf__names_canonical;
        }
    }
    return own;
}

static clf_status find_all(struct clf__parameters *parameters, const struct loading *loading)
{
    for (int i = 0; i < parameters->list.count; i++) {
        parameters->entries[i].parameter = &parameters->list.items[i];
        CLF__TRY(find_stored(loading, &parameters->entries[i]));
    }
    return check_unknown(loading);
}

/* Finds the target embedding under any of its names except the projection's. */
static const struct clf__stored_tensor *find_embedding(const struct loading *loading)
{
    struct clf__config untied = *loading->config;
    untied.share_target_output = 0;
    struct clf__aliases aliases = clf__aliases_of(&untied, clf__target_embedding_name(&untied));
    const struct clf__stored_tensor *found = NULL;
    for (int i = 0; found == NULL && i < aliases.count; i++) {
        found = find_by_name(loading, aliases.names[i]);
    }
    return found;
}

/* As in transformers 5, a projection that differs from the embedding is used even if config.json ties them. A
 * projection without an embedding becomes the embedding only if config.json ties them. Some architectures
 * always tie a missing projection. */
static clf_status settle_tie(struct clf__config *config, const struct loading *loading)
{
    int is_tied = config->share_target_output;
    if (architecture_of(loading)->hugging_face == NULL ||
        (!architecture_of(loading)->ties_by_file && !is_tied)) {
        return CLF_OK;
    }
    const struct clf__stored_tensor *projection = find_by_name(loading, "lm_head.weight");
    const struct clf__stored_tensor *embedding = find_embedding(loading);
    int same = projection == NULL || is_tied;
    if (projection && embedding) {
        CLF__TRY(clf__stored_tensor_same(&same, projection, embedding));
    }
    if (is_tied && !same) {
        clf__log(
            CLF_LOG_WARNING,
            "%s: tensors \"%s\" and \"%s\" differ, although config.json ties them; both are used as stored",
            projection->file, projection->name, embedding->name);
    }
    config->share_target_output = same;
    return CLF_OK;
}

/* If the file contains sinusoids, transformers uses the stored values, which are rounded in half precision.
 */
static void settle_positions(enum clf__positions_kind *kind, const struct loading *loading,
                             enum clf__side side)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "model.%s.embed_positions.weight", clf__side_word(side));
    if (architecture_of(loading)->stores_sinusoids[side] && find_by_name(loading, name) != NULL) {
        *kind = CLF__POSITIONS_LEARNED;
    }
}

static clf_status load(struct clf__parameters *parameters, struct clf__config *config, const char *folder)
{
    CLF__TRY(clf__format_open_weights(&parameters->weights, folder));
    const struct clf__weights *weights = parameters->weights;
    struct loading loading = {config, weights, choose_names(weights, config->architecture), NULL};
    CLF__TRY(settle_tie(config, &loading));
    settle_positions(&config->encoder_positions, &loading, CLF__ENCODER);
    settle_positions(&config->decoder_positions, &loading, CLF__DECODER);
    CLF__TRY(clf__parameter_list_create(&parameters->list, config));
    CLF__TRY(
        clf__allocate(&parameters->entries, (size_t)parameters->list.count, sizeof *parameters->entries));
    CLF__TRY(clf__allocate(&loading.claimed, (size_t)clf__weights_count(weights), 1));
    clf_status status = find_all(parameters, &loading);
    clf__free(loading.claimed);
    return status;
}

clf_status clf__parameters_load(struct clf__parameters **out, struct clf__config *config, const char *folder)
{
    *out = NULL;
    struct clf__parameters *parameters = NULL;
    CLF__TRY(clf__allocate(&parameters, 1, sizeof *parameters));
    clf_status status = load(parameters, config, folder);
    if (status != CLF_OK) {
        clf__parameters_free(parameters);
        return status;
    }
    *out = parameters;
    return CLF_OK;
}

void clf__parameters_free(struct clf__parameters *parameters)
{
    if (!parameters) {
        return;
    }
    clf__weights_close(parameters->weights);
    clf__parameter_list_free(&parameters->list);
    clf__free(parameters->entries);
    clf__free(parameters);
}

const struct clf__parameter_list *clf__parameters_list(const struct clf__parameters *parameters)
{
    return &parameters->list;
}

enum { ROWS_FLOATS = 1 << 22 }; /* floats per block */

static const struct entry *find_entry(const struct clf__parameters *parameters, const char *name)
{
    for (int i = 0; i < parameters->list.count; i++) {
        if (strcmp(parameters->entries[i].parameter->name, name) == 0) {
            return &parameters->entries[i];
        }
    }
    return NULL;
}

const struct clf__stored_tensor *clf__parameters_stored(const struct clf__parameters *parameters,
                                                        const char *name)
{
    const struct entry *entry = find_entry(parameters, name);
    return entry ? entry->stored : NULL;
}

/* Reads in blocks and polls for interruption between them. */
static clf_status read_all_rows(const struct entry *entry, float *target, size_t *non_finite)
{
    size_t columns = (size_t)entry->parameter->columns;
    int rows = entry->parameter->rows, most = columns < ROWS_FLOATS ? (int)(ROWS_FLOATS / columns) : 1;
    if (entry->stored->dimensions < 2 || entry->stored->shape[0] != rows || rows <= most) {
        return clf__parameters_read_rows(entry->stored, 0, rows, target, non_finite);
    }
    for (int first = 0; first < rows; first += most) {
        int count = rows - first < most ? rows - first : most;
        CLF__TRY(clf__parameters_read_rows(entry->stored, first, count, target + (size_t)first * columns,
                                           non_finite));
    }
    return CLF_OK;
}

clf_status clf__parameters_read(const struct clf__parameters *parameters, const char *name, float *target)
{
    const struct entry *entry = find_entry(parameters, name);
    if (!entry) {
        return clf__fail(CLF_BAD_ARGUMENT, "the model has no parameter \"%s\"", name);
    }
    if (!entry->stored) {
        size_t count = (size_t)entry->parameter->rows * (size_t)entry->parameter->columns;
        memset(target, 0, count * sizeof *target);
        return CLF_OK;
    }
    size_t non_finite = 0;
    CLF__TRY(read_all_rows(entry, target, &non_finite));
    clf__parameters_warn(entry->stored, non_finite);
    return CLF_OK;
}

clf_status clf__parameters_read_rows(const struct clf__stored_tensor *stored, int first, int count,
                                     float *target, size_t *non_finite)
{
    struct clf__stored_tensor rows = *stored;
    size_t values = 1;
    CLF__TRY(clf__interrupt_check());
    if (stored->dimensions > 1 && (first > 0 || count < stored->shape[0])) {
        rows = clf__stored_tensor_rows(stored, first, count);
    }
    CLF__TRY(clf__stored_tensor_read(&rows, target));
    for (int i = 0; i < rows.dimensions; i++) {
        values *= (size_t)rows.shape[i];
    }
    for (size_t i = 0; i < values; i++) {
        *non_finite += !isfinite(target[i]);
    }
    return CLF_OK;
}

void clf__parameters_warn(const struct clf__stored_tensor *stored, size_t non_finite)
{
    if (non_finite > 0) {
        clf__log(CLF_LOG_WARNING, "%s: tensor \"%s\" contains %zu values that are NaN or infinite",
                 stored->file, stored->name, non_finite);
    }
}
