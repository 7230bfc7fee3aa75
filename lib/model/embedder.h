/* The way into a stack: token embedding or front end, scale, positions, norm. */
#ifndef CLF_MODEL_EMBEDDER_H
#define CLF_MODEL_EMBEDDER_H

#include "layers/linear.h"
#include "layers/norm.h"
#include "model/loader.h"

enum clf__side { CLF__ENCODER, CLF__DECODER };
const char *clf__side_word(enum clf__side side); /* "encoder", "decoder" */

struct clf__embedder {
    struct clf__weight *tokens;  /* (V, D); NULL where the source is frames */
    int tokens_are_shared;       /* owned by the other side */
    struct clf__linear frontend; /* (D, feature size); weight NULL where the source is tokens */
    float scale;
    struct clf__tensor positions; /* (P, D), owned; buffer NULL: none */
    struct clf__norm norm;        /* of the sum; gamma NULL: none */
    struct clf__tensor relative;  /* (H, 2 R + 1), owned: the stack's relative bias; buffer NULL: none */
};

/* `shared` is the other side's embedding where the two are one, else NULL. */
clf_status clf__embedder_load(struct clf__embedder *out, const struct clf__loader *loader,
                              enum clf__side side, struct clf__weight *shared);
void clf__embedder_free(struct clf__embedder *embedder);

/* y = norm(scale * E[ids] + P[positions]). */
clf_status clf__embedder_forward(struct clf__tensor y, /* (N, D) */
                                 const struct clf__embedder *embedder,
                                 struct clf__tensor ids,        /* (1, N) i32; unused for frames */
                                 struct clf__tensor frames,     /* (N, feature size); unused for tokens */
                                 struct clf__tensor positions); /* (1, N) i32 */

#endif
