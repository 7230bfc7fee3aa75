/* A temporary file without a name, which disappears when it is closed. */
#ifndef CLF_TOOLS_SERVE_TEMPORARY_H
#define CLF_TOOLS_SERVE_TEMPORARY_H

#include <stddef.h>

/* Returns a descriptor of a new file in $TMPDIR or /tmp; -1 after printing the reason. */
int temporary_create(void);
/* Returns 0 after printing the reason, such as a full disk. */
int temporary_write(int file, const void *bytes, size_t size);
/* Appends the bytes of a base64 text; returns 0 after printing the reason, -1 if the text is not base64. */
int temporary_write_base64(int file, const char *text, size_t size);

#endif
