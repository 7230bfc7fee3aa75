#include "serve/files.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/status.h"

static const double SECONDS_KEPT = 3600;

struct file {
    char path[FILE_NAME_BYTES];
    char *text; /* owned; NULL: unused */
    size_t size;
    double end; /* time at which it expires */
};

struct files {
    pthread_mutex_t lock; /* guards the members below */
    struct file items[FILES_MOST];
    size_t bytes; /* total size of all files */
};

clf_status files_create(struct files **out)
{
    struct files *files = *out = calloc(1, sizeof *files);
    if (files == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for %d files", FILES_MOST);
    }
    pthread_mutex_init(&files->lock, NULL);
    return CLF_OK;
}

static void remove_file(struct files *files, struct file *file)
{
    files->bytes -= file->size;
    free(file->text);
    *file = (struct file){.text = NULL};
}

void files_free(struct files *files)
{
    for (int i = 0; files != NULL && i < FILES_MOST; i++) {
        remove_file(files, &files->items[i]);
    }
    if (files != NULL) {
        pthread_mutex_destroy(&files->lock);
    }
    free(files);
}

/* Returns an unused entry, or NULL after freeing the oldest one. */
static struct file *find_unused(struct files *files, size_t size)
{
    struct file *unused = NULL, *oldest = NULL;
    for (int i = 0; i < FILES_MOST; i++) {
        struct file *file = &files->items[i];
        if (file->text == NULL) {
            unused = file;
        } else if (oldest == NULL || file->end < oldest->end) {
            oldest = file;
        }
    }
    if (oldest != NULL && (unused == NULL || size > FILES_MOST_BYTES - files->bytes)) {
        remove_file(files, oldest);
        return NULL;
    }
    return unused;
}

static void remove_old(struct files *files)
{
    double now = clf__seconds();
    for (int i = 0; i < FILES_MOST; i++) {
        if (files->items[i].text != NULL && files->items[i].end < now) {
            remove_file(files, &files->items[i]);
        }
    }
}

clf_status files_add(char path[FILE_NAME_BYTES], struct files *files, const char *name, char *text,
                     size_t size)
{
    uint64_t id[2];
    if (size > FILES_MOST_BYTES || getrandom(id, sizeof id, 0) != (ssize_t)sizeof id) {
        free(text);
        return clf__fail(CLF_TEXT, "the translated file is larger than %d bytes", FILES_MOST_BYTES);
    }
    snprintf(path, FILE_NAME_BYTES, "%016" PRIx64 "%016" PRIx64 ".%s", id[0], id[1], name);
    pthread_mutex_lock(&files->lock);
    remove_old(files);
    struct file *file;
    do {
        file = find_unused(files, size);
    } while (file == NULL);
    *file = (struct file){.text = text, .size = size, .end = clf__seconds() + SECONDS_KEPT};
    memcpy(file->path, path, FILE_NAME_BYTES);
    files->bytes += size;
    pthread_mutex_unlock(&files->lock);
    return CLF_OK;
}

char *files_get(size_t *size, struct files *files, const char *path)
{
    char *copy = NULL;
    pthread_mutex_lock(&files->lock);
    remove_old(files);
    for (int i = 0; i < FILES_MOST; i++) {
        const struct file *file = &files->items[i];
        if (file->text != NULL && strcmp(file->path, path) == 0) {
            copy = malloc(file->size + 1);
            *size = file->size;
            if (copy != NULL) {
                memcpy(copy, file->text, file->size);
            }
        }
    }
    pthread_mutex_unlock(&files->lock);
    return copy;
}
