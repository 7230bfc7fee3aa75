/* Wrong calls end with status 2, missing devices with 1: one message each, and no output. */
#include <string.h>

#include "support/process.h"

static void refuse_call(const char *arguments, const char *part)
{
    struct process_result result = run_clformer("Merci.\n", arguments);
    assert_refused(result, 2, part);
}

static void test_verbs(void **state)
{
    (void)state;
    refuse_call("nosuch", "nosuch");
    refuse_call("-v", "-v");
    refuse_call("transalte", "transalte: unknown verb; did you mean translate?");
    refuse_call("trans", "did you mean translate?");
    refuse_call("hlep", "did you mean help?");
    refuse_call("help scroe", "did you mean score?");
    refuse_call("--verison", "--verison: unknown flag; did you mean --version?");
    refuse_call("--hlep", "did you mean --help?");
    refuse_call("nosuch", "nosuch: unknown verb; `clformer --help`"); /* near to none */
    refuse_call("--try-level 0 avx2",
                "--try-level: requires the index of a device and the name of a GPU level");
    refuse_call("--try-level x nv80", "--try-level: requires the index");
    refuse_call("--try-barrier", "--try-barrier: requires the index of a device");
    refuse_call("--try-barrier 0x", "--try-barrier: requires the index of a device");
    struct process_result result = run_clformer(NULL, "");
    assert_int_equal(result.status, 2);
    assert_int_equal(result.output_size, 0);
    assert_int_equal(process_count(result.errors, "Usage: clformer"), 1);
    result = run_clformer(NULL, "help help");
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.output, "Usage: clformer VERB"), 1);
}

static void test_operands(void **state)
{
    (void)state;
    refuse_call("translate", "translate: requires a model; add -m MODEL");
    refuse_call("translate -m", "--model");
    refuse_call("translate --model=", "-m");
    refuse_call("translate -m " DEMO_MODEL " --json extra", "applies only to lines");
    refuse_call("devices extra", "1 argument");
    refuse_call("score -m " DEMO_MODEL " only", "SOURCE and TARGET");
    refuse_call("score -m " DEMO_MODEL " - -", "standard input");
    refuse_call("attend -m " DEMO_MODEL " -o /dev/null", "one text");
    refuse_call("attend -m " DEMO_MODEL " text", "-o");
    refuse_call("inspect", "inspect takes one model");
    refuse_call("selftest now", "1 argument");
}

