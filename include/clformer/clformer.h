/* Runs and trains encoder-decoder Transformers on any OpenCL device. This header includes all others.
 *
 * ABI: a program works without recompilation with every later library of the same MAJOR version (before 1.0:
 * of the same MAJOR.MINOR version). include/clformer/README.md lists the changes of each version. The soname
 * of the shared library follows the same rule. Within such a version:
 *
 * - Functions keep their parameters, structs keep their fields and enumerators keep their values. New
 *   enumerators are added at the end, so a program must accept an unknown status or log level.
 * - Structs that begin with `size` (clf_device_options, clf_model_options, clf_translate_options,
 *   clf_transcribe_options, clf_transcript_options, clf_recordings, clf_train_hooks) may get new fields at
 * the end. Start from the initialiser, which writes the size that the program was compiled with. A newer
 * library uses defaults for the missing fields. An older library accepts a longer struct if all unknown
 * fields are 0, which always keeps the behaviour of the older version; otherwise it returns CLF_BAD_ARGUMENT.
 * - Structs that the library returns by pointer to a single object (clf_device_info, clf_model_info,
 *   clf_device_peaks, clf_stage_times, clf_attention_maps, and the arguments of clf_train_hooks) may get new
 *   fields at the end as well. Read them through the pointer and do not copy them.
 * - Structs that are passed in arrays (clf_line, clf_translation, clf_hypothesis, clf_score, clf_kernel_time,
 *   clf_recipe_key, clf_train_sample, clf_segment, clf_word), clf_bleu and clf_wer do not change.
 *
 * The JSON that clf_inspect() and the command write may get new keys. The texts of errors and log messages
 * are meant for people and may change at any time. */
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
#include <clformer/version.h>
#include <clformer/wer.h>

#endif
