/* Comparing names. */
#ifndef CLF_BASE_ASCII_H
#define CLF_BASE_ASCII_H

/* Whether text holds part, in letters of either case. */
int clf__contains(const char *text, const char *part);

int clf__ends_with(const char *text, const char *end);

#endif
