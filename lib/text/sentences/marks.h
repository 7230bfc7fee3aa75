/* Classes of characters for finding sentence ends, from Unicode properties. */
#ifndef CLF_TEXT_SENTENCES_MARKS_H
#define CLF_TEXT_SENTENCES_MARKS_H

#include <stddef.h>
#include <stdint.h>

enum { CLF__QUOTE_BYTES = 400 }; /* longer quotations and brackets are split like other text */

/* A text of arbitrary bytes; invalid UTF-8 counts as symbols. */
struct clf__passage {
    const char *text;
    size_t size;
    int has_capitals; /* 0: the text has no capitals, so sentences begin with small letters */
};

enum clf__mark {
    CLF__MARK_END, /* end of the text */
    CLF__MARK_LINE_BREAK,
    CLF__MARK_SPACE,
    CLF__MARK_STOP,     /* full stop and equivalents, also inside numbers and after abbreviations */
    CLF__MARK_FINAL,    /* ! ? emoticons, and marks of other scripts that always end a sentence */
    CLF__MARK_ELLIPSIS, /* one character, not three full stops */
    CLF__MARK_OPENING,  /* quotation marks and brackets */
    CLF__MARK_CLOSING,
    CLF__MARK_INVERTED, /* Spanish inverted marks */
    CLF__MARK_DASH,
    CLF__MARK_COMMA, /* comma and other marks that continue a sentence */
    CLF__MARK_LOWER,
    CLF__MARK_UPPER,
    CLF__MARK_LETTER, /* letters of scripts without capitals */
    CLF__MARK_DIGIT,
    CLF__MARK_SYMBOL
};

/* Returns the code point at an offset and the offset after it; -1 at the end. `next` may be NULL. */
int32_t clf__char_at(const struct clf__passage *passage, size_t at, size_t *next);
/* Returns the code point before an offset and its start; -1 at the beginning. `start` may be NULL. */
int32_t clf__char_before(const struct clf__passage *passage, size_t at, size_t *start);

/* Returns whether a word, in UTF-8, is at an offset. */
int clf__begins_with(const struct clf__passage *passage, size_t at, const char *word);

/* Classifies the character at an offset. Quotation marks open or close depending on context, as languages
 * differ. */
enum clf__mark clf__mark_at(const struct clf__passage *passage, size_t at, size_t *next);
/* Returns whether a mark is a letter or a digit. */
int clf__mark_is_word(enum clf__mark mark);

/* Returns the offset after the partner of an opening quotation mark or bracket, within its line and
 * CLF__QUOTE_BYTES; 0: unclosed. */
size_t clf__mark_partner(const struct clf__passage *passage, size_t opening);

/* Returns the first offset from `at` on that is not white space. */
size_t clf__skip_spaces(const struct clf__passage *passage, size_t at);

/* Marks that may end a sentence, with the closing marks after them. */
struct clf__ending {
    size_t start, last;         /* offsets of the first and last mark that is STOP, FINAL or ELLIPSIS */
    size_t end;                 /* offset after quotation marks, brackets and footnote numbers */
    size_t next;                /* offset of the next character that is not white space */
    int stops;                  /* number of full stops */
    int is_final;               /* the ending contains a FINAL */
    int is_heart;               /* the ending begins with an emoji of a heart, which may be a verb */
    int is_wide;                /* the FINAL is of a script without spaces between sentences */
    int has_ellipsis;           /* the ending contains an ellipsis character, or consecutive full stops */
    int is_spaced;              /* full stops separated by spaces */
    int has_quote, has_bracket; /* closing marks, adjacent or, in French, after a space */
};

/* Reads the ending that begins with the mark at `at`. */
struct clf__ending clf__ending_read(const struct clf__passage *passage, size_t at);

#endif
