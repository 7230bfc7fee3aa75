/* Language-dependent behaviour of Moses' text rules (tokenizer.perl, detokenizer.perl and
 * normalize-punctuation.perl, as in sacremoses 0.1.1, which argostranslate 1.11 calls). */
#ifndef CLF_TEXT_MOSES_LANGUAGE_H
#define CLF_TEXT_MOSES_LANGUAGE_H

/* Each language has exactly one flag from each of the first three groups. */
enum {
    CLF__MOSES_COMMA_IN_QUOTES =
        1, /* moves a comma or full stop after a closing quotation mark into the quotation */
    CLF__MOSES_COMMA_BEHIND_QUOTES = 2, /* moves a comma or full stop out of a quotation */
    CLF__MOSES_COMMA_STAYS = 4,

    CLF__MOSES_DECIMAL_COMMA = 8, /* replaces a no-break space within a number with a comma */
    CLF__MOSES_DECIMAL_POINT = 16,

    CLF__MOSES_APOSTROPHE_BEHIND = 32, /* an apostrophe within a word starts the second part: it 's */
    CLF__MOSES_APOSTROPHE_BEFORE = 64, /* an apostrophe within a word ends the first part: l' eau */
    CLF__MOSES_APOSTROPHE_APART = 128,

    CLF__MOSES_JOINS_CONTRACTIONS = 256,  /* attaches a word that begins with an apostrophe to the previous
                                             word */
    CLF__MOSES_JOINS_ELISIONS = 512,      /* attaches a word that ends with an apostrophe to the next word */
    CLF__MOSES_JOINS_DASHES = 1024,       /* Czech words with a dash, numbers and quotation marks */
    CLF__MOSES_SPACES_PUNCTUATION = 2048, /* puts a space before ?!:;% */
    CLF__MOSES_SPACES_CHARACTERS = 4096,  /* does not join words of Chinese, Japanese or Korean characters */
    CLF__MOSES_HAS_ABBREVIATIONS = 8192,  /* has a list of abbreviations; other languages use the English
                                             list */

    /* Set for every language of transformers' FSMTTokenizer: wide punctuation becomes ASCII first, control
     * and unassigned characters are removed, and a hyphen inside a word becomes the word @-@. */
    CLF__MOSES_AS_FSMT = 16384,
};

struct clf__moses_language {
    const char *code;    /* NULL: all other languages */
    const char *scripts; /* ICU set of additional characters whose words are not split; may be NULL */
    unsigned does;
};

/* Finds the language with exactly this code. */
const struct clf__moses_language *clf__moses_language(const char *code);

#endif
