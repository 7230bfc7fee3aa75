/* Text that a terminal shows and does not obey. */
#ifndef CLF_BASE_VISIBLE_H
#define CLF_BASE_VISIBLE_H

#include <stddef.h>

/* Copies text, as snprintf() would: as much as there is room for, ended by NUL; returns the length that all
 * of it has, the same as `size` only where nothing changes. What a terminal obeys is written as \x1b (a byte)
 * or \u202e (a code point): control characters but newline and tab, those of U+0080 to U+009F, the ones that
 * turn the direction of text around (embeddings, overrides, isolates), and bytes that are no UTF-8. What was
 * made visible stays as it is when it is copied again. */
size_t clf__visible(char *out, size_t capacity, const char *text, size_t size);

#endif
