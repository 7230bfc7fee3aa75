/* Rewrites instructions that Oclgrind 21.10 mishandles with --uninitialized, using its LLVM on the bitcode of
 * its program binaries. Shuffles: lane 11 reads as undefined, lane -1 crashes; rewritten as extractions and
 * insertions. `freeze` is unknown; replaced by its operand. Cases are in test_reports.c. */
#include "oclgrind/preload.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

/* As in llvm-c/Core.h and llvm-c/BitReader.h, which need not be installed. */
typedef struct llvm_context *llvm_context;
typedef struct llvm_module *llvm_module;
typedef struct llvm_buffer *llvm_buffer;
typedef struct llvm_builder *llvm_builder;
typedef struct llvm_type *llvm_type;
typedef struct llvm_block *llvm_block;
typedef struct llvm_value *llvm_value;
enum { LLVM_SHUFFLE_VECTOR = 52, LLVM_FREEZE = 68 };
llvm_context LLVMContextCreate(void);
void LLVMContextDispose(llvm_context context);
llvm_buffer LLVMCreateMemoryBufferWithMemoryRange(const char *data, size_t length, const char *name,
                                                  int has_terminator);
int LLVMParseBitcodeInContext2(llvm_context context, llvm_buffer buffer, llvm_module *module);
llvm_buffer LLVMWriteBitcodeToMemoryBuffer(llvm_module module);
const char *LLVMGetBufferStart(llvm_buffer buffer);
size_t LLVMGetBufferSize(llvm_buffer buffer);
void LLVMDisposeMemoryBuffer(llvm_buffer buffer);
void LLVMDisposeModule(llvm_module module);
llvm_builder LLVMCreateBuilderInContext(llvm_context context);
void LLVMDisposeBuilder(llvm_builder builder);
void LLVMPositionBuilderBefore(llvm_builder builder, llvm_value instruction);
llvm_value LLVMGetFirstFunction(llvm_module module);
llvm_value LLVMGetNextFunction(llvm_value function);
llvm_block LLVMGetFirstBasicBlock(llvm_value function);
llvm_block LLVMGetNextBasicBlock(llvm_block block);
llvm_value LLVMGetFirstInstruction(llvm_block block);
llvm_value LLVMGetNextInstruction(llvm_value instruction);
int LLVMGetInstructionOpcode(llvm_value instruction);
unsigned LLVMGetNumMaskElements(llvm_value shuffle);
int LLVMGetMaskValue(llvm_value shuffle, unsigned lane);
llvm_value LLVMGetOperand(llvm_value instruction, unsigned index);
llvm_type LLVMTypeOf(llvm_value value);
unsigned LLVMGetVectorSize(llvm_type vector);
llvm_type LLVMInt32TypeInContext(llvm_context context);
llvm_value LLVMConstInt(llvm_type type, unsigned long long value, int is_signed);
llvm_value LLVMGetUndef(llvm_type type);
llvm_value LLVMBuildExtractElement(llvm_builder builder, llvm_value vector, llvm_value lane,
                                   const char *name);
llvm_value LLVMBuildInsertElement(llvm_builder builder, llvm_value vector, llvm_value element,
                                  llvm_value lane, const char *name);
void LLVMReplaceAllUsesWith(llvm_value old, llvm_value with);
void LLVMInstructionEraseFromParent(llvm_value instruction);

static int is_misread(llvm_value instruction)
{
    if (LLVMGetInstructionOpcode(instruction) != LLVM_SHUFFLE_VECTOR) {
        return 0;
    }
    unsigned lanes = LLVMGetNumMaskElements(instruction);
    for (unsigned i = 0; i < lanes; i++) {
        int from = LLVMGetMaskValue(instruction, i);
        if (from < 0 || from == 11) {
            return 1;
        }
    }
    return 0;
}

static void rewrite_shuffle(llvm_context context, llvm_builder builder, llvm_value shuffle)
{
    llvm_type number = LLVMInt32TypeInContext(context);
    unsigned lanes = LLVMGetNumMaskElements(shuffle);
    unsigned sources = LLVMGetVectorSize(LLVMTypeOf(LLVMGetOperand(shuffle, 0)));
    llvm_value result = LLVMGetUndef(LLVMTypeOf(shuffle));
    LLVMPositionBuilderBefore(builder, shuffle);
    for (unsigned i = 0; i < lanes; i++) {
        int from = LLVMGetMaskValue(shuffle, i);
        if (from >= 0) {
            llvm_value source = LLVMGetOperand(shuffle, (unsigned)from / sources);
            llvm_value lane = LLVMConstInt(number, (unsigned)from % sources, 0);
            llvm_value element = LLVMBuildExtractElement(builder, source, lane, "");
            result = LLVMBuildInsertElement(builder, result, element, LLVMConstInt(number, i, 0), "");
        }
    }
    LLVMReplaceAllUsesWith(shuffle, result);
    LLVMInstructionEraseFromParent(shuffle);
}

