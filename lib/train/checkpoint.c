#include "train/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "model/save.h"
#include "train/checkpoint_files.h"

static const char prefix[] = "update-", making_suffix[] = ".tmp", damaged_suffix[] = ".damaged";

/* Digits of the update in the name of a checkpoint. */
enum { LEAST_DIGITS = 8, MOST_DIGITS = 18 };

/* Returns the update in the name of a checkpoint, or -1 for any other name. */
static int64_t update_of(const char *name)
{
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) {
        return -1;
    }
    const char *digits = name + sizeof prefix - 1;
    size_t length = strspn(digits, "0123456789");
    return length >= LEAST_DIGITS && length <= MOST_DIGITS && digits[length] == '\0'
               ? strtoll(digits, NULL, 10)
               : -1;
}

/* Returns 1 if a name is update-DIGITS or update-DIGITS-average, followed by the suffix. */
static int has_suffix(const char *name, const char *suffix)
{
    static const char average[] = "-average";
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) {
        return 0;
    }
    const char *digits = name + sizeof prefix - 1;
    size_t length = strspn(digits, "0123456789");
    const char *rest = digits + length;
    rest += strncmp(rest, average, sizeof average - 1) == 0 ? sizeof average - 1 : 0;
    return length >= LEAST_DIGITS && length <= MOST_DIGITS && strcmp(rest, suffix) == 0;
}

/* Determines whether any name in OUTPUT/checkpoints satisfies is_it(). */
static clf_status find_name(int *out, const char *output, int (*is_it)(const char *name))
{
    char *folder = NULL;
    struct clf__names names = {0};
    *out = 0;
    CLF__TRY(clf__path_join(&folder, output, "checkpoints"));
    clf_status status = clf__folder_exists(folder) ? clf__folder_list(&names, folder) : CLF_OK;
    for (int i = 0; status == CLF_OK && i < names.count; i++) {
        *out |= is_it(names.items[i]);
    }
    clf__names_free(&names);
    clf__free(folder);
    return status;
}

static int is_any(const char *name)
{
    return strncmp(name, prefix, sizeof prefix - 1) == 0;
}

clf_status clf__checkpoints_exist(int *out, const char *output)
{
    return find_name(out, output, is_any);
}

static int has_updates(const char *name)
{
    return update_of(name) > 0;
}

clf_status clf__checkpoints_have_updates(int *out, const char *output)
{
    return find_name(out, output, has_updates);
}

static clf_status remove_in(const struct clf__checkpoints *checkpoints, const char *name)
{
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, checkpoints->folder, name));
    clf_status status = clf__folder_remove(path);
    clf__free(path);
    return status;
}

/* Removes all entries with a suffix except the newest `kept`. */
static clf_status remove_with(const struct clf__checkpoints *checkpoints, const char *suffix, int kept)
{
    struct clf__names names;
    CLF__TRY(clf__folder_list(&names, checkpoints->folder));
    clf_status status = CLF_OK;
    int found = 0;
    for (int i = names.count - 1; i >= 0 && status == CLF_OK; i--) {
        if (!has_suffix(names.items[i], suffix) || found++ < kept) {
            continue;
        }
        status = remove_in(checkpoints, names.items[i]);
        if (status == CLF_OK && kept > 0) {
            clf__log(CLF_LOG_NOTICE, "%s/%s: removed, because a newer damaged checkpoint is kept",
                     checkpoints->folder, names.items[i]);
        }
    }
    clf__names_free(&names);
    return status;
}

/* Training continues without a lock on file systems that do not support locks. */
static clf_status lock_file(int descriptor, const char *folder)
{
    int result;
    do {
        result = flock(descriptor, LOCK_EX | LOCK_NB);
    } while (result != 0 && errno == EINTR);
    if (result != 0 && errno == EWOULDBLOCK) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "%s: another run is training in this folder; wait until it ends or choose another folder",
            folder);
    }
    if (result != 0) {
        clf__log(CLF_LOG_WARNING,
                 "%s: cannot be locked (%s); make sure that no other run trains in this folder", folder,
                 strerror(errno));
    }
    return CLF_OK;
}

