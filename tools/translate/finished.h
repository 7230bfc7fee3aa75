/* The finished texts of a document whose translation is not complete. OUTPUT.part holds a line per text, and
 * OUTPUT.part.json counts them, as for lines (shared/part.h). */
#ifndef CLF_TOOLS_TRANSLATE_FINISHED_H
#define CLF_TOOLS_TRANSLATE_FINISHED_H

#include <clformer/clformer.h>

#include "shared/part.h"

/* Close with finished_close(), also after a failure. A zeroed struct is closed. */
struct finished {
    struct part part;
    struct part_state state; /* lines: the finished texts */
    struct clf_document *document;
    unsigned long long known_bytes; /* of the texts that an earlier run finished */
};

/* Opens the files, and sets the translations that an earlier run finished.
 *
 * document: borrowed; source: its hash. output: borrowed. made_of: from made_of_describe(); borrowed.
 * resumes: 0: the texts of an earlier run are replaced.
 *
 * Returns CLF_BAD_ARGUMENT and changes no file in the cases of part_begin(), for another document and for
 * damaged files. */
clf_status finished_open(struct finished *out, struct clf_document *document, uint64_t source,
                         const char *output, json_t *made_of, int resumes);

/* Writes a finished text of the document. */
clf_status finished_add(struct finished *finished, int index, const struct clf_translation *translation);

/* Closes the files and keeps them if a text is finished. Returns CLF_OK or the first failure; `status` is
 * the caller's. *kept: number of finished texts. Closing again does nothing. */
clf_status finished_close(struct finished *finished, clf_status status, long long *kept);

/* Removes the files of a complete output. */
clf_status finished_remove(const char *output);

#endif
