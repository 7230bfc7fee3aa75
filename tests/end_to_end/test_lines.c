/* Lines of every kind are translated in order, and none shifts. */
#include <stdlib.h>
#include <string.h>

#include "support/process.h"

#define TRANSLATE "translate -m " DEMO_MODEL " "

static void test_kinds_of_line(void **state)
{
    (void)state;
    struct process_result result = run_clformer("Merci beaucoup.\r\n\r\n\n   \nMerci beaucoup.", TRANSLATE);
    assert_output(result, "Thank you very much.\n\n\n\nThank you very much.\n");
    assert_int_equal(result.errors_size, 0);
    result = run_clformer(NULL, TRANSLATE);
    assert_output(result, "");
    struct process process = {.input = "Merci\0beaucoup.\n\0\nMerci.\n", .input_size = 25};
    result = process_run(&process, TRANSLATE);
    assert_output(result, "Thank you very much.\n\nThanks.\n");
}

/* The message names line, byte and remedy; the others are translated. */
static void test_other_encodings(void **state)
{
    (void)state;
    struct process_result result = run_clformer("Merci.\nCaf\xe9\n", TRANSLATE);
    assert_int_equal(result.status, 1);
    assert_string_equal(result.output, "Thanks.\n\n");
    assert_string_equal(result.errors, "clformer: line 2: invalid UTF-8 at byte offset 3; convert the text, "
                                       "for example with iconv -f WINDOWS-1252 -t UTF-8\n");
}

/* Whichever input of a verb is UTF-16, one sentence names it, and nothing is written. */
static void test_utf16(void **state)
{
    (void)state;
    static const char wide[] = "J\0e\0\n\0J\0e\0 \0s\0u\0i\0s\0\n", line[] = "Je suis\n";
    static const char *const from_input[] = {TRANSLATE, "bleu %s/plain", "wer %s/plain",
                                             "score -m " DEMO_MODEL " - %s/plain",
                                             "score -m " DEMO_MODEL " %s/plain -"};
    static const char *const from_file[] = {TRANSLATE "--target-prefix-file %s/wide", "bleu %s/wide",
                                            "wer %s/wide", "score -m " DEMO_MODEL " - %s/wide",
                                            "score -m " DEMO_MODEL " %s/wide -"};
    static const char *const train[] = {"--train %s/wide %s/plain --valid %s/plain %s/plain",
                                        "--train %s/plain %s/wide --valid %s/plain %s/plain",
                                        "--train %s/pairs --valid %s/plain %s/wide"};
    const char *folder = support_temporary_folder();
    process_write(folder, "plain", line, sizeof line - 1);
    process_write(folder, "wide", wide, sizeof wide); /* the NUL at its end is the newline's */
    process_write(folder, "pairs", "Je\tI\n", 5);
    struct process input = {.input = wide, .input_size = sizeof wide};
    for (size_t i = 0; i < sizeof from_input / sizeof *from_input; i++) {
        struct process_result result = process_run(&input, process_format(from_input[i], folder));
        assert_refused(
            result, 1,
            "standard input: is in UTF-16LE, not UTF-8; convert it with iconv -f UTF-16LE -t UTF-8");
        result = run_clformer(line, process_format(from_file[i], folder));
        assert_refused(result, 1,
                       "/wide: is in UTF-16LE, not UTF-8; convert it with iconv -f UTF-16LE -t UTF-8");
    }
    for (size_t i = 0; i < sizeof train / sizeof *train; i++) {
        const char *files = process_format(train[i], folder, folder, folder, folder);
        struct process_result result =
            run_clformer(NULL, process_format("train --size tiny %s -o %s/out --vocabulary 8 --max-updates 1",
                                              files, folder));
        assert_int_equal(result.status, 1);
        assert_int_equal(
            process_count(result.errors,
                          "/wide: is in UTF-16LE, not UTF-8; convert it with iconv -f UTF-16LE -t UTF-8"),
            1);
    }
}

