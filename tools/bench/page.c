#include "shared/page.h"
#include "bench/bench.h"

static int print_field(FILE *file, const void *context, const char *name, size_t length)
{
    (void)name, (void)length; /* the only placeholder is @DATA@ */
    return page_print_json(file, json_deep_copy(context));
}

int bench_page_write(const char *path, json_t *report)
{
    return page_write(path, &(struct page){bench_template, print_field, report});
}
