/* Runs and trains encoder-decoder Transformers on any OpenCL device. This header includes all others.
 *
 * ABI, from the release of version 0.1.0 on: a program works without recompilation with every later library
 * of the same MAJOR version (before 1.0: of the same MAJOR.MINOR version). include/clformer/README.md lists
 * the changes of each version. The soname of the shared library follows the same rule. Within such a version:
 *
 * - Functions keep their parameters, structs keep their fields and enumerators keep their values. New
 *   enumerators get new values, so a program must accept an unknown status or log level. In every enum that
 *   has an AUTO value, AUTO is 0.
 * - Structs that begin with `size` may get new fields at the end.
 *   - Structs of options and callbacks are filled by the program. Start from the struct's initialiser (its
 *     name plus _init), which writes the size that the program was compiled with. A newer library uses
 *     defaults for the missing fields. An older library accepts a longer struct if all unknown fields are 0,
 *     which keeps the older behaviour; otherwise it returns CLF_BAD_ARGUMENT.
 *   - The other structs that begin with `size` are filled by the library, which writes its own size. Read
 *     them through the pointer and do not copy them. A field exists if it lies within `size`.
 * - All other structs never change, because they are passed in arrays or filled by the program: clf_line,
 *   clf_alignment_link, clf_translation, clf_hypothesis, clf_score, clf_kernel_time, clf_recipe_key,
 *   clf_train_sample, clf_segment, clf_word, clf_mark, clf_ids, clf_window_text, clf_window_result,
 *   clf_window_alignment, clf_bleu and clf_wer.
 *
 * Parameters: outputs come first. A callback gets `void *payload` as its last parameter, the pointer that the
 * program stored with the callback. `int` has 32 bits.
 *
 * The JSON output of clf_inspect() and of the command may gain new keys. Error and log messages are for human
 * readers and may change at any time. */
#ifndef CLFORMER_CLFORMER_H
#define CLFORMER_CLFORMER_H

#include <clformer/audio.h>
#include <clformer/bleu.h>
#include <clformer/device.h>
#include <clformer/document.h>
#include <clformer/engine.h>
#include <clformer/glossary.h>
#include <clformer/inspect.h>
#include <clformer/interrupt.h>
#include <clformer/live.h>
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
#include <clformer/windows.h>

#endif
