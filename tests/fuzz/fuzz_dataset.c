/* Any bytes as a table of pairs: a vocabulary is built from it and read back, and every line is either a pair
 * in a plan or counted as skipped. */
#include "fuzz/files.h"
#include "model/config/config.h"
#include "train/dataset.h"
#include "train/tokenizer_files.h"

static void check_plan(struct clf__dataset *dataset, int pairs, int epoch)
{
    static const struct clf__batching batching = {.tokens = 20, .count_padding = 1};
    struct clf__training_limits limits;
    clf__dataset_limits(&limits, dataset, &batching);
    fuzz_check(clf__dataset_plan(dataset, &batching, 1, epoch) == CLF_OK);
    int planned = 0;
    for (int b = 0; b < clf__dataset_batches(dataset); b++) {
        struct clf__training_batch batch;
        fuzz_check(clf__dataset_batch(dataset, b, &batch) == CLF_OK);
        fuzz_check(batch.sources.count <= limits.sequences);
        fuzz_check(batch.sources.first[batch.sources.count] <= limits.source_tokens);
        fuzz_check(batch.inputs.first[batch.inputs.count] <= limits.target_tokens);
        planned += batch.sources.count;
    }
    fuzz_check(planned == pairs);
}

static void check_dataset(const struct clf__tokenizer *tokenizer, const struct clf__config *config,
                          const char *path)
{
    struct clf__dataset_options options = {
        .source_path = path, .tokens = 1, .max_source_length = 12, .max_target_length = 12};
    struct clf__dataset_report report;
    struct clf__dataset *dataset;
    clf_status status = clf__dataset_load(&dataset, config, tokenizer, &options, &report);
    int left_out = 0;
    for (int i = 0; i < CLF__LEFT_OUT_KINDS; i++) {
        left_out += report.left_out[i];
        int first = report.named_lines[i][0];
        fuzz_check((report.left_out[i] > 0) == (first > 0) && first <= report.lines);
    }
    fuzz_check(report.pairs + left_out == report.lines);
    fuzz_check(status == CLF_OK ? report.pairs > 0 : status == CLF_FORMAT && report.pairs == 0);
    if (status == CLF_OK) {
        check_plan(dataset, report.pairs, -1);
        check_plan(dataset, report.pairs, 3);
        clf__dataset_free(dataset);
    }
}

/* Creates the tokenizer's files in a folder and reads them. */
static clf_status make_tokenizer(struct clf__tokenizer **out, struct clf__config *config, const char *folder,
                                 const char *path)
{
    struct clf__settings settings = {
        .preset = CLF__PAPER, .tokens = 1, .vocabulary = 40, .train = {(const char *const[]){path}, 1}};
    struct clf__model_description description;
    CLF__TRY(clf__tokenizer_files_make(&description, folder, &settings, NULL, NULL));
    clf__config_preset(config, CLF__PAPER);
    config->source_vocabulary = config->target_vocabulary = description.target_vocabulary;
    struct clf__tokenizer_options options = {
        .source_vocabulary = description.source_vocabulary,
        .target_vocabulary = description.target_vocabulary,
        .source_start_id = -1,
        .source_end_id = description.end_id,
        .pad_id = description.pad_id,
        .start_id = description.start_id,
        .end_id = description.end_id,
    };
    clf_status status = clf__tokenizer_load(out, folder, &options);
    fuzz_check(status == CLF_OK);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file("table", data, size);
    struct clf__config config;
    struct clf__tokenizer *tokenizer;
    clf_status status = make_tokenizer(&tokenizer, &config, fuzz_folder(), path);
    /* CLF_FORMAT: a git-lfs pointer. */
    fuzz_check(status == CLF_OK || status == CLF_TEXT ||
               (status == CLF_FORMAT && strstr(clf_last_error(), path) != NULL));
    if (status == CLF_OK) {
        check_dataset(tokenizer, &config, path);
        clf__tokenizer_free(tokenizer);
    }
    return 0;
}
