/* Words around a full stop: initials, numbers, and words that begin sentences. */
#ifndef CLF_TEXT_SENTENCES_WORDS_H
#define CLF_TEXT_SENTENCES_WORDS_H

#include "text/sentences/marks.h"

enum { CLF__WORD_BYTES = 48 };

struct clf__sentence_word {
    char lower[CLF__WORD_BYTES];          /* in lower case; empty: no word, or longer than this */
    size_t start, end;                    /* range in the passage */
    int letters, capitals, digits, stops; /* counts; stops are inner full stops */
    int is_capital;                       /* begins with a capital letter */
    int is_roman;                         /* a Roman numeral up to 39 */
};

/* Returns the word that ends at an offset, starting at `start` or later; inner full stops are part of it. */
struct clf__sentence_word clf__word_before(const struct clf__passage *passage, size_t start, size_t end);
/* Returns the word that begins at an offset, up to an apostrophe or a full stop. */
struct clf__sentence_word clf__word_at(const struct clf__passage *passage, size_t at);

/* Returns whether a list of words separated by spaces contains a word. */
int clf__word_is_in(const char *list, const char *word);
/* Returns whether a list contains a word, or its part after an apostrophe or the last hyphen: "l'art",
 * "Dr.-Ing". */
int clf__word_is_listed(const char *list, const char *word);

/* Returns whether a word is an initial after an elided article: "d'A". */
int clf__word_is_elided_initial(const struct clf__passage *passage, const struct clf__sentence_word *word);

/* Returns whether a word commonly begins a sentence and is not a name. */
int clf__word_is_starter(const struct clf__passage *passage, const struct clf__sentence_word *word);
/* Returns whether a word is a name particle, capitalised or not, as in "L. van Dam". */
int clf__word_is_particle(const struct clf__sentence_word *word);
/* Returns whether a letter after a word is not an initial: "vitamin C", "you and I". */
int clf__word_is_label(const struct clf__sentence_word *word, const struct clf__sentence_word *letter);
/* Returns whether German has an ordinal number after a word, as in "am 3.". */
int clf__word_precedes_ordinal(const struct clf__sentence_word *word);
/* Returns whether a word is a German month, in full or abbreviated. */
int clf__word_is_german_month(const struct clf__sentence_word *word);
/* Returns whether a word is a German noun that is counted by ordinal numbers: "4. Stock". */
int clf__word_is_german_rank(const struct clf__sentence_word *word);
/* Returns whether a word has the ending of a Russian surname. */
int clf__word_is_russian_surname(const struct clf__sentence_word *word);
/* Returns whether a word after a number says how often: "3 times". */
int clf__word_is_frequency(const struct clf__sentence_word *word);
/* Returns whether a word is "and" or "or". */
int clf__word_joins(const struct clf__sentence_word *word);
/* Returns whether a word is a common finite verb: "is". */
int clf__word_is_finite(const struct clf__sentence_word *word);
/* Returns whether a word is a name that ends with an exclamation mark: "Yahoo! JAPAN". Interjections are such
 * names unless they begin the sentence: "the magazine Jump! Media". */
int clf__word_is_exclaimed(const struct clf__sentence_word *word, int is_first);
/* Returns whether a word names a time zone: "5 p.m. Eastern". */
int clf__word_is_zone(const struct clf__sentence_word *word);
/* Returns whether a word begins a phrase of time: "at". */
int clf__word_is_preposition(const struct clf__sentence_word *word);
/* Returns 0 for words of only Latin or Cyrillic consonants. */
int clf__word_has_vowels(const struct clf__sentence_word *word);
/* Returns whether an English word reports speech: "asked". */
int clf__word_reports(const struct clf__sentence_word *word);

#endif
