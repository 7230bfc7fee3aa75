/* Any bytes as a glossary, and as a line in which its terms are found: an error that names the file and, if
 * the line is at fault, the line; or targets in UTF-8, at most one per byte. */
#include "fuzz/files.h"

#include "base/utf8.h"
#include "text/glossary/glossary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct clf_glossary *glossary;
    struct clf__targets found;
    clf_status status = clf__glossary_parse(&glossary, text, size, "terms.tsv");
    if (status != CLF_OK) {
        fuzz_check((status == CLF_FORMAT || status == CLF_TEXT) &&
                   strncmp(clf_last_error(), "terms.tsv", 9) == 0);
        return 0;
    }
    fuzz_check(clf__glossary_find(&found, glossary, text, size) == CLF_OK);
    fuzz_check(found.count >= clf_glossary_count(glossary) / (int)(size + 1) && (size_t)found.count <= size);
    for (int i = 0; i < found.count; i++) {
        size_t length = strlen(found.items[i]);
        fuzz_check(length > 0 && clf__utf8_valid_prefix(found.items[i], length) == length);
    }
    clf__targets_free(&found);
    clf_glossary_free(glossary);
    return 0;
}
