/* Translates files: subtitles and other documents. */
#ifndef CLF_TOOLS_TRANSLATE_FILES_H
#define CLF_TOOLS_TRANSLATE_FILES_H

#include "shared/command.h"

/* Translates the operands to flags->output. takes: the groups of flags. Returns the exit status. */
int files_translate(struct flags *flags, int takes);

#endif
