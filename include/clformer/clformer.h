/* Everything: run and train encoder-decoder Transformers on any OpenCL device. */
#ifndef CLFORMER_CLFORMER_H
#define CLFORMER_CLFORMER_H

#include <clformer/bleu.h>
#include <clformer/device.h>
#include <clformer/inspect.h>
#include <clformer/log.h>
#include <clformer/model.h>
#include <clformer/recipe.h>
#include <clformer/status.h>
#include <clformer/train.h>
#include <clformer/translator.h>

#endif
