/* The endpoints of whisper-asr-webservice. */
#ifndef CLF_TOOLS_SERVE_ASR_H
#define CLF_TOOLS_SERVE_ASR_H

#include "serve/speech_routes.h"

struct answer asr_transcribe(struct service *service, struct speech_request *request);
struct answer asr_detect_language(struct service *service, struct speech_request *request);
struct answer asr_problem(unsigned status, const char *message);

#endif
