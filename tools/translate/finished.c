#include "translate/finished.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "translate/documents/format.h"

/* Hashes of the record. */
enum { SOURCE, TEXTS, HASHES };

static clf_status fail_damaged(const struct finished *finished)
{
    return clf__fail(CLF_BAD_ARGUMENT, "%s: is damaged; remove --resume to start again", finished->part.path);
}

/* --- Lines: [index, translation, [[start, end, parent], ...]]; a failed text has null. --- */

static json_t *marks_of(const struct clf__segment *segment)
{
    json_t *marks = json_array();
    for (int i = 0; i < segment->shown.mark_count; i++) {
        const struct clf_mark *mark = &segment->moved[i];
        json_array_append_new(
            marks, json_pack("[I, I, i]", (json_int_t)mark->start, (json_int_t)mark->end, mark->parent));
    }
    return marks;
}

static clf_status write_text(struct finished *finished, int index, const struct clf__segment *segment)
{
    json_t *line = segment->translation == NULL ? json_pack("[i, n]", index)
                                                : json_pack("[i, s%, o]", index, segment->translation,
                                                            segment->translation_size, marks_of(segment));
    char *text = line != NULL ? json_dumps(line, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    json_decref(line);
    if (text == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to record a finished text");
    }
    uint64_t *hash = &finished->state.inputs[TEXTS];
    *hash = clf__fnv(clf__fnv(*hash, text, strlen(text)), "\n", 1);
    fprintf(finished->part.file, "%s\n", text);
    free(text);
    return CLF_OK;
}

clf_status finished_add(struct finished *finished, int index, const struct clf_translation *translation)
{
    CLF__TRY(write_text(finished, index, &finished->document->segments.items[index]));
    finished->state.lines++;
    finished->state.failed += translation->status != CLF_OK;
    finished->state.cut += translation->status == CLF_OK && translation->cut_from > 0;
    return part_advance(&finished->part, &finished->state);
}

/* --- Reading. --- */

/* Reads the marks of a translation into an array with an item for each. Returns 0 if they are not valid. */
static int read_marks(struct clf_mark *out, const json_t *marks, int count, size_t size)
{
    int is_valid = json_array_size(marks) == (size_t)count;
    for (int i = 0; i < count && is_valid; i++) {
        json_int_t start, end;
        int parent;
        is_valid = json_unpack(json_array_get(marks, (size_t)i), "[I, I, i!]", &start, &end, &parent) == 0 &&
                   start >= 0 && start <= end && (size_t)end <= size && parent >= -1 && parent < i;
        out[i] = is_valid ? (struct clf_mark){(size_t)start, (size_t)end, parent} : (struct clf_mark){0};
    }
    return is_valid;
}

static clf_status read_text(struct finished *finished, const char *line, size_t size)
{
    json_t *root = json_loadb(line, size, 0, NULL);
    const struct clf__segments *segments = &finished->document->segments;
    const json_t *index = json_array_get(root, 0), *text = json_array_get(root, 1);
    struct clf__segment *segment = json_is_integer(index) && json_integer_value(index) >= 0 &&
                                           json_integer_value(index) < segments->count
                                       ? &segments->items[json_integer_value(index)]
                                       : NULL;
    clf_status status = segment != NULL && text != NULL ? CLF_OK : fail_damaged(finished);
    if (status == CLF_OK && !json_is_null(text)) {
        struct clf_mark *marks = NULL;
        status = clf__allocate(&marks, (size_t)segment->shown.mark_count, sizeof *marks);
        if (status == CLF_OK) {
            int is_valid =
                json_is_string(text) && read_marks(marks, json_array_get(root, 2), segment->shown.mark_count,
                                                   json_string_length(text));
            status = is_valid
                         ? clf__segment_set(segment, json_string_value(text), json_string_length(text), marks)
                         : fail_damaged(finished);
        }
        clf__free(marks);
    }
    if (status == CLF_OK) {
        segment->is_known = 1;
        finished->known_bytes += segment->shown.text_size;
    }
    json_decref(root);
    return status;
}

/* Reads the recorded lines, and compares them with the hash of the record. */
static clf_status read_texts(struct finished *finished)
{
    size_t size = (size_t)finished->part.bytes;
    char *bytes;
    CLF__TRY(clf__allocate(&bytes, size, 1));
    clf_status status = CLF_OK;
    if (fread(bytes, 1, size, finished->part.file) != size ||
        clf__fnv(CLF__FNV_BEGIN, bytes, size) != finished->state.inputs[TEXTS]) {
        status = fail_damaged(finished);
    }
    for (size_t at = 0; at < size && status == CLF_OK;) {
        const char *end = memchr(bytes + at, '\n', size - at);
        size_t length = end != NULL ? (size_t)(end - bytes) - at : size - at;
        status = read_text(finished, bytes + at, length);
        at += length + 1;
    }
    clf__free(bytes);
    return status;
}

static clf_status resume(struct finished *finished, uint64_t source)
{
    if (finished->state.inputs[SOURCE] != source) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "%s: the input differs: %s has changed; use the same file, or remove --resume to "
                         "start again",
                         finished->part.path, finished->document->name);
    }
    CLF__TRY(read_texts(finished));
    return part_continue(&finished->part, &finished->state);
}

/* --- Opening and closing. --- */

clf_status finished_open(struct finished *out, struct clf_document *document, uint64_t source,
                         const char *output, json_t *made_of, int resumes)
{
    *out = (struct finished){.document = document};
    CLF__TRY(part_open(&out->part, output));
    out->part.unit = "text";
    CLF__TRY(part_begin(&out->part, json_incref(made_of), HASHES, resumes, &out->state));
    if (out->state.lines > 0) {
        return resume(out, source);
    }
    out->state.inputs[SOURCE] = source;
    return CLF_OK;
}

clf_status finished_close(struct finished *finished, clf_status status, long long *kept)
{
    *kept = 0;
    if (finished->part.path == NULL) {
        return status;
    }
    /* part_close() would rename the lines to the output. */
    clf_status closed =
        part_close(&finished->part, &finished->state, status == CLF_OK ? CLF_INTERRUPTED : status, kept);
    *finished = (struct finished){.document = NULL};
    return status == CLF_OK ? CLF_OK : closed;
}

clf_status finished_remove(const char *output)
{
    static const char *const suffixes[] = {".part", ".part.json"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char *path;
        CLF__TRY(clf__format(&path, "%s%s", output, suffixes[i]));
        clf_status status = unlink(path) == 0 || errno == ENOENT ? CLF_OK : clf__file_fail(path, "removed");
        clf__free(path);
        CLF__TRY(status);
    }
    return CLF_OK;
}
