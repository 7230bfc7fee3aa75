/* Any text as YAML. */
#include "support/support.h"

#include <yaml.h>

#include "fuzz/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Counts the events of the parser: a translation changes no structure. */
static int count_events(const char *bytes, size_t size)
{
    yaml_parser_t parser;
    yaml_event_t event;
    int count = 0;
    if (!yaml_parser_initialize(&parser)) {
        abort();
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, size);
    for (int is_over = 0; !is_over; count++) {
        if (!yaml_parser_parse(&parser, &event)) {
            abort();
        }
        is_over = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    document_fuzz("yaml", data, size, count_events);
    return 0;
}
