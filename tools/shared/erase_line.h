/* The only escape sequence that the command writes to a terminal; it bypasses terminal_guard(). */
#ifndef CLF_TOOLS_ERASE_LINE_H
#define CLF_TOOLS_ERASE_LINE_H

/* Erases the current line of standard error. */
void erase_line(void);

#endif
