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
    "  $ clformer score -m tools/models/fr-en-small --json fr en | jq '.token_log_probabilities'\n"
    "  $ clformer score -m tools/models/fr-en-small -d all fr en   # every device, together\n\n"
    "A line that cannot be scored gives an empty line, its number and the reason on standard error, and\n"
    "exit status 1 at the end.\n";

enum { SOURCE, TARGET };

static json_t *token_scores(const struct clf_score *score)
{
    json_t *array = json_array();
    for (int i = 0; i < score->count; i++) {
        array = result_append(array, result_number((double)score->token_log_probabilities[i]));
    }
    return array;
}

static int print_json(const struct stream *stream, const struct clf_score *score,
                      const struct clf_line *target)
{
    json_t *total = score->status == CLF_OK ? result_number(score->log_probability) : json_null();
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:O, s:o, s:o}", "text", result_text(target->text, target->size), "tokens",
                  result_tokens(stream->setup.model, score->ids, score->count), "ids",
                  result_ids(score->ids, score->count), "score", total, "log_probability", total,
                  "token_log_probabilities", token_scores(score));
    return result_print(
        result_remarks(object, score->cut_from, score->status != CLF_OK ? score->problem : NULL));
}

static clf_status score_window(struct stream *stream)
{
    const struct window *windows = stream->windows;
    int count = windows[SOURCE].count;
    struct clf_score *scores;
    clf_status status =
        clf_score(&scores, stream->translator, windows[SOURCE].lines, windows[TARGET].lines, count);
    if (status != CLF_OK) {
        return status;
    }
    for (int i = 0; i < count && !output_failed(); i++) {
        stream_report_line(stream, i, scores[i].status, scores[i].problem,
                           (struct stream_cut){scores[i].cut_from, scores[i].cut_is_target});
        if (stream->flags.json) {
            stream->failed_lines += print_json(stream, &scores[i], &windows[TARGET].lines[i]) != EXIT_DONE;
        } else if (scores[i].status == CLF_OK) {
            printf("%.9g\n", scores[i].log_probability);
        } else {
            printf("\n");
        }
    }
    clf_scores_free(scores, count);
    return CLF_OK;
}

static int open_sides(struct stream *stream)
{
    char **paths = stream->flags.operands;
    if (strcmp(paths[SOURCE], "-") == 0 && strcmp(paths[TARGET], "-") == 0) {
        return report_wrong_call("SOURCE and TARGET cannot both be standard input");
    }
    for (int side = 0; side < STREAM_SIDES; side++) {
        struct line_reader *reader = &stream->readers[side];
        if (strcmp(paths[side], "-") == 0) {
            line_reader_use_stdin(reader);
        } else if (line_reader_open(reader, paths[side]) != EXIT_DONE) {
            return EXIT_FAILED;
        }
    }
    return EXIT_DONE;
}

int verb_score(int argc, char **argv)
{
    struct stream stream = {.sides = STREAM_SIDES};
    int status =
        flags_parse(&stream.flags, argc, argv, TAKES_MODEL | TAKES_DEVICES | TAKES_LINES | TAKES_JSON, help);
    if (status < 0) {
        status = flags_operands(&stream.flags, 2, 2, "score takes two files, SOURCE and TARGET");
    }
    if (status >= 0) {
        return status;
    }
    status = open_sides(&stream);
    if (status == EXIT_DONE) {
        status = stream_run(&stream, score_window);
    }
    stream_free(&stream);
    return status;
}
