/* clformer translate */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "shared/command.h"
#include "shared/results.h"
#include "shared/stream.h"
#include "translate/file_arguments.h"
#include "translate/files.h"

static const char help[] =
    "Usage: clformer translate -m MODEL [FLAGS] < lines > translations\n"
    "       clformer translate -m MODEL [FLAGS] FILE... -o OUTPUT\n\n"
    "Translates each line of standard input, in order. An empty line stays empty. For a speech model,\n"
    "each line is the path of a recording (WAV, FLAC, OGG, MP3) or of a .npy file of float32 frames;\n"
    "recordings longer than the model's limit are truncated, whereas `clformer transcribe` transcribes\n"
    "whole recordings with a Whisper model. Lines from a pipe are translated and printed as soon as no\n"
    "more arrive, so a program can write a line and wait for its translation.\n\n"
    "Example:\n"
    "  $ echo 'Je suis étudiant' | clformer translate -m tools/models/fr-en-small\n"
    "  I'm a student.\n"
    "  $ clformer translate -m tools/models/fr-en-small --beam 5 --n-best 3 --json < french.txt\n\n"
    "With --n-best N > 1, each input line gives N lines of `line number <tab> score <tab> text`, or with\n"
    "--json an array `n_best`. A line that cannot be translated gives an empty line, a message with its\n"
    "number on standard error, and exit status 1 at the end. A line that is too long for the model is\n"
    "truncated, with a warning and exit status 3; with --json, `cut_from` is its original length.\n\n"
    "With --split-sentences and --json, `sentences` contains each sentence with its translation:\n"
    "  $ clformer translate -m tools/models/fr-en-small --split-sentences --json < texts.txt\n\n"
    "--target-prefix sets the beginning of every translation, and --target-prefix-file sets it for each\n"
    "line separately:\n"
    "  $ echo 'Je suis étudiant' | clformer translate -m tools/models/fr-en-small --target-prefix 'I am'\n"
    "  I am a student.\n\n"
    "--glossary FILE makes translations contain given terms; each line of FILE is a term, a tab and its\n"
    "translation:\n"
    "  $ clformer translate -m tools/models/fr-en-small --glossary terms.tsv < french.txt\n\n"
    "--alternatives 3 continues the prefix with each of the three most probable next tokens, and prints\n"
    "the three translations in the format of --n-best.\n\n"
    "Several devices share the lines. If a device fails, an error is printed and the other devices\n"
    "translate its lines:\n"
    "  $ clformer translate -m tools/models/fr-en-small -d 0,1 < french.txt\n"
    "  $ clformer translate -m tools/models/fr-en-small -d 'gpu*' < french.txt\n\n"
    "An interrupted run with --output FILE keeps the finished lines in FILE.part; repeat the command with\n"
    "--resume to continue:\n"
    "  $ clformer translate -m nllb-200-distilled-600M -s en -t pt -o pt.txt < en.txt\n"
    "  ^C\n"
    "  $ clformer translate -m nllb-200-distilled-600M -s en -t pt -o pt.txt --resume < en.txt\n\n"
    "With FILE, translates a document and keeps everything that is not text: subtitles (.srt, .vtt),\n"
    "HTML (.html), strings of JSON (.json), new messages of gettext (.po) and plain text (.txt). A\n"
    "sentence that goes on over several subtitles is translated whole and divided over them again. OUTPUT\n"
    "is a file, or a folder, in which several files keep their names; - is standard input or output. A\n"
    "file is written when it is complete; its finished texts are in OUTPUT.part, for --resume:\n"
    "  $ clformer translate -m opus-mt-fr-en film.srt -o film.en.srt\n"
    "  $ clformer translate -m opus-mt-fr-en *.vtt -o english\n\n"
    "A multilingual model requires the languages, as the model's codes or as short codes:\n"
    "  $ clformer translate -m nllb-200-distilled-600M -s en -t pt < english.txt\n";

/* Returns the number of translations per line. */
static int translations_wanted(const struct stream *stream)
{
    const struct clf_translate_options *options = &stream->flags.translate;
    return options->alternatives > 0 ? options->alternatives : options->n_best;
}

/* Keeps a sentence for the JSON object of its line; `user` is the stream. */
static void keep_sentence(int line, const struct clf_sentence *sentence, void *user)
{
    struct stream *stream = user;
    if (json_array_append_new(json_array_get(stream->sentences, (size_t)line), result_sentence(sentence)) !=
        0) {
        json_decref(stream->sentences);
        stream->sentences = NULL;
    }
}

