/* The flags of the command: one table, the same meaning in every verb. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/status.h"
#include "config/config.h"
#include "shared/command.h"
#include "tuning/levels.h"

enum kind {
    FLAG_SWITCH,
    FLAG_TEXT,
    FLAG_COUNT,
    FLAG_CHOICE,
    FLAG_REAL, /* these three: numbers, each from its range below */
    FLAG_FACTOR,
    FLAG_SHARE,
    KINDS
};
static const struct {
    double low, high;
} ranges[KINDS] = {
    [FLAG_REAL] = {-CLF__LENGTH_PENALTY_LIMIT, CLF__LENGTH_PENALTY_LIMIT},
    [FLAG_FACTOR] = {1e-6, 1e6},
    [FLAG_SHARE] = {0, 1},
};

struct flag {
    const char *name;
    char letter;
    int takes; /* shown and accepted where the verb takes one of these; 0: everywhere */
    enum kind kind;
    size_t offset;       /* of the field in struct flags */
    const char *choices; /* "a|b|c": the field gets the number; also what help calls the value */
    const char *help;
};

#define FIELD(name)          offsetof(struct flags, name)
#define OR_LEVEL(name, word) "|" word
static const struct flag table[] = {
    {"model", 'm', TAKES_MODEL, FLAG_TEXT, FIELD(model), "FOLDER", "the model's folder (needed)"},
    {"model", 'm', TAKES_BENCH | TAKES_TUNE, FLAG_TEXT, FIELD(model), "FOLDER",
     "the model's folder (the demo's)"},
    {"output", 'o', TAKES_OUTPUT, FLAG_TEXT, FIELD(output), "FILE",
     "the page to write, in place of an earlier page at most; - is standard output (needed)"},
    {"output", 'o', TAKES_FOLDER, FLAG_TEXT, FIELD(output), "FOLDER",
     "the folder of the model to write (needed)"},
    {"output", 'o', TAKES_RESULTS, FLAG_TEXT, FIELD(output), "FILE",
     "where the lines go; it has its name once it is whole, and a pipe or a device gets them as they come "
     "(standard output)"},
    {"output", 'o', TAKES_SPEECH, FLAG_TEXT, FIELD(output), "FOLDER",
     "where each recording's transcript goes, as NAME.txt, .srt, ... (standard output)"},
    {"format", 0, TAKES_SPEECH, FLAG_CHOICE, FIELD(format), "text|srt|vtt|tsv|json",
     "how transcripts are written (text: a segment a line)"},
    {"raw", 0, TAKES_SPEECH, FLAG_COUNT, FIELD(raw_rate), "RATE",
     "recordings are samples without a header: 16 bits, signed, little-endian, mono, RATE a second "
     "(recordings have headers)"},
    {"language", 'l', TAKES_SPEECH, FLAG_TEXT, FIELD(language), "CODE",
     "that is spoken, such as en (that of the first 30 s)"},
    {"task", 0, TAKES_SPEECH, FLAG_CHOICE, FIELD(speech_task), "transcribe|translate",
     "translate: into English (transcribe)"},
    {"timestamps", 0, TAKES_SPEECH, FLAG_CHOICE, FIELD(timestamps), "none|segment|word",
     "whose times are told: those of windows of 30 s, of segments, or of words too (segment)"},
    {"word-timestamps", 0, TAKES_SPEECH, FLAG_SWITCH, FIELD(word_timestamps), NULL,
     "the times of words: in JSON, and subtitles are made of them"},
    {"highlight-words", 0, TAKES_SPEECH, FLAG_SWITCH, FIELD(subtitles.highlight_words), NULL,
     "of subtitles with times of words: each word is underlined while it is spoken"},
    {"max-line-width", 0, TAKES_SPEECH, FLAG_COUNT, FIELD(subtitles.max_line_width), "N",
     "of such subtitles: characters a line (1000)"},
    {"max-line-count", 0, TAKES_SPEECH, FLAG_COUNT, FIELD(subtitles.max_line_count), "N",
     "of such subtitles with --max-line-width: lines at a time, which then go on from segment to segment "
     "(a segment at a time)"},
    {"max-words-per-line", 0, TAKES_SPEECH, FLAG_COUNT, FIELD(subtitles.max_words_per_line), "N",
     "of such subtitles without --max-line-count: words at a time (1000)"},
    {"prepend-punctuations", 0, TAKES_SPEECH, FLAG_TEXT, FIELD(prepend_punctuations), "SIGNS",
     "that belong to the word behind them (\"'“¿([{-)"},
    {"append-punctuations", 0, TAKES_SPEECH, FLAG_TEXT, FIELD(append_punctuations), "SIGNS",
     "that belong to the word before them (\"'.。,，!！?？:：”)]}、)"},
    {"hallucination-silence-threshold", 0, TAKES_SPEECH, FLAG_FACTOR, FIELD(hallucination_silence_threshold),
     "X",
     "with times of words: what has more than X seconds of silence around it is left out where its words "
     "are such as models invent (nothing is)"},
    {"clip", 0, TAKES_SPEECH, FLAG_TEXT, FIELD(clips), "FROM,TO,...",
     "only these parts, in seconds; without the last TO up to the end (all)"},
    {"initial-prompt", 0, TAKES_SPEECH, FLAG_TEXT, FIELD(initial_prompt), "TEXT",
     "what was said before: names, and the way to write (nothing)"},
    {"prefix", 0, TAKES_SPEECH, FLAG_TEXT, FIELD(prefix), "TEXT", "what each window begins with (nothing)"},
    {"hotwords", 0, TAKES_SPEECH, FLAG_TEXT, FIELD(hotwords), "TEXT",
     "words that may come, which stand before the text of the window before, in each window (none)"},
    {"suppress-tokens", 0, TAKES_SPEECH, FLAG_TEXT, FIELD(suppressed), "ID,ID,...",
     "ids never generated; -1 stands for those of signs that nobody speaks; \"\" for none (-1)"},
    {"condition-on-previous", 0, TAKES_SPEECH, FLAG_CHOICE, FIELD(conditions), "false|true",
     "each window goes on from the text before it (true)"},
    {"beam", 0, TAKES_SPEECH, FLAG_COUNT, FIELD(beam), "N", "beams; 1 is greedy (5)"},
    {"patience", 0, TAKES_SPEECH, FLAG_FACTOR, FIELD(patience), "X",
     "a search ends with N * X hypotheses, X up to 8 (1)"},
    {"temperature", 0, TAKES_SPEECH, FLAG_TEXT, FIELD(temperatures), "X,X,...",
     "at which a window is decoded, one after the other until one passes the thresholds; above 0 samples are "
     "drawn; X alone goes on by the increment up to 1 (0)"},
    {"temperature-increment-on-fallback", 0, TAKES_SPEECH, FLAG_SHARE, FIELD(temperature_increment), "X",
     "from one temperature to the next; 0: there is no next one (0.2)"},
    {"best-of", 0, TAKES_SPEECH, FLAG_COUNT, FIELD(best_of), "N",
     "samples above the temperature 0, of which the likeliest counts (5)"},
    {"seed", 0, TAKES_SPEECH, FLAG_COUNT, FIELD(seed), "N",
     "another seed draws other samples; the same one draws the same (0)"},
    {"compression-ratio-threshold", 0, TAKES_SPEECH, FLAG_FACTOR, FIELD(compression_ratio_threshold), "X",
     "a text that zlib makes more than X times smaller repeats itself: its window is decoded again (2.4)"},
    {"max-initial-timestamp", 0, TAKES_SPEECH, FLAG_REAL, FIELD(max_initial_timestamp), "X",
     "seconds at most before a window's first text (1)"},
    {"no-speech-threshold", 0, TAKES_SPEECH, FLAG_REAL, FIELD(no_speech_threshold), "X",
     "windows are left out that more probably than X hold no speech (0.6)"},
    {"log-probability-threshold", 0, TAKES_SPEECH, FLAG_REAL, FIELD(log_probability_threshold), "X",
     "but those stay whose tokens' mean log-probability is above X; what is below it is decoded again, but "
     "for windows without speech (-1)"},
    {"recipe", 0, TAKES_TRAIN, FLAG_TEXT, FIELD(recipe), "FILE",
     "choices as JSON, such as the recipe.json of another run; flags override them (none)"},
    {"log", 0, TAKES_TRAIN, FLAG_TEXT, FIELD(log), "FILE",
     "where each update adds a JSON object; `clformer curves` reads it (none)"},
    {"html", 0, TAKES_TRAIN, FLAG_TEXT, FIELD(html), "FILE",
     "a page of curves and sample translations, written at each validation, in place of an earlier page at "
     "most (none)"},
    {"target", 0, TAKES_TARGET, FLAG_TEXT, FIELD(target), "TEXT",
     "the translation to look at (the model's own)"},
    {"device", 'd', TAKES_DEVICE, FLAG_TEXT, FIELD(device), "DEVICE",
     "an index of `clformer devices` (digits alone are one), gpu, cpu, a PCI address, a UUID, or a part of a "
     "name ($CLFORMER_DEVICE, or the first that passes a check)"},
    {"device", 'd', TAKES_DEVICES, FLAG_TEXT, FIELD(device), "DEVICE,...",
     "an index of `clformer devices` (digits alone are one), gpu, cpu, a PCI address, a UUID, or a part of a "
     "name; several work on the lines together: 0,2 or gpu* or all ($CLFORMER_DEVICE, or the first that "
     "passes a check)"},
    {"form", 0, TAKES_DEVICE | TAKES_DEVICES, FLAG_CHOICE, FIELD(device_options.form), "auto|cpu|gpu",
     "which form of the kernels runs ($CLFORMER_FORM, or auto)"},
    {"gemm", 0, TAKES_DEVICE | TAKES_DEVICES, FLAG_CHOICE, FIELD(device_options.gemm), "auto|native|clblast",
     "who multiplies matrices ($CLFORMER_GEMM, or auto)"},
    {"attention", 0, TAKES_DEVICE | TAKES_DEVICES, FLAG_CHOICE, FIELD(device_options.attention),
     "auto|fused|batched", "how attention is computed ($CLFORMER_ATTENTION, or auto)"},
    {"instructions", 0, TAKES_DEVICE | TAKES_DEVICES, FLAG_CHOICE, FIELD(device_options.instructions),
     "auto" CLF__LEVEL_LIST(OR_LEVEL),
     "the level of instructions that a CPU's kernels use ($CLFORMER_INSTRUCTIONS, or auto: the best one)"},
    {"precision", 0, TAKES_BENCH | TAKES_TUNE, FLAG_CHOICE, FIELD(model_options.precision),
     "fp32|fp16|bf16|int8", "of the weights and of products (fp32)"},
    {"precision", 0, TAKES_MODEL, FLAG_CHOICE, FIELD(model_options.precision), "fp32|fp16|bf16|int8|auto",
     "of the weights and of products; auto: what convert wrote, int8 of CTranslate2's int8, else fp32 "
     "(auto)"},
    {"precision", 0, TAKES_CONVERT, FLAG_CHOICE, FIELD(model_options.precision), "fp32|fp16|bf16|int8",
     "of the weights of products and embeddings (int8)"},
    {"precision", 0, TAKES_AVERAGE, FLAG_CHOICE, FIELD(model_options.precision), "fp32|fp16|bf16",
     "in which the weights are written (fp32)"},
    {"stage", 0, TAKES_BENCH, FLAG_CHOICE, FIELD(stage),
     "encode|translate|score|transcribe|train|step|ops|products|start",
     "the one stage to time (none: everything is measured)"},
    {"html", 0, TAKES_BENCH, FLAG_TEXT, FIELD(html), "FILE",
     "a page of the whole report; - is standard output (none)"},
    {"merge", 0, TAKES_BENCH, FLAG_SWITCH, FIELD(merge), NULL,
     "join the reports in the files that are named"},
    {"work", 0, TAKES_BENCH, FLAG_TEXT, FIELD(work), "FILE",
     "the lines to work on, or the recording (work.txt of the model)"},
    {"batch", 0, TAKES_SPEECH, FLAG_COUNT, FIELD(batch), "N",
     "recordings at a time, up to 64; each is transcribed as it is alone (1)"},
    {"batch", 0, TAKES_BENCH, FLAG_TEXT, FIELD(batches), "N,N,...", "the first N lines (1,8,64)"},
    {"beam", 0, TAKES_BENCH, FLAG_TEXT, FIELD(beams), "N,N,...", "beams; 1 is greedy (1,4)"},
    {"repeats", 0, TAKES_BENCH, FLAG_COUNT, FIELD(repeats), "N",
     "timed calls, of which the median counts (5; for ops more)"},
    {"again", 0, TAKES_TUNE, FLAG_SWITCH, FIELD(again), NULL, "also measure what is kept already"},
    {"quick", 0, TAKES_TUNE, FLAG_SWITCH, FIELD(quick), NULL, "measure less, and be less sure"},
    {"beam", 0, TAKES_SEARCH, FLAG_COUNT, FIELD(beam), "N", "beams; 1 is greedy (the model's)"},
    {"beam-groups", 0, TAKES_SEARCH, FLAG_COUNT, FIELD(beam_groups), "N",
     "diverse beams: in N groups of one size, each kept from what those before it take (the model's, or 1)"},
    {"diversity-penalty", 0, TAKES_SEARCH, FLAG_REAL, FIELD(diversity_penalty), "X",
     "what a token's score is less by for each beam of the groups before that takes it (the model's)"},
    {"n-best", 0, TAKES_SEARCH, FLAG_COUNT, FIELD(n_best), "N",
     "translations a line, or as many as the search finds (the model's)"},
    {"length-penalty", 0, TAKES_SEARCH, FLAG_REAL, FIELD(length_penalty), "X",
     "exponent of the length rule, -1000 to 1000 (the model's)"},
    {"length-rule", 0, TAKES_SEARCH, FLAG_CHOICE, FIELD(length_rule), "huggingface|gnmt|none|jadore",
     "what a hypothesis' sum is divided by (the model's)"},
    {"coverage-penalty", 0, TAKES_SEARCH, FLAG_REAL, FIELD(coverage_penalty), "X",
     "a translation's score gets X times the logarithms of how much it looked at each of the source's "
     "tokens, 1 at most (0)"},
    {"early-stopping", 0, TAKES_SEARCH, FLAG_CHOICE, FIELD(early_stopping), "false|true|never|all|narrow",
     "when a beam search may end (the model's)"},
    {"min-length", 0, TAKES_SEARCH | TAKES_BENCH, FLAG_COUNT, FIELD(min_length), "N",
     "generated tokens at least, end token included (the model's)"},
    {"max-length", 0, TAKES_SEARCH | TAKES_BENCH, FLAG_COUNT, FIELD(max_length), "N",
     "generated tokens at most, end token included (the model's)"},
    {"forced-first", 0, TAKES_SEARCH, FLAG_TEXT, FIELD(forced_first), "TOKEN|none",
     "id or piece that every translation begins with; digits are an id (the model's)"},
    {"forced-last", 0, TAKES_SEARCH, FLAG_TEXT, FIELD(forced_last), "TOKEN|none",
     "id or piece at the maximum length; digits are an id (the model's)"},
    {"suppress", 0, TAKES_SEARCH, FLAG_TEXT, FIELD(suppress), "TOKENS",
     "ids or pieces never generated, in addition to the model's own, with commas between them; digits are an "
     "id (none)"},
    {"no-repeat-ngram-size", 0, TAKES_SEARCH, FLAG_COUNT, FIELD(no_repeat_ngram_size), "N",
     "no N tokens in a row come twice in a translation; 0: they may (the model's)"},
    {"encoder-no-repeat-ngram-size", 0, TAKES_SEARCH, FLAG_COUNT, FIELD(encoder_no_repeat_ngram_size), "N",
     "no N tokens in a row of the source come in its translation; 0: they may (the model's)"},
    {"repetition-penalty", 0, TAKES_SEARCH, FLAG_FACTOR, FIELD(repetition_penalty), "X",
     "scores of tokens that were generated before are divided by X, those below 0 multiplied; 1: they are "
     "not (the model's)"},
    {"encoder-repetition-penalty", 0, TAKES_SEARCH, FLAG_FACTOR, FIELD(encoder_repetition_penalty), "X",
     "scores of the source's tokens are multiplied by X, those below 0 divided; 1: they are not (the "
     "model's)"},
    {"length-decay", 0, TAKES_SEARCH, FLAG_TEXT, FIELD(length_decay), "N,X",
     "behind N generated tokens the end's score grows by its size times X^n - 1 at the nth one more; X 1: it "
     "does not (the model's)"},
    {"sample", 0, TAKES_SEARCH, FLAG_SWITCH, FIELD(sample), NULL,
     "draw tokens by their probabilities: with --beam 1 each of --n-best N by itself (as the model's folder "
     "says)"},
    {"no-sample", 0, TAKES_SEARCH, FLAG_SWITCH, FIELD(no_sample), NULL, "search, whatever the folder says"},
    {"seed", 0, TAKES_SEARCH, FLAG_COUNT, FIELD(seed), "N",
     "another seed draws others; the same one gives a line the same samples beside any others (0)"},
    {"temperature", 0, TAKES_SEARCH, FLAG_FACTOR, FIELD(temperature), "X",
     "what scores are divided by before tokens are drawn (the model's, or 1)"},
    {"top-k", 0, TAKES_SEARCH, FLAG_COUNT, FIELD(top_k), "N",
     "draw among the N most probable tokens; 0: among all (the model's, or 50)"},
    {"top-p", 0, TAKES_SEARCH, FLAG_SHARE, FIELD(top_p), "X",
     "then among the most probable ones that have the probability X together (the model's, or 1)"},
    {"min-p", 0, TAKES_SEARCH, FLAG_SHARE, FIELD(min_p), "X",
     "then among those at least X times as probable as the most probable one (the model's, or 0)"},
    {"typical-p", 0, TAKES_SEARCH, FLAG_SHARE, FIELD(typical_p), "X",
     "then among those nearest to the expected log-probability, of X together (the model's, or 1)"},
    {"epsilon", 0, TAKES_SEARCH, FLAG_SHARE, FIELD(epsilon), "X",
     "then among those of probability X at least (the model's, or 0)"},
    {"eta", 0, TAKES_SEARCH, FLAG_SHARE, FIELD(eta), "X",
     "then among those of a probability that follows the entropy, X at most (the model's, or 0)"},
    {"renormalize", 0, TAKES_SEARCH, FLAG_CHOICE, FIELD(renormalize), "false|true",
     "log-softmax again without the banned tokens (the model's)"},
    {"max-length-factor", 0, TAKES_SEARCH, FLAG_REAL, FIELD(max_length_factor), "X",
     "a translation has at most X times its source's tokens; 0: no such limit (the model's)"},
    {"shortlist", 0, TAKES_SEARCH, FLAG_TEXT, FIELD(shortlist), "FILE|none",
     "a lexical shortlist, of whose words alone a translation is made (the model folder's, if it has one)"},
    {"batch-tokens", 0, TAKES_LINES, FLAG_COUNT, FIELD(batch_tokens), "N",
     "source tokens worked on at a time (2048)"},
    {"source-language", 's', TAKES_LINES, FLAG_TEXT, FIELD(source_language), "CODE",
     "of a model with several languages: its own code, or a short one (the model's)"},
    {"target-language", 't', TAKES_LINES, FLAG_TEXT, FIELD(target_language), "CODE",
     "into which it translates; `clformer inspect` lists the codes (the model's)"},
    {"task", 0, TAKES_LINES, FLAG_TEXT, FIELD(task), "NAME",
     "one of the model's tasks, which `clformer inspect` lists: its prefix and its defaults (none)"},
    {"split-sentences", 0, TAKES_TEXTS, FLAG_SWITCH, FIELD(split_sentences), NULL,
     "translate each sentence of a line by itself, and halves of one that is too long"},
    {"alignments", 0, TAKES_TEXTS, FLAG_SWITCH, FIELD(alignments), NULL,
     "a tab and 0-0 1-1 ... behind each translation: source and target token, by the cross-attention"},
    {"alignment-layer", 0, TAKES_TEXTS, FLAG_COUNT, FIELD(alignment_layer), "N",
     "the decoder's layer that --alignments looks at, 1 the first (the last but one)"},
    {"replace-unknown", 0, TAKES_TEXTS, FLAG_SWITCH, FIELD(replace_unknown), NULL,
     "unknown tokens become the source's tokens that they look at most, by the cross-attention"},
    {"stream", 0, TAKES_TEXTS, FLAG_SWITCH, FIELD(stream), NULL,
     "show each line's translation word by word as it grows, a line at a time (with --beam 1)"},
    {"target-prefix", 0, TAKES_TEXTS, FLAG_TEXT, FIELD(target_prefix), "TEXT",
     "what every translation begins with (nothing)"},
    {"target-prefix-file", 0, TAKES_TEXTS, FLAG_TEXT, FIELD(target_prefix_file), "FILE",
     "what each translation begins with, a line for each; empty: anything (none)"},
    {"alternatives", 0, TAKES_TEXTS, FLAG_COUNT, FIELD(alternatives), "N",
     "N translations a line: each goes on from another one of the N most probable tokens behind the prefix "
     "(0)"},
    {"tokens", 0, TAKES_LINES | TAKES_BENCH, FLAG_SWITCH, FIELD(pieces), NULL,
     "lines are pieces with white space between them, not text"},
    {"words", 0, TAKES_BLEU, FLAG_CHOICE, FIELD(words), "13a|spaces",
     "how lines become words: mteval-v13a's rules, or what white space separates (13a)"},
    {"lower-case", 0, TAKES_REFERENCES, FLAG_SWITCH, FIELD(lower_case), NULL, "both sides in lower case"},
    {"json", 0, TAKES_JSON, FLAG_SWITCH, FIELD(json), NULL, "one JSON object a line"},
    {"quiet", 'q', 0, FLAG_SWITCH, FIELD(quiet), NULL, "no warnings, no progress"},
    {"verbose", 'v', 0, FLAG_SWITCH, FIELD(verbose), NULL, "say what is chosen and where time goes"},
};
enum { FLAG_TOTAL = sizeof table / sizeof *table };

