/* The progress line of `clformer train`, on a terminal and with a simulated clock. */
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

/* Redirects standard error to a terminal with this number of columns. */
struct screen {
    int master, slave, kept;
};

static void screen_begin(struct screen *screen, int columns)
{
    struct winsize window = {.ws_col = (unsigned short)columns, .ws_row = 24};
    screen->master = posix_openpt(O_RDWR | O_NOCTTY);
    screen->kept = dup(STDERR_FILENO);
    assert_true(screen->master >= 0 && screen->kept >= 0);
    assert_true(grantpt(screen->master) == 0 && unlockpt(screen->master) == 0);
    screen->slave = open(ptsname(screen->master), O_RDWR | O_NOCTTY);
    assert_true(screen->slave >= 0 && ioctl(screen->slave, TIOCSWINSZ, &window) == 0);
    assert_int_equal(dup2(screen->slave, STDERR_FILENO), STDERR_FILENO);
}

/* Restores standard error; `text` contains the terminal's output. */
static void screen_end(struct screen *screen, char *text, size_t size)
{
    assert_int_equal(dup2(screen->kept, STDERR_FILENO), STDERR_FILENO);
    size_t used = 0;
    assert_int_equal(fcntl(screen->master, F_SETFL, O_NONBLOCK), 0);
    for (ssize_t count; (count = read(screen->master, text + used, size - 1 - used)) > 0;) {
        used += (size_t)count;
    }
    text[used] = '\0';
    close(screen->slave);
    close(screen->master);
    close(screen->kept);
}

/* Two updates of a run of `most`, the second `update`, on a terminal with this number of columns: returns the
 * last line. */
static void draw(char *line, size_t size, int columns, int64_t update, int64_t most, int ranks)
{
    struct terminal terminal;
    struct screen screen;
    const struct clf_train_start start = {.pairs = 1, .lines = 1, .first_update = 1, .ranks = ranks};
    struct clf_train_update told = {.update = update - 1,
                                    .epoch = 12,
                                    .loss = 3.4567,
                                    .learning_rate = 0.000123456,
                                    .gradient_norm = 1.2345,
                                    .source_tokens = 50000,
                                    .target_tokens = 48765,
                                    .seconds = 1,
                                    .skipped = 3,
                                    .expected_updates = most,
                                    .waited = 0.25};
    screen_begin(&screen, columns);
    terminal_begin(&terminal, 0);
    terminal_started(&terminal, &start, "device");
    for (int i = 0; i < 2; i++) {
        now += 1;
        terminal_updated(&terminal, &told);
        told.update++;
    }
    char text[2048];
    screen_end(&screen, text, sizeof text);
    snprintf(line, size, "%s", strrchr(text, 'K') + 1); /* after the sequence that erases the line */
}

static void test_what_fits_into_a_line(void **state)
{
    (void)state;
    char line[512];
    draw(line, sizeof line, 80, 50000, 100000, 1);
    assert_string_equal(line, "50000/100000  loss 3.457  norm 1.2  rate 0.00012  98.8k tok/s  13:53:20 left");
    assert_true(strlen(line) < 80);
    draw(line, sizeof line, 120, 50000, 100000, 1);
    assert_non_null(strstr(line, "  13:53:20 left  3 skipped  epoch 12"));
    draw(line, sizeof line, 80, 50, 0, 1);
    assert_string_equal(line,
                        "update 50  loss 3.457  norm 1.2  rate 0.00012  98.8k tok/s  3 skipped  epoch 12");
    draw(line, sizeof line, 40, 50, 60, 1);
    assert_string_equal(line, "50/60  loss 3.457  norm 1.2");
    draw(line, sizeof line, 120, 50, 60, 4);
    assert_non_null(strstr(line, "  98.8k tok/s  0:10 left  4 ranks wait 25%  3 skipped"));
}

/* `count` updates of a run of `most`, each 10 seconds after the previous one, with standard error in a file:
 * returns its contents. */
static const char *write_to_file(int count, int64_t most, int quiet)
{
    static char text[4096];
    struct terminal terminal;
    const struct clf_train_start start = {.pairs = 1, .lines = 1, .first_update = 1, .ranks = 1};
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    assert_true(file != NULL && kept >= 0);
    assert_int_equal(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    terminal_begin(&terminal, quiet);
    terminal_started(&terminal, &start, "device");
    for (int i = 1; i <= count; i++) {
        const struct clf_train_update update = {.update = i, .epoch = 1, .loss = 2, .expected_updates = most};
        now += 10;
        terminal_updated(&terminal, &update);
    }
    assert_int_equal(dup2(kept, STDERR_FILENO), STDERR_FILENO);
    close(kept);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static int count_lines(const char *text, const char *part)
{
    int count = 0;
    for (; (text = strstr(text, part)) != NULL; text++) {
        count++;
    }
    return count;
}

/* Without a terminal, a whole line every half minute, and no erase sequence. */
static void test_lines_without_a_terminal(void **state)
{
    (void)state;
    const char *text = write_to_file(9, 90, 0);
    assert_int_equal(count_lines(text, "loss"), 3);
    assert_non_null(strstr(text, "3/90  loss 2.000  norm 0  rate 0  0 tok/s  14:30 left  epoch 1\n"));
    assert_non_null(strstr(text, "\n9/90  "));
    assert_null(strchr(text, '\r'));
    assert_null(strchr(text, '\033'));
    assert_string_equal(write_to_file(9, 90, 1), "");
}

static void test_a_run_of_days_is_warned_of_once(void **state)
{
    (void)state;
    const char *text = write_to_file(40, 100000, 0);
    assert_int_equal(count_lines(text, "warning"), 1);
    assert_non_null(strstr(text, ", 100000 updates take 11.6 days"));
    assert_non_null(strstr(text, "--minutes"));
    assert_int_equal(count_lines(write_to_file(40, 8000, 0), "warning"), 0);
    assert_int_equal(count_lines(write_to_file(40, 0, 0), "warning"), 0);
    assert_string_equal(write_to_file(40, 100000, 1), "");
}

/* The end of the line of a validation. */
static const char *said_of(const struct clf_train_validation *validation)
{
    static char text[2048];
    struct terminal terminal;
    struct screen screen;
    screen_begin(&screen, 80);
    terminal_begin(&terminal, 0);
    terminal_validated(&terminal, validation);
    screen_end(&screen, text, sizeof text);
    const char *bleu = strstr(text, ", BLEU");
    assert_non_null(bleu);
    return bleu;
}

/* The first one counts as the best, but a BLEU displayed as 0.00 does not. */
static void test_the_best_is_said_where_there_is_one(void **state)
{
    (void)state;
    static const struct {
        double bleu;
        const char *better_by, *said;
    } cases[] = {
        {0, NULL, ", BLEU 0.00\r\n"},
        {0.004, "BLEU", ", BLEU 0.00\r\n"},
        {0, "loss", ", BLEU 0.00, the best so far by loss\r\n"},
        {1.25, "BLEU", ", BLEU 1.25, the best so far by BLEU\r\n"},
        {1.25, NULL, ", BLEU 1.25\r\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clf_train_validation validation = {
            .update = 5, .epoch = 1, .is_best = 1, .bleu = cases[i].bleu, .better_by = cases[i].better_by};
        assert_string_equal(said_of(&validation), cases[i].said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_what_fits_into_a_line, support_teardown),
        cmocka_unit_test_teardown(test_lines_without_a_terminal, support_teardown),
        cmocka_unit_test_teardown(test_a_run_of_days_is_warned_of_once, support_teardown),
        cmocka_unit_test_teardown(test_the_best_is_said_where_there_is_one, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
