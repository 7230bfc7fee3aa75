/* addresses[first + i] = the address of buffer i of `count` <= 8, which lets later launches access many buffers
 * through one argument, on devices whose buffers keep their addresses. No macros. */
struct address {
    const __global char *at;
};

CPU_KERNEL void addresses_store_cpu(__global struct address *addresses, int first, int count, const __global char *b0,
                                    const __global char *b1, const __global char *b2, const __global char *b3,
                                    const __global char *b4, const __global char *b5, const __global char *b6,
                                    const __global char *b7)
{
    const __global char *buffers[8] = {b0, b1, b2, b3, b4, b5, b6, b7};
    for (int i = 0; i < count; i++) {
        addresses[first + i].at = buffers[i];
    }
}
