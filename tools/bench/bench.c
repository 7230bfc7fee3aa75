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
    "       clformer bench --stage STAGE [-m MODEL] [--work FILE] [FLAGS]\n\n"
    "Without --stage or --merge, bench measures every device, or the devices of -d or $CLFORMER_DEVICE,\n"
    "for a few minutes each: peak rates, every op compared with the peaks, the demo model by stage, batch\n"
    "size, precision and GEMM backend, a training step (in fp32, and in bf16 if the device has bf16 dot\n"
    "products), startup time and memory. The report is a table; --json prints it as JSON; --html writes\n"
    "one self-contained page, which --html - prints instead of the table. --quick takes less than a\n"
    "minute for all devices: model speed in fp32 and int8, one GEMM and the peaks. After Ctrl-C, bench\n"
    "reports the rows that it has measured. --merge joins the JSON of several machines; - is standard\n"
    "input.\n\n"
    "With --stage, bench times one stage for each batch size and beam: the median of the repeats after\n"
    "one warm-up call, without loading and compilation. A batch is the first lines of the work file. The\n"
    "default model is the demo model; the default work file is work.txt in the model's folder. With\n"
    "several devices (-d; translate and score only) all work on each batch together. --verbose shows the\n"
    "device time by kernel after a --stage.\n\n"
    "  encode     the encoder; counts source tokens\n"
    "  translate  text to text; counts generated tokens with the end token\n"
    "  score      each line as its own translation\n"
    "  transcribe a recording (--work) with a Whisper model at temperature 0; --batch N transcribes N\n"
    "             copies at once, and --min-length N --max-length N generates N tokens per window\n"
    "  train      a training step: forward, backward, Adam; each line is its own translation\n"
    "  step       one greedy decoding step, and its memory bandwidth relative to a stream read\n"
    "  ops        every op at the sizes of a Transformer-base, compared with the measured peaks\n"
    "  products   GEMM with the precision and backend of the flags; --shape MxNxK: M rows by a weight\n"
    "             of N outputs and K inputs\n"
    "  attention  attention; --shape BxTxHxW: B sequences of T tokens, H heads of width W\n"
    "  start      from the start of the process to the first line, with warm and with empty caches\n\n"
    "Example:\n"
    "  $ clformer bench --quick --html page.html\n"
    "  $ clformer bench --html page.html --json > here.json\n"
    "  $ clformer bench --merge here.json there.json --html both.html\n"
    "  $ clformer bench --stage translate --batch 1,8,64 --beam 1,4\n"
    "  $ clformer bench --stage translate -d 0,1 --batch 64,4096 --work lines.txt\n"
    "  $ clformer bench --stage products --precision fp16 --shape 2048x512x512,64x512x512\n"
    "  $ clformer bench --stage encode -m base --work base/work.txt --tokens --batch 64 --json\n";

/* Returns whether flags of a single stage are given. */
static int names_case(const struct flags *flags)
{
    return flags->batches != NULL || flags->beams != NULL || flags->shapes != NULL ||
           flags->batch_tokens >= 0 || flags->min_length >= 0 || flags->max_length >= 0 ||
           flags->model_options.precision != CLF_PRECISION_FP32;
}

/* Rejects flags of a single stage without --stage. */
static int check_whole(const struct flags *flags)
{
    return names_case(flags)
               ? report_wrong_call("bench measures all batches, beams and precisions; name a --stage "
                                   "to choose among them")
               : -1;
}

static int stage_has_model(int stage)
{
    return stage != BENCH_OPS && stage != BENCH_PRODUCTS && stage != BENCH_ATTENTION;
}

