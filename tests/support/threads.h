/* What a test needs in whose threads PoCL compiles; one of its files includes this. */
#ifndef CLF_TESTS_SUPPORT_THREADS_H
#define CLF_TESTS_SUPPORT_THREADS_H

/* PoCL's LLVM gives the first thread that it meets a stack for signals, which AddressSanitizer would take for
 * its own when that thread ends. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "use_sigaltstack=0";
}

#endif