/* Locks <folder>/lock; the operating system releases the lock when the process ends. Returns CLF_BAD_ARGUMENT
 * if another run, in this or another process, holds it. */
static clf_status take_lock(struct clf__checkpoints *checkpoints)
{
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, checkpoints->folder, "lock"));
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    clf_status status =
        descriptor < 0 ? clf__file_fail(path, "created") : lock_file(descriptor, checkpoints->folder);
    clf__free(path);
    checkpoints->lock = descriptor + 1;
    return status;
}

clf_status clf__checkpoints_open(struct clf__checkpoints *out, const char *output)
{
    *out = (struct clf__checkpoints){0};
    CLF__TRY(clf__path_join(&out->folder, output, "checkpoints"));
    clf_status status = clf__folder_create(out->folder);
    if (status == CLF_OK) {
        status = take_lock(out);
    }
    if (status == CLF_OK) {
        status = remove_with(out, making_suffix, 0);
    }
    if (status != CLF_OK) {
        clf__checkpoints_close(out);
    }
    return status;
}

clf_status clf__checkpoints_watch(struct clf__checkpoints *out, const char *output)
{
    *out = (struct clf__checkpoints){0};
    return clf__path_join(&out->folder, output, "checkpoints");
}

void clf__checkpoints_close(struct clf__checkpoints *checkpoints)
{
    if (checkpoints->lock > 0) {
        close(checkpoints->lock - 1);
    }
    clf__free(checkpoints->folder);
    *checkpoints = (struct clf__checkpoints){0};
}

clf_status clf__checkpoints_path(char **out, const struct clf__checkpoints *checkpoints, int64_t update)
{
    return clf__format(out, "%s/%s%08" PRId64, checkpoints->folder, prefix, update);
}

/* Renames a damaged checkpoint; the caller frees *renamed. */
static clf_status rename_with(char **renamed, const char *path, const char *suffix)
{
    CLF__TRY(clf__format(renamed, "%s%s", path, suffix));
    clf_status status = clf__folder_remove(*renamed);
    if (status == CLF_OK) {
        status = clf__folder_rename(path, *renamed);
    }
    if (status != CLF_OK) {
        clf__free(*renamed);
        *renamed = NULL;
    }
    return status;
}

/* Renames the checkpoint before removing it, so that a partly removed checkpoint never looks complete. */
static clf_status remove_checkpoint(const char *path)
{
    char *renamed;
    CLF__TRY(rename_with(&renamed, path, making_suffix));
    clf_status status = clf__folder_remove(renamed);
    clf__free(renamed);
    return status;
}

static clf_status set_aside(const char *path)
{
    char *renamed;
    clf__log(CLF_LOG_WARNING, "%s; the checkpoint is skipped and renamed to %s%s", clf_last_error(), path,
             damaged_suffix);
    CLF__TRY(rename_with(&renamed, path, damaged_suffix));
    clf__free(renamed);
    return CLF_OK;
}

clf_status clf__checkpoints_read(struct clf__train_state *state, const char *path)
{
    char *state_path = NULL;
    json_t *files = NULL;
    CLF__TRY(clf__path_join(&state_path, path, "state.json"));
    clf_status status = clf__train_state_read(state, &files, state_path);
    status = clf__checkpoint_files_judge(status, state_path);
    clf__free(state_path);
    CLF__TRY(status);
    status = clf__checkpoint_files_check(files, path);
    json_decref(files);
    if (status != CLF_OK) {
        clf__train_state_free(state);
    }
    return status;
}

