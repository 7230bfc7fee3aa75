#include "serve/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/utf8.h"
#include "serve/client.h"

enum { MOST_VALUES = 200000, MOST_FIELDS = 100, FORM_BUFFER_BYTES = 4096 };

static const char not_understood[] =
    "The browser (or proxy) sent a request that this server could not understand.";

/* Returns 1 for application/json and application/...+json, with or without parameters. */
static int is_json_type(const char *type)
{
    size_t size = strcspn(type, "; \t");
    return (size == 16 && strncasecmp(type, "application/json", 16) == 0) ||
           (size > 17 && strncasecmp(type, "application/", 12) == 0 &&
            strncasecmp(type + size - 5, "+json", 5) == 0);
}

struct fields fields_parse_json(const char *body, size_t size)
{
    struct fields fields = {.is_json = 1};
    size_t mark = clf__utf8_mark(body, size);
    body += mark;
    size -= mark;
    struct clf__json_limits limits = {size, MOST_VALUES};
    if (clf__json_parse_strict(&fields.object, body, size, "request", limits) != CLF_OK) {
        fields.object = NULL;
        fields.problem = not_understood;
    } else if (!json_is_object(fields.object)) {
        fields.problem = "Invalid JSON format";
    }
    return fields;
}

/* State while the query or a form is read. */
struct form {
    json_t *object;
    char *name, *value; /* field whose value arrives in parts; NULL: none */
    char *value_file;   /* its file name; NULL: not a file */
    size_t size;
    char *file_name, *file; /* the first file of the field "file" */
    size_t file_size;
    int failed;
};

/* Turns a repeated field into an array and adds a value. */
static void add_to_list(struct form *form, const char *name, json_t *first, const char *value, size_t size)
{
    json_t *list = json_is_array(first) ? json_incref(first) : json_pack("[O]", first);
    int is_text = memchr(value, '\0', size) == NULL && json_array_size(list) < MOST_VALUES;
    form->failed |= !is_text || json_array_append_new(list, json_stringn(value, size)) != 0 ||
                    json_object_set(form->object, name, list) != 0;
    json_decref(list);
}

/* Adds a field unless it exists; fails for text that is not UTF-8 or contains NUL. */
static void add_field(struct form *form, const char *name, const char *value, size_t size)
{
    json_t *first = json_object_get(form->object, name);
    if (first != NULL && strcmp(name, "text") == 0) {
        add_to_list(form, name, first, value, size);
        return;
    }
    if (first != NULL) {
        return;
    }
    int is_text = memchr(value, '\0', size) == NULL && json_object_size(form->object) < MOST_FIELDS;
    form->failed |= !is_text || json_object_set_new(form->object, name, json_stringn(value, size)) != 0;
}

static enum MHD_Result take_query(void *user, enum MHD_ValueKind kind, const char *key, size_t key_size,
                                  const char *value, size_t value_size)
{
    struct form *form = user;
    (void)kind;
    if (memchr(key, '\0', key_size) != NULL) {
        form->failed = 1;
    } else {
        add_field(form, key, value != NULL ? value : "", value != NULL ? value_size : 0);
    }
    return form->failed ? MHD_NO : MHD_YES;
}

/* Converts line breaks to LF and drops the last one, as LibreTranslate does for a form. */
static size_t unify_breaks(char *text, size_t size)
{
    size_t kept = 0;
    for (size_t i = 0; i < size; i++) {
        int is_break = text[i] == '\r' || text[i] == '\n';
        i += text[i] == '\r' && i + 1 < size && text[i + 1] == '\n';
        text[kept++] = is_break ? '\n' : text[i];
    }
    return kept - (kept > 0 && text[kept - 1] == '\n');
}

static void keep_file(struct form *form)
{
    if (strcmp(form->name, "file") == 0 && form->file == NULL && form->value != NULL) {
        form->file = form->value;
        form->file_name = form->value_file;
        form->file_size = form->size;
        form->value = form->value_file = NULL;
    }
}

