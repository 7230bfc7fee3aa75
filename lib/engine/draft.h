/* Speculative decoding (Leviathan et al. 2023): a draft model proposes the next tokens of the line that a
 * lane searches, and one step of the lane's model verifies them (clf__search_propose()). */
#ifndef CLF_ENGINE_DRAFT_H
#define CLF_ENGINE_DRAFT_H

#include "engine/source.h"
#include "model/infer/session.h"

struct clf__search;
struct clf__draft;

/* Returns CLF_BAD_ARGUMENT if a model cannot propose tokens for another: it is on another device, has another
 * vocabulary, or one of the two models reads recordings or cannot verify several tokens in one step. */
clf_status clf__draft_check(const struct clf_model *draft, const struct clf_model *model);

/* Creates a session for a draft model, which is borrowed. `limits` are those of the session that verifies. */
clf_status clf__draft_create(struct clf__draft **out, struct clf_model *model,
                             const struct clf__session_limits *limits);
void clf__draft_free(struct clf__draft *draft);

/* Encodes the source of the next line. A line that is too long for the draft model gets no proposals. */
clf_status clf__draft_begin(struct clf__draft *draft, const struct clf__source *source);

/* Proposes the next tokens of the line in slot 0 of a search, whose start token is `start_id`. */
clf_status clf__draft_propose(struct clf__draft *draft, struct clf__search *search, int32_t start_id);

#endif
