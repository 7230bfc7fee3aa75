/* The endpoint of whisper.cpp's server. */
#ifndef CLF_TOOLS_SERVE_WHISPER_CPP_H
#define CLF_TOOLS_SERVE_WHISPER_CPP_H

#include "serve/speech_routes.h"

struct answer whisper_cpp_infer(struct service *service, struct speech_request *request);
struct answer whisper_cpp_problem(unsigned status, const char *message);

#endif
