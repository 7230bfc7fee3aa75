/* The sizes of each stack, and whether a device has room for its heads. */
#ifndef CLF_CONFIG_SIDES_H
#define CLF_CONFIG_SIDES_H

#include "config/config.h"
#include "ops/attention.h"

enum clf__side { CLF__ENCODER, CLF__DECODER };
const char *clf__side_word(enum clf__side side); /* "encoder", "decoder" */

int clf__config_layers(const struct clf__config *config, enum clf__side side);
int clf__config_ffn(const struct clf__config *config, enum clf__side side); /* F */
enum clf__positions_kind clf__config_positions(const struct clf__config *config, enum clf__side side);
/* Whether either side's are of this kind. */
int clf__config_has_positions(const struct clf__config *config, enum clf__positions_kind kind);
int clf__config_max_positions(const struct clf__config *config, enum clf__side side);
/* The longest source in tokens or frames, of which there may be several a position. */
int clf__config_longest_source(const struct clf__config *config);
/* Whether a model hears windows of 30 s, as Whisper's do: only such a model can transcribe. */
enum { CLF__WINDOW_FRAMES = 3000 };
int clf__config_hears_windows(const struct clf__config *config);
/* The heads of one side. */
struct clf__heads clf__config_heads(const struct clf__config *config, enum clf__side side);
/* As many and as wide as either side's: what scratch memory for both is sized by. */
struct clf__heads clf__config_largest_heads(const struct clf__config *config);

/* Whether the kernels of a device have room for heads as wide as the configuration's; CLF_UNSUPPORTED names
 * the keys, what they are and the widest heads that there is room for. folder: where the configuration is,
 * NULL: unknown. */
clf_status clf__config_check_heads(const struct clf__config *config, const struct clf_device *device,
                                   const char *folder, int is_trained);

#endif