/* Target prefixes: the same for all, or one per line. */
static void test_prefixes(void **state)
{
    (void)state;
    static const char input[] = "Je suis étudiant\n\nJe suis étudiant\n";
    struct process_result result = run_clformer(input, TRANSLATE "--target-prefix I\x1f"
                                                                 "am");
    assert_output(result, "I am a student.\n\nI am a student.\n");
    char *path = support_temporary_path("prefixes.txt");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("\nThe\nI am\n", file);
    fclose(file);
    char call[600];
    snprintf(call, sizeof call, TRANSLATE "--target-prefix-file %s", path);
    result = run_clformer(input, call);
    assert_output(result, "I'm a student.\n\nI am a student.\n");
    result = run_clformer("Je suis étudiant\n", call); /* fewer lines than the file */
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.errors, "prefixes.txt"));
    result = run_clformer(input, TRANSLATE "--target-prefix-file nowhere.txt");
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.errors, "nowhere.txt"));
    result = run_clformer("Merci.\n", TRANSLATE "--max-length 2 --target-prefix Unbelievable");
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.errors, "line 1: the target prefix has "));
    result = run_clformer("Merci.\n", TRANSLATE "--split-sentences --target-prefix I");
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.errors, "cannot be combined with a target prefix"));
}

/* The same text, streamed. */
static void test_stream(void **state)
{
    (void)state;
    static const char input[] = "Merci beaucoup.\n\nJe suis étudiant\n";
    struct process_result result = run_clformer(input, TRANSLATE "--beam 1 --stream");
    assert_output(result, "Thank you very much.\n\nI'm a student.\n");
    result = run_clformer(input, TRANSLATE "--beam 1 --stream --target-prefix There");
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.output, "There"), 2);
    result = run_clformer(input, TRANSLATE "--beam 4 --stream");
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.errors, "--stream: requires --beam 1"));
    result = run_clformer(input, TRANSLATE "--beam 1 --stream --json");
    assert_int_equal(result.status, 2);
}

/* Each sentence with its translation; an empty line has none. */
static void test_split_sentences(void **state)
{
    (void)state;
    struct process_result result =
        run_clformer("O\u00f9 est la gare ? Je cherche le train.\n\n\u00ab Oui ! \u00bb dit-il.\n",
                     TRANSLATE "--split-sentences --json");
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.output,
                           "\"sentences\":[{\"source\":\"O\u00f9 est la gare ?\",\"text\":\"Where is the "
                           "station?\"},{\"source\":\"Je cherche le train.\",\"text\":\"I'm looking "
                           "for the train.\"}]}\n"));
    assert_int_equal(process_count(result.output, "\"sentences\":[]}\n"), 1);
    assert_int_equal(process_count(result.output, "\"source\":"), 3);
    result = run_clformer("Merci. Merci.\n", TRANSLATE "--json");
    assert_int_equal(process_count(result.output, "sentences"), 0);
}

/* With and without capitals, spaces and quotation marks. */
static void test_warned_of_sentences(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "O\u00f9 est la gare ? Je cherche le train.\n",
        "o\u00f9 est la gare ? je cherche le train\n",
        "Il est l\u00e0.Je viens.\n",
        "\u00ab Oui. \u00bb \u00ab Non. \u00bb\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct process_result result = run_clformer(lines[i], TRANSLATE "--beam 1");
        assert_int_equal(result.status, 0);
        assert_int_equal(process_count(result.errors, "several sentences"), 1);
        assert_int_equal(process_count(result.errors, "--split-sentences"), 1);
    }
    struct process_result result = run_clformer("Dr. Petit part \u00e0 18 h. 30.\n", TRANSLATE "--beam 1");
    assert_int_equal(process_count(result.errors, "several sentences"), 0);
}

/* Alignments after a tab, or in the object. */
static void test_alignments(void **state)
{
    (void)state;
    struct process_result result =
        run_clformer("Je voudrais acheter un livre.\n\n", TRANSLATE "--alignments");
    assert_output(result, "I'd like to buy a book.\t0-0 1-1 1-2 1-3 2-4 2-5 4-6 4-7 5-8\n\n");
    result = run_clformer("Merci.\n", TRANSLATE "--alignments --json --beam 1");
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.output, "\"alignment\":["), 1);
    assert_int_equal(process_count(result.output, ",null]"), 1);
    result = run_clformer("Merci.\n", TRANSLATE "--alignment-layer 2");
    assert_int_equal(result.status, 2);
    result = run_clformer("Merci.\n", TRANSLATE "--alignments --alignment-layer 9");
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.errors, "use 1 to 3 (the decoder's last layer)"));
}

