/* clformer: run encoder-decoder Transformers on any OpenCL device. */
#include <fcntl.h>
#include <sched.h> /* requires _GNU_SOURCE, which CMakeLists.txt defines for this file */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <clformer/interrupt.h>

#include "base/suggest.h"
#include "devices/try_level.h"
#include "runtime/cluster/ranks.h"
#include "shared/command.h"
#include "shared/ranks.h"
#include "shared/terminal_guard.h"
#include "shared/version.h"

static const struct verb verbs[] = {
    {"translate", "translate lines from standard input", verb_translate, 1, AS_RANKS, "Text"},
    {"serve", "translate and transcribe over HTTP", verb_serve, 1, ALONE, NULL},
    {"score", "print the log-probabilities of given translations", verb_score, 1, AS_RANKS, NULL},
    {"attend", "write an HTML page of the attention maps", verb_attend, 1, ALONE, NULL},
    {"bleu", "compute BLEU as sacreBLEU does", verb_bleu, 0, ALONE, NULL},
    {"transcribe", "transcribe recordings with a Whisper model", verb_transcribe, 1, ALONE, "Speech"},
    {"wer", "compute the word error rate of transcripts", verb_wer, 0, ALONE, NULL},
    {"inspect", "show the configuration, tensors and tokenizer of a model", verb_inspect, 0, ALONE, "Models"},
    {"convert", "write a model with int8, fp16 or bf16 weights", verb_convert, 1, ALONE, NULL},
    {"average", "average the weights of several models", verb_average, 1, ALONE, NULL},
    {"train", "train a model from parallel text or transcribed speech", verb_train, 1, AS_RANKS, NULL},
    {"curves", "write an HTML page of training curves", verb_curves, 1, ALONE, NULL},
    {"devices", "list the OpenCL devices", verb_devices, 1, EACH_RANK, "Devices"},
    {"selftest", "compare every kernel on a device with a reference", verb_selftest, 1, EACH_RANK, NULL},
    {"bench", "measure the speed of devices and models", verb_bench, 1, ALONE, NULL},
    {"tune", "find and save the fastest settings of a device", verb_tune, 1, ALONE, NULL},
};
enum { VERB_COUNT = sizeof verbs / sizeof *verbs };

static void print_help(FILE *file)
{
    fprintf(file, "Usage: clformer VERB [FLAGS]\n\nRuns encoder-decoder Transformers on any OpenCL "
                  "device.\n");
    for (int i = 0; i < VERB_COUNT; i++) {
        if (verbs[i].heading != NULL) {
            fprintf(file, "\n%s:\n", verbs[i].heading);
        }
        fprintf(file, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
    }
    fprintf(file, "\nExamples:\n"
                  "  echo 'Je suis étudiant' | clformer translate -m tools/models/fr-en-small\n"
                  "  clformer transcribe -m whisper-tiny.en interview.mp3\n\n"
                  "`clformer VERB --help`, or `clformer help VERB`, shows the flags of a verb.\n");
}

/* Linux wakes PoCL's sleeping worker threads on the core of the waking thread. PoCL then uses only one core
 * for the first tenths of a second, which can be the whole duration of a short command. If the process may
 * use every core, this function pins each worker to a core; $POCL_AFFINITY overrides this. PoCL aborts if
 * pinning is forbidden, for example by a seccomp filter. */
static void spread_pocl_workers(void)
{
    cpu_set_t ours;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (sched_getaffinity(0, sizeof ours, &ours) == 0 && CPU_COUNT(&ours) == processors &&
        CPU_ISSET((size_t)processors - 1, &ours) && sched_setaffinity(0, sizeof ours, &ours) == 0) {
        setenv("POCL_AFFINITY", "1", 0);
    }
}

/* Names this program as the one that tries matrix instructions in a child process (lib/open/level_choice.h).
 */
static void name_probe(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length > 0 && length < (ssize_t)sizeof path - 1) {
        path[length] = '\0';
        setenv("CLFORMER_PROBE", path, 0);
    }
}

/* Opens /dev/null for each standard descriptor that is closed: otherwise the next opened file would get this
 * descriptor and be used as standard input, output or error. The mode makes reads or writes fail, as they do
 * on a closed descriptor. */
