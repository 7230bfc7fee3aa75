/* Translates files: subtitles and other documents. */
#ifndef CLF_TOOLS_TRANSLATE_FILES_H
#define CLF_TOOLS_TRANSLATE_FILES_H

#include "shared/command.h"

/* Refuses flags that apply only to files if no files are given. Returns -1 to continue, or an exit status. */
int files_check_none(const struct flags *flags);

/* Translates the operands to flags->output. takes: the groups of flags. Returns the exit status. */
int files_translate(struct flags *flags, int takes);

#endif
