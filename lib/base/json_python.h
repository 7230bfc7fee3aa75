/* JSON extensions that Python's json module supports and jansson does not. */
#ifndef CLF_BASE_JSON_PYTHON_H
#define CLF_BASE_JSON_PYTHON_H

#include <stddef.h>

#include "base/status.h"

/* Rewrites JSON text for jansson, which rejects a NUL character in a key, an unpaired surrogate, NaN and
 * Infinity:
 *
 *   \u0000 in a string              U+FDD0, a noncharacter
 *   \uD800 ... \uDFFF unpaired      U+10F800 ... U+10FFFF, the end of the last private use plane
 *   NaN                             the string "NaN", which number getters reject
 *   Infinity, -Infinity             1.7e308, -1.7e308
 *
 * Different strings stay different: a vocabulary keeps all tokens. *out is NULL if the text needs no
 * change; otherwise the caller frees *out, which holds *out_size bytes. */
clf_status clf__json_from_python(char **out, size_t *out_size, const char *text, size_t size);

#endif
