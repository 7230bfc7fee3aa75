/* Glossaries: terms that translations must contain. */
#ifndef CLFORMER_GLOSSARY_H
#define CLFORMER_GLOSSARY_H

#include <clformer/status.h>
#include <clformer/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A glossary. It does not change after it was loaded, so any number of threads and translators may use it. */
struct clf_glossary;

/**
 * Loads a glossary: UTF-8 text with one term per line. A line has a source term, a tab and a target term, and
 * may have another tab and flags. The flag "case" matches the source term with the same case of letters only;
 * without it, case is ignored. Empty lines and lines that begin with # are ignored.
 * include/clformer/README.md explains how terms are found and used.
 *
 * @param out receives the glossary; free it with clf_glossary_free(), also while translators use it.
 * @param path the file.
 * @return CLF_FILE if the file cannot be read; CLF_FORMAT for a wrong line or a term that occurs twice, with
 *         the numbers of the lines, and for text that is not UTF-8.
 */
CLF_API clf_status clf_glossary_load(struct clf_glossary **out, const char *path);

/** Returns the number of terms. */
CLF_API int clf_glossary_count(const struct clf_glossary *glossary);

/** Frees a glossary when the translators that use it are freed; NULL is ignored. */
CLF_API void clf_glossary_free(struct clf_glossary *glossary);

#ifdef __cplusplus
}
#endif
#endif
