/* A store keeps cross-attention keys and values of sources beyond the slots of a session, so that a source
 * that occurs again is copied instead of encoded. */
#ifndef CLF_INFER_STORE_H
#define CLF_INFER_STORE_H

#include "model/infer/session.h"

struct clf__store;

/* Creates a store for the sources of a session, of at most some encoder rows and bytes of device memory.
 * Sessions of the same model whose limits allow steps can share it. *out is NULL if the memory is too small
 * for a row. */
clf_status clf__store_create(struct clf__store **out, const struct clf__session *session, uint64_t bytes,
                             int most_rows);
void clf__store_free(struct clf__store *store);

/* Returns the number of encoder rows that a store holds. */
int clf__store_rows(const struct clf__store *store);

/* Enqueue the copy of the source in a slot to the rows of the store from `row` on, and the copy back to a
 * slot that is reserved for a source of this length. */
clf_status clf__store_save(struct clf__store *store, int row, const struct clf__session *session, int slot);
clf_status clf__store_load(const struct clf__store *store, int row, struct clf__session *session, int slot);

/* Returns whether a store can keep the source in a slot: a source with masked rows would need their mask. */
int clf__store_takes(const struct clf__session *session, int slot);

#endif
