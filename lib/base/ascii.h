/* String comparison that ignores case. */
#ifndef CLF_BASE_ASCII_H
#define CLF_BASE_ASCII_H

/* Returns whether `text` contains `part`, ignoring case. */
int clf__contains(const char *text, const char *part);

int clf__ends_with(const char *text, const char *end);

#endif
