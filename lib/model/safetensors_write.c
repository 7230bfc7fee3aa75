#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/little_endian.h"
#include "model/save.h"

/* The data begins at a multiple of this, so that a map of the file holds aligned floats. */
enum { ALIGNMENT = 8, LENGTH_BYTES = 8 };

/* The file's tensors stand in the order of their names, as the format's own library writes them. */
struct entry {
    const struct clf__parameter *parameter;
    int index;
};

static int by_name(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return strcmp(a->parameter->name, b->parameter->name);
}

static size_t count_values(const struct clf__parameter *parameter)
{
    return (size_t)parameter->rows * (size_t)parameter->columns;
}

/* MarianMT keeps its logits bias as a matrix of one row; other vectors have one dimension. */
static json_t *shape_of(const struct clf__parameter *parameter)
{
    int is_vector = parameter->rows == 1 && strcmp(parameter->name, "final_logits_bias") != 0;
    return is_vector ? json_pack("[i]", parameter->columns)
                     : json_pack("[ii]", parameter->rows, parameter->columns);
}

/* Text of the header, without its length and padding; the caller frees it. */
static clf_status write_header(char **out, const struct entry *entries, int count, const char *suffix)
{
    json_t *root = json_pack("{s{ss}}", "__metadata__", "format", "pt");
    int failed = root == NULL;
    json_int_t offset = 0;
    for (int i = 0; i < count; i++) {
        const struct clf__parameter *parameter = entries[i].parameter;
        char name[sizeof parameter->name + 64];
        snprintf(name, sizeof name, "%s%s", parameter->name, suffix);
        json_int_t end = offset + (json_int_t)(count_values(parameter) * sizeof(float));
        json_t *about = json_pack("{ss so s[II]}", "dtype", "F32", "shape", shape_of(parameter),
                                  "data_offsets", offset, end);
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

/* As the file has them: little-endian. */
static void store_in_place(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        clf__write_32((uint8_t *)&values[i], bits);
    }
}

static clf_status write_values(struct clf__file_writer *writer, const struct entry *entries, int count,
                               clf__parameter_reader *reader, void *user)
{
    size_t largest = 0;
    for (int i = 0; i < count; i++) {
        size_t values = count_values(entries[i].parameter);
        largest = values > largest ? values : largest;
    }
    float *values = NULL;
    CLF__TRY(clf__allocate(&values, largest, sizeof *values));
    clf_status status = CLF_OK;
    for (int i = 0; i < count && status == CLF_OK; i++) {
        status = reader(user, entries[i].index, values);
        if (status == CLF_OK) {
            size_t here = count_values(entries[i].parameter);
            store_in_place(values, here);
            status = clf__file_writer_write(writer, values, here * sizeof *values);
        }
    }
    clf__free(values);
    return status;
}

static clf_status save(const char *path, const struct entry *entries, int count, const char *suffix,
                       clf__parameter_reader *reader, void *user)
{
    char *header = NULL;
    CLF__TRY(write_header(&header, entries, count, suffix));
    struct clf__file_writer writer;
    clf_status status = clf__file_writer_open(&writer, path);
    if (status == CLF_OK) {
        status = write_start(&writer, header);
        if (status == CLF_OK) {
            status = write_values(&writer, entries, count, reader, user);
        }
        status = clf__file_writer_close(&writer, status);
    }
    clf__free(header);
    return status;
}

clf_status clf__parameters_save(const char *path, const struct clf__parameter_list *list, const char *suffix,
                                clf__parameter_reader *reader, void *user)
{
    struct entry *entries = NULL;
    CLF__TRY(clf__allocate(&entries, (size_t)list->count, sizeof *entries));
    for (int i = 0; i < list->count; i++) {
        entries[i] = (struct entry){&list->items[i], i};
    }
    qsort(entries, (size_t)list->count, sizeof *entries, by_name);
    clf_status status = save(path, entries, list->count, suffix ? suffix : "", reader, user);
    clf__free(entries);
    return status;
}
