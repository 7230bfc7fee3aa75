/* Finds the recordings in a file: concatenated MP3, FLAC and WAV files, and chained Ogg. */
#ifndef CLF_AUDIO_PARTS_H
#define CLF_AUDIO_PARTS_H

#include <stdint.h>

#include "base/status.h"

enum clf__audio_kind { CLF__AUDIO_OTHER, CLF__AUDIO_OGG, CLF__AUDIO_MPEG, CLF__AUDIO_FLAC, CLF__AUDIO_WAV };

/* Part i consists of bytes starts[i] .. starts[i + 1] - 1 of the file. */
struct clf__audio_parts {
    int64_t *starts; /* (count + 1) */
    int count, capacity;
};

/* Finds the parts in bytes start .. end - 1; there is at least one. Unreadable bytes end the search. */
clf_status clf__audio_parts_find(struct clf__audio_parts *out, enum clf__audio_kind kind, int descriptor,
                                 int64_t start, int64_t end);
void clf__audio_parts_free(struct clf__audio_parts *parts);

#endif
