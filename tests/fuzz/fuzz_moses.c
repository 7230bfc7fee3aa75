/* Any bytes as bpe.model, list of abbreviations and text, in languages of all kinds: an error that names the
 * file, or subwords that equal the words. Words have no white space and join to text; everything is UTF-8. */
#include "fuzz/files.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "text/tokenizers/moses/cutter.h"
#include "text/tokenizers/segmenters/pairs.h"
#include "text/tokenizers/segmenters/segmenter.h"
#include "text/tokenizers/token_list.h"

static const char list[] = "nonbreaking_prefix.en", pairs[] = "bpe.model";

static clf_status keep(void *user, const char *token, size_t length)
{
    fuzz_check(length > 0 && memchr(token, ' ', length) == NULL && memchr(token, '\0', length) == NULL);
    fuzz_check(clf__utf8_valid_prefix(token, length) == length);
    return clf__token_list_add(user, token, length, 0);
}

/* --- Texts --- */

/* Opened once, as it takes much longer than a text. */
static const void *open_language(size_t number)
{
    static const struct {
        const char *code;
        const struct clf__segmenter *segmenter;
    } rows[] = {{"en", &clf__segmenter_moses}, {"de", &clf__segmenter_moses}, {"fr", &clf__segmenter_moses},
                {"cs", &clf__segmenter_moses}, {"ko", &clf__segmenter_moses}, {"pt", &clf__segmenter_moses},
                {"en", &clf__segmenter_fsmt},  {"de", &clf__segmenter_fsmt}};
    static void *states[sizeof rows / sizeof *rows];
    const size_t row = number % (sizeof rows / sizeof *rows);
    const struct clf__segmenter_folder settings = {.path = fuzz_folder(),
                                                   .model = pairs,
                                                   .lowers_case = row % 2 == 0,
                                                   .source_language = rows[row].code,
                                                   .target_language = rows[row].code};
    if (states[row] == NULL) {
        fuzz_file(pairs, (const uint8_t *)"a b\nab c</w>\n", 13);
        fuzz_check(rows[row].segmenter->open(&states[row], &settings, 1) == CLF_OK);
        fuzz_remove_file(pairs);
    }
    return states[row];
}

static void join(const void *state, const struct clf__token_list *tokens)
{
    const char **items = NULL, *token = tokens->text;
    char *text;
    fuzz_check(clf__allocate(&items, (size_t)tokens->count, sizeof *items) == CLF_OK);
    for (int i = 0; i < tokens->count; i++) {
        items[i] = token;
        token += strlen(token) + 1;
    }
    fuzz_check(clf__segmenter_moses.join(state, &text, items, tokens->count) == CLF_OK);
    fuzz_check(clf__utf8_valid_prefix(text, strlen(text)) == strlen(text));
    clf__free(text);
    clf__free(items);
}

/* The words of the text are joined, too, as a model may generate any token. */
static void use_text(const void *state, const char *text, size_t size)
{
    struct clf__token_list cut = {.count = 0}, words = {.count = 0};
    fuzz_check(clf__segmenter_moses.segment(state, text, size, keep, &cut) == CLF_OK);
    fuzz_check(clf__segmenter_words.segment(NULL, text, size, keep, &words) == CLF_OK);
    join(state, &cut);
    join(state, &words);
    clf__token_list_free(&cut);
    clf__token_list_free(&words);
}

/* --- Files --- */

static void check_failure(clf_status status, const char *path)
{
    fuzz_check((status == CLF_FORMAT || status == CLF_UNSUPPORTED) && strstr(clf_last_error(), path) != NULL);
}

/* The subwords, without the @@ of all but the last or the </w> of the last, form the word. */
static void cut_word(const struct clf__pairs *read, struct clf__pairs_work *work, const char *word)
{
    struct clf__token_list tokens = {.count = 0};
    fuzz_check(clf__pairs_cut(read, work, word, strlen(word), keep, &tokens) == CLF_OK && tokens.count > 0);
    const char *token = tokens.text, *rest = word;
    int is_fast = read->kind == CLF__PAIRS_FASTBPE;
    for (int i = 0; i < tokens.count; i++) {
        const char *end = (i + 1 == tokens.count) == is_fast ? (is_fast ? "</w>" : "@@") : "";
        size_t size = strlen(token), own = size - strlen(end);
        fuzz_check(own <= size && strncmp(rest, token, own) == 0 && strcmp(token + own, end) == 0);
        rest += own;
        token += size + 1;
    }
    fuzz_check(*rest == '\0');
    clf__token_list_free(&tokens);
}

static void use_pairs(const uint8_t *data, size_t size, enum clf__pairs_kind kind)
{
    static const char *const words[] = {"aaaaaaaaaaaab", "abcabcab", "a", "\u65e5\u672cab",
                                        "x\u0301\xF0\x9F\x98\x80x"};
    struct clf__pairs read;
    const char *path = fuzz_file(pairs, data, size);
    clf_status status = clf__pairs_read(&read, path, kind);
    if (status == CLF_OK) {
        struct clf__pairs_work work = {.room = 0};
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            cut_word(&read, &work, words[i]);
        }
        clf__pairs_work_free(&work);
        clf__pairs_free(&read);
    } else {
        check_failure(status, path);
    }
    fuzz_remove_file(pairs);
}

static void use_list(const uint8_t *data, size_t size)
{
    static const char text[] = " Dr. A. No. 5 Art. b a.b. .. x.";
    static struct clf__moses_sets sets;
    struct clf__moses_abbreviations read;
    fuzz_check(sets.items[0] != NULL || clf__moses_sets_open(&sets, clf__moses_language("en")) == CLF_OK);
    const char *path = fuzz_file(list, data, size);
    clf_status status = clf__moses_abbreviations_open(&read, fuzz_folder(), clf__moses_language("en"), 1);
    if (status == CLF_OK) {
        struct clf__moses_work work;
        fuzz_check(clf__moses_work_begin(&work, text, sizeof text - 1) == CLF_OK);
        fuzz_check(clf__moses_part_full_stops(&work, &read, &sets) == CLF_OK);
        fuzz_check(work.text.size >= sizeof text - 2 && work.text.size < 2 * sizeof text);
        clf__moses_work_end(&work);
        clf__moses_abbreviations_close(&read);
    } else {
        check_failure(status, path);
    }
    fuzz_remove_file(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    use_pairs(data, size, CLF__PAIRS_SUBWORD_NMT);
    use_pairs(data, size, CLF__PAIRS_FASTBPE);
    use_list(data, size);
    const void *state = open_language(size);
    if (clf__utf8_valid_prefix((const char *)data, size) == size) {
        use_text(state, (const char *)data, size);
    }
    return 0;
}
