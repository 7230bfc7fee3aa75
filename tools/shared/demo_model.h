/* Where the demo model lies. */
#ifndef CLF_TOOLS_DEMO_MODEL_H
#define CLF_TOOLS_DEMO_MODEL_H

/* Looks for the demo model from the running command on: in the source tree that it was built in, then where
 * `cmake --install` puts it. Returns its folder, which the caller frees, or NULL. */
char *demo_model_find(void);
/* Says that there is none, and what to do; gives the exit status. */
int report_no_demo_model(void);

/* The path of the running command, which the caller frees, or NULL. */
char *command_path(void);

#endif
