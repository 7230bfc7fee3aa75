/* Any bytes as a package of Argos Translate: a failure that names the file, or a folder whose files are all
 * from it; and nothing is left of either. */
#include "fuzz/weights.h"

#include "base/file.h"
#include "checkpoint/zip.h"
#include "formats/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[] = "/tmp/fuzz_package.XXXXXX", path[64];
    if (!mkdtemp(folder)) {
        abort();
    }
    setenv("TMPDIR", folder, 1);
    snprintf(path, sizeof path, "%s/x.argosmodel", folder);
    fuzz_write_file(path, data, size);
    struct clf__unpacked unpacked;
    clf_status status = clf__unpack(&unpacked, path);
    if (status != CLF_OK && ((status != CLF_FORMAT && status != CLF_UNSUPPORTED && status != CLF_FILE) ||
                             strstr(clf_last_error(), path) == NULL)) {
        abort();
    }
    if (status == CLF_OK && (unpacked.made == NULL || !clf__folder_exists(unpacked.folder))) {
        abort();
    }
    clf__unpacked_close(&unpacked, path, CLF_OK);
    unlink(path);
    if (rmdir(folder) != 0) { /* anything else in it? */
        abort();
    }
    return 0;
}
