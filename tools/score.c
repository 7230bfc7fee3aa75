/* clformer score */
#include <string.h>

#include "shared/command.h"
#include "shared/results.h"
#include "shared/stream.h"

static const char help[] =
    "Usage: clformer score -m MODEL SOURCE TARGET [FLAGS]\n"
    "\n"
    "Prints the log-probability of each line of the file TARGET as the translation of the same line of\n"
    "the file SOURCE: the sum of the natural logarithms of the token probabilities, including the end\n"
    "token. One of the two files may be -, which is standard input.\n"
    "\n"
    "Example:\n"
    "  $ echo 'Je suis étudiant' > fr; echo \"I'm a student.\" > en\n"
    "  $ clformer score -m tools/models/fr-en-small fr en\n"
    "  $ clformer score -m tools/models/fr-en-small --json fr en | jq '.token_log_probabilities'\n"
    "  $ clformer score -m tools/models/fr-en-small -d all fr en   # on every device\n"
    "\n"
    "A line that cannot be scored gives an empty line, a message with its number on standard error, and\n"
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

static clf_status write_json(FILE *file, const struct stream *stream, const struct clf_score *score,
                             const struct clf_line *target)
{
    json_t *total = score->status == CLF_OK ? result_number(score->log_probability) : json_null();
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:O, s:o, s:o}", "text", result_text(target->text, target->size), "tokens",
                  result_tokens(stream->setup.model, score->ids, score->count), "ids",
                  result_ids(score->ids, score->count), "score", total, "log_probability", total,
                  "token_log_probabilities", token_scores(score));
    return result_write(
        file, result_remarks(object, score->cut_from, score->status != CLF_OK ? score->problem : NULL));
}

static clf_status write_score(const struct stream *stream, const struct clf_score *score,
                              const struct clf_line *target, struct answers *answers)
{
    if (stream->flags.json) {
        CLF__TRY(write_json(answers->file, stream, score, target));
    } else if (score->status == CLF_OK) {
        fprintf(answers->file, "%.9g\n", score->log_probability);
    } else {
        fprintf(answers->file, "\n");
    }
    return answers_add(answers, score->status, score->problem,
                       (struct line_cut){score->cut_from, score->cut_is_target});
}

static clf_status score_lines(struct stream *stream, const struct batch *batch, struct answers *answers)
{
    struct clf_score *scores;
    clf_status status = CLF_OK;
    CLF__TRY(
        clf_score(&scores, stream->translator, batch->lines[SOURCE], batch->lines[TARGET], batch->count));
    for (int i = 0; i < batch->count && status == CLF_OK; i++) {
        status = write_score(stream, &scores[i], &batch->lines[TARGET][i], answers);
    }
    clf_scores_free(scores, batch->count);
    return status;
}

static int open_sides(struct stream *stream)
{
    char **paths = stream->flags.operands;
    if (strcmp(paths[SOURCE], "-") == 0 && strcmp(paths[TARGET], "-") == 0) {
        return report_wrong_call(
            "SOURCE and TARGET cannot both be standard input; name a file for one of them");
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
    struct stream stream = {.verb = "score", .sides = STREAM_SIDES};
    int takes = TAKES_MODEL | TAKES_DEVICES | TAKES_LINES | TAKES_JSON | TAKES_RESULTS;
    int status = flags_parse(&stream.flags, argc, argv, takes, help);
    if (status < 0) {
        status = flags_operands(&stream.flags, 2, 2, "score requires two files, SOURCE and TARGET");
    }
    if (status >= 0) {
        return status;
    }
    status = stream_join(&stream);
    if (status == EXIT_DONE) {
        status = stream_run(&stream, score_lines, takes,
                            stream_is_first(&stream) ? open_sides(&stream) : EXIT_DONE);
    }
    stream_free(&stream);
    return status;
}
