#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/half.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/little_endian.h"
#include "base/memory.h"
#include "math/gemm/gemm.h"
#include "model/save.h"

/* Data is aligned so that floats are aligned when the file is memory-mapped. */
enum { ALIGNMENT = 8, LENGTH_BYTES = 8 };

/* The safetensors names of precisions, and the sizes of their values. */
static const struct {
    const char *type;
    size_t bytes;
} stored[] = {
    [CLF__PRECISION_FP32] = {"F32", 4},
    [CLF__PRECISION_FP16] = {"F16", 2},
    [CLF__PRECISION_BF16] = {"BF16", 2},
    [CLF__PRECISION_INT8] = {"I8", 1},
};

/* A tensor in the file. As in files written by the safetensors library, tensors are sorted by name. */
struct entry {
    const struct clf__parameter *parameter; /* NULL: copied unchanged */
    int index;
    enum clf__precision precision;
    int is_factors; /* 1: the row factors of an int8 parameter */
    const char *suffix;
    const struct clf__stored_tensor *stored; /* copied, or read as int8 values and factors */
};

/* The source of the parameter values. */
struct source {
    clf__parameter_reader *reader;
    void *user;
    int asks; /* 1: polls clf__interrupt_check() */
};

static const char *name_of(const struct entry *entry)
{
    return entry->parameter != NULL ? entry->parameter->name : entry->stored->name;
}

static int by_name(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = strcmp(name_of(a), name_of(b));
    return order != 0 ? order : a->is_factors - b->is_factors;
}

static size_t count_values(const struct clf__parameter *parameter)
{
    return (size_t)parameter->rows * (size_t)parameter->columns;
}

static size_t count_stored(const struct entry *entry)
{
    return entry->is_factors ? (size_t)entry->parameter->rows : count_values(entry->parameter);
}

/* Returns the shape: two dimensions for a matrix and for MarianMT's logits bias (1, V), one for other
 * vectors. */
static json_t *shape_of(const struct entry *entry)
{
    const struct clf__parameter *parameter = entry->parameter;
    if (parameter == NULL) {
        json_t *shape = json_array();
        for (int i = 0; i < entry->stored->dimensions; i++) {
            json_array_append_new(shape, json_integer((json_int_t)entry->stored->shape[i]));
        }
        return shape;
    }
    if (entry->is_factors) {
        return json_pack("[i]", parameter->rows);
    }
    if (parameter->kernel > 0) {
        return json_pack("[iii]", parameter->rows, parameter->columns / parameter->kernel, parameter->kernel);
    }
    int is_vector = parameter->rows == 1 && strcmp(parameter->name, "final_logits_bias") != 0;
    return is_vector ? json_pack("[i]", parameter->columns)
                     : json_pack("[ii]", parameter->rows, parameter->columns);
}

static size_t bytes_of(const struct entry *entry)
{
    return entry->parameter == NULL ? entry->stored->size
                                    : count_stored(entry) * stored[entry->precision].bytes;
}

/* Creates the header without its length and padding; the caller frees *out. */
static clf_status write_header(char **out, const struct entry *entries, int count, const json_t *metadata)
{
    json_t *root = json_pack("{s{ss}}", "__metadata__", "format", "pt");
    int failed = root == NULL;
    failed = failed || (metadata != NULL &&
                        json_object_update(json_object_get(root, "__metadata__"), (json_t *)metadata) != 0);
    json_int_t offset = 0;
    for (int i = 0; i < count; i++) {
        const struct entry *entry = &entries[i];
        char name[sizeof entry->parameter->name + 128];
        snprintf(name, sizeof name, "%s%s", name_of(entry), entry->suffix);
        json_int_t end = offset + (json_int_t)bytes_of(entry);
        const char *type =
            entry->parameter == NULL ? entry->stored->type_name : stored[entry->precision].type;
        json_t *about =
            json_pack("{ss so s[II]}", "dtype", type, "shape", shape_of(entry), "data_offsets", offset, end);
        failed |= json_object_set_new(root, name, about) != 0;
        offset = end;
    }
    clf_status status = clf__json_text(out, failed ? NULL : root, JSON_COMPACT);
    json_decref(root);
    return status;
}

