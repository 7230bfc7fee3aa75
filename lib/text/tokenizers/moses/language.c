#include "text/tokenizers/moses/language.h"

#include <stddef.h>
#include <string.h>

/* sacremoses' script lists are from Unicode 8 and contain the dotted circle. */
#define SCRIPT(name) "[[:scx=" name ":]&[:age=8.0:]]"
#define HAN          "[[[:scx=Hani:]&[:age=8.0:]]-[\\uA700-\\uA707]]\\u25CC"
#define KANA         SCRIPT("Hira") SCRIPT("Kana")

enum {
    OTHER = CLF__MOSES_COMMA_STAYS | CLF__MOSES_DECIMAL_POINT | CLF__MOSES_APOSTROPHE_APART,
    LISTED = OTHER | CLF__MOSES_HAS_ABBREVIATIONS,
    ENGLISH = CLF__MOSES_COMMA_IN_QUOTES | CLF__MOSES_DECIMAL_POINT | CLF__MOSES_APOSTROPHE_BEHIND |
              CLF__MOSES_JOINS_CONTRACTIONS | CLF__MOSES_HAS_ABBREVIATIONS,
    GERMAN = CLF__MOSES_COMMA_BEHIND_QUOTES | CLF__MOSES_DECIMAL_COMMA | CLF__MOSES_APOSTROPHE_APART |
             CLF__MOSES_HAS_ABBREVIATIONS,
    FRENCH = CLF__MOSES_COMMA_BEHIND_QUOTES | CLF__MOSES_DECIMAL_COMMA | CLF__MOSES_APOSTROPHE_BEFORE |
             CLF__MOSES_JOINS_ELISIONS | CLF__MOSES_SPACES_PUNCTUATION | CLF__MOSES_HAS_ABBREVIATIONS,
    ITALIAN = CLF__MOSES_COMMA_STAYS | CLF__MOSES_DECIMAL_POINT | CLF__MOSES_APOSTROPHE_BEFORE |
              CLF__MOSES_JOINS_ELISIONS | CLF__MOSES_HAS_ABBREVIATIONS,
    CZECH = CLF__MOSES_COMMA_STAYS | CLF__MOSES_DECIMAL_COMMA | CLF__MOSES_APOSTROPHE_APART,
};

static const struct clf__moses_language languages[] = {
    {"en", NULL, ENGLISH},
    {"de", NULL, GERMAN},
    {"es", NULL, GERMAN},
    {"fr", NULL, FRENCH},
    {"it", NULL, ITALIAN},
    {"cs", NULL, CZECH | CLF__MOSES_JOINS_DASHES | CLF__MOSES_HAS_ABBREVIATIONS},
    {"cz", NULL, CZECH}, /* a code for Czech that only the normalizer accepts */
    {"ga", NULL, LISTED | CLF__MOSES_JOINS_ELISIONS},
    {"zh", HAN, LISTED},
    {"ja", HAN KANA, OTHER},
    {"ko", SCRIPT("Hang"), OTHER | CLF__MOSES_SPACES_CHARACTERS},
    {"cjk", HAN KANA SCRIPT("Hang"), OTHER},
    {"as", NULL, LISTED},
    {"bn", NULL, LISTED},
    {"ca", NULL, LISTED},
    {"el", NULL, LISTED},
    {"et", NULL, LISTED},
    {"fi", NULL, LISTED},
    {"gu", NULL, LISTED},
    {"hi", NULL, LISTED},
    {"hu", NULL, LISTED},
    {"is", NULL, LISTED},
    {"kn", NULL, LISTED},
    {"lt", NULL, LISTED},
    {"lv", NULL, LISTED},
    {"ml", NULL, LISTED},
    {"mni", NULL, LISTED},
    {"mr", NULL, LISTED},
    {"nl", NULL, LISTED},
    {"or", NULL, LISTED},
    {"pa", NULL, LISTED},
    {"pl", NULL, LISTED},
    {"pt", NULL, LISTED},
    {"ro", NULL, LISTED},
    {"ru", NULL, LISTED},
    {"sk", NULL, LISTED},
    {"sl", NULL, LISTED},
    {"sv", NULL, LISTED},
    {"ta", NULL, LISTED},
    {"tdt", NULL, LISTED},
    {"te", NULL, LISTED},
    {"yue", NULL, LISTED},
    {NULL, NULL, OTHER},
};

const struct clf__moses_language *clf__moses_language(const char *code)
{
    const struct clf__moses_language *language = languages;
    while (language->code != NULL && strcmp(language->code, code) != 0) {
        language++;
    }
    return language;
}
