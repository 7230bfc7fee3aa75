#include "shared/part.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "shared/made_of.h"
#include "shared/progress.h"

/* The record is written once a second, or less often on a slow disk, so that it takes at most 1 % of the
 * time. */
#define RECORD_SECONDS 1.0
#define RECORD_SHARE   0.01

static void free_part(struct part *part)
{
    clf__free(part->path);
    clf__free(part->record_path);
    json_decref(part->made_of);
    *part = (struct part){.output = NULL};
}

clf_status part_open(struct part *out, const char *output)
{
    char *folder = NULL;
    const char *slash = strrchr(output, '/');
    *out = (struct part){.output = output, .unit = "line"};
    clf_status status = clf__format(&out->path, "%s.part", output);
    if (status == CLF_OK) {
        status = clf__format(&out->record_path, "%s.json", out->path);
    }
    if (status == CLF_OK) {
        status = clf__copy_bytes(&folder, slash != NULL ? output : ".",
                                 slash != NULL ? (size_t)(slash - output) + 1 : 1);
    }
    if (status == CLF_OK && access(folder, W_OK | X_OK) != 0) {
        status = clf__file_fail(output, "created");
    }
    clf__free(folder);
    if (status != CLF_OK) {
        free_part(out);
    }
    return status;
}

/* Locks an open file; the kernel releases the lock when the process ends. Continues without a lock on file
 * systems that have none. */
static clf_status lock(int descriptor, const struct part *part)
{
    struct stat own, named;
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "%s: another run is writing this file; wait until it ends, or choose another output",
                         part->path);
    }
    /* The other run may have renamed the opened file before it released the lock. */
    if (fstat(descriptor, &own) != 0 || stat(part->path, &named) != 0 || own.st_ino != named.st_ino) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "%s: another run has just finished writing this file; repeat the command",
                         part->path);
    }
    return CLF_OK;
}

/* Opens or creates the file. *is_new: 1 if it was created. */
static clf_status open_file(struct part *part, int *is_new)
{
    int descriptor = open(part->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    *is_new = descriptor >= 0;
    if (descriptor < 0 && errno == EEXIST) {
        descriptor = open(part->path, O_RDWR | O_CLOEXEC);
    }
    if (descriptor < 0) {
        return clf__file_fail(part->path, "created");
    }
    clf_status status = lock(descriptor, part);
    part->file = status == CLF_OK ? fdopen(descriptor, "r+") : NULL;
    if (status == CLF_OK && part->file == NULL) {
        status = clf__file_fail(part->path, "opened");
    }
    if (status != CLF_OK) {
        close(descriptor);
    }
    return status;
}

/* --- The record. --- */

static clf_status fail_memory(void)
{
    return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the record of an output");
}

static json_t *hash_array(const uint64_t *hashes, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count; i++) {
        char digits[32];
        snprintf(digits, sizeof digits, "%016" PRIx64, hashes[i]);
        json_array_append_new(array, json_string(digits));
    }
    return array;
}

static clf_status write_record(struct part *part, const struct part_state *state, long long bytes)
{
    json_t *record = json_copy(part->made_of);
    int failed = json_object_set_new(record, "inputs", hash_array(state->inputs, part->inputs)) != 0 ||
                 json_object_set_new(record, "lines", json_integer(state->lines)) != 0 ||
                 json_object_set_new(record, "failed", json_integer(state->failed)) != 0 ||
                 json_object_set_new(record, "cut", json_integer(state->cut)) != 0 ||
                 json_object_set_new(record, "bytes", json_integer(bytes)) != 0;
    clf_status status = failed ? fail_memory() : clf__json_write(part->record_path, record, 0);
    json_decref(record);
    if (status == CLF_OK) {
        part->recorded = state->lines;
        part->bytes = bytes;
    }
    return status;
}

static clf_status fail_to_write(const struct part *part)
{
    return clf__file_fail(part->path, "written");
}

/* Writes the lines to the disk, then the record that counts them. */
static clf_status record(struct part *part, const struct part_state *state)
{
    double start = seconds_now();
    int is_written = !ferror(part->file) && fflush(part->file) == 0;
    long long bytes = is_written ? (long long)ftello(part->file) : -1;
    if (bytes < 0 || (fdatasync(fileno(part->file)) != 0 && errno != EINVAL)) {
        return fail_to_write(part);
    }
    CLF__TRY(write_record(part, state, bytes));
    double end = seconds_now(), pause = (end - start) / RECORD_SHARE;
    part->record_at = end + (pause > RECORD_SECONDS ? pause : RECORD_SECONDS);
    return CLF_OK;
}

static int read_count(long long *out, const json_t *record, const char *key)
{
    const json_t *value = json_object_get(record, key);
    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= 0;
}

static int read_hash(uint64_t *out, const json_t *value)
{
    const char *digits = json_string_value(value);
    char *end = NULL;
    *out = digits != NULL ? strtoull(digits, &end, 16) : 0;
    return digits != NULL && end != digits && *end == '\0';
}

/* The files of an earlier run. */
struct older {
    struct clf__json record; /* root NULL: no record */
    struct part_state state;
    long long bytes, size; /* recorded size and file size */
};

