/* The flags and the outputs of files to translate. */
#ifndef CLF_TOOLS_TRANSLATE_FILE_ARGUMENTS_H
#define CLF_TOOLS_TRANSLATE_FILE_ARGUMENTS_H

#include "translate/job.h"

/* Refuses flags that apply only to files if no files are given. Returns -1 to continue, or an exit status. */
int file_arguments_check_none(const struct flags *flags);

/* Refuses flags that apply only to lines. Returns -1 to continue, or an exit status. */
int file_arguments_check(const struct flags *flags);

/* Returns whether the output is a folder, in which the files keep their names. */
int file_arguments_have_folder(const struct flags *flags);

/* Sets the paths and the outputs of job->files. Fails if an output would overwrite an input or another
 * output. Returns -1 to continue, or an exit status. */
int file_arguments_name_outputs(struct job *job);

#endif
