/* Abbreviations before a full stop, by what the full stop means. */
#ifndef CLF_TEXT_SENTENCES_ABBREVIATIONS_H
#define CLF_TEXT_SENTENCES_ABBREVIATIONS_H

#include "text/sentences/words.h"

/* Meaning of a full stop after a word. */
enum clf__word_class {
    CLF__WORD_PLAIN,   /* end of sentence, before a capital letter, a number or a quotation mark */
    CLF__WORD_NEVER,   /* abbreviation that belongs to the next word: Dr. */
    CLF__WORD_NUMBER,  /* abbreviation before a number, otherwise a plain word: no. 5 */
    CLF__WORD_BETWEEN, /* abbreviation before a name or at the end: St., Inc. */
    CLF__WORD_LAST,    /* abbreviation that often ends a sentence: etc. */
    CLF__WORD_TIME     /* abbreviation after a number: 5 p.m. */
};

/* Classifies a word, or the word with the abbreviations before it ("z. B."); unlisted letters and numbers are
 * CLF__WORD_PLAIN. */
enum clf__word_class clf__word_classify(const struct clf__passage *passage, size_t start,
                                        const struct clf__sentence_word *word);

/* Returns whether two words with a full stop between them begin a listed abbreviation: the "a" and "C" of "a.
   C." */
int clf__word_begins_abbreviation(const struct clf__passage *passage, const struct clf__sentence_word *word,
                                  const struct clf__sentence_word *next);

/* Returns whether a word is a title after a masculine article in Romance languages: "il cap. Moretti". */
int clf__word_is_title(const struct clf__sentence_word *word, const struct clf__sentence_word *article);

/* Returns whether a word is a unit that begins with a capital letter. */
int clf__word_is_unit(const struct clf__sentence_word *word);
/* Returns whether a word is an abbreviated month of any language. */
int clf__word_is_short_month(const struct clf__sentence_word *word);
/* Returns whether a word is an abbreviated weekday of Romance languages, and not also a month. */
int clf__word_is_weekday(const struct clf__sentence_word *word);

#endif
