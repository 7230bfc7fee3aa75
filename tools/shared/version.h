/* `clformer --version`. */
#ifndef CLF_TOOLS_VERSION_H
#define CLF_TOOLS_VERSION_H

/* Prints the version, the build, the system, the libraries and the optional parts: the information for a bug
 * report, except for the devices. */
void print_version(void);

#endif
