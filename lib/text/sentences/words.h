/* The words around a full stop: abbreviations, initials, numbers, and words that begin sentences. */
#ifndef CLF_TEXT_SENTENCES_WORDS_H
#define CLF_TEXT_SENTENCES_WORDS_H

#include "text/sentences/marks.h"

enum { CLF__WORD_BYTES = 48 };

struct clf__word {
    char lower[CLF__WORD_BYTES]; /* in small letters; empty: there is none, or it is longer than this */
    size_t start, end;           /* in the passage */
    int letters, capitals, digits, stops; /* how many; stops are those inside */
    int is_capital;                       /* begins with a capital letter */
    int is_roman;                         /* a number like XIV, up to 39 */
};

/* The word that ends at an offset, not before `start`; full stops inside are part of it. */
struct clf__word clf__word_before(const struct clf__passage *passage, size_t start, size_t end);
/* The word that begins at an offset, up to an apostrophe or a full stop. */
struct clf__word clf__word_at(const struct clf__passage *passage, size_t at);

/* What a full stop behind a word means. */
enum clf__word_class {
    CLF__WORD_PLAIN,   /* the end, where a capital letter, a number or a quotation mark comes next */
    CLF__WORD_NEVER,   /* an abbreviation to which the next word belongs: Dr. */
    CLF__WORD_NUMBER,  /* an abbreviation before a number, a plain word else: no. 5 */
    CLF__WORD_BETWEEN, /* an abbreviation before a name or at the end: St., Inc. */
    CLF__WORD_LAST,    /* an abbreviation that is often the last word: etc. */
    CLF__WORD_TIME     /* an abbreviation behind a number: 5 p.m. */
};

/* The class of a word, or of it and the abbreviations before it ("z. B."); letters and numbers that are not
 * listed are CLF__WORD_PLAIN. */
enum clf__word_class clf__word_classify(const struct clf__passage *passage, size_t start,
                                        const struct clf__word *word);

/* Whether two words with a full stop between them begin a listed abbreviation: the "a" and "C" of "a. C." */
int clf__word_begins_abbreviation(const struct clf__passage *passage, const struct clf__word *word,
                                  const struct clf__word *next);

/* Whether a word is a title behind an article that a man has in Romance languages: "il cap. Moretti". */
int clf__word_is_title(const struct clf__word *word, const struct clf__word *article);

/* Whether a word commonly begins a sentence and is no name. */
int clf__word_is_starter(const struct clf__passage *passage, const struct clf__word *word);
/* Whether a word is a part of a name with a small or a capital letter, as in "L. van Dam". */
int clf__word_is_particle(const struct clf__word *word);
/* Whether a letter behind a word is no initial: "vitamin C", "you and I". */
int clf__word_is_label(const struct clf__word *word, const struct clf__word *letter);
/* Whether German has an ordinal number behind a word, as in "am 3.". */
int clf__word_precedes_ordinal(const struct clf__word *word);
/* Whether a word is a month of German, in full or abbreviated; an abbreviated one of any language. */
int clf__word_is_german_month(const struct clf__word *word);
int clf__word_is_short_month(const struct clf__word *word);
/* Whether a word begins a phrase of time: "at". */
int clf__word_is_preposition(const struct clf__word *word);
/* 0: Latin or Cyrillic consonants alone. */
int clf__word_has_vowels(const struct clf__word *word);
/* Whether an English word reports a speech: "asked". */
int clf__word_reports(const struct clf__word *word);

#endif
