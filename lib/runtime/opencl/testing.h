/* Functions of this module for tests only. */
#ifndef CLF_OPENCL_TESTING_H
#define CLF_OPENCL_TESTING_H

#include <stdint.h>

/* Makes the n-th OpenCL call from now fail (1 = the next; 0 = none) and resets the call count. */
void clf__device_fail_at(uint64_t n);

/* Returns the number of OpenCL calls since clf__device_fail_at() or the start of the process. */
uint64_t clf__device_call_count(void);

#endif
