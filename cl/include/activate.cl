/* Activation functions. Include file, not a program.
 *
 * With ACTIVATION, a value of enum clf__activation: activate(v), activate4(v), activate16(v). Each
 * ACTIVATE_<KIND>(T, v) replaces the variable v of type T; NaN stays NaN. */
#define ACTIVATE_RELU(T, v) v = v < (T)(0.0f) ? (T)(0.0f) : v;

/* GELU: v Φ(v) (Hendrycks and Gimpel 2016), with a quarter of the operations of the built-in erf. NORMAL_TAIL
 * declares x = |v| and tail = Φ(-x). */
#ifdef VARIANT_GPU
/* On devices with an exp instruction: Φ(-|v|) = exp(-v²/2) times a polynomial in t = 1 / (1 + 0.42 |v| / √2),
 * fitted to a relative error of 5e-7 and an absolute error of 3e-8. */
#define NORMAL_TAIL(T, v, x, tail)                                                                                     \
    T x = fabs_##T(v), density = exp_##T(-0.5f * v * v);                                                               \
    T t = 1.0f / fma_##T((T)(0.296984848f), x, (T)(1.0f));                                                             \
    T tail = fma_##T(t, (T)(3.495032376e-2f), (T)(-1.589204809e-1f));                                                  \
    tail = fma_##T(t, tail, (T)(2.172773529e-1f));                                                                     \
    tail = fma_##T(t, tail, (T)(-6.148348629e-2f));                                                                    \
    tail = fma_##T(t, tail, (T)(1.318420702e-1f));                                                                     \
    tail = fma_##T(t, tail, (T)(9.828906509e-2f));                                                                     \
    tail = fma_##T(t, tail, (T)(1.196205028e-1f));                                                                     \
    tail = fma_##T(t, tail, (T)(1.184247407e-1f));                                                                     \
    tail = t * tail * density;
#define ACTIVATE_GELU(T, v)                                                                                            \
    NORMAL_TAIL(T, v, x, tail)                                                                                         \
    v *= v < (T)(0.0f) ? tail : 1.0f - tail;
#else
/* Computed as max(v, 0) - |v| Φ(-|v|). Φ(-x) is the eighth power of a polynomial fitted to its eighth root.
 * The absolute error in fp32 is 3e-7 for Φ and 1e-7 for v Φ(v), without a division or an exp. */
#define NORMAL_TAIL(T, v, x, tail) /* x is at most 16: infinity times 0 would be NaN */                         \
    T x = fabs_##T(v);                                                                                                 \
    x = x > (T)(16.0f) ? (T)(16.0f) : x;                                                                               \
    T tail = fma_##T(x, (T)(-2.909732473e-7f), (T)(7.405189535e-6f));                                                  \
    tail = fma_##T(x, tail, (T)(-5.979990601e-5f));                                                                    \
    tail = fma_##T(x, tail, (T)(3.281630779e-5f));                                                                     \
    tail = fma_##T(x, tail, (T)(1.507063862e-3f));                                                                     \
    tail = fma_##T(x, tail, (T)(-6.747539737e-4f));                                                                    \
    tail = fma_##T(x, tail, (T)(-3.192652762e-2f));                                                                    \
    tail = fma_##T(x, tail, (T)(-9.145782143e-2f));                                                                    \
    tail = fma_##T(x, tail, (T)(9.170040488e-1f));                                                                     \
    tail = tail > (T)(0.0f) ? tail : (T)(0.0f);                                                                        \
    tail *= tail;                                                                                                      \
    tail *= tail;                                                                                                      \
    tail *= tail;
#define ACTIVATE_GELU(T, v)                                                                                            \
    NORMAL_TAIL(T, v, x, tail)                                                                                         \
    v = fma_##T(-x, tail, v > (T)(0.0f) ? v : (T)(0.0f));
#endif

/* GELU's approximation 0.5 v (1 + tanh u), u = √(2/π) (v + 0.044715 v³), as v / (1 + exp(-2u)) */
#define ACTIVATE_GELU_TANH(T, v) v /= 1.0f + exp_##T(-1.59576912f * v * (1.0f + 0.044715f * v * v));
#define ACTIVATE_SILU(T, v)      v /= 1.0f + exp_##T(-v);

#ifdef ACTIVATION
#if ACTIVATION == 0
#define ACTIVATE(T, v)
#elif ACTIVATION == 1
#define ACTIVATE ACTIVATE_RELU
#elif ACTIVATION == 2
#define ACTIVATE ACTIVATE_GELU
#elif ACTIVATION == 3
#define ACTIVATE ACTIVATE_GELU_TANH
#elif ACTIVATION == 4
#define ACTIVATE ACTIVATE_SILU
#define ACTIVATE16(v) /* uses exp(-|v|), with |v| limited; beyond the limit exp is negligible */                       \
    float16 e = fabs16(v) < 87.0f ? near_exp16(-fabs16(v)) : (float16)(0.0f);                                          \
    v = (v < 0.0f ? v * e : v) / (1.0f + e);
#else
#error "no such ACTIVATION"
#endif
static inline float activate(float v)
{
    ACTIVATE(float, v)
    return v;
}

#define activate16(value) (wide_activate(WIDE(value)).v)
static inline struct wide wide_activate(struct wide value)
{
    float16 v = value.v;
#ifdef ACTIVATE16
    ACTIVATE16(v)
#else
    ACTIVATE(float16, v)
#endif
    return WIDE(v);
}

/* Computed element by element, to give the same bits as activate(). */
static inline float4 activate4(float4 v)
{
    return (float4)(activate(v.x), activate(v.y), activate(v.z), activate(v.w));
}
#undef ACTIVATE
#endif
