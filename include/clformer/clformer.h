/* Everything: run encoder-decoder Transformers on any OpenCL device. */
#ifndef CLFORMER_CLFORMER_H
#define CLFORMER_CLFORMER_H

#include <clformer/device.h>
#include <clformer/inspect.h>
#include <clformer/log.h>
#include <clformer/model.h>
#include <clformer/status.h>
#include <clformer/translator.h>

#endif
