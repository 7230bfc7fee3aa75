/* Everything: run and train encoder-decoder Transformers on any OpenCL device.
 *
 * The ABI. A program goes on working, without being compiled again, with every later library of the same
 * MAJOR version; until 1.0, of the same MAJOR.MINOR version. include/clformer/README.md in
 * the sources lists the changes of each version. The soname of a shared build is to follow:
 * libclformer.so.0.1 now, libclformer.so.1 from 1.0 on. The build makes a static library so far. Within such
 * a version:
 *
 * - Functions keep their parameters, structs the fields that they have, enumerators their numbers. New
 *   enumerators come after those that are there, so be ready for a status or level of the log that you do
 *   not know.
 * - Structs that begin with `size` (clf_device_options, clf_model_options, clf_translate_options,
 *   clf_train_hooks) may get fields at their end. Start from their initialiser, which writes the size that
 *   you were compiled with: a newer library takes its defaults for the fields that you do not have. An older
 *   library takes a longer struct where the fields that it does not know are 0, which always means what was
 *   done before they came; otherwise it refuses with CLF_BAD_ARGUMENT.
 * - Structs that the library hands out one at a time (clf_device_info, clf_model_info, clf_device_peaks,
 *   clf_stage_times, clf_attention_maps, and what clf_train_hooks are given) may get fields at their end,
 *   too: read them where they are.
 * - Structs that come in arrays (clf_line, clf_translation, clf_hypothesis, clf_score, clf_kernel_time,
 *   clf_recipe_key, clf_train_sample), clf_bleu and clf_wer do not change.
 *
 * What clf_inspect() and the command write as JSON may get keys. Sentences of errors and logs are for people
 * and may change at any time.
 */
#ifndef CLFORMER_CLFORMER_H
#define CLFORMER_CLFORMER_H

#include <clformer/audio.h>
#include <clformer/bleu.h>
#include <clformer/device.h>
#include <clformer/inspect.h>
#include <clformer/interrupt.h>
#include <clformer/log.h>
#include <clformer/model.h>
#include <clformer/ranks.h>
#include <clformer/recipe.h>
#include <clformer/status.h>
#include <clformer/train.h>
#include <clformer/transcriber.h>
#include <clformer/translator.h>
#include <clformer/wer.h>

#endif
