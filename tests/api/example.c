#include <clformer/clformer.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc != 3) {
        return 2; /* example MODEL TEXT */
    }
    struct clf_line line = {argv[2], strlen(argv[2])};
    struct clf_device *device = NULL;
    struct clf_model *model = NULL;
    struct clf_translator *translator = NULL;
    struct clf_translation *translation = NULL;
    int failed = clf_device_open(&device, NULL, NULL) != CLF_OK ||
                 clf_model_load(&model, device, argv[1], NULL) != CLF_OK ||
                 clf_translator_create(&translator, model, NULL) != CLF_OK ||
                 clf_translate(&translation, translator, &line, 1) != CLF_OK;
    if (failed) {
        fprintf(stderr, "%s\n", clf_last_error());
    } else if (translation->count > 0) {
        printf("%s\n", translation->hypotheses[0].text);
    }
    clf_translations_free(translation, 1);
    clf_translator_free(translator);
    clf_model_free(model);
    clf_device_close(device);
    return failed;
}
