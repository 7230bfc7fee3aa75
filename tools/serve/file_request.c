#include "serve/file_request.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "serve/documents.h"
#include "serve/q_field.h"
#include "serve/translate_request.h"
#include "shared/results.h"

/* Returns the next suffix of a list that is separated by spaces; *size is 0 at the end. */
static const char *next_suffix(size_t *size, const char *suffixes)
{
    suffixes += strspn(suffixes, " ");
    *size = strcspn(suffixes, " ");
    return suffixes;
}

json_t *file_extensions(void)
{
    json_t *array = json_array();
    const struct clf_document_format *format;
    for (int i = 0; (format = clf_document_format_at(i)) != NULL; i++) {
        size_t size;
        for (const char *at = next_suffix(&size, format->suffixes); size > 0;
             at = next_suffix(&size, at + size)) {
            array = result_append(array, json_stringn(at, size));
        }
    }
    return array;
}

/* Finds the format of a file by its suffix, in lower case only, as LibreTranslate does. */
static const struct clf_document_format *find_format(const char *name)
{
    const struct clf_document_format *format;
    const char *end = strrchr(name, '.');
    for (int i = 0; end != NULL && end > name && (format = clf_document_format_at(i)) != NULL; i++) {
        size_t size;
        for (const char *at = next_suffix(&size, format->suffixes); size > 0;
             at = next_suffix(&size, at + size)) {
            if (strlen(end) == size && memcmp(end, at, size) == 0) {
                return format;
            }
        }
    }
    return NULL;
}

/* Writes "notes_en.txt" for "my/notes.txt": letters, digits, ".", "_" and "-", and other characters as "_".
 */
static void write_name(char out[FILE_NAME_BYTES / 2], const char *name, const char *target)
{
    const char *last = strrchr(name, '/'), *other = strrchr(name, '\\');
    name = last != NULL ? last + 1 : name;
    name = other != NULL && other + 1 > name ? other + 1 : name;
    const char *suffix = strrchr(name, '.');
    size_t size = (size_t)(suffix - name), most = FILE_NAME_BYTES / 4;
    snprintf(out, FILE_NAME_BYTES / 2, "%.*s_%s%s", (int)(size < most ? size : most), name, target, suffix);
    for (char *letter = out; *letter != '\0'; letter++) {
        *letter = (char)(isalnum((unsigned char)*letter) || strchr("._-", *letter) != NULL ? *letter : '_');
    }
}

/* Checks a file before it is read. Returns 1, or 0 after setting the answer. */
static int is_usable(const struct fields *fields, const char *format, struct answer *answer)
{
    const char *text = fields->file;
    size_t size = fields->file_size;
    const char *other = clf__utf16_name(text, size);
    if (size == 0) {
        *answer = endpoints_error(400, "Invalid request: the file is empty");
        return 0;
    }
    int has_encoding = !field_is_empty(json_object_get(fields->object, "encoding"));
    if (documents_are_utf8(format) && !has_encoding &&
        (other != NULL || memchr(text, '\0', size) != NULL || clf__utf8_valid_prefix(text, size) != size)) {
        *answer = endpoints_error(400, "Invalid request: the file is not UTF-8%s%s",
                                  other != NULL ? " but " : "", other != NULL ? other : "");
        return 0;
    }
    return 1;
}

/* Stores a copy of the translation and answers with its address. */
static struct answer keep(struct service *service, const struct fields *fields, const char *bytes,
                          size_t size)
{
    char path[FILE_NAME_BYTES], name[FILE_NAME_BYTES / 2];
    const char *target = json_string_value(json_object_get(fields->object, "target"));
    const struct language *language = routes_get(service->routes, target);
    const char *host = MHD_lookup_connection_value(fields->connection, MHD_HEADER_KIND, "Host");
    const char *scheme =
        MHD_lookup_connection_value(fields->connection, MHD_HEADER_KIND, "X-Forwarded-Proto");
    char *text = malloc(size + 1);
    if (text == NULL) {
        return endpoints_error(500, "out of memory");
    }
    memcpy(text, bytes, size + 1);
    write_name(name, fields->file_name, language->code);
    if (files_add(path, service->files, name, text, size) != CLF_OK) {
        return endpoints_error(400, "Invalid request: %s", clf_last_error());
    }
    int is_tls = scheme != NULL && strcmp(scheme, "https") == 0;
    char url[2 * FILE_NAME_BYTES];
    snprintf(url, sizeof url, "%s%.255s/download_file/%s",
             host == NULL ? ""
             : is_tls     ? "https://"
                          : "http://",
             host != NULL ? host : "", path);
    json_t *object = json_pack("{s:o}", "translatedFileUrl", result_text(url, strlen(url)));
    struct answer answer = {.status = 200, .text = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL};
    json_decref(object);
    return answer;
}

struct answer file_translate(struct service *service, const struct fields *fields)
{
    struct answer answer;
    const struct clf_document_format *format = fields->file != NULL ? find_format(fields->file_name) : NULL;
    if (fields->file == NULL) {
        return endpoints_error(400, "Invalid request: missing file parameter");
    }
    if (format == NULL) {
        return endpoints_error(400, "Invalid request: file format not supported");
    }
    size_t size, characters;
    if (!is_usable(fields, format->name, &answer)) {
        return answer;
    }
    struct fields translation = *fields; /* with only the fields of this endpoint */
    translation.object = json_pack(
        "{s:O*, s:O*, s:O*, s:O*, s:O*}", "source", json_object_get(fields->object, "source"), "target",
        json_object_get(fields->object, "target"), "encoding", json_object_get(fields->object, "encoding"),
        "memory", json_object_get(fields->object, "memory"), "do_not_translate",
        json_object_get(fields->object, "do_not_translate"));
    char *bytes = translate_file(&size, &characters, service, &translation, format->name, &answer);
    json_decref(translation.object);
    if (bytes != NULL) {
        answer = keep(service, fields, bytes, size);
        clf_string_free(bytes);
    }
    answer.characters = characters;
    return answer;
}

struct answer file_download(struct service *service, const struct fields *fields)
{
    size_t size;
    const char *name = fields->rest;
    char *text = files_get(&size, service->files, name), header[FILE_NAME_BYTES + 64];
    if (text == NULL) {
        return endpoints_error(404, "The file does not exist or has expired");
    }
    const char *shown = strchr(name, '.') + 1;
    struct MHD_Response *response = MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        free(text);
        return endpoints_error(500, "out of memory");
    }
    snprintf(header, sizeof header, "attachment; filename=\"%s\"", shown);
    MHD_add_response_header(response, "Content-Disposition", header);
    MHD_add_response_header(response, "Content-Type", find_format(shown)->media_type);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    return (struct answer){.status = 200, .response = response};
}
