#include "runtime/program/program.h"

#include <string.h>

#include "base/ascii.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/memory.h"
#include "runtime/device/device.h"

/* Finds the first error line of a build log, truncated to the length of a message. */
static clf_status first_error(char **out, const char *log)
{
    const char *line = log;
    while (*line != '\0') {
        size_t length = strcspn(line, "\n");
        char *text = NULL;
        CLF__TRY(clf__copy_bytes(&text, line, length < 300 ? length : 300));
        if (clf__contains(text, "error")) {
            *out = text;
            return CLF_OK;
        }
        clf__free(text);
        line += length + (line[length] == '\n');
    }
    return clf__copy_string(out, *log ? "the driver's log contains no error" : "the driver returned no log");
}

static clf_status build_failed(const struct clf_device *device, const struct clf__program *program,
                               cl_program built, cl_int error)
{
    size_t size = 0;
    char *log = NULL, *line = NULL;
    if (CLF__CL(clGetProgramBuildInfo(built, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size)) !=
        CL_SUCCESS) {
        size = 0;
    }
    CLF__TRY(clf__allocate(&log, size + 1, 1));
    if (size > 0 && CLF__CL(clGetProgramBuildInfo(built, device->id, CL_PROGRAM_BUILD_LOG, size, log,
                                                  NULL)) != CL_SUCCESS) {
        log[0] = '\0';
    }
    clf__log(CLF_LOG_DEBUG, "build log of program %s with options \"%s\" on device %s:\n%s", program->name,
             program->options, device->label, log);
    clf_status status = first_error(&line, log);
    if (status == CLF_OK) {
        status = clf__fail(CLF_BUILD, "device %s: cannot compile program %s: %s (%d): %s", device->label,
                           program->name, clf__opencl_error_name(error), (int)error, line);
    }
    clf__free(line);
    clf__free(log);
    return status;
}

clf_status clf__program_compile(cl_program *out, struct clf_device *device,
                                const struct clf__program *program)
{
    cl_int error = CL_SUCCESS;
    const char *source = program->source;
    CLF__TRY(clf__interrupt_check());
    cl_program built =
        CLF__CL_CREATE(&error, clCreateProgramWithSource(device->context, 1, &source, NULL, &error));
    CLF__TRY(clf__opencl_check(error, "creating program %s on device %s", program->name, device->label));
    error = CLF__CL(clBuildProgram(built, 1, &device->id, program->options, NULL, NULL));
    /* An interrupt has priority over the error: on a signal, LLVM deletes the files that it is writing, so
     * the build may fail. */
    clf_status status = clf__interrupt_check();
    if (status == CLF_OK && error != CL_SUCCESS) {
        status = build_failed(device, program, built, error);
    }
    if (status != CLF_OK) {
        clReleaseProgram(built);
        return status;
    }
    *out = built;
    return CLF_OK;
}
