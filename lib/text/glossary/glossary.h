/* Glossaries: terms and how a translation must write them. */
#ifndef CLF_TEXT_GLOSSARY_H
#define CLF_TEXT_GLOSSARY_H

#include <clformer/glossary.h>

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Characters of a text in normal form C, with each run of white space as one space. */
struct clf__characters {
    int32_t *items; /* (count) */
    int count;
};
/* Returns CLF_TEXT if the text is not UTF-8. */
clf_status clf__characters_read(struct clf__characters *out, const char *text, size_t size);

struct clf__term {
    struct clf__characters source; /* folded unless is_exact is set */
    char *target;
    int line;     /* in the file */
    int is_exact; /* matches letters of the same case only */
};

/* Terms sorted by the characters of their sources. */
struct clf__term_order {
    const struct clf__term **items; /* (count) */
    int count;
};

struct clf_glossary {
    atomic_int users;        /* the handle of clf_glossary_load(), and translators */
    struct clf__term *terms; /* (count) in the order of the file */
    int count, capacity;
    struct clf__term_order folded, exact;
};

/* Reads the text of a glossary; messages begin with `name`. */
clf_status clf__glossary_parse(struct clf_glossary **out, const char *text, size_t size, const char *name);
/* Keeps a glossary until clf_glossary_free() is called once more. */
void clf__glossary_keep(struct clf_glossary *glossary);

/* Targets that a translation must contain, in the order of their sources. */
struct clf__targets {
    char **items; /* (count) */
    int count, capacity;
};
/* Finds the terms in a line: from left to right, at each position the longest term, as whole words. In
 * scripts without spaces between words, every occurrence counts. The first letter of a target without
 * capitals becomes one if the source begins a sentence with a capital. The caller frees *out, also after a
 * failure. */
clf_status clf__glossary_find(struct clf__targets *out, const struct clf_glossary *glossary, const char *text,
                              size_t size);
void clf__targets_free(struct clf__targets *targets);

/* Returns whether words of the script of a character are written without spaces between them. */
int clf__is_unspaced(int32_t character);
/* Returns whether a character belongs to a word: a letter, a digit or a mark on one. */
int clf__is_word_character(int32_t character);
/* Returns whether a word may begin or end between two characters. */
int clf__is_word_boundary(int32_t before, int32_t after);

#endif
