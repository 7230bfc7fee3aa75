/* Whether a .spm file is safe to give to the SentencePiece library. */
#ifndef CLF_TEXT_SPM_CHECK_H
#define CLF_TEXT_SPM_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The library loads a damaged normaliser table without a word and then reads outside it while it encodes. So
 * every walk through the table is proved to stay inside first. `path` is for the messages. */
clf_status clf__spm_check(const uint8_t *bytes, size_t size, const char *path);

#endif
