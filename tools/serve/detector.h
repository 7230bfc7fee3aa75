/* A C interface to CLD2, which detects the language of a text. */
#ifndef CLF_TOOLS_SERVE_DETECTOR_H
#define CLF_TOOLS_SERVE_DETECTOR_H

#include <stddef.h>

enum { DETECTOR_LANGUAGES = 3, DETECTOR_CODE_BYTES = 16 };

struct detected_language {
    char code[DETECTOR_CODE_BYTES]; /* CLD2's code: "fr", "zh", "zh-Hant", "iw" */
    int percent;                    /* share of the text */
};

/* Returns 0 if the program was built without CLD2. */
int detector_exists(void);
/* Finds the languages of a text, the most frequent one first. Returns the count; 0: unknown. */
int detector_find(struct detected_language out[DETECTOR_LANGUAGES], const char *text, size_t size);

#endif
