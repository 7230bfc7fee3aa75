/* A call that transcribes one recording. */
#ifndef CLF_TRANSCRIBE_CALL_H
#define CLF_TRANSCRIBE_CALL_H

#include <clformer/transcriber.h>
#include <stdatomic.h>

/* The callbacks of a call: `interrupted` replaces that of the options. */
struct clf__transcribe_hooks {
    int (*interrupted)(void *payload); /* NULL: the call is not interrupted */
    void *asked;                       /* argument of `interrupted` */
    void *payload;                     /* last argument of the other callbacks of the options */
    atomic_int *segments;              /* counts finished segments; NULL: not needed */
};

/* Returns CLF_BAD_ARGUMENT for a NULL pointer. */
clf_status clf__transcribe_check(const struct clf_transcriber *transcriber, const struct clf_audio *audio);

clf_status clf__transcribe(struct clf_transcript **out, struct clf_transcriber *transcriber,
                           struct clf_audio *audio, const struct clf__transcribe_hooks *hooks);

#endif
