/* Escapes control characters in terminal output: names, tokens and texts come from model files, and a
 * terminal would execute them. */
#ifndef CLF_TOOLS_TERMINAL_GUARD_H
#define CLF_TOOLS_TERMINAL_GUARD_H

/* Escapes everything printed on standard error, and on standard output if that is a terminal, by
 * clf__escape(). Standard output to a pipe or file is unchanged. Returns 0, with errno, on failure. */
int terminal_guard(void);

#endif