/* An unknown token is forced to be first, and is replaced by its aligned source token. */
static void test_replace_unknown(void **state)
{
    (void)state;
    static const char line[] = "\u6f22\u5b57 est \u00e9tudiant.\n";
    struct process_result result = run_clformer(line, TRANSLATE "--forced-first <unk>");
    assert_output(result, "It's a student.\n");
    result = run_clformer(line, TRANSLATE "--forced-first <unk> --replace-unknown");
    assert_output(result, "\u6f22\u5b57 It's a student.\n");
    result = run_clformer(line, TRANSLATE "--forced-first <unk> --replace-unknown --alignments --json");
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.output, "\"text\":\"\u6f22\u5b57 It's a student.\""));
    assert_non_null(strstr(result.output, "\"tokens\":[\"<unk>\""));
    assert_non_null(strstr(result.output, "\"alignment\":[1,"));
    result = run_clformer(line, TRANSLATE "--stream --beam 1 --replace-unknown");
    assert_int_equal(result.status, 2);
}

/* Translations contain the terms of a glossary; other lines do not change. */
static void test_glossary(void **state)
{
    (void)state;
    static const char terms[] = "# French, English\ngare\trailway depot\ncl\u00e9s\tpasskeys\n"
                                "Paul\tPol\tcase\n";
    static const char lines[] = "O\u00f9 est la gare ?\nMerci beaucoup.\nPaul a perdu ses cl\u00e9s.\n";
    const char *folder = support_temporary_folder();
    process_write(folder, "terms.tsv", terms, strlen(terms));
    process_write(folder, "wrong.tsv", "gare\n", 5);
    const char *flag = process_format("--glossary %s/terms.tsv", folder);
    struct process_result result = run_clformer(lines, process_format(TRANSLATE "%s", flag));
    assert_int_equal(result.status, 0);
    assert_int_equal(result.errors_size, 0);
    const char *second = strchr(result.output, '\n'),
               *third = second != NULL ? strchr(second + 1, '\n') : NULL;
    assert_non_null(third);
    const char *first_term = strstr(result.output, "railway depot");
    assert_true(first_term != NULL && first_term < second);
    assert_int_equal(strncmp(second, "\nThank you very much.\n", 22), 0);
    assert_non_null(strstr(third, "Pol"));
    assert_non_null(strstr(third, "passkeys"));
    result = run_clformer(lines, process_format(TRANSLATE "%s --beam 1 --stream", flag));
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.output, "railway depot"));
    assert_non_null(strstr(result.output, "Pol"));
    result = run_clformer("La gare.\n", process_format(TRANSLATE "%s --max-length 2 --json", flag));
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.output, "\"missing_terms\":[\"railway depot\"]"));
    assert_non_null(strstr(result.errors, "a translation lacks the glossary term \"railway depot\""));
    result = run_clformer(lines, process_format(TRANSLATE "--glossary %s/wrong.tsv", folder));
    assert_refused(result, 1, "wrong.tsv:1: has no tab");
    result = run_clformer(lines, process_format(TRANSLATE "%s --sample", flag));
    assert_refused(result, 2, "a glossary cannot be combined with sampling");
}

/* A draft model does not change the output, and --verbose prints the share of accepted tokens. */
static void test_draft(void **state)
{
    (void)state;
    static const char lines[] = "O\u00f9 est la gare ?\n\nElle a achet\u00e9 un livre hier soir.\n";
    static const char draft[] = " --beam 1 --draft " CLF_SOURCE_FOLDER "/tools/models/fr-en-small";
    struct process_result result = run_clformer(lines, TRANSLATE "--beam 1 --json");
    assert_int_equal(result.status, 0);
    const char *expected = result.output;
    result = run_clformer(lines, process_format(TRANSLATE "--json%s", draft));
    assert_int_equal(result.status, 0);
    assert_string_equal(result.output, expected);
    result = run_clformer(lines, process_format(TRANSLATE "--verbose%s", draft));
    assert_non_null(strstr(result.errors, " proposed tokens accepted (100%); 2 batches"));
    result = run_clformer(lines, process_format(TRANSLATE "%s --beam 4", draft));
    assert_refused(result, 2,
                   "a draft model cannot be combined with a beam above 1; set beam to 1 (--beam 1)");
    result = run_clformer(lines, TRANSLATE "--beam 1 --draft /nowhere");
    assert_refused(result, 1, "/nowhere");
}

