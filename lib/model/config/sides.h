/* The encoder's and the decoder's sizes, and checks of head widths against a device. */
#ifndef CLF_CONFIG_SIDES_H
#define CLF_CONFIG_SIDES_H

#include "math/ops/attention.h"
#include "model/config/types.h"

enum clf__side { CLF__ENCODER, CLF__DECODER };
const char *clf__side_word(enum clf__side side); /* Returns "encoder" or "decoder". */

int clf__config_layers(const struct clf__config *config, enum clf__side side);
int clf__config_ffn(const struct clf__config *config,
                    enum clf__side side); /* Returns the inner width F of the feed-forward. */
enum clf__positions_kind clf__config_positions(const struct clf__config *config, enum clf__side side);
/* Returns 1 if encoder or decoder has positions of this type. */
int clf__config_has_positions(const struct clf__config *config, enum clf__positions_kind kind);
int clf__config_max_positions(const struct clf__config *config, enum clf__side side);
/* Returns the maximum source length in tokens or frames (one position may have several frames). */
int clf__config_longest_source(const struct clf__config *config);
/* Returns 1 if sources are windows of 30 s, as in Whisper. Only such models can transcribe. */
enum { CLF__WINDOW_FRAMES = 3000 };
int clf__config_hears_windows(const struct clf__config *config);
/* Returns the number and width of the heads in one stack. */
struct clf__heads clf__config_heads(const struct clf__config *config, enum clf__side side);
/* Returns the maximum number and width of heads over both stacks, which determine the size of shared scratch
 * buffers. */
struct clf__heads clf__config_largest_heads(const struct clf__config *config);

/* Fails with CLF_UNSUPPORTED if the device does not support the head widths; the message names the keys,
 * their values and the largest supported width. `folder`: the model folder; NULL: unknown. */
clf_status clf__config_check_heads(const struct clf__config *config, const struct clf_device *device,
                                   const char *folder, int is_trained);

#endif