clf_status clf__checkpoints_newest(char **path, struct clf__train_state *state,
                                   const struct clf__checkpoints *checkpoints)
{
    *path = NULL;
    struct clf__names names;
    CLF__TRY(clf__folder_list(&names, checkpoints->folder));
    clf_status status = CLF_OK;
    char *found = NULL;
    int damaged = 0;
    /* Names contain the zero-padded update, so they sort by update. */
    for (int i = names.count - 1; i >= 0 && status == CLF_OK && !*path; i--) {
        damaged += has_suffix(names.items[i], damaged_suffix); /* renamed by an earlier start */
        if (update_of(names.items[i]) < 1) {
            continue;
        }
        clf__free(found);
        status = clf__path_join(&found, checkpoints->folder, names.items[i]);
        clf_status read = status == CLF_OK ? clf__checkpoints_read(state, found) : status;
        if (read == CLF_FORMAT) {
            status = set_aside(found);
            damaged++;
        } else if (read == CLF_OK) {
            *path = found;
            found = NULL;
        } else if (read == CLF_FILE) {
            status = clf__fail_in(read, "this checkpoint cannot be read but may be intact; to resume from "
                                        "the previous checkpoint, rename or remove it");
        } else {
            status = read;
        }
    }
    if (status == CLF_OK && !*path && damaged > 0) {
        clf__log(CLF_LOG_WARNING, "%s: no checkpoint is intact; training starts again at update 1",
                 checkpoints->folder);
    }
    clf__free(found);
    clf__names_free(&names);
    return status;
}

clf_status clf__checkpoints_making(char **path, const struct clf__checkpoints *checkpoints, int64_t update)
{
    return clf__format(path, "%s/%s%08" PRId64 "%s", checkpoints->folder, prefix, update, making_suffix);
}

clf_status clf__checkpoints_begin(char **path, const struct clf__checkpoints *checkpoints, int64_t update)
{
    char *old;
    CLF__TRY(clf__checkpoints_path(&old, checkpoints, update));
    clf_status status = clf__folder_exists(old) ? remove_checkpoint(old) : CLF_OK;
    clf__free(old);
    CLF__TRY(status);
    CLF__TRY(clf__checkpoints_making(path, checkpoints, update));
    status = clf__folder_remove(*path);
    if (status == CLF_OK) {
        status = clf__folder_create(*path);
    }
    if (status != CLF_OK) {
        clf__free(*path);
        *path = NULL;
    }
    return status;
}

static clf_status write_state(const char *folder, const struct clf__train_state *state)
{
    char *path = NULL;
    json_t *files = NULL;
    CLF__TRY(clf__path_join(&path, folder, "state.json"));
    clf_status status = clf__checkpoint_files_mark(&files, folder);
    if (status == CLF_OK) {
        status = clf__train_state_write(state, files, path);
    }
    json_decref(files);
    clf__free(path);
    return status;
}

clf_status clf__checkpoints_end(char *making, const struct clf__checkpoints *checkpoints,
                                const struct clf__train_state *state, clf_status status)
{
    char *path = NULL;
    if (status == CLF_OK) {
        status = clf__checkpoints_path(&path, checkpoints, state->update);
    }
    if (status == CLF_OK) {
        status = write_state(making, state);
    }
    if (status == CLF_OK) {
        status = clf__folder_rename(making, path);
    }
    if (status != CLF_OK) {
        clf__folder_discard(making, status);
    }
    clf__free(path);
    clf__free(making);
    return status;
}

clf_status clf__checkpoints_fill(const char *making, const struct clf__training *training,
                                 const struct clf__train_state *state, const char *model)
{
    int has_moments = state->update > 0 && !clf__training_shards_moments(training);
    CLF__TRY(clf__checkpoint_files_copy(making, model, clf__file_link));
    return clf__checkpoint_files_write(making, training, has_moments);
}

