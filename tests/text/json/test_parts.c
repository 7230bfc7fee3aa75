/* Single normalizers, pre-tokenizers and decoders give the results of Hugging Face tokenizers
 * (tests/fixtures/text/json/parts.json), and patterns terminate. */
#include "support/support.h"

#include <jansson.h>
#include <string.h>

#include "text/tokenizers/json/part.h"

static const struct clf__part_section *section_of(const char *name)
{
    static const struct clf__part_section *const sections[] = {&clf__normalizers, &clf__pre_tokenizers,
                                                               &clf__decoders};
    for (int i = 0; i < 3; i++) {
        if (strcmp(sections[i]->name, name) == 0) {
            return sections[i];
        }
    }
    fail_msg("no section %s", name);
    return NULL;
}

static clf_status run(const struct clf__chain *chain, struct clf__word_list *words, const json_t *given,
                      int keeps_empty)
{
    struct clf__word_list spare = {.size = 0};
    words->keeps_empty = keeps_empty;
    clf__word_list_clear(words);
    for (size_t i = 0; i < json_array_size(given); i++) {
        const char *text = json_string_value(json_array_get(given, i));
        assert_ok(clf__word_list_add(words, text, strlen(text), i == 0));
    }
    clf_status status = clf__chain_run(chain, words, &spare);
    clf__word_list_free(&spare);
    return status;
}

/* The words of a decoder, like those after a normalizer, are joined to one text. */
static void check_case(const struct clf__chain *chain, const json_t *part, const json_t *row, int is_cut)
{
    struct clf__word_list words = {.size = 0};
    const json_t *expected = json_array_get(row, 1);
    assert_ok(run(chain, &words, json_array_get(row, 0), !is_cut));
    size_t count = json_array_size(expected), size = 0;
    int same = !is_cut || words.count == (int)count;
    for (size_t i = 0; same && i < count; i++) {
        const char *text = json_string_value(json_array_get(expected, i));
        size_t length = strlen(text);
        same = words.size - size >= length &&
               (length == 0 || memcmp(words.bytes + size, text, length) == 0) &&
               (!is_cut || words.items[i].size == length);
        size += length;
    }
    if (!same || size != words.size) {
        char *said = json_dumps(part, 0), *given = json_dumps(row, 0);
        fail_msg("%s: %s: got %.*s", said, given, (int)words.size, words.bytes);
    }
    clf__word_list_free(&words);
}

static void test_recorded_parts(void **state)
{
    (void)state;
    json_t *rows = json_load_file(CLF_SOURCE_FOLDER "/tests/fixtures/text/json/parts.json", 0, NULL), *row,
           *one;
    size_t index, inner;
    assert_true(json_array_size(rows) > 60);
    json_array_foreach(rows, index, row)
    {
        const struct clf__part_section *section =
            section_of(json_string_value(json_object_get(row, "section")));
        struct clf__chain chain = {.count = 0};
        assert_ok(clf__chain_read(&chain, section, json_object_get(row, "part"), "file"));
        json_array_foreach(json_object_get(row, "cases"), inner, one)
        {
            check_case(&chain, json_object_get(row, "part"), one, section == &clf__pre_tokenizers);
        }
        clf__chain_free(&chain);
    }
    json_decref(rows);
}

static clf_status read_part(struct clf__chain *chain, const char *section, const char *text)
{
    json_t *part = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(part);
    clf_status status = clf__chain_read(chain, section_of(section), part, "file");
    json_decref(part);
    return status;
}

