/* clformer curves */
#include <limits.h>
#include <stdlib.h>

#include "shared/command.h"
#include "train/page.h"

static const char help[] =
    "Usage: clformer curves LOG... -o FILE.html\n"
    "\n"
    "Writes an HTML page with the training curves of one or more runs from their logs (`clformer train\n"
    "--log LOG`): loss, perplexity, BLEU, learning rate, gradient norm, and sample translations. Several\n"
    "runs are drawn in the same charts; one log can contain several runs. Runs may still be in progress.\n"
    "The page is a single file; open it in a browser.\n"
    "\n"
    "Example:\n"
    "  $ clformer train --train pairs.tsv --valid valid.tsv -o model --log model.log\n"
    "  $ clformer curves model.log -o model.html\n"
    "  $ clformer curves seed1.log seed2.log -o seeds.html\n";

int curves_write(const char *path, char **logs, int count)
{
    struct train_history *runs = NULL;
    int run_count = 0, status = EXIT_DONE;
    for (int i = 0; i < count && status == EXIT_DONE; i++) {
        int before = run_count;
        status = history_read(&runs, &run_count, logs[i]);
        if (status == EXIT_DONE && run_count == before) {
            fprintf(stderr, "clformer: %s: has no updates yet\n", logs[i]);
            status = EXIT_FAILED;
        }
    }
    if (status == EXIT_DONE) {
        status = train_page_write(path, runs, run_count);
    }
    for (int i = 0; i < run_count; i++) {
        history_free(&runs[i]);
    }
    free(runs);
    return status;
}

int verb_curves(int argc, char **argv)
{
    struct flags flags;
    int status = flags_parse(&flags, argc, argv, TAKES_OUTPUT, help);
    if (status < 0) {
        status = flags_operands(&flags, 1, INT_MAX, "curves requires one or more logs");
    }
    if (status < 0 && flags.output == NULL) {
        status = report_wrong_call("curves: requires a page to write; add -o FILE.html");
    }
    return status >= 0 ? status : curves_write(flags.output, flags.operands, flags.operand_count);
}