static void test_flags(void **state)
{
    (void)state;
#define TRANSLATE "translate -m " DEMO_MODEL " "
    refuse_call(TRANSLATE "--nosuch", "--nosuch");
    refuse_call(TRANSLATE "-x", "-x");
    refuse_call(TRANSLATE "--device=", "--device: is empty; give an index or a part of a name");
    refuse_call(TRANSLATE "--stream --beam 4", "--stream: requires --beam 1");
    refuse_call("translate --stream -m " CLF_SOURCE_FOLDER "/tests/fixtures/formats/argos/plain.argosmodel",
                "--stream: requires --beam 1 (the model's default is ");
    refuse_call(TRANSLATE "-s fr", "this model has no source language setting; remove --source-language");
    refuse_call("transcribe -m x --format subtitles a.wav", "--format: must be text|srt|vtt|tsv|json|all");
    refuse_call("transcribe -m x --format SRT", "transcribe requires"); /* letters of either case */
    refuse_call("transcribe -m x --vad-threshold 0.3 a.wav",
                "flags that begin with --vad- require --vad; add it");
    refuse_call("transcribe -m x --step 2 a.wav", "--step and --unstable: require --follow; add it");
    refuse_call("transcribe -m x --follow a.wav b.wav", "transcribe --follow requires at most one stream");
    refuse_call("transcribe -m x --follow --unstable", "--unstable: requires --format json");
    refuse_call("transcribe -m x --follow -o out", "--output: has no effect with --follow");
    refuse_call("transcribe -m x --follow --format all", "--format all: cannot be combined with --follow");
    refuse_call("transcribe -m x --follow --clip 0,1", "--clip: has no effect with --follow");
    refuse_call("transcribe -m x --follow --timestamps none", "--timestamps none: cannot be combined");
    refuse_call("transcribe -m x --follow --prefix a", "--prefix: has no effect with --follow");
    refuse_call("transcribe -m x --follow --batch-windows 2", "have no effect with --follow");
    refuse_call("transcribe -m x --follow --word-timestamps --format srt --max-line-width 40",
                "remove the flags that lay out subtitles");
    refuse_call("transcribe -m x --batch-windows 0 a.wav", "--batch-windows: must be at least 1; remove it");
    refuse_call("transcribe -m x --batch 2 --batch-windows 2 a.wav",
                "--batch: has no effect with --batch-windows");
    refuse_call(TRANSLATE "--precison int8", "did you mean --precision?");
    refuse_call(TRANSLATE "-beam 3", "-beam: unknown flag of translate; did you mean --beam?");
    refuse_call(TRANSLATE "--bacth-tokens=3",
                "--bacth-tokens: unknown flag of translate; did you mean --batch-tokens?");
    refuse_call("train --warmup 3", "did you mean --warm-up?"); /* a key of the recipe */
    refuse_call("devices --beem 3",
                "--beem: unknown flag of devices; `clformer devices"); /* not one of its own */
    refuse_call(TRANSLATE "--json=1", "--json");
    refuse_call("inspect --output page", "--output");
    refuse_call("devices --beam 3", "--beam");
    refuse_call(TRANSLATE "--beam", "--beam");
    refuse_call(TRANSLATE "--beam 2x", "--beam");
    refuse_call(TRANSLATE "--beam=", "--beam");
    refuse_call(TRANSLATE "--beam 99999999999", "--beam");
    refuse_call(TRANSLATE "--precision fp8", "--precision: must be auto|fp32|");
    refuse_call(TRANSLATE "--gemm cublas", "auto|native|clblast");
    refuse_call(TRANSLATE "--variant xpu", "--variant");
    refuse_call(TRANSLATE "--length-penalty nan", "--length-penalty");
    refuse_call(TRANSLATE "--length-penalty 1000.5", "must be a number from -1000 to 1000, not \"1000.5\"");
    refuse_call(TRANSLATE "--length-penalty -1e30", "from -1000 to 1000");
    refuse_call(TRANSLATE "--early-stopping maybe", "--early-stopping");
    refuse_call(TRANSLATE "--repetition-penalty 0", "must be a number from 1e-06 to 1e+06, not \"0\"");
    refuse_call(TRANSLATE "--sample --top-p 1.5", "--top-p: must be a number from 0 to 1, not \"1.5\"");
    refuse_call(TRANSLATE "--sample --temperature -1", "--temperature: must be a number");
    refuse_call(TRANSLATE "--sample --seed -1", "--seed");
}

static void test_values(void **state)
{
    (void)state;
    refuse_call(TRANSLATE "--beam 0", "beam size: 0");
    refuse_call(TRANSLATE "--top-p 0.5", "--top-p: requires sampling; add --sample");
    refuse_call(TRANSLATE "--seed 5", "--seed: requires sampling");
    refuse_call(TRANSLATE "--sample --no-sample", "cannot be combined");
    refuse_call(TRANSLATE "--target-prefix a --target-prefix-file b", "cannot be combined");
    refuse_call(TRANSLATE "--beam 500", "beam size: 500");
    refuse_call(TRANSLATE "--beam 2 --n-best 3", "n-best: 3");
    refuse_call(TRANSLATE "--max-length 0", "maximum length: 0");
    refuse_call(TRANSLATE "--max-length 1000", "maximum length: 1000");
    refuse_call(TRANSLATE "--min-length 300", "minimum length: 300");
    refuse_call(TRANSLATE "--batch-tokens -1", "--batch-tokens");
    refuse_call(TRANSLATE "--batch-tokens 1000000000", "1000000000 tokens");
    refuse_call(TRANSLATE "--forced-first nosuch", "nosuch");
    refuse_call(TRANSLATE "--suppress 1,99999", "99999");
}