static void test_what_is_refused(void **state)
{
    (void)state;
#define SPLIT(pattern)                                                                                       \
    "{\"type\": \"Split\", \"behavior\": \"Isolated\", \"pattern\": {\"Regex\": \"" pattern "\"}}"
    static const struct {
        const char *section, *text;
        clf_status status;
        const char *said;
    } rows[] = {
        {"normalizer", "5", CLF_FORMAT, "file: \"normalizer\": is not an object"},
        {"normalizer", "{}", CLF_FORMAT, "has no \"type\""},
        {"normalizer", "{\"type\": 3}", CLF_FORMAT, "\"type\" is not a string"},
        {"normalizer", "{\"type\": \"Magic\"}", CLF_UNSUPPORTED,
         "file: \"normalizer\": the part \"Magic\" is not supported; use the files from which the tokenizer "
         "was converted"},
        {"normalizer", "{\"type\": \"NFC\", \"extra\": 1}", CLF_UNSUPPORTED,
         "\"normalizer\", NFC: has the option \"extra\", which is not supported"},
        {"normalizer", "{\"type\": \"Sequence\"}", CLF_FORMAT, "has no list \"normalizers\""},
        {"normalizer", "{\"type\": \"Strip\", \"strip_left\": 1}", CLF_FORMAT,
         "\"strip_left\" is neither true nor false"},
        {"normalizer", "{\"type\": \"Prepend\"}", CLF_FORMAT, "\"normalizer\", Prepend: has no \"prepend\""},
        {"normalizer", "{\"type\": \"Replace\", \"content\": \"\"}", CLF_FORMAT,
         "\"pattern\" is neither {\"String\": ...} nor {\"Regex\": ...}"},
        {"normalizer", "{\"type\": \"Precompiled\", \"precompiled_charsmap\": \"AAA\"}", CLF_FORMAT,
         "\"precompiled_charsmap\" is not base64"},
        {"normalizer", "{\"type\": \"Precompiled\", \"precompiled_charsmap\": \"AAAA\"}", CLF_FORMAT,
         "file: \"normalizer\", Precompiled: not a SentencePiece model, or damaged"},
        {"pre_tokenizer", "{\"type\": \"UnicodeScripts\"}", CLF_UNSUPPORTED, "UnicodeScripts"},
        {"pre_tokenizer", "{\"type\": \"Metaspace\", \"replacement\": \"ab\"}", CLF_FORMAT,
         "\"replacement\" is not a single character"},
        {"pre_tokenizer", "{\"type\": \"Metaspace\", \"prepend_scheme\": \"often\"}", CLF_UNSUPPORTED,
         "often"},
        {"pre_tokenizer", "{\"type\": \"Punctuation\", \"behavior\": \"Eaten\"}", CLF_UNSUPPORTED, "Eaten"},
        {"pre_tokenizer", "{\"type\": \"CharDelimiterSplit\"}", CLF_FORMAT, "has no \"delimiter\""},
        {"pre_tokenizer", SPLIT("a("), CLF_UNSUPPORTED,
         "\"pre_tokenizer\", Split: the pattern \"a(\" is not supported (PCRE2: missing closing "
         "parenthesis)"},
        {"pre_tokenizer", SPLIT("[a[b]]"), CLF_UNSUPPORTED, "contains a class in another"},
        {"pre_tokenizer", SPLIT("[a&&b]"), CLF_UNSUPPORTED, "contains a class in another"},
        {"pre_tokenizer", SPLIT("[^\\\\W]"), CLF_UNSUPPORTED, "contains a negated class in another"},
        {"pre_tokenizer", SPLIT("[[:graph:]]"), CLF_UNSUPPORTED, "contains an unknown POSIX class"},
        {"pre_tokenizer", SPLIT("[a"), CLF_UNSUPPORTED, "contains a class without a closing bracket"},
        {"pre_tokenizer", SPLIT("(*LIMIT_MATCH=9)"), CLF_UNSUPPORTED, "contains a verb"},
        {"pre_tokenizer", SPLIT("a\\\\"), CLF_UNSUPPORTED, "contains a backslash at the end"},
        {"pre_tokenizer", SPLIT("\\\\u12"), CLF_UNSUPPORTED, "contains \\u without four digits"},
        {"decoder", "{\"type\": \"CTC\"}", CLF_UNSUPPORTED, "\"decoder\": the part \"CTC\""},
        {"decoder", "{\"type\": \"Strip\", \"content\": \"a\", \"start\": -1}", CLF_FORMAT,
         "\"decoder\", Strip: \"start\" is not an integer"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct clf__chain chain = {.count = 0};
        clf_status status = read_part(&chain, rows[i].section, rows[i].text);
        if (status != rows[i].status || strstr(clf_last_error(), rows[i].said) == NULL) {
            fail_msg("%s: status %d, %s", rows[i].text, (int)status, clf_last_error());
        }
        clf__chain_free(&chain);
    }
}

/* A pattern that tries every split of a run of letters is stopped, and the message names its owner. */
static void test_endless_pattern(void **state)
{
    (void)state;
    struct clf__chain chain = {.count = 0};
    struct clf__word_list words = {.size = 0};
    json_t *given =
        json_pack("[s]", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!");
    assert_ok(read_part(&chain, "pre_tokenizer", SPLIT("(a+a+)+b|(a|aa)+$")));
    assert_fails(
        run(&chain, &words, given, 0), CLF_TEXT,
        "file: \"pre_tokenizer\", Split: the pattern cannot be matched on this line (PCRE2: match limit");
    json_decref(given);
    clf__word_list_free(&words);
    clf__chain_free(&chain);
}

/* A part that would expand a short text beyond memory is stopped, and the message names its owner. */
static void test_growing_text(void **state)
{
    (void)state;
    static const struct {
        const char *section, *part, *text, *said;
    } rows[] = {
        {"normalizer", "{\"type\": \"Replace\", \"pattern\": {\"String\": \"a\"}, \"content\": \"aaaaaaaa\"}",
         "a",
         "file: \"normalizer\", Replace: produces more than 65568 bytes from a text of 1; use the files"},
        {"normalizer", "{\"type\": \"Prepend\", \"prepend\": \"0123456789abcdef\"}", "a", NULL},
        {"normalizer", "{\"type\": \"ByteLevel\"}", "\u00e9",
         "file: \"normalizer\", ByteLevel: produces more than 65600 bytes from a text of 2; use the files"},
        {"decoder", "{\"type\": \"Replace\", \"pattern\": {\"Regex\": \"\"}, \"content\": \"a\"}", "a",
         "file: \"decoder\", Replace: produces more than 65568 bytes from a text of 1; use the files"},
    };
    enum { STEPS = 16 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct clf__chain chain = {.count = 0};
        struct clf__word_list words = {.size = 0};
        json_t *given = json_pack("[s]", rows[i].text);
        for (int step = 0; step < STEPS; step++) {
            assert_ok(read_part(&chain, rows[i].section, rows[i].part));
        }
        if (rows[i].said != NULL) {
            assert_fails(run(&chain, &words, given, 0), CLF_TEXT, rows[i].said);
        } else {
            assert_ok(run(&chain, &words, given, 0));
        }
        assert_int_equal(words.most, 0); /* the list can be reused */
        json_decref(given);
        clf__word_list_free(&words);
        clf__chain_free(&chain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_parts),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_endless_pattern),
        cmocka_unit_test(test_growing_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
