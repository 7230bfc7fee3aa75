/* Any bytes as the SentencePiece model of a class converted as in transformers. The first byte chooses the
 * class. */
#include "tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { ROWS = 400 }; /* NLLB's languages are 202 of them */
    static const struct {
        const char *name, *file;
    } classes[] = {{"T5Tokenizer", "spiece.model"},
                   {"PegasusTokenizer", "spiece.model"},
                   {"MBart50Tokenizer", "sentencepiece.bpe.model"},
                   {"NllbTokenizer", "sentencepiece.bpe.model"}};
    if (size > 0) {
        size_t chosen = data[0] % (sizeof classes / sizeof *classes);
        fuzz_tokenizer(classes[chosen].name, classes[chosen].file, ROWS, data + 1, size - 1);
    }
    return 0;
}
