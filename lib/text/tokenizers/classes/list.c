#include <string.h>

#include "text/tokenizers/classes/class.h"

static const struct clf__tokenizer_class *const list[] = {
    &clf__class_marian,           &clf__class_mbart,   &clf__class_mbart50, &clf__class_nllb,
    &clf__class_m2m100,           &clf__class_pegasus, &clf__class_t5,      &clf__class_bart,
    &clf__class_roberta,          &clf__class_whisper, &clf__class_barthez, &clf__class_blenderbot,
    &clf__class_blenderbot_small, &clf__class_byt5,    &clf__class_fsmt,
};

const struct clf__tokenizer_class *clf__tokenizer_class_find(const char *name)
{
    size_t length = name != NULL ? strlen(name) : 0;
    size_t fast = strlen("Fast");
    if (length > fast && strcmp(name + length - fast, "Fast") == 0) {
        length -= fast;
    }
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (strlen(list[i]->name) == length && strncmp(list[i]->name, name, length) == 0) {
            return list[i];
        }
    }
    return NULL;
}