/* Rejects flags that have no effect on the stage. */
static int check_stage(const struct flags *flags)
{
    int has_model = stage_has_model(flags->stage), is_search = flags->stage == BENCH_TRANSLATE;
    int hears = flags->stage == BENCH_TRANSCRIBE, has_lines = has_model && !hears;
    const struct {
        const char *name;
        int is_given, is_taken;
    } checks[] = {
        {"model", flags->model != NULL, has_model},
        {"work", flags->work != NULL, has_model},
        {"tokens", flags->pieces, has_lines},
        {"batch", flags->batches != NULL, has_model && flags->stage != BENCH_START},
        {"batch-tokens", flags->batch_tokens >= 0, is_search || flags->stage == BENCH_SCORE},
        {"beam", flags->beams != NULL, is_search || hears},
        {"min-length", flags->min_length >= 0, is_search || hears},
        {"max-length", flags->max_length >= 0, is_search || hears},
        {"shape", flags->shapes != NULL, flags->stage == BENCH_PRODUCTS || flags->stage == BENCH_ATTENTION},
    };
    char stage[16];
    flags_choice(stage, sizeof stage, "stage", flags->stage);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (checks[i].is_given && !checks[i].is_taken) {
            return report_wrong_call("--stage %s takes no --%s", stage, checks[i].name);
        }
    }
    if (hears && (flags->model == NULL || flags->work == NULL)) {
        return report_wrong_call(
            "--stage transcribe takes a model of speech with -m, and a recording with --work");
    }
    if (hears && flags->min_length >= 0 && flags->min_length != flags->max_length) {
        return report_wrong_call("--stage transcribe takes no --min-length but that of --max-length, which "
                                 "gives every window that many tokens");
    }
    if (flags->html != NULL && strcmp(flags->html, "-") == 0) {
        return report_wrong_call("--stage prints its rows: --html takes a file");
    }
    return flags->quick ? report_wrong_call("--quick is for bench without --stage; --repeats 1 is quick here")
                        : -1;
}

/* Rejects flags about measuring with --merge. */
static int check_merge(const struct flags *flags)
{
    const struct clf_device_options *options = &flags->device_options;
    int is_of_device = flags->device != NULL || options->form != CLF_FORM_AUTO ||
                       options->gemm != CLF_GEMM_AUTO || options->attention != CLF_ATTENTION_AUTO ||
                       options->instructions != CLF_INSTRUCTIONS_AUTO;
    int is_of_stage = flags->stage >= 0 || flags->quick || flags->repeats >= 0 || names_case(flags);
    int is_of_work = flags->model != NULL || flags->work != NULL || flags->pieces;
    return is_of_device || is_of_stage || is_of_work
               ? report_wrong_call("--merge measures nothing: it takes only files, --json and --html")
               : -1;
}

static int check_call(struct bench_call *call)
{
    struct flags *flags = &call->flags;
    int status = flags->merge ? flags_operands(flags, 1, INT_MAX, "bench --merge takes the files to join")
                              : flags_operands(flags, 0, 0, "bench takes only flags");
    if (status < 0) {
        status = flags->merge        ? check_merge(flags)
                 : flags->stage >= 0 ? check_stage(flags)
                                     : check_whole(flags);
    }
    if (status < 0 && flags->json && flags->html != NULL && strcmp(flags->html, "-") == 0) {
        status = report_wrong_call("--json and the page of --html - would both go to standard output; name a "
                                   "file for one of them");
    }
    clf_precision precision = flags->model_options.precision;
    if (status < 0 && flags->stage == BENCH_TRAIN && precision != CLF_PRECISION_FP32 &&
        precision != CLF_PRECISION_BF16) {
        status = report_wrong_call("--stage train takes --precision fp32 or bf16");
    }
    if (status < 0 && (flags->repeats == 0 || flags->repeats > TIMING_MOST_REPEATS)) {
        status = report_wrong_call("--repeats is 1 to %d", (int)TIMING_MOST_REPEATS);
    }
    if (status < 0) {
        status =
            bench_parse_numbers(&call->batches, "batch", flags->batches != NULL ? flags->batches : "1,8,64");
    }
    if (status < 0) {
        status = bench_parse_numbers(&call->beams, "beam", flags->beams != NULL ? flags->beams : "1,4");
    }
    if (status < 0 && flags->shapes != NULL) {
        status = bench_parse_shapes(&call->shapes, flags->shapes, flags->stage == BENCH_PRODUCTS ? 3 : 4);
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
        fprintf(stderr, "clformer: no memory left\n");
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
    case BENCH_TRAIN:
    case BENCH_STEP:
        return bench_stage_run(call);
    case BENCH_TRANSCRIBE:
        return bench_transcribe_run(call);
    case BENCH_OPS:
    case BENCH_PRODUCTS:
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
