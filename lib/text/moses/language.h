/* What Moses' rules for text (its tokenizer.perl, detokenizer.perl and normalize-punctuation.perl, as
 * sacremoses 0.1.1 has them, which argostranslate 1.11 calls) do by language. */
#ifndef CLF_TEXT_MOSES_LANGUAGE_H
#define CLF_TEXT_MOSES_LANGUAGE_H

/* One each of the first three groups holds for every language. */
enum {
    CLF__MOSES_COMMA_IN_QUOTES = 1,     /* a comma or full stop behind a quotation goes into it */
    CLF__MOSES_COMMA_BEHIND_QUOTES = 2, /* or comes out */
    CLF__MOSES_COMMA_STAYS = 4,

    CLF__MOSES_DECIMAL_COMMA = 8, /* a no-break space within a number becomes a comma */
    CLF__MOSES_DECIMAL_POINT = 16,

    CLF__MOSES_APOSTROPHE_BEHIND = 32, /* an apostrophe within a word begins the second part: it 's */
    CLF__MOSES_APOSTROPHE_BEFORE = 64, /* or ends the first: l' eau */
    CLF__MOSES_APOSTROPHE_APART = 128,

    CLF__MOSES_JOINS_CONTRACTIONS = 256,  /* what begins with an apostrophe belongs to the word before it */
    CLF__MOSES_JOINS_ELISIONS = 512,      /* what ends with one belongs to the word behind it */
    CLF__MOSES_JOINS_DASHES = 1024,       /* Czech words with a dash, its numbers and quotation marks */
    CLF__MOSES_SPACES_PUNCTUATION = 2048, /* a space stands before ?!:;% */
    CLF__MOSES_SPACES_CHARACTERS = 4096,  /* words of Chinese, Japanese or Korean characters do not join */
    CLF__MOSES_HAS_ABBREVIATIONS = 8192,  /* there is a list of them; those without one have English's */

    /* Set for every language of transformers' FSMTTokenizer: wide punctuation becomes ASCII first, control
     * and unassigned characters are removed, and a hyphen inside a word becomes the word @-@. */
    CLF__MOSES_AS_FSMT = 16384,
};

struct clf__moses_language {
    const char *code;    /* NULL: any other */
    const char *scripts; /* ICU's set of characters whose words are not cut, beside those of all; or NULL */
    unsigned does;
};

/* The language of a code, which is compared as it is. */
const struct clf__moses_language *clf__moses_language(const char *code);

#endif
