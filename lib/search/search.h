/* Greedy and beam search, as in `generate` of Hugging Face transformers, with continuous batching of sources.
 *
 *     clf__search_create(&search, &limits)
 *     while there is work:
 *         clf__search_add(search, slot, &options, tag)   adds sources to free slots
 *         step = clf__search_prepare(search)             the inputs of the model
 *         the model fills the step, unless it has no rows
 *         clf__search_advance(search)                    advances every source by one token
 *         while clf__search_take(search, &result)        takes results and frees their slots
 *     clf__search_free(search) */
#ifndef CLF_SEARCH_SEARCH_H
#define CLF_SEARCH_SEARCH_H

#include <stdint.h>

#include "base/status.h"
#include "search/types.h"

struct clf__search;

/* Allocates all memory of a search; the other functions do not allocate. */
clf_status clf__search_create(struct clf__search **out, const struct clf__search_limits *limits);
void clf__search_free(struct clf__search *search);

/* Returns 1 if a slot is free. */
int clf__search_is_free(const struct clf__search *search, int slot);

/* Adds a source to a free slot, between two steps. The options and their lists are owned by the caller and
 * must not change until the result is taken. Returns CLF_BAD_ARGUMENT if they are invalid or exceed the
 * limits. */
clf_status clf__search_add(struct clf__search *search, int slot, const struct clf__search_options *options,
                           int tag);

/* Sets the ids of the source in a slot, with its framing tokens, for penalties and bans that read them. The
 * caller keeps `ids` valid until the result is taken. */
void clf__search_set_source(struct clf__search *search, int slot, const int32_t *ids, int count);

/* Sets the identity of the source in a slot for sampling: sources with equal identity, seed and options get
 * the same samples, regardless of other sources. Default 0. */
void clf__search_set_identity(struct clf__search *search, int slot, uint64_t identity);

/* Frees a slot without a result, between two steps; does nothing if it is free. */
void clf__search_remove(struct clf__search *search, int slot);

/* Returns the next step of all sources. A step without rows does not run the model, for example if every
 * source's next token is forced and is its last. If the next step was prepared ahead, returns that step, in
 * which sources added since then do not take part; if none of its sources is active any more, it is
 * dropped. */
struct clf__step *clf__search_prepare(struct clf__search *search);

/* Prepares the step after the prepared one, before the results of the prepared step are known: the model
 * takes the tokens of its rows from these results (`token_rows` and `choices`). Returns NULL if that is
 * impossible: a source needs samples, beam groups, logits or attention, stops by CLF__STOP_ALL or
 * CLF__STOP_SHRINK, bans ids that depend on the unknown tokens, or has beams and a forced token that is not
 * its last; all sources end with the prepared step; or limits.ahead is 0. A source whose end is not known yet
 * has rows in the step ahead, whose results are ignored if it has ended. */
struct clf__step *clf__search_prepare_ahead(struct clf__search *search);

/* Returns the number of tokens that may be proposed for the source in a slot: 0 if its next token is forced
 * or its last, and at most limits.proposals. */
int clf__search_proposals(const struct clf__search *search, int slot);

/* Proposes the next tokens of the source in a slot, which is searched greedily, between two steps
 * (speculative decoding). The next step is a chain with a row for each proposal; clf__search_advance() then
 * adds the tokens that the search selects, up to the first one that differs from its proposal, and one more
 * if all are equal. The result is the same as without proposals. Proposals from an end token on are ignored.
 *
 * @param count at most clf__search_proposals().
 * @return the number of proposals that the step verifies. */
int clf__search_propose(struct clf__search *search, int slot, const int32_t *ids, int count);

/* Drops the prepared steps. The next step starts where the last one that was advanced ended, except that
 * sources with beams start again if a step ahead of them was prepared. */
void clf__search_withdraw(struct clf__search *search);

/* Advances every source by one token, from the outputs of the prepared step. The result of a source does not
 * depend on other sources or on when it was added. Ties go to the better beam, then to the lower id. If there
 * is a step ahead, it becomes the prepared step. */
void clf__search_advance(struct clf__search *search);

/* Returns the *count tokens that the best running hypothesis, or the first sample, has so far; owned by the
 * search and valid until the next call. NULL if the slot is free or its source is finished. */
const int32_t *clf__search_look(const struct clf__search *search, int slot, int *tag, int *count);

/* Describes the hypothesis of a source with one beam and n_best 1, also if the source is finished and its
 * result was not taken. Returns 0 if the slot is free or its source failed. */
int clf__search_see(struct clf__hypothesis *out, int *is_done, const struct clf__search *search, int slot);

/* Returns the (vocabulary) logits from which the last token of a source was chosen, with penalties; banned
 * ids have -FLT_MAX. NULL if they were not kept. Owned by the search and valid until the next step. */
const float *clf__search_logits(const struct clf__search *search, int slot);

/* Ends the source in a slot with its running hypotheses, between two steps. */
void clf__search_stop(struct clf__search *search, int slot);

/* Returns the score of a hypothesis of greedy search or of a sample that has these tokens, without the
 * coverage penalty. */
float clf__search_score(const struct clf__search_options *options, int length, double log_probability);

/* Returns 1 and the result of the first slot with a finished source, and frees the slot; 0 if there is none.
 */
int clf__search_take(struct clf__search *search, struct clf__search_result *out);

/* Finds the phrases in a finished hypothesis (length), whose start token is `start_id`; returns those that
 * are missing, as bits. Returns CLF_OUT_OF_MEMORY. */
clf_status clf__constraints_missing(uint64_t *out, const struct clf__constraints *constraints,
                                    int32_t start_id, const int32_t *ids, int length);

#endif
