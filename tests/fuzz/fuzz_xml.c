/* Any text as XML and XHTML: translations change no tag. */
#include "support/support.h"

#include "fuzz/document.h"
#include "translate/documents/xml/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count_tags(const char *bytes, size_t size)
{
    struct clf__xml_tokens tokens = clf__xml_begin(bytes, size);
    struct clf__xml_token token;
    int count = 0;
    while (clf__xml_next(&token, &tokens)) {
        if (token.end <= token.start || token.end > size) {
            abort();
        }
        count += clf__xml_is_tag(&token);
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    count_tags((const char *)data, size);
    document_fuzz("xml", data, size, count_tags);
    document_fuzz("xhtml", data, size, count_tags);
    return 0;
}
