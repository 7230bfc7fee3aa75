/* The library version. */
#ifndef CLFORMER_VERSION_H
#define CLFORMER_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

/* Marks the functions of the API, the only names that the shared library exports. */
#if defined(__GNUC__)
#define CLF_API __attribute__((visibility("default")))
#else
#define CLF_API
#endif

/* The version of these headers: MAJOR.MINOR.PATCH. */
#define CLF_VERSION_MAJOR  0
#define CLF_VERSION_MINOR  1
#define CLF_VERSION_PATCH  0
#define CLF_VERSION_STRING "0.1.0"
/* For comparisons: CLF_VERSION_NUMBER >= 10203 is version 1.2.3 or later. */
#define CLF_VERSION_NUMBER (CLF_VERSION_MAJOR * 10000 + CLF_VERSION_MINOR * 100 + CLF_VERSION_PATCH)

/** Returns the library version at run time, such as "0.1.0"; a constant string. */
CLF_API const char *clf_version(void);

/** Returns the same version as a number, to compare with CLF_VERSION_NUMBER. */
CLF_API int clf_version_number(void);

#ifdef __cplusplus
}
#endif
#endif