/* Adds the field whose parts have all arrived. */
static void end_value(struct form *form)
{
    if (form->name != NULL && form->value_file != NULL) {
        keep_file(form);
    } else if (form->name != NULL) {
        int is_text = strcmp(form->name, "q") == 0;
        size_t size = is_text ? unify_breaks(form->value, form->size) : form->size;
        add_field(form, form->name, form->value, size);
    }
    free(form->name);
    free(form->value);
    free(form->value_file);
    form->name = form->value = form->value_file = NULL;
    form->size = 0;
}

/* Called by the form parser with each part of a value; a part at offset 0 begins a field. */
static enum MHD_Result take_part(void *user, enum MHD_ValueKind kind, const char *key, const char *filename,
                                 const char *type, const char *encoding, const char *data, uint64_t offset,
                                 size_t size)
{
    struct form *form = user;
    (void)kind, (void)type, (void)encoding;
    if (offset == 0) {
        end_value(form);
        form->name = strdup(key != NULL ? key : "");
        form->value_file = filename != NULL ? strdup(filename) : NULL;
    }
    char *grown = form->name != NULL ? realloc(form->value, form->size + size + 1) : NULL;
    if (grown == NULL) {
        form->failed = 1;
        return MHD_NO;
    }
    if (size > 0) { /* otherwise `data` may be NULL */
        memcpy(grown + form->size, data, size);
    }
    form->value = grown;
    form->size += size;
    return form->failed ? MHD_NO : MHD_YES;
}

/* Reads a body with a form's media type; ignores any other body. */
static void read_form(struct form *form, struct MHD_Connection *connection, const char *body, size_t size)
{
    struct MHD_PostProcessor *parser =
        MHD_create_post_processor(connection, FORM_BUFFER_BYTES, take_part, form);
    if (parser == NULL) {
        return;
    }
    form->failed |= size > 0 && MHD_post_process(parser, body, size) != MHD_YES;
    /* The last value of a urlencoded form arrives in this call. */
    form->failed |= MHD_destroy_post_processor(parser) != MHD_YES;
    end_value(form);
}

int fields_are_json(struct MHD_Connection *connection)
{
    const char *type = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Type");
    return type != NULL && is_json_type(type);
}

static struct fields read_fields(struct MHD_Connection *connection, const char *method, const char *body,
                                 size_t size)
{
    int is_missing = size == 0 && strcmp(method, "POST") != 0; /* some clients send the media type with GET */
    if (fields_are_json(connection) && !is_missing) {
        return fields_parse_json(body, size);
    }
    struct form form = {.object = json_object()};
    form.failed = form.object == NULL;
    if (!form.failed) {
        MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, take_query, &form);
    }
    if (!form.failed && size > 0) {
        read_form(&form, connection, body, size);
    }
    return (struct fields){.object = form.object,
                           .problem = form.failed ? not_understood : NULL,
                           .file_name = form.file_name,
                           .file = form.file,
                           .file_size = form.file_size};
}

static void read_key(struct fields *fields, struct MHD_Connection *connection)
{
    static const char *const schemes[] = {"Bearer ", "DeepL-Auth-Key "};
    const char *header = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
    const char *key = json_string_value(json_object_get(fields->object, "api_key"));
    key = key != NULL ? key : json_string_value(json_object_get(fields->object, "auth_key"));
    for (size_t i = 0; header != NULL && i < sizeof schemes / sizeof *schemes; i++) {
        size_t size = strlen(schemes[i]);
        key = strncasecmp(header, schemes[i], size) == 0 ? header + size : key;
    }
    /* A truncated key remains invalid: it is longer than any key of the server. */
    snprintf(fields->key, sizeof fields->key, "%s", key != NULL ? key : "");
}

struct fields fields_read(struct MHD_Connection *connection, const char *method, const char *body,
                          size_t size)
{
    struct fields fields = read_fields(connection, method, body, size);
    fields.connection = connection;
    client_address(fields.address, sizeof fields.address, connection);
    read_key(&fields, connection);
    return fields;
}

void fields_free(struct fields *fields)
{
    json_decref(fields->object);
    free(fields->file_name);
    free(fields->file);
    *fields = (struct fields){.object = NULL};
}
