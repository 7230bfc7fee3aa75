/* Any text as XLIFF. */
#include "support/support.h"

#include "fuzz/document.h"
#include "translate/documents/xml/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Counts the sources, which a translation must not change. */
static int count_sources(const char *bytes, size_t size)
{
    struct clf__xml_tokens tokens = clf__xml_begin(bytes, size);
    struct clf__xml_token token;
    int count = 0;
    while (clf__xml_next(&token, &tokens)) {
        count += clf__xml_is_tag(&token) && clf__xml_is_named(&token, bytes, "source");
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    document_fuzz("xliff", data, size, count_sources);
    return 0;
}
