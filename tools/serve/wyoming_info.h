/* The answer to a Wyoming client that asks for the services of the server. */
#ifndef CLF_TOOLS_SERVE_WYOMING_INFO_H
#define CLF_TOOLS_SERVE_WYOMING_INFO_H

#include <jansson.h>

#include "serve/speech.h"

/* Returns the data of the event "info": the models and their languages. NULL: out of memory. */
json_t *wyoming_info(const struct speech_models *models);

#endif
