/* Comparing names without regard to the case of ASCII letters. */
#ifndef CLF_BASE_ASCII_H
#define CLF_BASE_ASCII_H

/* Whether text holds part, or is word. */
int clf__contains(const char *text, const char *part);
int clf__equals(const char *text, const char *word);

#endif