static int is_taken(const struct flag *flag, int takes)
{
    return flag->takes == 0 || (flag->takes & takes) != 0;
}

enum { HELP_COLUMN = 42, HELP_WIDTH = 100 }; /* where meanings begin, and where lines end at the latest */

static void print_meaning(FILE *file, const char *meaning)
{
    int column = HELP_COLUMN;
    for (const char *word = meaning; *word != '\0';) {
        int length = (int)strcspn(word, " ");
        if (column > HELP_COLUMN && column + 1 + length > HELP_WIDTH) {
            fprintf(file, "\n%*s", (int)HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else if (word != meaning) {
            putc(' ', file);
            column++;
        }
        fprintf(file, "%.*s", length, word);
        column += length;
        word += length + strspn(word + length, " ");
    }
    putc('\n', file);
}

void help_print_flag(FILE *file, char letter, const char *name, const char *value, const char *meaning)
{
    const char before[] = {'-', letter, ',', '\0'};
    int width = fprintf(file, "  %3s --%s%s%s", letter != 0 ? before : "", name, value != NULL ? " " : "",
                        value != NULL ? value : "");
    if (width >= HELP_COLUMN) { /* no room is left beside it */
        putc('\n', file);
        width = 0;
    }
    fprintf(file, "%*s", HELP_COLUMN - width, "");
    print_meaning(file, meaning);
}

static void print_flags(int takes)
{
    printf("\nFlags:\n");
    for (int i = 0; i < FLAG_TOTAL; i++) {
        const struct flag *flag = &table[i];
        if (is_taken(flag, takes)) {
            help_print_flag(stdout, flag->letter, flag->name, flag->choices, flag->help);
        }
    }
    help_print_flag(stdout, 0, "help", NULL, "this text");
}

static const struct flag *find_flag(const char *argument, size_t length, int takes)
{
    for (int i = 0; i < FLAG_TOTAL; i++) {
        const struct flag *flag = &table[i];
        int is_long = argument[1] == '-' && strlen(flag->name) == length - 2 &&
                      memcmp(argument + 2, flag->name, length - 2) == 0;
        int is_short = argument[1] != '-' && length == 2 && flag->letter == argument[1];
        if ((is_long || is_short) && is_taken(flag, takes)) {
            return flag;
        }
    }
    return NULL;
}

static int parse_choice(int *out, const char *choices, const char *value)
{
    size_t length = strlen(value);
    for (int index = 0; choices != NULL; index++) {
        const char *bar = strchr(choices, '|');
        size_t choice_length = bar != NULL ? (size_t)(bar - choices) : strlen(choices);
        if (choice_length == length && memcmp(choices, value, length) == 0) {
            *out = index;
            return 1;
        }
        choices = bar != NULL ? bar + 1 : NULL;
    }
    return 0;
}

/* Returns -1, or the exit status of a wrong value. */
static int set_flag(struct flags *flags, const struct flag *flag, const char *value)
{
    char *field = (char *)flags + flag->offset;
    char *end = NULL;
    errno = 0;
    if (flag->kind == FLAG_SWITCH) {
        *(int *)field = 1;
    } else if (flag->kind == FLAG_TEXT) {
        memcpy(field, &value, sizeof value);
    } else if (flag->kind == FLAG_COUNT) {
        long count = strtol(value, &end, 10);
        if (end == value || *end != '\0' || errno != 0 || count < 0 || count > INT_MAX) {
            return report_wrong_call("--%s takes a whole number, not \"%s\"", flag->name, value);
        }
        *(int *)field = (int)count;
    } else if (flag->kind >= FLAG_REAL) {
        double real = strtod(value, &end), low = ranges[flag->kind].low, high = ranges[flag->kind].high;
        if (end == value || *end != '\0' || !(real >= low && real <= high)) {
            return report_wrong_call("--%s takes a number from %g to %g, not \"%s\"", flag->name, low, high,
                                     value);
        }
        memcpy(field, &real, sizeof real);
    } else if (!parse_choice((int *)field, flag->choices, value)) {
        return report_wrong_call("--%s takes %s, not \"%s\"", flag->name, flag->choices, value);
    }
    return -1;
}

static void set_defaults(struct flags *flags)
{
    *flags = (struct flags){
        .device_options = CLF_DEVICE_OPTIONS_INIT,
        .model_options = CLF_MODEL_OPTIONS_INIT,
        .beam = -1,
        .beam_groups = -1,
        .n_best = -1,
        .alternatives = -1,
        .min_length = -1,
        .max_length = -1,
        .batch_tokens = -1,
        .renormalize = -1,
        .no_repeat_ngram_size = -1,
        .encoder_no_repeat_ngram_size = -1,
        .length_penalty = NAN,
        .coverage_penalty = NAN,
        .diversity_penalty = NAN,
        .repetition_penalty = NAN,
        .encoder_repetition_penalty = NAN,
        .alignment_layer = -1,
        .top_k = -1,
        .seed = -1,
        .max_length_factor = NAN,
        .temperature = NAN,
        .top_p = NAN,
        .min_p = NAN,
        .typical_p = NAN,
        .epsilon = NAN,
        .eta = NAN,
        .length_rule = -1,
        .early_stopping = -1,
        .speech_task = -1,
        .timestamps = -1,
        .conditions = -1,
        .raw_rate = -1,
        .best_of = -1,
        .batch = -1,
        .temperature_increment = NAN,
        .compression_ratio_threshold = NAN,
        .patience = NAN,
        .max_initial_timestamp = NAN,
        .no_speech_threshold = NAN,
        .log_probability_threshold = NAN,
        .hallucination_silence_threshold = NAN,
        .stage = -1,
        .repeats = -1,
    };
}

/* Names the flag that is nearest to a word; train's are the keys of its recipe, too. */
static int report_no_flag(const char *verb, const char *argument, int length, int takes)
{
    struct clf__nearest nearest = clf__nearest_begin(argument, length);
    for (int i = 0; i < FLAG_TOTAL; i++) {
        if (is_taken(&table[i], takes)) {
            clf__nearest_try(&nearest, table[i].name);
        }
    }
    int count = 0;
    const struct clf_recipe_key *keys = (takes & TAKES_TRAIN) ? clf_recipe_keys(&count) : NULL;
    for (int i = 0; i < count; i++) {
        clf__nearest_try(&nearest, keys[i].name);
    }
    return nearest.best != NULL
               ? report_wrong_call("%s has no flag %.*s; did you mean --%s? `clformer %s --help` lists them",
                                   verb, length, argument, nearest.best, verb)
               : report_wrong_call("%s has no flag %.*s; `clformer %s --help` lists them", verb, length,
                                   argument, verb);
}

/* One flag at argv[*index], with its value there ("--x=1") or in the next argument. */
static int parse_flag(struct flags *flags, int *index, int argc, char **argv, int takes)
{
    const char *argument = argv[*index];
    const char *equals = argument[1] == '-' ? strchr(argument, '=') : NULL;
    size_t length = equals != NULL ? (size_t)(equals - argument) : strlen(argument);
    const struct flag *flag = find_flag(argument, length, takes);
    if (flag == NULL) {
        return report_no_flag(argv[0], argument, (int)length, takes);
    }
    const char *value = equals != NULL ? equals + 1 : NULL;
    if (flag->kind == FLAG_SWITCH && value != NULL) {
        return report_wrong_call("--%s takes no value", flag->name);
    }
    if (flag->kind != FLAG_SWITCH && value == NULL) {
        if (*index + 1 >= argc) {
            return report_wrong_call("--%s needs a value", flag->name);
        }
        value = argv[++*index];
    }
    return set_flag(flags, flag, value);
}

/* What is measured or written is fp32 unless it is named; a model that is used is as its folder has it. */
static clf_precision default_precision(int takes)
{
    return (takes & TAKES_CONVERT) ? CLF_PRECISION_INT8
           : (takes & TAKES_MODEL) ? CLF_PRECISION_AUTO
                                   : CLF_PRECISION_FP32;
}

int flags_parse(struct flags *flags, int argc, char **argv, int takes, const char *help)
{
    set_defaults(flags);
    flags->model_options.precision = default_precision(takes);
    flags->operands = argv + 1;
    int only_operands = 0;
    for (int i = 1; i < argc; i++) {
        if (only_operands || argv[i][0] != '-' || argv[i][1] == '\0') {
            flags->operands[flags->operand_count++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            only_operands = 1;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            printf("%s", help);
            print_flags(takes);
            return EXIT_DONE;
        } else {
            int status = parse_flag(flags, &i, argc, argv, takes);
            if (status >= 0) {
                return status;
            }
        }
    }
    if ((takes & TAKES_MODEL) && (flags->model == NULL || flags->model[0] == '\0')) {
        return report_wrong_call("%s needs a model: -m FOLDER", argv[0]);
    }
    return -1;
}

int flags_choice(char *word, size_t size, const char *name, int index)
{
    const char *choice = NULL; /* of the first flag of that name: what others have is a part of it */
    for (int i = 0; i < FLAG_TOTAL && choice == NULL; i++) {
        choice = strcmp(table[i].name, name) == 0 ? table[i].choices : NULL;
    }
    for (; index > 0 && choice != NULL; index--) {
        choice = strchr(choice, '|');
        choice = choice != NULL ? choice + 1 : NULL;
    }
    if (choice == NULL) {
        return 0;
    }
    snprintf(word, size, "%.*s", (int)strcspn(choice, "|"), choice);
    return 1;
}

int flags_operands(const struct flags *flags, int least, int most, const char *wanted)
{
    if (flags->operand_count < least || flags->operand_count > most) {
        return report_wrong_call("%s, not %d argument%s", wanted, flags->operand_count,
                                 flags->operand_count == 1 ? "" : "s");
    }
    return -1;
}

static void write_value(char *text, size_t size, const struct flags *flags, const struct flag *flag)
{
    const char *field = (const char *)flags + flag->offset, *word;
    double real;
    int number;
    if (flag->kind == FLAG_TEXT) {
        memcpy(&word, field, sizeof word);
        snprintf(text, size, "%s", word != NULL ? word : "not given");
    } else if (flag->kind >= FLAG_REAL) {
        memcpy(&real, field, sizeof real);
        snprintf(text, size, "%.17g", real); /* one that was not given is no number */
    } else {
        memcpy(&number, field, sizeof number);
        snprintf(text, size, "%d", number);
    }
}

clf_status flags_each(const struct flags *flags, int takes, flags_visit *visit, void *user)
{
    for (int i = 0; i < FLAG_TOTAL; i++) {
        char value[512];
        if (is_taken(&table[i], takes)) {
            write_value(value, sizeof value, flags, &table[i]);
            CLF__TRY(visit(user, table[i].name, value));
        }
    }
    return CLF_OK;
}
