/* clformer: run encoder-decoder Transformers on any OpenCL device. */
#include <fcntl.h>
#include <sched.h> /* needs _GNU_SOURCE, which CMakeLists.txt gives this file */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <clformer/interrupt.h>
#include <clformer/ranks.h>

#include "base/suggest.h"
#include "runtime/cluster/ranks.h"
#include "shared/command.h"
#include "shared/ranks.h"
#include "shared/terminal_guard.h"

static const struct verb verbs[] = {
    {"translate", "translate lines from standard input", verb_translate, 1, AS_RANKS, "Text"},
    {"score", "log-probabilities of given translations", verb_score, 1, AS_RANKS, NULL},
    {"attend", "an HTML page of attention maps of every layer and head", verb_attend, 1, ALONE, NULL},
    {"bleu", "BLEU of translations, as sacreBLEU computes it", verb_bleu, 0, ALONE, NULL},
    {"transcribe", "transcribe recordings with a Whisper model", verb_transcribe, 1, ALONE, "Speech"},
    {"wer", "word error rate of transcripts", verb_wer, 0, ALONE, NULL},
    {"inspect", "show what a model holds", verb_inspect, 0, ALONE, "Models"},
    {"convert", "write a model with its weights as they are loaded: smaller, faster to load", verb_convert, 1,
     ALONE, NULL},
    {"average", "average the weights of several models", verb_average, 1, ALONE, NULL},
    {"train", "train a model from parallel text", verb_train, 1, AS_RANKS, NULL},
    {"curves", "an HTML page of training curves, from logs", verb_curves, 1, ALONE, NULL},
    {"devices", "list the OpenCL devices and the default", verb_devices, 1, EACH_RANK, "Devices"},
    {"selftest", "check every kernel on a device", verb_selftest, 1, EACH_RANK, NULL},
    {"bench", "measure the speed of a model on a device", verb_bench, 1, ALONE, NULL},
    {"tune", "measure the fastest settings for a device, and save them", verb_tune, 1, ALONE, NULL},
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

/* Linux starts PoCL's sleeping worker threads on the core that wakes them, so for the first tenths of a
 * second, the whole time of a short call, PoCL uses one core. If the process may use the whole machine, each
 * worker is pinned to a core; $POCL_AFFINITY overrides this. */
static void spread_pocl_workers(void)
{
    cpu_set_t ours;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (sched_getaffinity(0, sizeof ours, &ours) == 0 && CPU_COUNT(&ours) == processors &&
        CPU_ISSET((size_t)processors - 1, &ours)) {
        setenv("POCL_AFFINITY", "1", 0);
    }
}

/* An opened file gets the lowest free descriptor: if standard input, output or error is closed, the file
 * would be used in its place. Opens /dev/null for each closed one, in a mode that fails as a closed
 * descriptor does. */
static int occupy_standard_descriptors(void)
{
    static const int useless_mode[3] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int i = 0; i < 3; i++) {
        if (fcntl(i, F_GETFD) == -1 && open("/dev/null", useless_mode[i]) != i) {
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

/* Reports a flag in place of a verb. */
static int report_no_flag(const char *name)
{
    struct clf__suggestion nearest = clf__suggest_begin(name, (int)strlen(name));
    clf__suggest_try(&nearest, "help");
    clf__suggest_try(&nearest, "version");
    return nearest.best != NULL
               ? report_wrong_call("there is no flag \"%s\"; did you mean --%s?", name, nearest.best)
               : report_wrong_call("there is no flag \"%s\" before a verb; `clformer --help` lists the verbs",
                                   name);
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
               ? report_wrong_call("there is no verb \"%s\"; did you mean %s? `clformer --help` lists them",
                                   name, nearest.best)
               : report_wrong_call("there is no verb \"%s\"; `clformer --help` lists them", name);
}

/* Refuses to run a verb as several ranks, which would write to the same files. Returns -1 to continue, or an
 * exit status. */
static int refuse_ranks(const struct verb *verb)
{
    char sentence[128];
    snprintf(sentence, sizeof sentence, "%s works in one process; start it without mpirun or srun",
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
    if (argc < 2) {
        print_help(stderr);
        return EXIT_WRONG_CALL;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        return argc > 2 && strcmp(argv[2], "help") != 0 ? help_of_verb(argv[2]) : help_of_all();
    }
    if (strcmp(argv[1], "--version") == 0) {
        const char *library = clf_ranks_library();
        printf("clformer %s\npackages of Argos Translate: %s\nrecordings: %s\nseveral machines: %s%s%s\n",
               CLF_VERSION_STRING, CLF_PACKAGES, CLF_RECORDINGS,
               library != NULL ? "by MPI (" : "no (built without MPI", library != NULL ? library : "", ")");
        return output_finish(EXIT_DONE);
    }
    const struct verb *verb = find_verb(argv[1]);
    return verb != NULL ? run_verb(verb, argc - 1, argv + 1) : report_no_verb(argv[1]);
}
