/* clformer bench */
#include "bench/bench.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "shared/demo_model.h"
#include "shared/page.h"

static const char help[] =
    "Usage: clformer bench [-d DEVICE] [--gemm native] [--quick] [--json] [--html FILE]\n"
    "       clformer bench --merge FILE... [--json] [--html FILE]\n"
    "       clformer bench --stage STAGE [-m MODEL] [--work FILE] [FLAGS]\n"
    "\n"
    "Without --stage or --merge, bench measures every device, or the devices of -d or $CLFORMER_DEVICE,\n"
    "for a few minutes each: peak rates; every op, relative to the peak rates; the demo model by stage,\n"
    "batch size, precision and GEMM backend; a training step (in fp32, and in bf16 if the device has bf16\n"
    "dot products); startup time and memory. The report is a table, or JSON with --json. --html writes it\n"
    "as a self-contained page, and --html - prints the page instead of the table. --quick takes less than\n"
    "a minute for all devices: model speed in fp32 and int8, one GEMM and the peak rates. After Ctrl-C,\n"
    "bench reports the rows that it has measured. --merge merges the JSON reports of several machines;\n"
    "- is standard input.\n"
    "\n"
    "With --stage, bench times one stage for each batch size and beam size: the median of the repeats\n"
    "after one warm-up call, without loading and compilation. A batch is the first lines of the work\n"
    "file. The default model is the demo model; the default work file is work.txt in the model folder.\n"
    "Several devices (-d; translate and score only) share the lines of each batch. With --stage,\n"
    "--verbose also prints the device time by kernel.\n"
    "\n"
    "  encode     the encoder; counts source tokens\n"
    "  translate  translation from text to text; counts generated tokens, including the end token\n"
    "  score      scoring of each line as its own translation\n"
    "  serve      one call for each line of a batch, each from its own thread, with a shared translator\n"
    "  transcribe transcription of a recording (--work) with a Whisper model at temperature 0; --batch N\n"
    "             transcribes N copies at once, and --min-length N --max-length N generates N tokens per\n"
    "             window\n"
    "  train      a training step: forward, backward, Adam; each line is its own translation\n"
    "  step       one greedy decoding step, and its memory bandwidth relative to a stream read; a Whisper\n"
    "             model needs a recording (--work)\n"
    "  ops        every op with the shapes of Transformer-base, relative to the measured peak rates\n"
    "  gemm       GEMM in a --precision; --shape MxNxK: M rows times a weight of N outputs and K inputs\n"
    "  attention  attention; --shape BxTxHxW: B sequences of T tokens, H heads of width W\n"
    "  start      the time from process start to the first line, with warm and with empty caches\n"
    "\n"
    "Example:\n"
    "  $ clformer bench --quick --html page.html\n"
    "  $ clformer bench --html page.html --json > here.json\n"
    "  $ clformer bench --merge here.json there.json --html both.html\n"
    "  $ clformer bench --stage translate --batch 1,8,64 --beam 1,4\n"
    "  $ clformer bench --stage translate -d 0,1 --batch 64,4096 --work lines.txt\n"
    "  $ clformer bench --stage gemm --precision fp16 --shape 2048x512x512,64x512x512\n"
    "  $ clformer bench --stage encode -m base --work base/work.txt --tokens --batch 64 --json\n";

/* Returns 1 if flags that apply only to a single stage are set. */
static int names_case(const struct flags *flags)
{
    return flags->batches != NULL || flags->beams != NULL || flags->shapes != NULL ||
           flags->batch_tokens >= 0 || flags->min_length >= 0 || flags->max_length >= 0 ||
           flags->model_options.precision != CLF_PRECISION_FP32;
}

/* Rejects flags of a single stage without --stage. */
static int check_whole(const struct flags *flags)
{
    return names_case(flags) ? report_wrong_call("bench without --stage measures all batch sizes, beams and "
                                                 "precisions; add --stage STAGE to select some")
                             : -1;
}

static int stage_has_model(int stage)
{
    return stage != BENCH_OPS && stage != BENCH_GEMM && stage != BENCH_ATTENTION;
}

/* Rejects flags that have no effect on the stage. */
static int check_stage(const struct flags *flags)
{
    int has_model = stage_has_model(flags->stage),
        is_search = flags->stage == BENCH_TRANSLATE || flags->stage == BENCH_SERVE;
    int hears = flags->stage == BENCH_TRANSCRIBE, has_lines = has_model && !hears;
    const struct {
        const char *name;
        int is_given, is_taken;
    } checks[] = {
        {"model", flags->model != NULL, has_model},
        {"work", flags->work != NULL, has_model},
        {"tokens", flags->tokens, has_lines},
        {"batch", flags->batches != NULL, has_model && flags->stage != BENCH_START},
        {"batch-tokens", flags->batch_tokens >= 0, is_search || flags->stage == BENCH_SCORE},
        {"beam", flags->beams != NULL, is_search || hears},
        {"min-length", flags->min_length >= 0, is_search || hears},
        {"max-length", flags->max_length >= 0, is_search || hears},
        {"shape", flags->shapes != NULL, flags->stage == BENCH_GEMM || flags->stage == BENCH_ATTENTION},
    };
    char stage[16];
    flags_choice(stage, sizeof stage, "stage", flags->stage);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (checks[i].is_given && !checks[i].is_taken) {
            return report_wrong_call("--stage %s: does not use --%s; remove it", stage, checks[i].name);
        }
    }
    if (hears && (flags->model == NULL || flags->work == NULL)) {
        return report_wrong_call(
            "--stage transcribe: requires a Whisper model and a recording; add -m MODEL and --work FILE");
    }
    if (hears && flags->min_length >= 0 && flags->min_length != flags->max_length) {
        return report_wrong_call("--stage transcribe: --min-length must be equal to --max-length, so that "
                                 "every window has this number of tokens");
    }
    if (flags->html != NULL && strcmp(flags->html, "-") == 0) {
        return report_wrong_call("--html -: --stage prints rows on standard output; name a file");
    }
    return flags->quick ? report_wrong_call("--quick: applies only without --stage; use --repeats 1") : -1;
}

