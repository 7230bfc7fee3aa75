/* clformer attend */
#include <stdlib.h>
#include <string.h>

#include "attend/page.h"
#include "shared/command.h"
#include "shared/page.h"

static const char help[] =
    "Usage: clformer attend -m MODEL -o FILE.html TEXT [FLAGS]\n\n"
    "Writes one HTML page with the attention of every layer and head while the model translates TEXT, or\n"
    "reads the translation given by --target. The page needs no other file; open it in a browser. For a\n"
    "speech model, TEXT is the path of a .npy file.\n\n"
    "Example:\n"
    "  $ clformer attend -m tools/models/fr-en-small -o page.html 'Je suis étudiant'\n"
    "  $ clformer attend -m tools/models/fr-en-small -o page.html --target \"I'm a student.\" \\\n"
    "        'Je suis étudiant'\n";

struct job {
    struct flags flags;
    struct setup setup;
    struct clf_translator *translator;
    struct clf_attention_maps *maps;
};

static struct clf_line line_of(const char *text)
{
    return (struct clf_line){.text = text, .size = strlen(text)};
}

/* Tokens after the start token, as text: "▁" begins a word in SentencePiece's pieces. */
static char *join_tokens(const struct clf_attention_maps *maps)
{
    static const char mark[] = "\u2581";
    size_t size = 1, used = 0;
    for (int i = 1; i < maps->target_count; i++) {
        size += strlen(maps->target_tokens[i]) + 1;
    }
    int marked = 0;
    for (int i = 1; i < maps->target_count; i++) {
        marked |= strncmp(maps->target_tokens[i], mark, strlen(mark)) == 0;
    }
    char *text = malloc(size);
    for (int i = 1; text != NULL && i < maps->target_count; i++) {
        const char *token = maps->target_tokens[i];
        int begins = strncmp(token, mark, strlen(mark)) == 0;
        if ((begins || !marked) && used > 0) {
            text[used++] = ' ';
        }
        token += begins ? strlen(mark) : 0;
        memcpy(text + used, token, strlen(token));
        used += strlen(token);
    }
    if (text != NULL) {
        text[used] = '\0';
    }
    return text;
}

static int write_page(const struct job *job)
{
    char *translation = join_tokens(job->maps);
    if (translation == NULL) {
        fprintf(stderr, "clformer: no memory left to write the page\n");
        return EXIT_FAILED;
    }
    struct attend_page page = {
        .maps = job->maps,
        .model = clf_model_describe(job->setup.model),
        .source = job->flags.operands[0],
        .target = translation,
    };
    int status = attend_page_write(job->flags.output, &page);
    free(translation);
    return status;
}

static int run(struct job *job)
{
    int status = flags_apply(&job->flags, job->setup.model);
    if (status >= 0) {
        return status;
    }
    clf_status done = clf_translator_create(&job->translator, job->setup.model, &job->flags.translate);
    if (done == CLF_OK) {
        struct clf_line source = line_of(job->flags.operands[0]), target = {NULL, 0};
        if (job->flags.target != NULL) {
            target = line_of(job->flags.target);
        }
        done = clf_attend(&job->maps, job->translator, &source, job->flags.target != NULL ? &target : NULL);
    }
    if (done != CLF_OK) {
        return report_failure(done);
    }
    status = write_page(job);
    if (job->flags.verbose) {
        print_stage_times(clf_translator_times(job->translator));
        fprintf(stderr, "\n");
    }
    return print_kernel_times(job->setup.device, status);
}

int verb_attend(int argc, char **argv)
{
    struct job job = {.translator = NULL};
    int takes = TAKES_MODEL | TAKES_DEVICE | TAKES_SEARCH | TAKES_LINES | TAKES_OUTPUT | TAKES_TARGET;
    int status = flags_parse(&job.flags, argc, argv, takes, help);
    if (status < 0) {
        status = flags_operands(&job.flags, 1, 1, "attend takes one text, in quotes");
    }
    if (status < 0 && job.flags.output == NULL) {
        status = report_wrong_call("attend needs a page to write: -o FILE.html");
    }
    if (status >= 0) {
        return status;
    }
    status = page_check(job.flags.output);
    if (status == EXIT_DONE) {
        status = setup_open(&job.setup, &job.flags);
    }
    if (status == EXIT_DONE) {
        status = run(&job);
    }
    clf_attention_maps_free(job.maps);
    clf_translator_free(job.translator);
    flags_release(&job.flags);
    setup_close(&job.setup);
    return status;
}
