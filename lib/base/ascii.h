/* Comparing names without regard to the case of their letters. */
#ifndef CLF_BASE_ASCII_H
#define CLF_BASE_ASCII_H

/* Whether text holds part. */
int clf__contains(const char *text, const char *part);

#endif
