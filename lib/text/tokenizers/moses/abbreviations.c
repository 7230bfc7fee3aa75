#include "text/tokenizers/moses/abbreviations.h"

#include <string.h>

#include "base/environment.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/tokenizers/clean_up.h"
#include "text/tokenizers/token_list.h"

enum { MAX_FILE_BYTES = 1 << 22 };

/* --- The lists --- */

void clf__moses_abbreviations_close(struct clf__moses_abbreviations *abbreviations)
{
    clf__vocabulary_free(&abbreviations->always);
    clf__vocabulary_free(&abbreviations->numeric);
    *abbreviations = (struct clf__moses_abbreviations){.always = {.size = 0}};
}

/* Strips white space at both ends. */
static void strip(const char **line, size_t *size)
{
    size_t space;
    while (*size > 0 && (space = clf__text_space_in(*line, *size)) > 0) {
        *line += space;
        *size -= space;
    }
    size_t end = 0;
    for (size_t at = 0; at < *size;) {
        space = clf__text_space_in(*line + at, *size - at);
        at += space > 0 ? space : 1;
        end = space > 0 ? end : at;
    }
    *size = end;
}

/* Returns whether a line ends with the mark of an abbreviation that applies only before numbers. */
static int has_mark(const char *line, size_t size)
{
    static const char mark[] = "#NUMERIC_ONLY#";
    for (size_t at = 0, space; at < size; at++) {
        space = clf__text_space_in(line + at, size - at);
        if (space > 0 && size - at - space >= strlen(mark) &&
            memcmp(line + at + space, mark, strlen(mark)) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Adds the abbreviation of a line. If the line has the mark, the abbreviation is the text before the last
 * space, which may be empty. */
static clf_status add_line(struct clf__token_list *always, struct clf__token_list *numeric, const char *line,
                           size_t size)
{
    if (size == 0 || *line == '#') {
        return CLF_OK;
    }
    if (!has_mark(line, size)) {
        return clf__token_list_add(always, line, size, 0);
    }
    while (size > 0 && line[--size] != ' ') {
    }
    return clf__token_list_add(numeric, line, size, 0);
}

/* Reads one abbreviation per line, except comments. */
static clf_status read_lines(struct clf__token_list *always, struct clf__token_list *numeric,
                             const char *text)
{
    while (*text != '\0') {
        const char *line = text;
        size_t size = strcspn(text, "\r\n");
        text += size + (text[size] != '\0');
        strip(&line, &size);
        CLF__TRY(add_line(always, numeric, line, size));
    }
    return CLF_OK;
}

static clf_status take(struct clf__moses_abbreviations *out, const char *text, size_t size, const char *path)
{
    struct clf__token_list always = {.text = NULL}, numeric = {.text = NULL};
    clf_status status = memchr(text, '\0', size) == NULL && clf__utf8_valid_prefix(text, size) == size
                            ? read_lines(&always, &numeric, text)
                            : clf__fail(CLF_FORMAT, "%s: not UTF-8 text; download the file again", path);
    if (status == CLF_OK && always.count > 0) {
        status = clf__vocabulary_take(&out->always, &always, path);
    }
    if (status == CLF_OK && numeric.count > 0) {
        status = clf__vocabulary_take(&out->numeric, &numeric, path);
    }
    clf__token_list_free(&always);
    clf__token_list_free(&numeric);
    return status;
}

static clf_status read_list(struct clf__moses_abbreviations *out, const char *folder, const char *name)
{
    char *path, *text = NULL;
    size_t size = 0;
    CLF__TRY(clf__path_join(&path, folder, name));
    clf_status status = clf__file_read(&text, &size, path, MAX_FILE_BYTES);
    if (status == CLF_OK) {
        status = take(out, text, size, path);
    }
    clf__free(text);
    clf__free(path);
    return status;
}

/* Finds the folder that contains the list; NULL: none. */
static clf_status find_folder(const char **out, const char *folder, const char *name)
{
    int found = 0;
    const char *elsewhere = clf__environment_abbreviations_folder();
    *out = folder;
    CLF__TRY(clf__file_find(&found, folder, name));
    if (!found && elsewhere != NULL) {
        if (!clf__folder_exists(elsewhere)) {
            return clf__fail(
                CLF_FILE,
                "CLFORMER_ABBREVIATIONS: \"%s\" is not a folder; set it to the folder with Moses' lists",
                elsewhere);
        }
        *out = elsewhere;
        CLF__TRY(clf__file_find(&found, elsewhere, name));
    }
    *out = found ? *out : NULL;
    return CLF_OK;
}

clf_status clf__moses_abbreviations_open(struct clf__moses_abbreviations *out, const char *folder,
                                         const struct clf__moses_language *language, int warns)
{
    char *name;
    const char *where = NULL;
    *out = (struct clf__moses_abbreviations){.always = {.size = 0}};
    CLF__TRY(clf__format(&name, "nonbreaking_prefix.%s",
                         (language->does & CLF__MOSES_HAS_ABBREVIATIONS) != 0 ? language->code : "en"));
    clf_status status = find_folder(&where, folder, name);
    if (status == CLF_OK && where != NULL) {
        status = read_list(out, where, name);
    } else if (status == CLF_OK && warns) {
        clf__log(CLF_LOG_WARNING,
                 "Moses' list of abbreviations %s is neither in the model folder nor in the folder named by "
                 "CLFORMER_ABBREVIATIONS: full stops of words such as \"Dr.\" are split off, and "
                 "translations may differ from sacremoses; run `pip download --no-deps "
                 "\"sacremoses<0.2\"` and `unzip` to get the lists, in sacremoses/data/nonbreaking_prefixes",
                 name);
    }
    clf__free(name);
    if (status != CLF_OK) {
        clf__moses_abbreviations_close(out);
    }
    return status;
}

/* --- Full stops --- */

static int has(const struct clf__vocabulary *list, const char *word, size_t size)
{
    return list->size > 0 && clf__vocabulary_id(list, word, size) >= 0;
}

static int has_word_character(const struct clf__moses_sets *sets, const char *word, size_t size)
{
    for (size_t at = 0, next; at < size; at += next) {
        if (clf__moses_has(sets, CLF__MOSES_WORD, word + at, size - at, &next)) {
            return 1;
        }
    }
    return 0;
}

/* Returns whether the full stop after a word is part of the word; `follows` (follows_size bytes, 0: none) is
 * the next word. */
static int keeps_full_stop(const struct clf__moses_abbreviations *abbreviations,
                           const struct clf__moses_sets *sets, const char *word, size_t size,
                           const char *follows, size_t follows_size)
{
    size_t next;
    int is_numeric = has(&abbreviations->numeric, word, size);
    if ((memchr(word, '.', size) != NULL && has_word_character(sets, word, size)) ||
        (!is_numeric && has(&abbreviations->always, word, size))) {
        return 1;
    }
    return follows_size > 0 && (clf__moses_has(sets, CLF__MOSES_LOWER, follows, follows_size, &next) ||
                                (is_numeric && *follows >= '0' && *follows <= '9'));
}

clf_status clf__moses_part_full_stops(struct clf__moses_work *work,
                                      const struct clf__moses_abbreviations *abbreviations,
                                      const struct clf__moses_sets *sets)
{
    const struct clf__moses_text *text = &work->text;
    const char *word = text->bytes, *end = text->bytes + text->size;
    while (word < end) {
        const char *stop = memchr(word, ' ', (size_t)(end - word));
        stop = stop != NULL ? stop : end;
        const char *follows = stop;
        while (follows < end && *follows == ' ') {
            follows++;
        }
        size_t size = (size_t)(stop - word);
        if (size > 1 && stop[-1] == '.' &&
            !keeps_full_stop(abbreviations, sets, word, size - 1, follows, (size_t)(end - follows))) {
            CLF__TRY(clf__moses_put(&work->other, word, size - 1));
            CLF__TRY(clf__moses_put(&work->other, " .", 2));
        } else {
            CLF__TRY(clf__moses_put(&work->other, word, size));
        }
        CLF__TRY(clf__moses_put(&work->other, " ", follows < end && size > 0));
        word = follows;
    }
    clf__moses_work_turn(work);
    return CLF_OK;
}