clf_status clf__checkpoints_save(const struct clf__checkpoints *checkpoints,
                                 const struct clf__training *training, const struct clf__train_state *state,
                                 const char *model)
{
    char *making;
    CLF__TRY(clf__checkpoints_begin(&making, checkpoints, state->update));
    return clf__checkpoints_end(making, checkpoints, state,
                                clf__checkpoints_fill(making, training, state, model));
}

clf_status clf__checkpoints_note(const struct clf__checkpoints *checkpoints,
                                 const struct clf__train_state *state)
{
    char *folder, *path = NULL;
    struct clf__train_state before = {0};
    json_t *files = NULL;
    CLF__TRY(clf__checkpoints_path(&folder, checkpoints, state->update));
    clf_status status = clf__path_join(&path, folder, "state.json");
    if (status == CLF_OK) {
        status = clf__train_state_read(&before, &files, path);
    }
    /* state.json keeps the checksums of the files as written, so that later damage is detected. */
    if (status == CLF_OK) {
        status = clf__train_state_write(state, files, path);
    }
    json_decref(files);
    clf__train_state_free(&before);
    clf__free(path);
    clf__free(folder);
    return status;
}

/* Lists the updates of all checkpoints, ascending; the caller frees the list. */
static clf_status list_updates(int64_t **out, int *count, const struct clf__checkpoints *checkpoints)
{
    struct clf__names names;
    *count = 0;
    CLF__TRY(clf__folder_list(&names, checkpoints->folder));
    clf_status status = clf__allocate(out, (size_t)names.count, sizeof **out);
    for (int i = 0; i < names.count && status == CLF_OK; i++) {
        int64_t update = update_of(names.items[i]);
        if (update >= 0) {
            (*out)[(*count)++] = update;
        }
    }
    clf__names_free(&names);
    return status;
}

/* Returns the number of existing checkpoints with a better validation than `entry`. */
static int count_better(const struct clf__train_state *state, const struct clf__validated *entry,
                        const int64_t *updates, int count, enum clf__best by)
{
    int better = 0;
    for (int i = 0; i < count; i++) {
        const struct clf__validated *other = clf__train_state_find(state, updates[i]);
        if (other && other != entry) {
            int is_worse = clf__validated_is_better(entry, other, by);
            int is_better = clf__validated_is_better(other, entry, by);
            better += is_better || (!is_worse && other->update < entry->update);
        }
    }
    return better;
}

/* Returns the number of later checkpoints that can be averaged. */
static int count_behind(const struct clf__train_state *state, const struct clf__validated *entry,
                        const int64_t *updates, int count)
{
    int later = 0;
    for (int i = 0; i < count; i++) {
        const struct clf__validated *other = clf__train_state_find(state, updates[i]);
        later += other && !other->is_cut && other->update > entry->update;
    }
    return later;
}

clf_status clf__checkpoints_prune(const struct clf__checkpoints *checkpoints,
                                  const struct clf__train_state *state, const struct clf__settings *settings)
{
    int64_t *updates = NULL;
    int count;
    CLF__TRY(list_updates(&updates, &count, checkpoints));
    clf_status status = CLF_OK;
    for (int i = 0; i < count && status == CLF_OK; i++) {
        const struct clf__validated *entry = clf__train_state_find(state, updates[i]);
        int is_last = count - i <= settings->keep_last && (updates[i] > 0 || count == 1);
        int is_best = entry && count_better(state, entry, updates, count, (enum clf__best)settings->best) <
                                   settings->keep_best;
        int is_averaged =
            entry && !entry->is_cut && count_behind(state, entry, updates, count) < settings->average;
        if (!is_last && !is_best && !is_averaged) {
            char *path = NULL;
            status = clf__checkpoints_path(&path, checkpoints, updates[i]);
            if (status == CLF_OK) {
                status = remove_checkpoint(path);
            }
            clf__free(path);
        }
    }
    clf__free(updates);
    /* The newest damaged checkpoint is kept for diagnosis. */
    return status == CLF_OK ? remove_with(checkpoints, damaged_suffix, 1) : status;
}