static clf_status write_start(struct clf__file_writer *writer, const char *header)
{
    static const char spaces[ALIGNMENT] = "        ";
    size_t length = strlen(header), padding = (ALIGNMENT - length % ALIGNMENT) % ALIGNMENT;
    uint8_t bytes[LENGTH_BYTES];
    clf__write_64(bytes, length + padding);
    CLF__TRY(clf__file_writer_write(writer, bytes, sizeof bytes));
    CLF__TRY(clf__file_writer_write(writer, header, length));
    return clf__file_writer_write(writer, spaces, padding);
}

/* Converts floats in place to the stored format, little-endian. */
static void store_in_place(float *values, size_t count, enum clf__precision precision)
{
    uint8_t *bytes = (uint8_t *)values;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        if (precision == CLF__PRECISION_FP32) {
            clf__write_32(bytes + 4 * i, bits);
        } else {
            clf__write_16(bytes + 2 * i, precision == CLF__PRECISION_FP16 ? clf__fp16_of(values[i])
                                                                          : clf__bf16_of(values[i]));
        }
    }
}

/* Converts floats in place to int8 rows, or to the factors of the rows. */
static void quantize_in_place(float *values, const struct entry *entry)
{
    size_t columns = (size_t)entry->parameter->columns;
    int8_t *bytes = (int8_t *)values;
    for (size_t r = 0; r < (size_t)entry->parameter->rows; r++) {
        const float *row = values + r * columns;
        float largest = clf__int8_largest(row, entry->parameter->columns);
        for (size_t k = 0; k < columns && !entry->is_factors; k++) {
            bytes[r * columns + k] = clf__int8_of(row[k], largest);
        }
        if (entry->is_factors) {
            values[r] = clf__int8_factor(largest);
        }
    }
}

static clf_status check_range(const struct clf__parameter *parameter, const float *values, size_t count,
                              enum clf__precision precision)
{
    for (size_t i = 0; i < count && precision == CLF__PRECISION_FP16; i++) {
        if (isfinite(values[i]) && isinf(clf__float_of_fp16(clf__fp16_of(values[i])))) {
            return clf__fail(
                CLF_UNSUPPORTED,
                "%s: the value %g exceeds the fp16 maximum, 65504; write the model in bf16 or fp32",
                parameter->name, values[i]);
        }
    }
    for (size_t i = 0; i < count && precision == CLF__PRECISION_INT8; i++) {
        if (!isfinite(values[i])) {
            return clf__fail(CLF_UNSUPPORTED,
                             "%s: a value is NaN or infinite, which int8 cannot represent; write the model "
                             "in another precision",
                             parameter->name);
        }
    }
    return CLF_OK;
}

/* Reads the values of an int8 tensor or, into additional space at the end of `values`, its row factors. */
static clf_status read_kept(float *values, const struct entry *entry)
{
    float *factors = values + count_values(entry->parameter);
    CLF__TRY(clf__stored_tensor_read_int8(entry->stored, (int8_t *)values, factors));
    if (entry->is_factors) {
        memmove(values, factors, (size_t)entry->parameter->rows * sizeof *factors);
        store_in_place(values, (size_t)entry->parameter->rows, CLF__PRECISION_FP32);
    }
    return CLF_OK;
}

static clf_status write_entry(struct clf__file_writer *writer, const struct entry *entry, float *values,
                              const struct source *source)
{
    const struct clf__stored_tensor *kept = entry->stored;
    if (kept != NULL) {
        CLF__TRY(entry->parameter != NULL
                     ? read_kept(values, entry)
                     : clf__file_read_at(kept->source, kept->offset, values, kept->size));
        return clf__file_writer_write(writer, values, bytes_of(entry));
    }
    size_t count = count_values(entry->parameter), left = count_stored(entry);
    CLF__TRY(source->reader(source->user, entry->index, values));
    CLF__TRY(check_range(entry->parameter, values, count, entry->precision));
    CLF__TRY(source->asks ? clf__interrupt_check() : CLF_OK);
    if (entry->precision == CLF__PRECISION_INT8 || entry->is_factors) {
        quantize_in_place(values, entry);
    }
    if (entry->precision != CLF__PRECISION_INT8) {
        store_in_place(values, left, entry->precision);
    }
    return clf__file_writer_write(writer, values, left * stored[entry->precision].bytes);
}

