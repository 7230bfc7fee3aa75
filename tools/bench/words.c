#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

void bench_words_add(struct bench_words *words, const char *word)
{
    char *copy = strdup(word);
    if (copy == NULL || words->count + 1 == BENCH_MOST_WORDS) {
        fprintf(stderr, "clformer: out of memory\n");
        exit(EXIT_FAILED);
    }
    words->list[words->count++] = copy;
}

void bench_words_pair(struct bench_words *words, const char *flag, const char *value)
{
    if (value != NULL) {
        bench_words_add(words, flag);
        bench_words_add(words, value);
    }
}

static void add_choice(struct bench_words *words, const char *flag, int choice)
{
    char word[32];
    if (flags_choice(word, sizeof word, flag + 2, choice)) {
        bench_words_pair(words, flag, word);
    }
}

void bench_words_setting(struct bench_words *words, const struct flags *flags)
{
    const struct clf_device_options *options = &flags->device_options;
    bench_words_pair(words, "--device", flags->device);
    bench_words_pair(words, "--model", flags->model);
    add_choice(words, "--variant", (int)options->variant);
    add_choice(words, "--gemm", (int)options->gemm);
    add_choice(words, "--attention", (int)options->attention);
    add_choice(words, "--instructions", (int)options->instructions);
    add_choice(words, "--precision", (int)flags->model_options.precision);
    if (flags->tokens) {
        bench_words_add(words, "--tokens");
    }
}

void bench_words_free(struct bench_words *words)
{
    while (words->count > 0) {
        free(words->list[--words->count]);
        words->list[words->count] = NULL;
    }
}
