#include "support/ranks.h"

#include <stdlib.h>
#include <string.h>

#include <clformer/ranks.h>

#include "support/support.h"

/* Lets mpirun start more ranks than cores, and as root, on this machine only. */
static void set_environment(void)
{
    static const char *const settings[][2] = {
        {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
        {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
        {"OMPI_MCA_hwloc_base_binding_policy", "none"},
        {"OMPI_MCA_oob_tcp_if_include", "lo"},
        {"OMPI_MCA_btl_tcp_if_include", "lo"},
        {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"}, /* containers forbid the default */
        {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
        {"PRTE_MCA_hwloc_default_binding_policy", "none"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        setenv(settings[i][0], settings[i][1], 0);
    }
}

void ranks_need(void)
{
    static int is_known, can_run;
    set_environment();
    if (!is_known && clf_ranks_library() == NULL) {
        print_message("skipped: clformer was built without MPI\n");
    } else if (!is_known) {
        struct process_result result = ranks_run(2, "true", "");
        can_run = result.status == 0;
        if (!can_run) {
            print_message("skipped: `mpirun -n 2 true` ends with %d: %s\n", result.status, result.errors);
        }
    }
    is_known = 1;
    if (!can_run) {
        skip();
    }
}

int ranks_cases(size_t count)
{
    return support_small() ? 1 : (int)count;
}

/* Disables leak detection: Open MPI leaks memory, and unloads its plug-ins before the sanitizer can name
 * them. Single-process tests find clformer's leaks. */
static const char *without_leaks(void)
{
    const char *options = getenv("ASAN_OPTIONS");
    return process_format("ASAN_OPTIONS=%s%sdetect_leaks=0", options ? options : "", options ? ":" : "");
}

struct process_result ranks_run_process(int count, struct process process, const char *arguments)
{
    process.launcher = process_format("mpirun -n %d", count);
    process.environment = without_leaks();
    return process_run(&process, arguments);
}

struct process_result ranks_run(int count, const char *program, const char *arguments)
{
    return ranks_run_process(count, (struct process){.program = program}, arguments);
}

struct coprocess ranks_start(int count, const char *arguments)
{
    struct process process = {.launcher = process_format("mpirun -n %d", count),
                              .environment = without_leaks()};
    return coprocess_start_by(&process, arguments);
}

struct process_result ranks_run_unlike(const char *program, const char *first, const char *second)
{
    struct process process = {.program = program, .launcher = "mpirun -n 1", .environment = without_leaks()};
    return process_run(&process, process_format("%s : -n 1 %s %s", first, program, second));
}
