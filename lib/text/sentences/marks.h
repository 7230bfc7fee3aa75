/* The characters of a text by what they mean for the ends of sentences, from Unicode's properties. */
#ifndef CLF_TEXT_SENTENCES_MARKS_H
#define CLF_TEXT_SENTENCES_MARKS_H

#include <stddef.h>
#include <stdint.h>

enum { CLF__QUOTE_BYTES = 400 }; /* a longer quotation or bracket is cut into sentences like other text */

/* A text of any bytes; those that are not UTF-8 count as symbols. */
struct clf__passage {
    const char *text;
    size_t size;
    int has_capitals; /* 0: its writer uses none, and a sentence begins with a small letter */
};

enum clf__mark {
    CLF__MARK_END, /* of the text */
    CLF__MARK_LINE_BREAK,
    CLF__MARK_SPACE,
    CLF__MARK_STOP,     /* . and its kin, also inside numbers and behind abbreviations */
    CLF__MARK_FINAL,    /* ! ? and in other scripts all that ends sentences alone */
    CLF__MARK_ELLIPSIS, /* one character, not three full stops */
    CLF__MARK_OPENING,  /* quotation marks and brackets */
    CLF__MARK_CLOSING,
    CLF__MARK_INVERTED, /* the first ones of a Spanish question or exclamation */
    CLF__MARK_DASH,
    CLF__MARK_COMMA, /* and whatever else goes on with a sentence */
    CLF__MARK_LOWER,
    CLF__MARK_UPPER,
    CLF__MARK_LETTER, /* of scripts without capitals */
    CLF__MARK_DIGIT,
    CLF__MARK_SYMBOL
};

/* The code point at an offset, and where the next one begins; -1 at the end. `next` may be NULL. */
int32_t clf__char_at(const struct clf__passage *passage, size_t at, size_t *next);
/* The code point that ends at an offset, and where it begins; -1 at the beginning. `start` may be NULL. */
int32_t clf__char_before(const struct clf__passage *passage, size_t at, size_t *start);

/* What stands at an offset. Quotation marks open or close by what stands around them, as languages use them
 * both ways. */
enum clf__mark clf__mark_at(const struct clf__passage *passage, size_t at, size_t *next);
/* Whether a mark is a letter or a digit. */
int clf__mark_is_word(enum clf__mark mark);

/* Where an opening quotation mark or bracket is closed: the offset behind its partner, within its line and
 * CLF__QUOTE_BYTES; 0: it is not. */
size_t clf__mark_partner(const struct clf__passage *passage, size_t opening);

/* The first offset from `at` on that holds no white space. */
size_t clf__skip_spaces(const struct clf__passage *passage, size_t at);

/* Marks that may end a sentence, with what closes behind them and belongs to it. */
struct clf__ending {
    size_t start, last;         /* of the first and the last mark that is STOP, FINAL or ELLIPSIS */
    size_t end;                 /* behind quotation marks, brackets and the numbers of footnotes */
    size_t next;                /* what is no white space behind it */
    int stops;                  /* full stops */
    int is_final;               /* there is a FINAL */
    int is_wide;                /* a FINAL of a script that puts no space between sentences */
    int has_ellipsis;           /* the character, or stops in a row */
    int is_spaced;              /* full stops with spaces between them */
    int has_quote, has_bracket; /* closing ones, directly or in French behind a space */
};

/* The ending that begins with the mark at `at`. */
struct clf__ending clf__ending_read(const struct clf__passage *passage, size_t at);

#endif
