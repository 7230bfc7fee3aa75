/* The one sequence that we send to a terminal ourselves, past terminal_guard(). */
#ifndef CLF_TOOLS_ERASE_LINE_H
#define CLF_TOOLS_ERASE_LINE_H

/* Wipes the line that changes, on standard error. */
void erase_line(void);

#endif