/* Writes the JSON object of a translation; `line` is its position in the batch. */
static clf_status write_json(FILE *file, const struct stream *stream,
                             const struct clf_translation *translation, int line)
{
    const json_t *sentences =
        stream->flags.translate.split_sentences ? json_array_get(stream->sentences, (size_t)line) : NULL;
    if (stream->flags.translate.split_sentences && sentences == NULL) {
        return result_write(file, NULL); /* out of memory */
    }
    return result_write(file, result_translation(stream->setup.model, translation,
                                                 translations_wanted(stream) > 1, sentences));
}

/* Prints a translation as one line, even if the model generates line breaks. */
static void print_one_line(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        putc(*text == '\n' || *text == '\r' ? ' ' : *text, file);
    }
}

/* Prints the alignment after a tab in Pharaoh format: source-target pairs of tokens, counted from 0 among
 * text tokens. Prints nothing for NULL or without an alignment. */
static void print_alignment(FILE *file, const struct clf_hypothesis *hypothesis)
{
    int target = 0;
    if (hypothesis == NULL || hypothesis->alignment == NULL) {
        return;
    }
    putc('\t', file);
    for (int i = 0; i < hypothesis->count; i++) {
        if (hypothesis->alignment[i] >= 0) {
            fprintf(file, "%s%d-%d", target > 0 ? " " : "", hypothesis->alignment[i], target);
            target++;
        }
    }
}

static void print_text(FILE *file, const struct clf_translation *translation, int n_best, long long number)
{
    if (n_best == 1) {
        const struct clf_hypothesis *only = translation->count > 0 ? &translation->hypotheses[0] : NULL;
        print_one_line(file, only != NULL ? only->text : "");
        print_alignment(file, only);
        putc('\n', file);
        return;
    }
    if (translation->count == 0) {
        fprintf(file, "%lld\t\t\n", number);
    }
    for (int i = 0; i < translation->count; i++) {
        const struct clf_hypothesis *hypothesis = &translation->hypotheses[i];
        fprintf(file, "%lld\t%.9g\t", number, (double)hypothesis->score);
        print_one_line(file, hypothesis->text);
        print_alignment(file, hypothesis);
        putc('\n', file);
    }
}

/* Uses one prefix for every line of a batch; returns 0 if out of memory. */
static int repeat_prefix(struct clf_line **prefixes, const struct stream *stream, int count)
{
    const char *prefix = stream->flags.target_prefix;
    *prefixes = malloc((size_t)count * sizeof **prefixes);
    for (int i = 0; *prefixes != NULL && i < count; i++) {
        (*prefixes)[i] = (struct clf_line){prefix, strlen(prefix)};
    }
    return *prefixes != NULL;
}

/* Prints the next part of a translation; a callback of clf_translate_options. */
static void show(int line, const char *text, size_t size, void *user)
{
    (void)user;
    (void)line;
    for (size_t i = 0; i < size; i++) {
        putchar(text[i] == '\n' || text[i] == '\r' ? ' ' : text[i]);
    }
    fflush(stdout);
}

/* Translates one line per call, so that each line is streamed as soon as possible. */
static clf_status show_lines(struct stream *stream, const struct batch *batch, struct answers *answers)
{
    const char *all = stream->flags.target_prefix;
    for (int i = 0; i < batch->count && !output_failed(); i++) {
        struct clf_line prefix = {all != NULL ? all : "", all != NULL ? strlen(all) : 0};
        struct clf_translation *translation;
        CLF__TRY(clf_translate_prefixed(&translation, stream->translator, &batch->lines[0][i],
                                        stream->sides > 1 ? &batch->lines[1][i] : &prefix, 1));
        print_alignment(answers->file, translation->count > 0 ? &translation->hypotheses[0] : NULL);
        putc('\n', answers->file);
        clf_status status = answers_add(answers, translation->status, translation->problem,
                                        (struct line_cut){translation->cut_from, 0});
        clf_translations_free(translation, 1);
        CLF__TRY(status);
    }
    return CLF_OK;
}

