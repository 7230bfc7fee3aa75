/* The description of the machine in a report. */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench/bench.h"
#include "shared/results.h"

/* Returns the value of `key` in a file of lines "key<separators>value", without quotes; NULL if missing. */
static char *find_value(const char *path, const char *key)
{
    FILE *file = fopen(path, "r");
    char line[512], *value = NULL;
    while (file != NULL && value == NULL && fgets(line, sizeof line, file) != NULL) {
        size_t length = strlen(key);
        if (strncmp(line, key, length) == 0 && strchr("\t :=", line[length]) != NULL) {
            char *first = line + length + strspn(line + length, "\t :=\"");
            first[strcspn(first, "\"\n")] = '\0';
            value = strdup(first);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return value;
}

json_t *bench_machine(void)
{
    char *processor = find_value("/proc/cpuinfo", "model name");
    char *memory = find_value("/proc/meminfo", "MemTotal");
    char *system = find_value("/etc/os-release", "PRETTY_NAME");
    struct utsname names = {.sysname = ""};
    uname(&names);
    const char *words = processor != NULL ? processor : names.machine;
    char kernel[256];
    snprintf(kernel, sizeof kernel, "%.64s %.64s %.64s", names.sysname, names.release, names.machine);
    json_t *machine =
        json_pack("{s:o, s:I, s:I, s:o, s:o}", "processor", result_text(words, strlen(words)), "cores",
                  (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "memory_bytes",
                  memory != NULL ? (json_int_t)(1024 * strtoll(memory, NULL, 10)) : (json_int_t)0, "system",
                  system != NULL ? result_text(system, strlen(system)) : json_string(names.sysname), "kernel",
                  result_text(kernel, strlen(kernel)));
    free(processor);
    free(memory);
    free(system);
    return machine;
}

json_t *bench_date(void)
{
    char text[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    return json_string(text);
}
