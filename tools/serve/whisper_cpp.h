/* The endpoint of whisper.cpp's server. */
#ifndef CLF_TOOLS_SERVE_WHISPER_CPP_H
#define CLF_TOOLS_SERVE_WHISPER_CPP_H

#include "serve/speech_routes.h"

struct answer whisper_cpp_infer(struct service *service, struct speech_request *request);
/* Selects the model of later /inference requests without a model: a speech model of the server, by name. Only
 * with --allow-load. */
struct answer whisper_cpp_load(struct service *service, struct speech_request *request);
struct answer whisper_cpp_problem(unsigned status, const char *message);

#endif
