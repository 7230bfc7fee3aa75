#include "translate/file_arguments.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "shared/ranks.h"
#include "shared/sink.h"
#include "translate/documents/format.h"

int file_arguments_check_none(const struct flags *flags)
{
    const char *flag = flags->document_format != NULL   ? "format"
                       : flags->encoding != NULL        ? "encoding"
                       : flags->all                     ? "all"
                       : flags->kept_terms != NULL      ? "do-not-translate"
                       : flags->memory != NULL          ? "memory"
                       : flags->subtitle_width >= 0     ? "subtitle-width"
                       : !isnan(flags->reading_speed)   ? "reading-speed"
                       : flags->elements != NULL        ? "elements"
                       : flags->inline_elements != NULL ? "inline-elements"
                                                        : NULL;
    return flag == NULL
               ? -1
               : report_wrong_call("--%s: requires a file to translate; name it after the flags", flag);
}

int file_arguments_have_folder(const struct flags *flags)
{
    const char *output = flags->output;
    return output != NULL && (flags->operand_count > 1 || clf__folder_exists(output) ||
                              (output[0] != '\0' && output[strlen(output) - 1] == '/'));
}

int file_arguments_check(const struct flags *flags)
{
    const struct {
        const char *name;
        int is_given;
    } lines_only[] = {
        {"json", flags->json},
        {"stream", flags->stream},
        {"n-best", flags->n_best > 1},
        {"alternatives", flags->alternatives > 0},
        {"alignments", flags->alignments},
        {"tokens", flags->tokens},
        {"exact-tokens", flags->exact_tokens},
        {"target-prefix", flags->target_prefix != NULL},
        {"target-prefix-file", flags->target_prefix_file != NULL},
        {"draft", flags->draft != NULL},
    };
    for (size_t i = 0; i < sizeof lines_only / sizeof *lines_only; i++) {
        if (lines_only[i].is_given) {
            return report_wrong_call("--%s: applies only to lines of standard input, not to files; remove it",
                                     lines_only[i].name);
        }
    }
    if (flags->resume &&
        (flags->output == NULL || !(file_arguments_have_folder(flags) || sink_is_file(flags->output)))) {
        return report_wrong_call("--resume: requires an output file; add --output FILE");
    }
    const struct clf_document_options options = {.format = flags->document_format};
    const struct clf__format *format;
    if (flags->document_format != NULL && clf__format_find(&format, &options, "", 0) != CLF_OK) {
        return report_wrong_call("--format: %s", clf_last_error());
    }
    return ranks_refuse("files are translated by a single process; start it without mpirun or srun");
}

static clf_status name_output(struct file *file, const struct flags *flags)
{
    const char *slash = strrchr(file->path, '/');
    if (file_arguments_have_folder(flags)) {
        return clf__path_join(&file->output, flags->output, slash != NULL ? slash + 1 : file->path);
    }
    int is_stdout = flags->output == NULL || strcmp(flags->output, "-") == 0;
    return is_stdout ? CLF_OK : clf__copy_string(&file->output, flags->output);
}

/* Fails if an output would overwrite an input or another output. */
static int check_output(const struct job *job, int index)
{
    const struct file *file = &job->files[index];
    for (int i = 0; i < job->flags->operand_count && file->output != NULL; i++) {
        if (clf__file_is(file->output, job->files[i].path)) {
            return report_wrong_call("%s: its translation would overwrite %s; use another output", file->path,
                                     job->files[i].path);
        }
        if (i < index && strcmp(file->output, job->files[i].output) == 0) {
            return report_wrong_call(
                "%s and %s: both translations would be written to %s; rename one of the files, or "
                "use separate folders",
                job->files[i].path, file->path, file->output);
        }
    }
    if (strcmp(file->path, "-") == 0 && file_arguments_have_folder(job->flags)) {
        return report_wrong_call("-: standard input has no name for a file in %s; name the output file",
                                 job->flags->output);
    }
    return -1;
}

int file_arguments_name_outputs(struct job *job)
{
    const struct flags *flags = job->flags;
    int status = -1;
    if (flags->operand_count > 1 && (flags->output == NULL || strcmp(flags->output, "-") == 0)) {
        return report_wrong_call("several files need several outputs; add --output FOLDER");
    }
    for (int i = 0; i < flags->operand_count && status < 0; i++) {
        job->files[i].path = flags->operands[i];
        clf_status named = name_output(&job->files[i], flags);
        status = named != CLF_OK ? report_failure(named) : check_output(job, i);
    }
    return status;
}