/* Reads the record if it exists; fails if a file with its name is not a record. */
static clf_status read_older(struct older *out, const struct part *part)
{
    const char *const sentence = "%s: is not a clformer record; move it, or choose another output";
    struct stat about;
    *out = (struct older){.bytes = 0};
    out->size = fstat(fileno(part->file), &about) == 0 ? (long long)about.st_size : 0;
    if (clf__file_is_missing(part->record_path)) {
        return CLF_OK;
    }
    CLF__TRY(clf__json_load(&out->record, part->record_path, clf__json_settings));
    const json_t *root = out->record.root, *inputs = json_object_get(root, "inputs");
    int is_record = json_is_string(json_object_get(root, "clformer")) &&
                    read_count(&out->state.lines, root, "lines") &&
                    read_count(&out->state.failed, root, "failed") &&
                    read_count(&out->state.cut, root, "cut") && read_count(&out->bytes, root, "bytes") &&
                    json_array_size(inputs) >= 1 && json_array_size(inputs) <= PART_INPUTS;
    for (size_t i = 0; is_record && i < json_array_size(inputs); i++) {
        is_record = read_hash(&out->state.inputs[i], json_array_get(inputs, i));
    }
    return is_record ? CLF_OK : clf__fail(CLF_BAD_ARGUMENT, sentence, part->record_path);
}

/* --- Starting an output. --- */

/* Checks that the earlier run can be continued. */
static clf_status check_older(const struct part *part, const struct older *older)
{
    size_t inputs = json_array_size(json_object_get(older->record.root, "inputs"));
    CLF__TRY(made_of_compare(part->path, older->record.root, part->made_of));
    if (inputs != (size_t)part->inputs) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "%s: the number of inputs differs: it was %zu and is %d now; use the same inputs",
                         part->path, inputs, part->inputs);
    }
    if (older->size < older->bytes) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "%s: has %lld bytes, fewer than the %lld in %s; remove --resume to start again",
                         part->path, older->size, older->bytes, part->record_path);
    }
    return CLF_OK;
}

static clf_status begin_anew(struct part *part, const struct older *older, const struct part_state *state)
{
    if (older->size > 0 && older->record.root == NULL) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "%s: is not an unfinished clformer output, because %s does not exist; move it, or choose "
            "another output",
            part->path, part->record_path);
    }
    if (older->state.lines > 0) {
        clf__log(CLF_LOG_NOTICE,
                 "%s: %lld %ss from an earlier run are replaced; use --resume to continue the earlier run",
                 part->path, older->state.lines, part->unit);
    }
    CLF__TRY(write_record(part, state, 0));
    return ftruncate(fileno(part->file), 0) == 0 ? CLF_OK : fail_to_write(part);
}

static clf_status begin(struct part *part, const struct older *older, int resumes, struct part_state *state)
{
    if (!resumes || older->record.root == NULL || older->state.lines == 0) {
        CLF__TRY(begin_anew(part, older, state));
        if (resumes) {
            clf__log(CLF_LOG_NOTICE, "%s: does not exist; the run starts at %s 1", part->path, part->unit);
        }
        return CLF_OK;
    }
    CLF__TRY(check_older(part, older));
    *state = older->state;
    part->recorded = state->lines;
    part->bytes = older->bytes;
    return CLF_OK;
}

clf_status part_begin(struct part *part, json_t *made_of, int inputs, int resumes, struct part_state *state)
{
    int is_new = 0;
    struct older older = {.bytes = 0};
    part->made_of = made_of;
    part->inputs = inputs;
    *state = (struct part_state){.inputs = {CLF__FNV_BEGIN, CLF__FNV_BEGIN}};
    CLF__TRY(open_file(part, &is_new));
    clf_status status = read_older(&older, part);
    if (status == CLF_OK) {
        status = begin(part, &older, resumes, state);
    }
    clf__json_free(&older.record);
    if (status != CLF_OK) { /* keep existing files */
        fclose(part->file);
        part->file = NULL;
        if (is_new) {
            unlink(part->path);
        }
    }
    return status;
}

clf_status part_continue(struct part *part, const struct part_state *state)
{
    off_t bytes = (off_t)part->bytes;
    if (fseeko(part->file, bytes, SEEK_SET) != 0 || ftruncate(fileno(part->file), bytes) != 0) {
        return fail_to_write(part);
    }
    clf__log(CLF_LOG_NOTICE, "%s: has %lld %ss, %lld of which failed; the run continues at %s %lld",
             part->path, state->lines, part->unit, state->failed, part->unit, state->lines + 1);
    return CLF_OK;
}

clf_status part_advance(struct part *part, const struct part_state *state)
{
    return state->lines > part->recorded && seconds_now() >= part->record_at ? record(part, state) : CLF_OK;
}

/* --- Closing an output. --- */

static clf_status finish(struct part *part)
{
    int is_written =
        !ferror(part->file) && fflush(part->file) == 0 && (fsync(fileno(part->file)) == 0 || errno == EINVAL);
    if (!is_written) {
        return fail_to_write(part);
    }
    CLF__TRY(clf__file_rename(part->path, part->output));
    part->recorded = 0;
    if (unlink(part->record_path) != 0 && errno != ENOENT) {
        return clf__file_fail(part->record_path, "removed");
    }
    return CLF_OK;
}

/* Records the finished lines; removes the files if there are none. */
static void keep(struct part *part, const struct part_state *state)
{
    if (state->lines > part->recorded) {
        record(part, state);
    }
    if (part->recorded == 0) {
        unlink(part->path);
        unlink(part->record_path);
    }
}

clf_status part_close(struct part *part, const struct part_state *state, clf_status status, long long *kept)
{
    long long lines = 0;
    if (part->file != NULL) {
        status = status == CLF_OK ? finish(part) : status;
        if (status != CLF_OK) {
            struct clf__failure failure = clf__failure_keep(status);
            keep(part, state);
            lines = part->recorded;
            status = clf__failure_again(&failure);
        }
        fclose(part->file);
    }
    free_part(part);
    if (kept != NULL) {
        *kept = lines;
    }
    return status;
}