static void test_alternatives(void **state)
{
    (void)state;
    static const char line[] = "Je suis \u00e9tudiant.\n\n";
    struct process_result result = run_clformer(line, TRANSLATE "--alternatives 3 --target-prefix I");
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.output, "\n"), 4);
    assert_int_equal(process_count(result.output, "\tI'm a student.\n"), 1);
    assert_int_equal(process_count(result.output, "\tI am a student.\n"), 1);
    assert_int_equal(process_count(result.output, "\n2\t\t\n"), 1);
    result = run_clformer(line, TRANSLATE "--alternatives 3 --target-prefix I --json");
    assert_int_equal(process_count(result.output, "\"text\":\"I am a student.\""), 1);
    assert_int_equal(process_count(result.output, "\"n_best\":["), 2);
    result = run_clformer(line, TRANSLATE "--alternatives 3 --n-best 2");
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.errors, "alternatives cannot be combined with n-best above 1"));
}

/* An earlier decay gives a shorter translation. */
static void test_length_decay(void **state)
{
    (void)state;
    static const char line[] = "Je voudrais acheter un livre.\n";
    struct process_result result = run_clformer(line, TRANSLATE "--length-decay 2,30 --beam 1");
    assert_int_equal(result.status, 0);
    assert_true(result.output_size < strlen("I'd like to buy a book.\n"));
    result = run_clformer(line, TRANSLATE "--length-decay 40,30 --beam 1");
    assert_output(result, "I'd like to buy a book.\n");
    static const char *const wrong[] = {"3", "3,", ",2", "-1,2", "3,0", "3,2x", "3;2", "99999999999,2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char flags[300];
        snprintf(flags, sizeof flags, TRANSLATE "--length-decay=%s", wrong[i]);
        result = run_clformer(line, flags);
        assert_int_equal(result.status, 2);
        assert_non_null(strstr(result.errors, "must be a number of tokens and a factor from 1e-06 to 1e+06"));
    }
}

/* Translations that cover less of the source rank lower. */
static void test_coverage_penalty(void **state)
{
    (void)state;
    static const char line[] = "Je voudrais acheter un livre.\n";
    struct process_result plain = run_clformer(line, TRANSLATE "--json --beam 4 --n-best 4");
    struct process_result none =
        run_clformer(line, TRANSLATE "--json --beam 4 --n-best 4 --coverage-penalty 0");
    struct process_result covered =
        run_clformer(line, TRANSLATE "--json --beam 4 --n-best 4 --coverage-penalty 0.5");
    assert_int_equal(covered.status, 0);
    assert_string_equal(plain.output, none.output);
    assert_string_not_equal(plain.output, covered.output);
    covered = run_clformer(line, TRANSLATE "--early-stopping all --coverage-penalty 0.5");
    assert_int_equal(covered.status, 2);
    assert_non_null(strstr(covered.errors, "cannot be combined with a coverage penalty"));
}

static void test_beam_groups(void **state)
{
    (void)state;
    static const char line[] = "Je voudrais acheter un livre.\n";
    struct process_result plain = run_clformer(line, TRANSLATE "--beam 4 --n-best 4");
    struct process_result diverse =
        run_clformer(line, TRANSLATE "--beam 4 --n-best 4 --beam-groups 4 --diversity-penalty 2");
    assert_int_equal(diverse.status, 0);
    assert_string_not_equal(plain.output, diverse.output);
    diverse = run_clformer(line, TRANSLATE "--beam 4 --diversity-penalty 2");
    assert_int_equal(diverse.status, 2);
    assert_non_null(strstr(diverse.errors, "add --beam-groups"));
    diverse = run_clformer(line, TRANSLATE "--beam 4 --beam-groups 3 --diversity-penalty 2");
    assert_non_null(strstr(diverse.errors, "beam size: 4 beams cannot be divided into 3 groups of equal "
                                           "size; change one of them, or use 1 group"));
}

