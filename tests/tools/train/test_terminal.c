/* The line that changes while `clformer train` runs, on a terminal and by a clock of the test's own. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "shared/progress.h"
#include "support/support.h"
#include "train/terminal.h"

static double now;

double seconds_now(void)
{
    return now;
}

/* Two updates of a run of `most`, the second `update`, on a terminal of so many columns: the last line drawn.
 */
static void draw(char *line, size_t size, int columns, int64_t update, int64_t most)
{
    struct terminal terminal;
    const struct clf_train_start start = {.pairs = 1, .lines = 1, .first_update = 1, .max_updates = most};
    struct clf_train_update told = {.update = update - 1,
                                    .epoch = 12,
                                    .loss = 3.4567,
                                    .learning_rate = 0.000123456,
                                    .gradient_norm = 1.2345,
                                    .source_tokens = 50000,
                                    .target_tokens = 48765,
                                    .seconds = 1,
                                    .skipped = 3};
    struct winsize window = {.ws_col = (unsigned short)columns, .ws_row = 24};
    int master = posix_openpt(O_RDWR | O_NOCTTY), kept = dup(STDERR_FILENO);
    assert_true(master >= 0 && kept >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0 && ioctl(slave, TIOCSWINSZ, &window) == 0);
    assert_int_equal(dup2(slave, STDERR_FILENO), STDERR_FILENO);
    terminal_begin(&terminal, 0);
    terminal_started(&terminal, &start, "device");
    for (int i = 0; i < 2; i++) {
        now += 1;
        terminal_updated(&terminal, &told);
        told.update++;
    }
    assert_int_equal(dup2(kept, STDERR_FILENO), STDERR_FILENO);
    char text[2048];
    size_t used = 0;
    assert_int_equal(fcntl(master, F_SETFL, O_NONBLOCK), 0);
    for (ssize_t count; (count = read(master, text + used, sizeof text - 1 - used)) > 0;) {
        used += (size_t)count;
    }
    text[used] = '\0';
    snprintf(line, size, "%s", strrchr(text, 'K') + 1); /* behind what wipes the line */
    close(slave);
    close(master);
    close(kept);
}

static void test_what_fits_into_a_line(void **state)
{
    (void)state;
    char line[512];
    draw(line, sizeof line, 80, 50000, 100000);
    assert_string_equal(line, "50000/100000  loss 3.457  norm 1.2  rate 0.00012  98.8k tok/s  13:53:20 left");
    assert_true(strlen(line) < 80);
    draw(line, sizeof line, 120, 50000, 100000);
    assert_non_null(strstr(line, "  13:53:20 left  3 skipped  epoch 12"));
    draw(line, sizeof line, 80, 50, 0);
    assert_string_equal(line,
                        "update 50  loss 3.457  norm 1.2  rate 0.00012  98.8k tok/s  3 skipped  epoch 12");
    draw(line, sizeof line, 40, 50, 60);
    assert_string_equal(line, "50/60  loss 3.457  norm 1.2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_what_fits_into_a_line, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
