#include "open/probe.h"

#include "runtime/device/buffer.h"
#include "runtime/device/device.h"
#include "runtime/program/launch.h"

enum { COUNT = 37 }; /* two whole vectors and a partial one */

static clf_status run(struct clf_device *device, const char *program, struct clf__buffer *y,
                      struct clf__buffer *x, const float *input, float *answer)
{
    const struct clf__caps *caps = &device->caps;
    int asks_for_tiles = caps->variant == CLF_VARIANT_CPU && (caps->instructions == CLF_INSTRUCTIONS_AUTO ||
                                                              caps->instructions == CLF_INSTRUCTIONS_AMX);
    struct clf__argument arguments[] = {CLF__BUFFER(y), CLF__BUFFER(x), CLF__FLOAT(3.0f), CLF__INT(COUNT),
                                        CLF__INT(asks_for_tiles)};
    struct clf__launch launch = {.program = program,
                                 .cpu = CLF__GRID("probe_cpu", 1),
                                 .gpu = CLF__GRID("probe_gpu", 1),
                                 .arguments = arguments,
                                 .argument_count = 5};
    CLF__TRY(clf__buffer_write(x, 0, COUNT * sizeof *input, input));
    CLF__TRY(clf__launch(device, &launch));
    return clf__buffer_read(y, 0, (COUNT + 1) * sizeof *answer, answer);
}

clf_status clf__probe(struct clf_device *device, const char *program, int *instructions)
{
    float input[COUNT], answer[COUNT + 1] = {0}, sum = 0.0f;
    for (int i = 0; i < COUNT; i++) {
        input[i] = (float)(i % 7 - 2);
    }
    struct clf__buffer *y = NULL, *x = NULL;
    clf_status status = clf__buffer_create(&y, device, sizeof answer, "the result of the probe kernel");
    if (status == CLF_OK) {
        status = clf__buffer_create(&x, device, COUNT * sizeof *input, "the input of the probe kernel");
    }
    if (status == CLF_OK) {
        status = run(device, program, y, x, input, answer);
    }
    clf__buffer_free(x);
    clf__buffer_free(y);
    CLF__TRY(status);
    for (int i = 0; i < COUNT; i++) {
        sum += input[i];
        float expected = input[i] * 3.0f + (sum + (float)(i / 3)); /* exact: small integers */
        if (answer[i] != expected) {
            return clf__fail(CLF_DEVICE,
                             "device %s: wrong results: element %d of the first test kernel is %g instead of "
                             "%g; update the driver or choose another device from `clformer devices`",
                             device->label, i, (double)answer[i], (double)expected);
        }
    }
    *instructions = (int)answer[COUNT];
    return CLF_OK;
}
