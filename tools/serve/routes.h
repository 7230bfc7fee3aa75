/* The routes between languages: through one model, or through several models in sequence. Immutable, so that
 * any number of threads may use them. */
#ifndef CLF_TOOLS_SERVE_ROUTES_H
#define CLF_TOOLS_SERVE_ROUTES_H

#include "serve/models.h"

enum { ROUTE_MOST_HOPS = 4 };

/* One hop of a route. */
struct hop {
    const struct served_model *model;
    const struct language *source, *target; /* the model's languages */
};

struct route {
    struct hop hops[ROUTE_MOST_HOPS];
    int count; /* 0: the languages are equal */
};

struct routes;

/* Finds the routes between the languages of all models: those with the fewest hops and, among equals, the one
 * through the models listed first. The models are borrowed. */
clf_status routes_create(struct routes **out, const struct served_models *models);
void routes_free(struct routes *routes);

/* Returns the languages of all models. A source has a route to another language, a target has one from
 * another language. */
const struct languages *routes_languages(const struct routes *routes);

/* Returns the language with a client's code, ignoring case, or NULL. */
const struct language *routes_get(const struct routes *routes, const char *code);

/* Returns 1, and sets the route, if there is one. The languages are those of routes_languages(). */
int routes_find(struct route *out, const struct routes *routes, const struct language *source,
                const struct language *target);

/* The answer to GET /languages; NULL if out of memory. */
json_t *routes_list(const struct routes *routes);

#endif
