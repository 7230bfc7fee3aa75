/* Any bytes as an Argos Translate package: an error that names the file, or a folder whose files are all from
 * it; in both cases nothing is left. */
#include <sys/stat.h>

#include "fuzz/files.h"
#include "model/formats/unpack.h"
#include "model/weights/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char unpacks[96];
    snprintf(unpacks, sizeof unpacks, "%s", fuzz_path("unpacked"));
    fuzz_check(mkdir(unpacks, 0700) == 0 && setenv("TMPDIR", unpacks, 1) == 0);
    const char *path = fuzz_file("x.argosmodel", data, size);
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
    fuzz_check(rmdir(unpacks) == 0); /* anything left in it? */
    return 0;
}