static int occupy_standard_descriptors(void)
{
    static const int failing_mode[3] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int i = 0; i < 3; i++) {
        if (fcntl(i, F_GETFD) == -1 && open("/dev/null", failing_mode[i]) != i) {
            return 0;
        }
    }
    return 1;
}

static const struct verb *find_verb(const char *name)
{
    for (int i = 0; i < VERB_COUNT; i++) {
        if (strcmp(name, verbs[i].name) == 0) {
            return &verbs[i];
        }
    }
    return NULL;
}

/* Reports an unknown flag before the verb. */
static int report_no_flag(const char *name)
{
    struct clf__suggestion nearest = clf__suggest_begin(name, (int)strlen(name));
    clf__suggest_try(&nearest, "help");
    clf__suggest_try(&nearest, "version");
    return nearest.best != NULL
               ? report_wrong_call("%s: unknown flag; did you mean --%s?", name, nearest.best)
               : report_wrong_call("%s: unknown flag; `clformer --help` lists the verbs", name);
}

static int report_no_verb(const char *name)
{
    struct clf__suggestion nearest = clf__suggest_begin(name, (int)strlen(name));
    for (int i = 0; i < VERB_COUNT; i++) {
        clf__suggest_try(&nearest, verbs[i].name);
    }
    clf__suggest_try(&nearest, "help");
    ranks_tell_failures();
    if (*name == '-') {
        return report_no_flag(name);
    }
    return nearest.best != NULL
               ? report_wrong_call("%s: unknown verb; did you mean %s? `clformer --help` lists the verbs",
                                   name, nearest.best)
               : report_wrong_call("%s: unknown verb; `clformer --help` lists the verbs", name);
}

/* Fails if a verb that supports only one process runs as several ranks, because they would write the same
 * files. Returns -1 to continue, or an exit status. */
static int refuse_ranks(const struct verb *verb)
{
    char sentence[128];
    snprintf(sentence, sizeof sentence, "%s: runs as a single process only; start it without mpirun or srun",
             verb->name);
    return verb->ranks == ALONE ? ranks_refuse(sentence) : -1;
}

static int run_verb(const struct verb *verb, int argc, char **argv)
{
    signals_catch(verb->cleans_up);
    clf_interrupt_set(signals_interrupted, NULL);
    int status = refuse_ranks(verb);
    if (verb->ranks == AS_RANKS) {
        ranks_tell_failures();
    }
    signals_end_quietly(clf__ranks_started() == 1);
    return signals_finish(output_finish(status < 0 ? verb->run(argc, argv) : status));
}

/* `clformer help VERB` is `clformer VERB --help`. */
static int help_of_verb(char *name)
{
    const struct verb *verb = find_verb(name);
    char *arguments[] = {name, "--help", NULL};
    return verb != NULL ? run_verb(verb, 2, arguments) : report_no_verb(name);
}

static int help_of_all(void)
{
    print_help(stdout);
    return output_finish(EXIT_DONE);
}

int main(int argc, char **argv)
{
    if (!occupy_standard_descriptors()) {
        fprintf(stderr, "clformer: standard input, output or error is closed, and /dev/null cannot be opened "
                        "in its place\n");
        return EXIT_FAILED;
    }
    if (!terminal_guard()) {
        fprintf(stderr, "clformer: out of memory\n");
        return EXIT_FAILED;
    }
    signals_catch(0);
    spread_pocl_workers();
    name_probe();
    if (argc < 2) {
        print_help(stderr);
        return EXIT_WRONG_CALL;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        return argc > 2 && strcmp(argv[2], "help") != 0 ? help_of_verb(argv[2]) : help_of_all();
    }
    if (strcmp(argv[1], "--version") == 0) {
        print_version();
        return output_finish(EXIT_DONE);
    }
    if (strcmp(argv[1], "--try-level") == 0) {
        return output_finish(devices_try_level(argc - 1, argv + 1));
    }
    if (strcmp(argv[1], "--try-barrier") == 0) {
        return output_finish(devices_try_barrier(argc - 1, argv + 1));
    }
    const struct verb *verb = find_verb(argv[1]);
    return verb != NULL ? run_verb(verb, argc - 1, argv + 1) : report_no_verb(argv[1]);
}
