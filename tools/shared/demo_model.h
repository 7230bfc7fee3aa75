/* Location of the demo model. */
#ifndef CLF_TOOLS_DEMO_MODEL_H
#define CLF_TOOLS_DEMO_MODEL_H

/* Searches for the demo model relative to the executable: in the source tree, then in the installation
 * folder. Returns the folder, which the caller frees, or NULL. */
char *demo_model_find(void);
/* Reports that the demo model is not installed. Returns the exit status. */
int report_no_demo_model(void);

/* Returns the path of the executable, which the caller frees, or NULL. */
char *command_path(void);

#endif
