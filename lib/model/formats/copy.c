#define _XOPEN_SOURCE 700 /* realpath() */

#include "model/formats/copy.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ascii.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"

static int ends_with_any(const char *name, const char *const *ends)
{
    for (; *ends != NULL; ends++) {
        if (clf__ends_with(name, *ends)) {
            return 1;
        }
    }
    return 0;
}

static int begins_with_any(const char *name, const char *const *starts)
{
    for (; *starts != NULL; starts++) {
        if (strncmp(name, *starts, strlen(*starts)) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Returns 1 for tokenizers, configurations, word lists and documentation. */
static int is_known(const char *name)
{
    static const char *const ends[] = {".json", ".txt",      ".model", ".spm",   ".vocab", ".yml", ".yaml",
                                       ".bpe",  ".tiktoken", ".codes", ".jinja", ".md",    ".vcb", NULL};
    static const char *const starts[] = {"LICENSE", "LICENCE", "NOTICE", "README", "nonbreaking_prefix.",
                                         NULL};
    static const char *const weights[] = {".safetensors.index.json", ".bin.index.json", NULL};
    return *name != '.' && (ends_with_any(name, ends) || begins_with_any(name, starts)) &&
           !ends_with_any(name, weights) && strcmp(name, "state.json") != 0;
}

/* Returns 1 if loading the model requires the file. Such files are copied even from links that lead outside
 * the folder. */
static int is_of_model(const char *name)
{
    static const char *const names[] = {
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.json",
        "target_vocab.json",
        "vocab-src.json",
        "vocab-tgt.json",
        "special_tokens_map.json",
        "added_tokens.json",
        "merges.txt",
        "vocab.txt",
        "source.spm",
        "target.spm",
        "spiece.model",
        "sentencepiece.bpe.model",
        "sentencepiece.model",
        "bpe.model",
        "spm.model",
        "preprocessor_config.json",
        "metadata.json",
        "dict.txt",
        "vocabulary.txt",
        "vocabulary.json",
        "shared_vocabulary.txt",
        "shared_vocabulary.json",
        "source_vocabulary.txt",
        "source_vocabulary.json",
        "target_vocabulary.txt",
        "target_vocabulary.json",
        "vmap.txt",
        "processor_config.json",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Returns 1 if a path is inside a folder; both paths must be resolved. */
static int is_below(const char *real, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(real, folder, length) == 0 &&
           (real[length] == '/' || (length > 0 && folder[length - 1] == '/'));
}

/* Returns 1 if a file is in the folder or in the same repository of the huggingface_hub cache, where
 * models--NAME/snapshots/REVISION contains links to models--NAME/blobs. */
static int is_in_tree(const char *real, const char *folder)
{
    static const char snapshots[] = "/snapshots/";
    const char *found = strstr(folder, snapshots);
    char *blobs = NULL;
    if (is_below(real, folder)) {
        return 1;
    }
    if (found == NULL || strchr(found + sizeof snapshots - 1, '/') != NULL ||
        clf__format(&blobs, "%.*s/blobs", (int)(found - folder), folder) != CLF_OK) {
        return 0;
    }
    int is_blob = is_below(real, blobs);
    clf__free(blobs);
    return is_blob;
}

/* Returns 1 for a regular file to copy. */
static int is_own(const char *path, const char *name, const char *folder)
{
    struct stat about;
    if (stat(path, &about) != 0) {
        return is_of_model(name); /* copying the file then reports the error */
    }
    if (!S_ISREG(about.st_mode)) {
        return 0;
    }
    if (is_of_model(name)) {
        return 1;
    }
    char *real = realpath(path, NULL), *real_folder = realpath(folder, NULL);
    int is_inside = real != NULL && real_folder != NULL && is_in_tree(real, real_folder);
    if (!is_inside) {
        clf__log(
            CLF_LOG_WARNING,
            "%s: not copied, because the link leads outside the model folder; copy the file if you need it",
            path);
    }
    free(real);
    free(real_folder);
    return is_inside;
}

/* A clf__file_block callback. */
static clf_status write_block(void *user, const uint8_t *bytes, size_t size)
{
    return clf__file_writer_write(user, bytes, size);
}

/* Copies a file like clf__file_copy(), but can be interrupted. */
static clf_status copy(const char *target, const char *source)
{
    struct clf__file file;
    struct clf__file_writer writer;
    CLF__TRY(clf__file_open_as_is(&file, source,
                                  0)); /* accepts git-LFS pointers, because the file is only copied */
    clf_status status = clf__file_writer_open(&writer, target);
    if (status == CLF_OK) {
        writer.asks = 1;
        status = clf__file_writer_close(&writer, clf__file_each_block(&file, write_block, &writer));
    }
    clf__file_close(&file);
    return status;
}

static clf_status copy_file(const char *target, const char *source, const char *name)
{
    char *from = NULL, *to = NULL;
    CLF__TRY(clf__path_join(&from, source, name));
    clf_status status = clf__path_join(&to, target, name);
    if (status == CLF_OK && clf__file_is_missing(to) && is_own(from, name, source)) {
        status = copy(to, from);
    }
    clf__free(to);
    clf__free(from);
    return status;
}

clf_status clf__format_copy_others(const char *target, const char *folder, int (*leaves)(const char *name))
{
    struct clf__names names;
    CLF__TRY(clf__folder_list(&names, folder));
    clf_status status = CLF_OK;
    for (int i = 0; i < names.count && status == CLF_OK; i++) {
        const char *name = names.items[i];
        if (is_known(name) && (leaves == NULL || !leaves(name))) {
            status = copy_file(target, folder, name);
        }
    }
    clf__names_free(&names);
    return status;
}
