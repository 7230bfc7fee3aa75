/* The page of runs from their logs. */
#ifndef CLF_TOOLS_TRAIN_CURVES_H
#define CLF_TOOLS_TRAIN_CURVES_H

/* Returns an exit status. */
int curves_write(const char *path, char **logs, int count);

#endif