static void rewrite_module(llvm_context context, llvm_module module)
{
    llvm_builder builder = LLVMCreateBuilderInContext(context);
    for (llvm_value f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        for (llvm_block block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block)) {
            llvm_value next = NULL;
            for (llvm_value i = LLVMGetFirstInstruction(block); i; i = next) {
                next = LLVMGetNextInstruction(i);
                if (is_misread(i)) {
                    rewrite_shuffle(context, builder, i);
                } else if (LLVMGetInstructionOpcode(i) == LLVM_FREEZE) {
                    LLVMReplaceAllUsesWith(i, LLVMGetOperand(i, 0));
                    LLVMInstructionEraseFromParent(i);
                }
            }
        }
    }
    LLVMDisposeBuilder(builder);
}

/* Returns the program from rewritten bitcode. */
static cl_program rewrite(cl_program program)
{
    cl_context owner = NULL;
    cl_device_id device = NULL;
    size_t bytes = 0;
    preload_must(clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof owner, &owner, NULL),
                 "asking for a context");
    preload_must(clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof device, &device, NULL),
                 "asking for a device");
    preload_must(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL),
                 "asking for bitcode's length");
    unsigned char *bitcode = malloc(bytes);
    preload_must(bitcode ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY, "reading bitcode");
    preload_must(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bitcode, &bitcode, NULL),
                 "reading bitcode");

    llvm_context context = LLVMContextCreate();
    llvm_buffer read = LLVMCreateMemoryBufferWithMemoryRange((const char *)bitcode, bytes, "", 0);
    llvm_module module = NULL;
    preload_must(LLVMParseBitcodeInContext2(context, read, &module) ? CL_INVALID_BINARY : CL_SUCCESS,
                 "parsing bitcode");
    rewrite_module(context, module);
    llvm_buffer written = LLVMWriteBitcodeToMemoryBuffer(module);
    const unsigned char *start = (const unsigned char *)LLVMGetBufferStart(written);
    size_t length = LLVMGetBufferSize(written);
    cl_int error = CL_SUCCESS;
    cl_program rewritten = clCreateProgramWithBinary(owner, 1, &device, &length, &start, NULL, &error);
    preload_must(error, "taking bitcode");
    preload_must(REAL(clBuildProgram)(rewritten, 0, NULL, NULL, NULL, NULL), "taking bitcode");
    LLVMDisposeMemoryBuffer(written);
    LLVMDisposeModule(module);
    LLVMDisposeMemoryBuffer(read);
    LLVMContextDispose(context);
    free(bitcode);
    return rewritten;
}

/* The replacement of each program that was built. */
enum { MAX_PROGRAMS = 1024 };
static struct {
    cl_program program, rewritten;
} built[MAX_PROGRAMS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns the index of a program, or for NULL the first free one. */
static int place_of(cl_program program)
{
    int i = 0;
    while (i < MAX_PROGRAMS && built[i].program != program) {
        i++;
    }
    preload_must(i < MAX_PROGRAMS || program ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY, "keeping another program");
    return i;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): those of cl.h are longer */
cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                      void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    cl_int error = REAL(clBuildProgram)(program, count, devices, options, notify, data);
    if (error == CL_SUCCESS) {
        cl_program rewritten = rewrite(program);
        pthread_mutex_lock(&lock);
        int i = place_of(NULL);
        built[i].program = program;
        built[i].rewritten = rewritten;
        pthread_mutex_unlock(&lock);
    }
    return error;
}

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *error)
{
    pthread_mutex_lock(&lock);
    int i = place_of(program);
    program = i < MAX_PROGRAMS ? built[i].rewritten : program;
    pthread_mutex_unlock(&lock);
    return REAL(clCreateKernel)(program, name, error);
}

cl_int clReleaseProgram(cl_program program)
{
    cl_uint users = 0;
    pthread_mutex_lock(&lock);
    int i = place_of(program);
    if (i < MAX_PROGRAMS &&
        clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, sizeof users, &users, NULL) == CL_SUCCESS &&
        users == 1) {
        REAL(clReleaseProgram)(built[i].rewritten);
        built[i].program = NULL;
    }
    pthread_mutex_unlock(&lock);
    return REAL(clReleaseProgram)(program);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
