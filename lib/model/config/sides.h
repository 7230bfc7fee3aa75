/* Sizes of each stack, and checks of its heads against a device. */
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
/* Returns whether either side has positions of this kind. */
int clf__config_has_positions(const struct clf__config *config, enum clf__positions_kind kind);
int clf__config_max_positions(const struct clf__config *config, enum clf__side side);
/* Returns the longest source in tokens or frames; a position may hold several frames. */
int clf__config_longest_source(const struct clf__config *config);
/* Returns whether the source is a 30 s window, as in Whisper: only such a model can transcribe. */
enum { CLF__WINDOW_FRAMES = 3000 };
int clf__config_hears_windows(const struct clf__config *config);
/* Returns the heads of one side. */
struct clf__heads clf__config_heads(const struct clf__config *config, enum clf__side side);
/* Returns the maximum number and width of heads over both sides, for the size of shared scratch memory. */
struct clf__heads clf__config_largest_heads(const struct clf__config *config);

/* Checks whether a device supports the configured head widths; the message of CLF_UNSUPPORTED names the keys,
 * their values and the largest supported width. `folder`: location of the configuration; NULL: unknown. */
clf_status clf__config_check_heads(const struct clf__config *config, const struct clf_device *device,
                                   const char *folder, int is_trained);

#endif