static void test_bench(void **state)
{
    (void)state;
#define BENCH "bench --stage encode "
    refuse_call("bench --batch 1", "--stage");
    refuse_call("bench --merge", "one or more reports");
    refuse_call(BENCH "--html -", "--html");
    refuse_call(BENCH "--quick", "--quick");
    refuse_call(
        "bench --stage nosuch",
        "--stage: must be encode|translate|score|serve|transcribe|train|step|ops|gemm|attention|start");
    refuse_call("bench --stage train --precision int8", "fp32 or bf16");
    refuse_call("bench extra", "1 argument");
    refuse_call(BENCH "--batch 1,,2", "--batch");
    refuse_call(BENCH "--batch 1,", "--batch");
    refuse_call(BENCH "--batch 0", "--batch");
    refuse_call(BENCH "--batch 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "at most 16");
    refuse_call(BENCH "--repeats 0", "--repeats");
    refuse_call("bench --stage gemm --shape 1x2", "--shape: must be shapes of 3 sizes");
    refuse_call("bench --stage gemm --shape 1x2x3,", "not \"1x2x3,\"");
    refuse_call("bench --stage gemm --shape 1x2x3x4", "--shape: must be");
    refuse_call("bench --stage attention --shape 1x0x3x4", "--shape: must be shapes of 4 sizes");
    refuse_call("bench --batch-tokens 9", "--stage");
    /* Options that a stage does not use are rejected. */
    static const char *const unused[][2] = {
        {"encode", "--beam 4"},      {"encode", "--min-length 3"},   {"score", "--max-length 3"},
        {"train", "--max-length 3"}, {"step", "--min-length 3"},     {"start", "--batch 1"},
        {"ops", "--model nosuch"},   {"ops", "--work nosuch"},       {"gemm", "--tokens"},
        {"gemm", "--batch 7"},       {"encode", "--batch-tokens 9"}, {"step", "--shape 1x1x1"},
    };
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) {
        const char *flag = unused[i][1];
        char *part =
            process_format("--stage %s: does not use %.*s", unused[i][0], (int)strcspn(flag, " "), flag);
        refuse_call(process_format("bench --stage %s %s", unused[i][0], flag), part);
    }
    refuse_call("bench --stage translate --batch 1 --beam 2,129", "beam size: 129");
    refuse_call("bench --stage translate --min-length 9 --max-length 8", "minimum length: 9");
    struct process_result result = run_clformer(NULL, BENCH "--work /no/such/file");
    assert_refused(result, 1, "/no/such/file");
    result = run_clformer(NULL, BENCH "-m /no/such/model");
    assert_refused(result, 1, "/no/such/model");
}

static void test_devices(void **state)
{
    (void)state;
    struct process_result result = run_clformer("a\n", TRANSLATE "-d 99");
    assert_refused(result, 1, "99");
    result = run_clformer("a\n", TRANSLATE "-d nosuchdevice");
    assert_refused(result, 1, "nosuchdevice");
    struct process process = {.input = "a\n"};
    process.environment = process_format("OCL_ICD_VENDORS=%s", support_temporary_folder());
    result = process_run(&process, TRANSLATE);
    assert_refused(result, 1, "OpenCL");
    result = process_run(&process, "devices");
    assert_refused(result, 1, "OpenCL");
    process.environment = "CLFORMER_DEVICE=nosuchdevice";
    result = process_run(&process, TRANSLATE);
    assert_refused(result, 1, "nosuchdevice");
}

static void test_device_memory(void **state)
{
    (void)state;
    /* the rows of this batch exceed PoCL's limit of one GiB here */
    struct process process = {.input = "Merci.\n", .environment = "POCL_MEMORY_LIMIT=1"};
    struct process_result result =
        process_run(&process, TRANSLATE "--batch-tokens 1048576 --attention batched --beam 1");
    assert_refused(result, 1, "--batch-tokens");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_verbs, support_teardown),
        cmocka_unit_test_teardown(test_operands, support_teardown),
        cmocka_unit_test_teardown(test_flags, support_teardown),
        cmocka_unit_test_teardown(test_values, support_teardown),
        cmocka_unit_test_teardown(test_bench, support_teardown),
        cmocka_unit_test_teardown(test_devices, support_teardown),
        cmocka_unit_test_teardown(test_device_memory, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
