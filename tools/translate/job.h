/* Files to translate, and the state of their translation. */
#ifndef CLF_TOOLS_TRANSLATE_JOB_H
#define CLF_TOOLS_TRANSLATE_JOB_H

#include <stdint.h>

#include <jansson.h>

#include "base/status.h"
#include "shared/command.h"
#include "shared/progress.h"
#include "translate/finished.h"

/* A file to translate. */
struct file {
    const char *path;
    char *output;                  /* owned; NULL: standard output */
    struct clf_document *document; /* NULL: the file cannot be read */
    uint64_t source;               /* hash of the file */
    int recalled;                  /* segments that are in the translation memory */
};

struct job {
    struct flags *flags;
    struct file *files;        /* (flags->operand_count) */
    char *kept_terms;          /* the terms of --do-not-translate; NULL: none */
    struct clf_memory *memory; /* --memory; NULL: none */
    struct setup setup;
    struct clf_engine *engine;
    int takes;       /* groups of flags */
    json_t *made_of; /* NULL: no output is a file */
    struct file *current;
    struct finished finished;    /* of the current file */
    struct clf__failure failure; /* to record a finished segment */
    struct progress progress;
    long long done;           /* segments */
    unsigned long long bytes; /* bytes of these segments */
    long long failed, cut;    /* segments */
    long long kept;           /* finished segments that --resume finds */
};

#endif
