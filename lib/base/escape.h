/* Escapes text for terminals. */
#ifndef CLF_BASE_ESCAPE_H
#define CLF_BASE_ESCAPE_H

#include <stddef.h>

/* Copies text like snprintf(): truncates to the capacity, appends a NUL, and returns the full escaped
 * length, which equals `size` only if nothing is escaped. Escapes as \x1b (a byte) or \u202e (a code
 * point): control characters except newline and tab, U+0080 to U+009F, bidirectional controls (embeddings,
 * overrides, isolates), and bytes that are not UTF-8. Escaping is idempotent. */
size_t clf__escape(char *out, size_t capacity, const char *text, size_t size);

#endif
