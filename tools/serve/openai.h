/* OpenAI's endpoints for speech. */
#ifndef CLF_TOOLS_SERVE_OPENAI_H
#define CLF_TOOLS_SERVE_OPENAI_H

#include "serve/speech_routes.h"

/* Value of the header Retry-After, which OpenAI's clients obey. */
enum { OPENAI_RETRY_SECONDS = 10 };

struct answer openai_transcribe(struct service *service, struct speech_request *request);
struct answer openai_translate(struct service *service, struct speech_request *request);
struct answer openai_models(struct service *service, struct speech_request *request);

/* Answers an error object, with the field and the code, or NULL. */
struct answer openai_error(unsigned status, const char *field, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
struct answer openai_problem(unsigned status, const char *message);
/* Returns the error object as compact JSON, which the caller frees; NULL: out of memory. */
char *openai_error_text(unsigned status, const char *field, const char *code, const char *message);

#endif
