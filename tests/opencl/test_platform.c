/* The threads that a driver starts block the signals that stop a program, and the caller's thread does not.
 * PoCL's threads run a linker, which inherits this and so survives Ctrl-C. */
#include <clformer/device.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/process.h"

enum { MOST = 512 };

static int list_threads(long *threads)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL && count < MOST;) {
        if (entry->d_name[0] != '.') {
            threads[count++] = atol(entry->d_name);
        }
    }
    closedir(folder);
    return count;
}

static int is_blocked(long thread, int signal_number)
{
    unsigned long long blocked = 0;
    char line[256];
    FILE *file = fopen(process_format("/proc/self/task/%ld/status", thread), "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL && sscanf(line, "SigBlk: %llx", &blocked) != 1) {
    }
    fclose(file);
    return (int)(blocked >> (signal_number - 1) & 1);
}

static void test_signals(void **state)
{
    (void)state;
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
    long before[MOST], after[MOST];
    struct clf_device_list *list;
    int earlier = list_threads(before);
    assert_ok(clf_device_list_create(&list));
    int count = list_threads(after);
    for (int i = 0; i < count; i++) {
        int is_new = 1;
        for (int j = 0; j < earlier; j++) {
            is_new &= before[j] != after[i];
        }
        for (size_t j = 0; j < sizeof stops / sizeof *stops; j++) {
            assert_int_equal(is_blocked(after[i], stops[j]), is_new);
        }
    }
    clf_device_list_free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_signals, support_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
