/* Any bytes as tokenizer.json. The first byte chooses the class. */
#include "tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { ROWS = 64 };
    static const char *const classes[] = {NULL, "T5Tokenizer", "NllbTokenizer", "PegasusTokenizer",
                                          "BartTokenizer"};
    if (size > 0) {
        fuzz_tokenizer(classes[data[0] % (sizeof classes / sizeof *classes)], "tokenizer.json", ROWS,
                       data + 1, size - 1);
    }
    return 0;
}
