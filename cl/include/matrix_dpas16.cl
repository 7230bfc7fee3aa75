/* Matrix instructions of Intel's GPUs whose smallest sub-group size is 16 (Xe-HPC and Xe2: Max, Arc B): tiles of 8 x 16. See matrix_dpas.cl. */
#define MATRIX_LANES 16
#include "include/matrix_dpas.cl"