static clf_status write_values(struct clf__file_writer *writer, const struct entry *entries, int count,
                               const struct source *source)
{
    size_t largest = 0;
    for (int i = 0; i < count; i++) {
        const struct clf__parameter *parameter = entries[i].parameter;
        size_t values = parameter == NULL ? entries[i].stored->size / sizeof(float) + 1
                                          : count_values(parameter) + (size_t)parameter->rows;
        largest = values > largest ? values : largest;
    }
    float *values = NULL;
    CLF__TRY(clf__allocate(&values, largest, sizeof *values));
    clf_status status = CLF_OK;
    for (int i = 0; i < count && status == CLF_OK; i++) {
        status = write_entry(writer, &entries[i], values, source);
    }
    clf__free(values);
    return status;
}

static clf_status save(const char *path, struct entry *entries, int count, const struct source *source,
                       const json_t *metadata)
{
    char *header = NULL;
    qsort(entries, (size_t)count, sizeof *entries, by_name);
    CLF__TRY(write_header(&header, entries, count, metadata));
    struct clf__file_writer writer;
    clf_status status = clf__file_writer_open(&writer, path);
    writer.asks = source->asks;
    if (status == CLF_OK) {
        status = write_start(&writer, header);
        if (status == CLF_OK) {
            status = write_values(&writer, entries, count, source);
        }
        status = clf__file_writer_close(&writer, status);
    }
    clf__free(header);
    return status;
}

static clf_status save_list(const char *path, const struct clf__parameter_list *list, const char *suffix,
                            enum clf__precision precision, const struct source *source)
{
    struct entry *entries = NULL;
    CLF__TRY(clf__allocate(&entries, (size_t)list->count, sizeof *entries));
    for (int i = 0; i < list->count; i++) {
        entries[i] = (struct entry){.parameter = &list->items[i],
                                    .index = i,
                                    .precision = precision,
                                    .suffix = suffix != NULL ? suffix : ""};
    }
    clf_status status = save(path, entries, list->count, source, NULL);
    clf__free(entries);
    return status;
}

clf_status clf__parameters_save(const char *path, const struct clf__parameter_list *list, const char *suffix,
                                enum clf__precision precision, clf__parameter_reader *reader, void *user)
{
    return save_list(path, list, suffix, precision, &(struct source){.reader = reader, .user = user});
}

clf_status clf__parameters_save_new(const char *path, const struct clf__parameter_list *list,
                                    enum clf__precision precision, clf__parameter_reader *reader, void *user)
{
    return save_list(path, list, NULL, precision, &(struct source){reader, user, 1});
}

/* Adds a parameter and, in int8, the factors of its rows. */
static int add_parameter(struct entry *entries, const struct clf__parameters *parameters, int index,
                         enum clf__precision precision)
{
    const struct clf__parameter *parameter = &clf__parameters_list(parameters)->items[index];
    const struct clf__stored_tensor *own = clf__parameters_stored(parameters, parameter->name);
    struct entry entry = {.parameter = parameter, .index = index, .suffix = ""};
    entry.precision = parameter->follows_precision ? precision : CLF__PRECISION_FP32;
    entries[0] = entry;
    if (entry.precision != CLF__PRECISION_INT8) {
        return 1;
    }
    entry.stored = own != NULL && clf__stored_tensor_is_int8(own) ? own : NULL;
    entries[0] = entry;
    entry.precision = CLF__PRECISION_FP32;
    entry.is_factors = 1;
    entry.suffix = "_scale";
    entries[1] = entry;
    return 2;
}

/* A clf__parameter_reader: reads the values of a parameter. */
static clf_status read_parameter(void *user, int index, float *target)
{
    const struct clf__parameters *parameters = user;
    return clf__parameters_read(parameters, clf__parameters_list(parameters)->items[index].name, target);
}

clf_status clf__parameters_save_as_loaded(const char *path, struct clf__parameters *parameters,
                                          enum clf__precision precision, const struct clf__beside *beside)
{
    struct entry *entries = NULL;
    int count = 0, parameter_count = clf__parameters_list(parameters)->count;
    int copied = beside->tensors != NULL ? clf__weights_count(beside->tensors) : 0;
    CLF__TRY(clf__allocate(&entries, 2 * (size_t)parameter_count + (size_t)copied, sizeof *entries));
    for (int i = 0; i < parameter_count; i++) {
        count += add_parameter(entries + count, parameters, i, precision);
    }
    for (int i = 0; i < copied; i++) {
        entries[count++] = (struct entry){.suffix = "", .stored = clf__weights_at(beside->tensors, i)};
    }
    clf_status status =
        save(path, entries, count, &(struct source){read_parameter, parameters, 1}, beside->metadata);
    clf__free(entries);
    return status;
}