static void test_long_line(void **state)
{
    (void)state;
    size_t size = 1 << 20;
    char *input = support_array(size + 16, 1);
    memset(input, 'a', size);
    for (size_t i = 7; i < size; i += 8) {
        input[i] = ' ';
    }
    strcpy(input + size, "\nMerci.\n");
    struct process_result result = run_clformer(input, TRANSLATE "--beam 1");
    assert_int_equal(result.status, 3);
    assert_int_equal(process_count(result.output, "\n"), 2);
    assert_int_equal(process_count(result.output, "\nThanks.\n"), 1);
    assert_int_equal(process_count(result.errors, "\n"), 2);
    assert_non_null(strstr(result.errors, "\nclformer: 1 of 2 lines was truncated to the model's limit\n"));
    assert_non_null(strstr(result.errors, "warning: line 1: the source of "));
    assert_non_null(strstr(result.errors, " tokens was truncated to the model's limit of 256\n"));
    result = run_clformer(input, TRANSLATE "--beam 1 --quiet");
    assert_int_equal(result.status, 3);
    assert_int_equal(result.errors_size, 0);
    result = run_clformer(input, TRANSLATE "--beam 1 --quiet --json");
    assert_int_equal(result.status, 3);
    assert_int_equal(process_count(result.output, "\"cut_from\":"), 1);
}

/* A truncated line ends between two characters. */
static void test_cut_inside_a_character(void **state)
{
    (void)state;
    enum { KEPT = 1 << 22 }; /* LINE_BYTES_KEPT of tools/shared/lines.h */
    static const char *const characters[] = {"é", "▁", "🙂"};
    for (size_t i = support_small() ? 2 : 0; i < sizeof characters / sizeof *characters; i++) {
        size_t width = strlen(characters[i]);
        char *input = support_array(KEPT + 16, 1);
        memset(input, 'a', KEPT);
        for (size_t space = 7; space < KEPT; space += 8) {
            input[space] = ' ';
        }
        strcpy(stpcpy(input + KEPT - width + 1, characters[i]), "\nMerci.\n");
        struct process_result result = run_clformer(input, TRANSLATE "--beam 1 --max-length 8");
        assert_int_equal(result.status, 3);
        assert_non_null(strstr(result.output, "\nThanks.\n"));
        assert_non_null(strstr(result.errors, "line 1: truncated to the first 4194304 bytes"));
    }
}

/* No-break and ideographic spaces, which normalization removes completely. */
static void test_unicode_blanks(void **state)
{
    (void)state;
    struct process_result result = run_clformer("\xc2\xa0\nMerci.\n\xe3\x80\x80 \xc2\xa0\n", TRANSLATE);
    assert_output(result, "\nThanks.\n\n");
}

static void test_invalid_utf8(void **state)
{
    (void)state;
    struct process_result result = run_clformer("Merci.\nMer\xff"
                                                "ci.\nMerci.\n\xc3\n",
                                                TRANSLATE);
    assert_int_equal(result.status, 1);
    assert_string_equal(result.output, "Thanks.\n\nThanks.\n\n");
    assert_int_equal(process_count(result.errors, "\n"), 2);
    assert_int_equal(process_count(result.errors, "clformer: line 2: "), 1);
    assert_int_equal(process_count(result.errors, "clformer: line 4: "), 1);
}

/* Line i of the recorded source, repeated: more than two windows of lines. */
static void test_windows_keep_the_order(void **state)
{
    (void)state;
    enum { LINES = 9000 };
    static const char *const lines[] = {"Merci.", "", "Je suis étudiant", "Merci beaucoup."};
    static const char *const wanted[] = {"Thanks.", "", "I'm a", "Thank you very"};
    char *input = support_array(LINES * 24, 1), *expected = support_array(LINES * 24, 1);
    char *in = input, *out = expected;
    for (int i = 0; i < LINES; i++) {
        int kind = i % 11 == 0 ? (i / 11) % 4 : 1; /* most lines are empty, to save time */
        in = stpcpy(stpcpy(in, lines[kind]), "\n");
        out = stpcpy(stpcpy(out, wanted[kind]), "\n");
    }
    struct process_result result =
        run_clformer(input, TRANSLATE "--beam 1 --max-length 3 --batch-tokens 8192");
    assert_int_equal(result.status, 0);
    int line = 0;
    const char *left = result.output, *right = expected;
    for (; *left && *right; line++) {
        size_t length = strcspn(left, "\n"), expected_length = strcspn(right, "\n");
        int is_empty = expected_length == 0;
        if ((length == 0) != is_empty || strncmp(left, right, length < 4 ? length : 4) != 0) {
            fail_msg("line %d is \"%.*s\", not \"%.*s\"", line + 1, (int)length, left, (int)expected_length,
                     right);
        }
        left += length + 1;
        right += expected_length + 1;
    }
    assert_int_equal(line, LINES);
    assert_int_equal(*left, '\0');
}

