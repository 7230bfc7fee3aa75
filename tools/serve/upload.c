#include "serve/upload.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "serve/fields.h"
#include "serve/temporary.h"

/* Far above what clients send; they bound the memory of a request. */
enum {
    MOST_PARTS = 200,
    MOST_NAME = 128,
    MOST_VALUE = 1 << 16,
    MOST_FILE_NAME = 1024,
    PARSER_BYTES = 1 << 16
};

enum part_kind { PART_NONE, PART_VALUE, PART_FILE, PART_SKIPPED };

struct upload {
    const char *part_name;
    struct upload_limits limits;
    size_t received;
    unsigned status; /* HTTP status of `problem` */
    const char *problem;
    json_t *fields; /* the values of each field, in arrays */
    int file;
    uint64_t file_size;
    char file_name[MOST_FILE_NAME];
    int is_json;
    char *json; /* the body, if it is JSON */
    size_t json_capacity;
    struct MHD_PostProcessor *parser; /* NULL: no form */
    /* The part of the form that arrives. */
    enum part_kind kind;
    int parts;
    char name[MOST_NAME];
    char value[MOST_VALUE];
    size_t value_size;
    int is_begun; /* bytes of the part have arrived */
};

static const char not_understood[] = "the body of the request cannot be parsed";
static const char not_stored[] = "the server cannot store the recording; the server's log has the reason";

void upload_refuse(struct upload *upload, unsigned status, const char *problem)
{
    if (upload->problem == NULL) {
        upload->status = status;
        upload->problem = problem;
    }
}

/* Adds a value to a field. */
static void add_value(struct upload *upload, const char *name, const char *value, size_t size)
{
    json_t *values = json_object_get(upload->fields, name);
    json_t *string = memchr(value, '\0', size) == NULL ? json_stringn(value, size) : NULL;
    if (string == NULL) {
        upload_refuse(upload, 400, "a field is not UTF-8 text");
        return;
    }
    if (values == NULL) {
        values = json_array();
        if (values == NULL || json_object_set_new(upload->fields, name, values) != 0) {
            json_decref(string);
            upload_refuse(upload, 400, "the name of a field is not UTF-8 text");
            return;
        }
    }
    if (json_array_append_new(values, string) != 0) {
        upload_refuse(upload, 500, "out of memory");
    }
}

static void end_part(struct upload *upload)
{
    if (upload->kind == PART_VALUE) {
        add_value(upload, upload->name, upload->value, upload->value_size);
    }
    upload->kind = PART_NONE;
    upload->value_size = 0;
    upload->is_begun = 0;
}

static void begin_file(struct upload *upload, const char *file_name)
{
    size_t size = strlen(file_name);
    if (upload->file >= 0) { /* the first recording counts */
        upload->kind = PART_SKIPPED;
        return;
    }
    if (size >= sizeof upload->file_name || clf__utf8_valid_prefix(file_name, size) != size) {
        upload_refuse(upload, 400, "the name of the file is too long or not UTF-8");
        return;
    }
    memcpy(upload->file_name, file_name, size + 1);
    upload->file = temporary_create();
    if (upload->file < 0) {
        upload_refuse(upload, 500, not_stored);
    }
    upload->kind = PART_FILE;
}

static void begin_part(struct upload *upload, const char *name, const char *file_name)
{
    size_t size = strlen(name);
    end_part(upload);
    if (++upload->parts > MOST_PARTS || size >= sizeof upload->name) {
        upload_refuse(upload, 400,
                      size >= sizeof upload->name ? "the name of a field is too long" : "too many fields");
        return;
    }
    memcpy(upload->name, name, size + 1);
    if (file_name != NULL && strcmp(name, upload->part_name) == 0) {
        begin_file(upload, file_name);
    } else {
        upload->kind = file_name != NULL ? PART_SKIPPED : PART_VALUE;
    }
}

/* Returns 1 for the first call of a part. The parser may pass an empty beginning first, so that two calls
 * have offset 0. */
static int is_new_part(const struct upload *upload, const char *name, const char *file_name, uint64_t offset)
{
    return offset == 0 && (upload->kind == PART_NONE || upload->is_begun || strcmp(upload->name, name) != 0 ||
                           (upload->kind == PART_VALUE) != (file_name == NULL));
}

/* Called by the parser of forms with bytes of a part. */
static enum MHD_Result take_part(void *user, enum MHD_ValueKind kind, const char *key, const char *file_name,
                                 const char *type, const char *encoding, const char *data, uint64_t offset,
                                 size_t size)
{
    struct upload *upload = user;
    (void)kind, (void)type, (void)encoding;
    if (is_new_part(upload, key != NULL ? key : "", file_name, offset)) {
        begin_part(upload, key != NULL ? key : "", file_name);
    }
    upload->is_begun |= size > 0;
    if (upload->problem == NULL && size > 0 && upload->kind == PART_VALUE) {
        if (size > sizeof upload->value - upload->value_size) {
            upload_refuse(upload, 400, "a field has more than 65536 bytes");
            return MHD_NO;
        }
        memcpy(upload->value + upload->value_size, data, size);
        upload->value_size += size;
    } else if (upload->problem == NULL && size > 0 && upload->kind == PART_FILE) {
        upload->file_size += size;
        if (!temporary_write(upload->file, data, size)) {
            upload_refuse(upload, 500, not_stored);
        }
    }
    return upload->problem == NULL ? MHD_YES : MHD_NO;
}

