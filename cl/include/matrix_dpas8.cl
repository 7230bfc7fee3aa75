/* Matrix instructions of Intel's GPUs whose smallest sub-group size is 8 (Xe-HPG: Arc A, Flex): tiles of 8 x 8. See matrix_dpas.cl. */
#define MATRIX_LANES 8
#include "include/matrix_dpas.cl"
