/* Counts and times of a server, as text for Prometheus. Any number of threads may call these functions. */
#ifndef CLF_TOOLS_SERVE_METRICS_H
#define CLF_TOOLS_SERVE_METRICS_H

#include "serve/gate.h"
#include "serve/models.h"

struct metrics;

clf_status metrics_create(struct metrics **out);
void metrics_free(struct metrics *metrics);

/* Counts the beginning of a request. */
void metrics_begin(struct metrics *metrics);
/* Counts the end of a request.
 *
 * @param endpoint one of at most METRICS_ENDPOINTS names, which outlive the metrics.
 * @param status below 600. */
enum { METRICS_ENDPOINTS = 32 };
void metrics_end(struct metrics *metrics, const char *endpoint, unsigned status, double seconds);

struct service;
/* Returns the text of a service that has metrics, which the caller frees; NULL if out of memory. */
char *metrics_text(const struct service *service);

#endif
