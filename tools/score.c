/* clformer score */
#include <string.h>

#include "shared/command.h"
#include "shared/results.h"
#include "shared/stream.h"

static const char help[] =
    "Usage: clformer score -m MODEL SOURCE TARGET [FLAGS]\n\n"
    "Prints the log-probability (natural, summed, end token counted) that the model gives to each line of\n"
    "the file TARGET as the translation of the same line of SOURCE. One of the two may be -, standard\n"
    "input.\n\n"
    "Example:\n"
    "  $ echo 'Je suis étudiant' > fr; echo \"I'm a student.\" > en\n"
    "  $ clformer score -m tools/models/fr-en-small fr en\n"
    "  $ clformer score -m tools/models/fr-en-small --json fr en | jq '.token_log_probabilities'\n\n"
    "A line that cannot be scored gives an empty line, its number and the reason on standard error, and\n"
    "exit status 1 at the end.\n";

enum { SOURCE, TARGET };

struct job {
    struct flags flags;
    struct setup setup;
    struct stream stream;
};

static json_t *token_scores(const struct clf_score *score)
{
    json_t *array = json_array();
    for (int i = 0; i < score->count && array != NULL; i++) {
        if (json_array_append_new(array, result_number((double)score->token_log_probabilities[i])) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

static int print_json(const struct job *job, const struct clf_score *score, const struct clf_line *target)
{
    json_t *total = score->status == CLF_OK ? result_number(score->log_probability) : json_null();
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:O, s:o, s:o}", "text", result_text(target->text, target->size), "tokens",
                  result_tokens(job->setup.model, score->ids, score->count), "ids",
                  result_ids(score->ids, score->count), "score", total, "log_probability", total,
                  "token_log_probabilities", token_scores(score));
    if (object != NULL && score->status != CLF_OK &&
        json_object_set_new(object, "error", result_text(score->problem, strlen(score->problem))) != 0) {
        json_decref(object);
        object = NULL;
    }
    return result_print(object);
}

static clf_status score_window(void *context)
{
    struct job *job = context;
    const struct window *windows = job->stream.windows;
    int count = windows[SOURCE].count;
    struct clf_score *scores;
    clf_status status =
        clf_score(&scores, job->stream.translator, windows[SOURCE].lines, windows[TARGET].lines, count);
    if (status != CLF_OK) {
        return status;
    }
    for (int i = 0; i < count && !output_failed(); i++) {
        stream_report_line(&job->stream, i, scores[i].status, scores[i].problem,
                           (struct stream_cut){scores[i].cut_from, scores[i].cut_is_target});
        if (job->flags.json) {
            job->stream.failed_lines += print_json(job, &scores[i], &windows[TARGET].lines[i]) != EXIT_DONE;
        } else if (scores[i].status == CLF_OK) {
            printf("%.9g\n", scores[i].log_probability);
        } else {
            printf("\n");
        }
    }
    clf_scores_free(scores, count);
    return CLF_OK;
}

static int open_sides(struct job *job)
{
    char **paths = job->flags.operands;
    if (strcmp(paths[SOURCE], "-") == 0 && strcmp(paths[TARGET], "-") == 0) {
        return report_wrong_call("SOURCE and TARGET cannot both be standard input");
    }
    for (int side = 0; side < STREAM_SIDES; side++) {
        struct line_reader *reader = &job->stream.readers[side];
        if (strcmp(paths[side], "-") == 0) {
            line_reader_use_stdin(reader);
        } else if (line_reader_open(reader, paths[side]) != EXIT_DONE) {
            return EXIT_FAILED;
        }
    }
    return EXIT_DONE;
}

static int run(struct job *job)
{
    int status = stream_begin(&job->stream, &job->flags, &job->setup);
    if (status != EXIT_DONE) {
        return status;
    }
    status = stream_run(&job->stream, score_window, job);
    return stream_report_times(&job->stream, &job->setup, &job->flags, status);
}

static void close_job(struct job *job)
{
    stream_free(&job->stream);
    flags_release(&job->flags);
    setup_close(&job->setup);
}

int verb_score(int argc, char **argv)
{
    struct job job = {.stream = {.sides = STREAM_SIDES}};
    int status =
        flags_parse(&job.flags, argc, argv, TAKES_MODEL | TAKES_DEVICE | TAKES_LINES | TAKES_JSON, help);
    if (status < 0) {
        status = flags_operands(&job.flags, 2, 2, "score takes two files, SOURCE and TARGET");
    }
    if (status >= 0) {
        return status;
    }
    status = open_sides(&job);
    if (status == EXIT_DONE) {
        status = setup_open(&job.setup, &job.flags);
    }
    if (status == EXIT_DONE) {
        status = run(&job);
    }
    close_job(&job);
    return status;
}
