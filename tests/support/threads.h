/* Sanitizer options for tests that compile kernels in several threads; one file of such a test includes this
 * header. */
#ifndef CLF_TESTS_SUPPORT_THREADS_H
#define CLF_TESTS_SUPPORT_THREADS_H

/* PoCL's LLVM allocates a signal stack for the first thread that it uses, which AddressSanitizer would treat
 * as its own when that thread ends. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "use_sigaltstack=0";
}

#endif
