#include "serve/routes.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "shared/results.h"

/* The last hop of the route between two languages. */
struct last_hop {
    int model;  /* index; -1: no route */
    int before; /* index of the language that this hop translates from */
    int hops;   /* length of the whole route */
};

struct routes {
    const struct served_models *models;
    struct languages languages;
    const struct language **own; /* (models, languages) the same language of a model; NULL: it has none */
    struct last_hop *last;       /* (languages, languages) from a source to a target */
};

static const struct language *own_language(const struct routes *routes, int model, int language)
{
    return routes->own[(ptrdiff_t)model * routes->languages.count + language];
}

static struct last_hop *last_hop(const struct routes *routes, int source, int target)
{
    return &routes->last[(ptrdiff_t)source * routes->languages.count + target];
}

/* Collects the languages of all models, each once. */
static clf_status collect(struct routes *routes)
{
    struct languages *all = &routes->languages;
    size_t most = 0;
    for (int i = 0; i < routes->models->count; i++) {
        most += (size_t)routes->models->items[i].languages.count;
    }
    all->items = calloc(most + 1, sizeof *all->items);
    if (all->items == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for %zu languages", most);
    }
    for (int i = 0; i < routes->models->count; i++) {
        const struct languages *languages = &routes->models->items[i].languages;
        for (int j = 0; j < languages->count; j++) {
            if (languages_get(all, languages->items[j].code) == NULL) {
                struct language *language = &all->items[all->count++];
                *language = languages->items[j];
                language->model_code = NULL;
                language->is_source = language->is_target = 0;
            }
        }
    }
    languages_sort(all);
    return CLF_OK;
}

/* Finds the languages of all models in each model. */
static clf_status match(struct routes *routes)
{
    size_t count = (size_t)routes->languages.count, models = (size_t)routes->models->count;
    routes->own = calloc(models * count + 1, sizeof(struct language *));
    routes->last = calloc(count * count + 1, sizeof *routes->last);
    if (routes->own == NULL || routes->last == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the routes between %zu languages",
                         count);
    }
    for (size_t i = 0; i < models; i++) {
        for (size_t j = 0; j < count; j++) {
            routes->own[i * count + j] =
                languages_get(&routes->models->items[i].languages, routes->languages.items[j].code);
        }
    }
    return CLF_OK;
}

/* Adds the languages that a model reaches from `from`, to which there is no route from `source` yet. */
static void extend(struct routes *routes, int source, int from, int model)
{
    const struct language *own = own_language(routes, model, from);
    int hops = last_hop(routes, source, from)->hops + 1;
    for (int i = 0; own != NULL && own->is_source && i < routes->languages.count; i++) {
        const struct language *target = own_language(routes, model, i);
        struct last_hop *last = last_hop(routes, source, i);
        if (i != source && target != NULL && target != own && target->is_target && last->model < 0) {
            *last = (struct last_hop){model, from, hops};
            routes->languages.items[source].is_source = 1;
            routes->languages.items[i].is_target = 1;
        }
    }
}

/* Breadth-first search from one language. */
static void search(struct routes *routes, int source)
{
    int count = routes->languages.count;
    for (int i = 0; i < count; i++) {
        *last_hop(routes, source, i) = (struct last_hop){.model = -1};
    }
    for (int hops = 0; hops < ROUTE_MOST_HOPS; hops++) {
        for (int model = 0; model < routes->models->count; model++) {
            for (int from = 0; from < count; from++) {
                const struct last_hop *last = last_hop(routes, source, from);
                if (from == source ? hops == 0 : last->model >= 0 && last->hops == hops) {
                    extend(routes, source, from, model);
                }
            }
        }
    }
}

clf_status routes_create(struct routes **out, const struct served_models *models)
{
    struct routes *routes = *out = calloc(1, sizeof *routes);
    if (routes == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the routes between languages");
    }
    routes->models = models;
    CLF__TRY(collect(routes));
    CLF__TRY(match(routes));
    for (int i = 0; i < routes->languages.count; i++) {
        search(routes, i);
    }
    return CLF_OK;
}

void routes_free(struct routes *routes)
{
    if (routes != NULL) {
        free((void *)routes->own);
        free(routes->last);
        languages_free(&routes->languages);
    }
    free(routes);
}

const struct languages *routes_languages(const struct routes *routes)
{
    return &routes->languages;
}

const struct language *routes_get(const struct routes *routes, const char *code)
{
    const struct language *language = languages_get(&routes->languages, code);
    for (int i = 0; i < routes->models->count && language == NULL; i++) {
        const struct language *own = languages_get(&routes->models->items[i].languages, code);
        language = own != NULL ? languages_get(&routes->languages, own->code) : NULL;
    }
    return language;
}

int routes_find(struct route *out, const struct routes *routes, const struct language *source,
                const struct language *target)
{
    int from = (int)(source - routes->languages.items), to = (int)(target - routes->languages.items);
    const struct last_hop *last = last_hop(routes, from, to);
    *out = (struct route){.count = 0};
    if (from == to || last->model < 0) {
        return from == to;
    }
    out->count = last->hops;
    for (int i = out->count; i-- > 0; to = last->before) {
        last = last_hop(routes, from, to);
        out->hops[i] =
            (struct hop){&routes->models->items[last->model], own_language(routes, last->model, last->before),
                         own_language(routes, last->model, to)};
    }
    return 1;
}

static int compare_codes(const void *one, const void *other)
{
    return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/* Returns an array of the targets of a language, sorted by code. */
static json_t *list_targets(const struct routes *routes, int source)
{
    const struct languages *languages = &routes->languages;
    const char **codes = calloc((size_t)languages->count + 1, sizeof *codes);
    json_t *array = codes != NULL ? json_array() : NULL;
    size_t count = 0;
    for (int i = 0; codes != NULL && i < languages->count; i++) {
        if (i == source || last_hop(routes, source, i)->model >= 0) {
            codes[count++] = languages->items[i].code;
        }
    }
    if (codes != NULL) {
        qsort((void *)codes, count, sizeof *codes, compare_codes);
    }
    for (size_t i = 0; i < count && array != NULL; i++) {
        array = result_append(array, json_string(codes[i]));
    }
    free((void *)codes);
    return array;
}

json_t *routes_list(const struct routes *routes)
{
    json_t *list = json_array();
    for (int i = 0; i < routes->languages.count && list != NULL; i++) {
        const struct language *language = &routes->languages.items[i];
        list = result_append(list, json_pack("{s:s, s:s, s:o}", "code", language->code, "name",
                                             language->name, "targets", list_targets(routes, i)));
    }
    return list;
}
