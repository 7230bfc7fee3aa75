/* A terminal obeys what it is sent, and model files choose much of that: names, pieces, texts. */
#ifndef CLF_TOOLS_TERMINAL_GUARD_H
#define CLF_TOOLS_TERMINAL_GUARD_H

/* From now on whatever is printed on standard error, and on standard output where that is a terminal, goes
 * through clf__escape(). A pipe or a file gets the bytes of standard output as they are. Returns 0, with
 * errno, where that cannot be had. */
int terminal_guard(void);

#endif
