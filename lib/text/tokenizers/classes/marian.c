/* MarianTokenizer: uses the ids of vocab.json; models with several target languages expect >>code<< before
 * the source. */
#include "text/tokenizers/classes/class.h"

const struct clf__tokenizer_class clf__class_marian = {
    .name = "MarianTokenizer",
    .language_opens = ">>",
    .language_closes = "<<",
    .finds_languages = 1,
    .place = CLF__LANGUAGE_IN_TEXT,
};