static clf_status write_translation(const struct stream *stream, const struct clf_translation *translation,
                                    int line)
{
    const struct batch *batch = stream->batch;
    struct answers *answers = stream->answers;
    if (!stream->flags.json) {
        print_text(answers->file, translation, translations_wanted(stream), batch->numbers[line]);
    } else {
        CLF__TRY(write_json(answers->file, stream, translation, line));
    }
    return answers_add(answers, translation->status, translation->problem,
                       (struct line_cut){translation->cut_from, 0});
}

/* Adds the output of a line to the answers; a callback of clf_translate_options. */
static void keep_translation(int line, const struct clf_translation *translation, void *user)
{
    struct stream *stream = user;
    if (stream->failure.status == CLF_OK) {
        stream->failure = clf__failure_keep(write_translation(stream, translation, line));
    }
}

static clf_status translate_batch(struct stream *stream, const struct batch *batch)
{
    struct clf_translation *translations;
    struct clf_line *prefixes = NULL;
    if (stream->flags.target_prefix != NULL && !repeat_prefix(&prefixes, stream, batch->count)) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the target prefixes");
    }
    clf_status status = clf_translate_prefixed(&translations, stream->translator, batch->lines[0],
                                               stream->sides > 1 ? batch->lines[1] : prefixes, batch->count);
    free(prefixes);
    CLF__TRY(status);
    clf_translations_free(translations, batch->count);
    return clf__failure_again(&stream->failure);
}

static clf_status translate_lines(struct stream *stream, const struct batch *batch, struct answers *answers)
{
    if (stream->flags.stream) {
        return show_lines(stream, batch, answers);
    }
    stream->sentences = stream->flags.translate.sentence_translated != NULL ? json_array() : NULL;
    for (int i = 0; stream->sentences != NULL && i < batch->count; i++) {
        stream->sentences = result_append(stream->sentences, json_array());
    }
    stream->batch = batch;
    stream->answers = answers;
    clf_status status = translate_batch(stream, batch);
    json_decref(stream->sentences);
    stream->sentences = NULL;
    return status;
}

int verb_translate(int argc, char **argv)
{
    struct stream stream = {.verb = "translate", .sides = 1};
    line_reader_use_stdin(&stream.readers[0]);
    int takes =
        TAKES_MODEL | TAKES_DEVICES | TAKES_SEARCH | TAKES_LINES | TAKES_TEXTS | TAKES_JSON | TAKES_RESULTS;
    int status = flags_parse(&stream.flags, argc, argv, takes | TAKES_DOCUMENTS, help);
    if (status < 0 && stream.flags.operand_count > 0) {
        return files_translate(&stream.flags, takes | TAKES_DOCUMENTS);
    }
    if (status < 0) {
        status = file_arguments_check_none(&stream.flags);
    }
    if (status < 0 && stream.flags.target_prefix != NULL && stream.flags.target_prefix_file != NULL) {
        status = report_wrong_call(
            "--target-prefix and --target-prefix-file cannot be combined; remove one of them");
    }
    if (status < 0 && stream.flags.alignment_layer >= 0 && !stream.flags.alignments) {
        status = report_wrong_call("--alignment-layer: requires --alignments; add --alignments");
    }
    if (status < 0 && stream.flags.stream && stream.flags.json) {
        status = report_wrong_call("--stream and --json cannot be combined; remove one of them");
    }
    if (status < 0 && stream.flags.stream && stream.flags.output != NULL) {
        status = report_wrong_call("--stream and --output cannot be combined; remove one of them");
    }
    if (status < 0 && stream.flags.stream) {
        status = ranks_refuse("--stream: works in a single process only; start it without mpirun or srun");
    }
    if (status >= 0) {
        return status;
    }
    stream.streamed = stream.flags.stream ? show : NULL;
    stream.translated = stream.flags.stream ? NULL : keep_translation;
    int keeps = stream.flags.json && stream.flags.split_sentences && !stream.flags.alignments;
    stream.sentence_translated = keeps ? keep_sentence : NULL;
    stream.sides = stream.flags.target_prefix_file != NULL ? 2 : 1;
    status = stream_join(&stream);
    if (status == EXIT_DONE) {
        int opens = stream.sides > 1 && stream_is_first(&stream);
        status = stream_run(&stream, translate_lines, takes,
                            opens ? line_reader_open(&stream.readers[1], stream.flags.target_prefix_file)
                                  : EXIT_DONE);
    }
    stream_free(&stream);
    return status;
}