/* Rejects flags that --merge does not use. */
static int check_merge(const struct flags *flags)
{
    const struct clf_device_options *options = &flags->device_options;
    int is_of_device = flags->device != NULL || options->variant != CLF_VARIANT_AUTO ||
                       options->gemm != CLF_GEMM_AUTO || options->attention != CLF_ATTENTION_AUTO ||
                       options->instructions != CLF_INSTRUCTIONS_AUTO;
    int is_of_stage = flags->stage >= 0 || flags->quick || flags->repeats >= 0 || names_case(flags);
    int is_of_work = flags->model != NULL || flags->work != NULL || flags->tokens;
    return is_of_device || is_of_stage || is_of_work
               ? report_wrong_call("--merge: measures nothing; use it only with files, --json and --html")
               : -1;
}

static int check_call(struct bench_call *call)
{
    struct flags *flags = &call->flags;
    int status = flags->merge ? flags_operands(flags, 1, INT_MAX, "bench --merge takes one or more reports")
                              : flags_operands(flags, 0, 0, "bench takes only flags");
    if (status < 0) {
        status = flags->merge        ? check_merge(flags)
                 : flags->stage >= 0 ? check_stage(flags)
                                     : check_whole(flags);
    }
    if (status < 0 && flags->json && flags->html != NULL && strcmp(flags->html, "-") == 0) {
        status = report_wrong_call("--json and --html - would both write to standard output; name a "
                                   "file for --html");
    }
    clf_precision precision = flags->model_options.precision;
    if (status < 0 && flags->stage == BENCH_TRAIN && precision != CLF_PRECISION_FP32 &&
        precision != CLF_PRECISION_BF16) {
        status = report_wrong_call("--stage train: requires --precision fp32 or bf16");
    }
    if (status < 0 && (flags->repeats == 0 || flags->repeats > TIMING_MOST_REPEATS)) {
        status = report_wrong_call("--repeats: must be 1 to %d", (int)TIMING_MOST_REPEATS);
    }
    if (status < 0) {
        status =
            bench_parse_numbers(&call->batches, "batch", flags->batches != NULL ? flags->batches : "1,8,64");
    }
    if (status < 0) {
        status = bench_parse_numbers(&call->beams, "beam", flags->beams != NULL ? flags->beams : "1,4");
    }
    if (status < 0 && flags->shapes != NULL) {
        status = bench_parse_shapes(&call->shapes, flags->shapes, flags->stage == BENCH_GEMM ? 3 : 4);
    }
    return status;
}

/* Finds the model and its work file. Returns an exit status. */
static int find_work(struct bench_call *call)
{
    const struct flags *flags = &call->flags;
    call->model = flags->model != NULL ? strdup(flags->model) : demo_model_find();
    if (call->model == NULL) {
        return report_no_demo_model();
    }
    size_t size = strlen(call->model) + sizeof "/work.txt";
    call->work = flags->work != NULL ? strdup(flags->work) : malloc(size);
    if (call->work == NULL) {
        fprintf(stderr, "clformer: out of memory\n");
        return EXIT_FAILED;
    }
    if (flags->work == NULL) {
        snprintf(call->work, size, "%s/work.txt", call->model);
    }
    call->flags.model = call->model;
    return EXIT_DONE;
}

static int run(struct bench_call *call)
{
    switch (call->flags.stage) {
    case BENCH_ENCODE:
    case BENCH_TRANSLATE:
    case BENCH_SCORE:
    case BENCH_SERVE:
    case BENCH_TRAIN:
    case BENCH_STEP:
        return bench_stage_run(call);
    case BENCH_TRANSCRIBE:
        return bench_transcribe_run(call);
    case BENCH_OPS:
    case BENCH_GEMM:
    case BENCH_ATTENTION:
        return bench_ops_run(call);
    case BENCH_START:
        return bench_start_run(call);
    default:
        return bench_all_run(call);
    }
}

int verb_bench(int argc, char **argv)
{
    struct bench_call call = {.model = NULL};
    int status = flags_parse(&call.flags, argc, argv, TAKES_BENCH | TAKES_DEVICES | TAKES_JSON, help);
    if (status < 0) {
        status = check_call(&call);
    }
    if (status >= 0) {
        return status;
    }
    if (call.flags.merge) {
        return bench_merge_run(&call);
    }
    status = stage_has_model(call.flags.stage) ? find_work(&call) : EXIT_DONE;
    if (status == EXIT_DONE && call.flags.stage >= 0 && call.flags.html != NULL) {
        call.rows = json_array();
        status = page_check(call.flags.html);
    }
    if (status == EXIT_DONE) {
        status = run(&call);
    }
    if (json_array_size(call.rows) > 0) { /* including rows measured before a failure */
        int written = bench_stage_page(&call);
        status = status == EXIT_DONE ? written : status;
    }
    json_decref(call.rows);
    flags_release(&call.flags);
    free(call.model);
    free(call.work);
    return status;
}