static void test_tokens(void **state)
{
    (void)state;
    struct process_result result = run_clformer("▁Je ▁suis ▁étudiant\n", TRANSLATE "--tokens");
    assert_output(result, "▁I ' m ▁a ▁student .\n");
}

static void test_n_best(void **state)
{
    (void)state;
    struct process_result result = run_clformer("Merci.\n\nMerci.\n", TRANSLATE "--beam 4 --n-best 2");
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.output, "\n"), 5);
    assert_int_equal(strncmp(result.output, "1\t-0.", 5), 0);
    assert_int_equal(process_count(result.output, "\n2\t\t\n3\t-0."), 1);
    assert_int_equal(process_count(result.output, "\tThanks.\n"), 2);
}

/* A sentence has the same translation by itself and among the recorded ones. */
static void test_recorded_lines(void **state)
{
    (void)state;
    size_t size;
    char *source = process_read(support_fixture("fr-en-small"), "source.fr", &size);
    char *end = source;
    for (int i = 0; i < 40; i++) {
        end = strchr(end, '\n') + 1;
    }
    *end = '\0';
    struct process_result together = run_clformer(source, TRANSLATE), small;
    small = run_clformer(source, TRANSLATE "--batch-tokens 30");
    assert_int_equal(together.status, 0);
    assert_output(small, together.output);
}

/* The batch size changes no translation, on the GPU variant either; --verbose reports the chosen one. */
static void test_batch_sizes(void **state)
{
    (void)state;
    static const char *const sizes[] = {"--batch-tokens 64", "--batch-tokens 2048", "--batch-tokens 0", ""};
    size_t size;
    char *source = process_read(support_fixture("fr-en-small"), "source.fr", &size);
    char *end = source;
    for (int i = 0; i < 16; i++) {
        end = strchr(end, '\n') + 1;
    }
    *end = '\0';
    struct process process = {
        .input = source, .input_size = (size_t)(end - source), .environment = "CLFORMER_VARIANT=gpu"};
    struct process_result first = process_run(&process, TRANSLATE "--gemm native --json --batch-tokens 1");
    assert_int_equal(first.status, 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct process_result other =
            process_run(&process, process_format(TRANSLATE "--gemm native --json %s", sizes[i]));
        assert_output(other, first.output);
    }
    struct process_result verbose = run_clformer("Merci.\n", TRANSLATE "--variant cpu --verbose");
    assert_int_equal(process_count(verbose.errors,
                                   ": batches of up to 2048 source tokens (--batch-tokens) and 256 lines\n"),
                     1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_kinds_of_line, support_teardown),
        cmocka_unit_test_teardown(test_other_encodings, support_teardown),
        cmocka_unit_test_teardown(test_utf16, support_teardown),
        cmocka_unit_test_teardown(test_prefixes, support_teardown),
        cmocka_unit_test_teardown(test_stream, support_teardown),
        cmocka_unit_test_teardown(test_split_sentences, support_teardown),
        cmocka_unit_test_teardown(test_warned_of_sentences, support_teardown),
        cmocka_unit_test_teardown(test_alignments, support_teardown),
        cmocka_unit_test_teardown(test_replace_unknown, support_teardown),
        cmocka_unit_test_teardown(test_glossary, support_teardown),
        cmocka_unit_test_teardown(test_draft, support_teardown),
        cmocka_unit_test_teardown(test_alternatives, support_teardown),
        cmocka_unit_test_teardown(test_length_decay, support_teardown),
        cmocka_unit_test_teardown(test_coverage_penalty, support_teardown),
        cmocka_unit_test_teardown(test_beam_groups, support_teardown),
        cmocka_unit_test_teardown(test_long_line, support_teardown),
        cmocka_unit_test_teardown(test_cut_inside_a_character, support_teardown),
        cmocka_unit_test_teardown(test_unicode_blanks, support_teardown),
        cmocka_unit_test_teardown(test_invalid_utf8, support_teardown),
        cmocka_unit_test_teardown(test_windows_keep_the_order, support_teardown),
        cmocka_unit_test_teardown(test_tokens, support_teardown),
        cmocka_unit_test_teardown(test_n_best, support_teardown),
        cmocka_unit_test_teardown(test_recorded_lines, support_teardown),
        cmocka_unit_test_teardown(test_batch_sizes, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