struct upload *upload_create(struct MHD_Connection *connection, const char *part,
                             const struct upload_limits *limits)
{
    struct upload *upload = calloc(1, sizeof *upload);
    if (upload == NULL) {
        return NULL;
    }
    upload->part_name = part;
    upload->limits = *limits;
    upload->file = -1;
    upload->fields = json_object();
    if (upload->fields == NULL) {
        free(upload);
        return NULL;
    }
    upload->is_json = fields_are_json(connection);
    if (!upload->is_json) {
        upload->parser = MHD_create_post_processor(connection, PARSER_BYTES, take_part, upload);
    }
    return upload;
}

void upload_free(struct upload *upload)
{
    if (upload == NULL) {
        return;
    }
    if (upload->parser != NULL) {
        MHD_destroy_post_processor(upload->parser);
    }
    if (upload->file >= 0) {
        close(upload->file);
    }
    json_decref(upload->fields);
    free(upload->json);
    free(upload);
}

size_t upload_limit(const struct upload *upload)
{
    return upload->is_json ? upload->limits.json : upload->limits.file;
}

static void add_json(struct upload *upload, const char *bytes, size_t size)
{
    if (upload->received > upload->json_capacity) {
        size_t most = upload->limits.json;
        size_t capacity = 2 * upload->received < most ? 2 * upload->received : most;
        char *grown = realloc(upload->json, capacity);
        if (grown == NULL) {
            upload_refuse(upload, 500, "out of memory");
            return;
        }
        upload->json = grown;
        upload->json_capacity = capacity;
    }
    memcpy(upload->json + upload->received - size, bytes, size);
}

int upload_add(struct upload *upload, const char *bytes, size_t size)
{
    size_t most = upload_limit(upload);
    upload->received += size;
    if (upload->received > most) {
        upload_refuse(upload, 413, "the body of the request is too large");
        return upload->received / 2 <= most;
    }
    if (upload->problem == NULL && upload->is_json) {
        add_json(upload, bytes, size);
    } else if (upload->problem == NULL && upload->parser != NULL &&
               MHD_post_process(upload->parser, bytes, size) != MHD_YES) {
        upload_refuse(upload, 400, not_understood);
    }
    return 1;
}

/* Adds a value of a JSON body as a form would send it. */
static void add_member(struct upload *upload, const char *name, const json_t *value)
{
    char *text = NULL;
    size_t i;
    const json_t *item;
    if (json_is_string(value)) {
        add_value(upload, name, json_string_value(value), json_string_length(value));
    } else if (json_is_array(value)) {
        json_array_foreach(value, i, item)
        {
            if (!json_is_array(item)) {
                add_member(upload, name, item);
            }
        }
    } else if (json_is_number(value) || json_is_boolean(value)) {
        text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        if (text != NULL) {
            add_value(upload, name, text, strlen(text));
        }
        free(text);
    }
}

/* Stores the recording of a body such as {"input_audio": {"data": BASE64, "format": "wav"}} (Open WebUI). */
static void store_recording(struct upload *upload, const json_t *input)
{
    const json_t *data = json_object_get(input, "data");
    const char *format = json_string_value(json_object_get(input, "format"));
    const char *text = json_string_value(data);
    if (text == NULL) {
        upload_refuse(upload, 400, "input_audio: data is not a string");
        return;
    }
    const char *comma = strncmp(text, "data:", 5) == 0 ? strchr(text, ',') : NULL;
    const char *digits = comma != NULL ? comma + 1 : text;
    strcpy(upload->file_name, "audio");
    if (format != NULL && strlen(format) < MOST_FILE_NAME - 8) {
        strcat(strcat(upload->file_name, "."), format);
    }
    upload->file = temporary_create();
    int stored =
        upload->file >= 0
            ? temporary_write_base64(upload->file, digits, json_string_length(data) - (size_t)(digits - text))
            : 0;
    if (stored < 1) {
        upload_refuse(upload, stored < 0 ? 400 : 500,
                      stored < 0 ? "input_audio: data is not base64" : not_stored);
    }
    off_t size = upload->file >= 0 ? lseek(upload->file, 0, SEEK_END) : 0;
    upload->file_size = size > 0 ? (uint64_t)size : 0;
}

static void read_json(struct upload *upload)
{
    const char *name;
    json_t *value;
    struct fields fields = fields_parse_json(upload->json != NULL ? upload->json : "", upload->received);
    free(upload->json);
    upload->json = NULL;
    if (fields.problem != NULL) {
        upload_refuse(upload, 400, not_understood);
    } else {
        json_object_foreach(fields.object, name, value)
        {
            if (strcmp(name, "input_audio") == 0) {
                store_recording(upload, value);
            } else {
                add_member(upload, name, value);
            }
        }
    }
    fields_free(&fields);
}

void upload_end(struct upload *upload)
{
    if (upload->is_json && upload->problem == NULL) {
        read_json(upload);
    }
    if (upload->parser != NULL) {
        /* The last value of an urlencoded form arrives in this call. */
        if (MHD_destroy_post_processor(upload->parser) != MHD_YES) {
            upload_refuse(upload, 400, not_understood);
        }
        upload->parser = NULL;
        end_part(upload);
    }
}

const char *upload_problem(const struct upload *upload, unsigned *status)
{
    *status = upload->status;
    return upload->problem;
}

const json_t *upload_values(const struct upload *upload, const char *name)
{
    return json_object_get(upload->fields, name);
}

const char *upload_text(const struct upload *upload, const char *name)
{
    const char *text = json_string_value(json_array_get(upload_values(upload, name), 0));
    return text != NULL && *text != '\0' ? text : NULL;
}

int upload_file(const struct upload *upload)
{
    return upload->file;
}

uint64_t upload_file_size(const struct upload *upload)
{
    return upload->file_size;
}

const char *upload_file_name(const struct upload *upload)
{
    return upload->file_name;
}
