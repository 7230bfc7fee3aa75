/* Functions of this module for tests only. */
#ifndef CLF_OPENCL_TESTING_H
#define CLF_OPENCL_TESTING_H

#include <stdint.h>

/* Makes the n-th OpenCL call from now fail (1 = the next; 0 = none) and starts counting from zero. */
void clf__device_fail_at(uint64_t n);

/* The number of OpenCL calls since then, or since the start. */
uint64_t clf__device_call_count(void);

#endif
