/* Functions of OpenCL C 3.0 that ROCm's library has and libclc lacks; tests/offline/compile includes them. */
#ifdef HAS_DEVICE_ATOMICS
#define atomic_fetch_add_explicit                   __opencl_atomic_fetch_add
#define atomic_load_explicit                        __opencl_atomic_load
#define atomic_store_explicit                       __opencl_atomic_store
#define atomic_work_item_fence(flags, order, scope) __builtin_amdgcn_fence(order, "agent")
#endif
