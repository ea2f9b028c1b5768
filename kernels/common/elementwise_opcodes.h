// Opcodes of the fused elementwise machine, read by C++ (ir/elementwise.cc) and GLSL
// (kernels/common/elementwise.glsl). Only #define lines: both languages accept those.
// a, b: operand registers, s: the instruction's scalar. Saved forward values come first in
// backward opcodes, the incoming gradient g second. Append only: the numbers are stored in plans.

#define OA_EW_COPY 0             // a
#define OA_EW_ADD 1              // a + b
#define OA_EW_SUB 2              // a - b
#define OA_EW_MUL 3              // a * b
#define OA_EW_DIV 4              // a / b
#define OA_EW_SCALE 5            // a * s
#define OA_EW_ADD_SCALAR 6       // a + s
#define OA_EW_SUB_SCALAR 7       // a - s
#define OA_EW_DIV_SCALAR 8       // a / s
#define OA_EW_POW 9              // a ^ s
#define OA_EW_CLAMP_MIN 10       // max(a, s)
#define OA_EW_CLAMP_MAX 11       // min(a, s)
#define OA_EW_EQUAL 12           // a == s ? 1 : 0
#define OA_EW_GREATER_EQUAL 13   // a >= s ? 1 : 0
#define OA_EW_EQUAL_BITS 14      // bits(a) == bits(s) ? 1 : 0, for exact integer comparison
#define OA_EW_NEG 15             // -a
#define OA_EW_ABS 16             // |a|
#define OA_EW_EXP 17             // e^a
#define OA_EW_LOG 18             // ln a
#define OA_EW_SQRT 19            // sqrt a
#define OA_EW_SIN 20             // sin a
#define OA_EW_COS 21             // cos a
#define OA_EW_RECIPROCAL 22      // 1 / a
#define OA_EW_SQUARE 23          // a * a
#define OA_EW_RELU 24            // a > 0 ? a : 0
#define OA_EW_LEAKY_RELU 25      // a > 0 ? a : s * a
#define OA_EW_ELU 26             // a > 0 ? a : s * (e^a - 1)
#define OA_EW_GELU 27            // tanh approximation
#define OA_EW_MISH 28            // a * tanh(softplus(a))
#define OA_EW_SIGMOID 29         // 1 / (1 + e^-a)
#define OA_EW_SILU 30            // a * sigmoid(a)
#define OA_EW_SOFTPLUS 31        // max(a, 0) + ln(1 + e^-|a|)
#define OA_EW_TANH 32            // tanh a
#define OA_EW_RELU_BWD 33        // a > 0 ? b : 0
#define OA_EW_LEAKY_RELU_BWD 34  // a > 0 ? b : s * b
#define OA_EW_ELU_BWD 35         // a > 0 ? b : b * s * e^a
#define OA_EW_GELU_BWD 36        // b * gelu'(a)
#define OA_EW_MISH_BWD 37        // b * mish'(a)
#define OA_EW_SIGMOID_BWD 38     // b * a * (1 - a), a the output
#define OA_EW_SILU_BWD 39        // b * silu'(a)
#define OA_EW_SOFTPLUS_BWD 40    // b * sigmoid(a)
#define OA_EW_TANH_BWD 41        // b * (1 - a^2), a the output
#define OA_EW_ABS_BWD 42         // b * sign(a), 0 at 0
#define OA_EW_SQRT_BWD 43        // b / (2 a), a the output
#define OA_EW_RECIPROCAL_BWD 44  // -b * a^2, a the output
#define OA_EW_SIN_BWD 45         // b * cos a
#define OA_EW_COS_BWD 46         // -b * sin a
#define OA_EW_POW_BWD 47         // b * s * a^(s-1)
#define OA_EW_CLAMP_MIN_BWD 48   // a >= s ? b : 0
#define OA_EW_CLAMP_MAX_BWD 49   // a <= s ? b : 0
#define OA_EW_SMOOTH_L1 50       // d = |a|: d < s ? d^2 / (2 s) : d - s / 2
#define OA_EW_SMOOTH_L1_BWD 51   // b * (|a| < s ? a / s : sign(a))
#define OA_EW_BCE 52             // -(b ln a' + (1-b) ln(1-a')), a' = a clamped to [1e-7, 1-1e-7]
#define OA_EW_BCE_BWD 53         // (a' - b) / (a' (1 - a'))
#define OA_EW_BCE_LOGITS 54      // max(a, 0) - a b + ln(1 + e^-|a|)
#define OA_EW_BCE_LOGITS_BWD 55  // sigmoid(a) - b
#define OA_EW_MASK_NONZERO 56    // b != 0 ? a : 0
#define OA_EW_EQUAL_AB 57        // a == b ? 1 : 0

// How an input's element is found for output element i (OA_EW_MODE of an input).
#define OA_EW_LINEAR 0    // i
#define OA_EW_SCALAR 1    // 0
#define OA_EW_PERIODIC 2  // (i / div) % mod
#define OA_EW_STRIDED 3   // sum over axes of coordinate * stride, only in the strided variants

// How an input's bits become F32 (OA_EW_TYPE of an input).
#define OA_EW_TYPE_F32 0
#define OA_EW_TYPE_U8 1
#define OA_EW_TYPE_I32 2
#define OA_EW_TYPE_U32 3
#define OA_EW_TYPE_BF16 4
#define OA_EW_TYPE_RAW 5  // the 32 bits unchanged, for EQUAL_BITS

// Machine size of the elementwise kernels; the epilogue of products has its own inputs.
#define OA_EW_MAX_INPUTS 8
#define OA_EW_MAX_OUTPUTS 4
#define OA_EW_MAX_SLOTS 16
#define OA_EPILOGUE_MAX_INPUTS 5
#define OA_EPILOGUE_MAX_OUTPUTS 2
#define OA_EPILOGUE_MAX_SLOTS 8
// Output 0 of a prologue is the register that the kernel continues with.
#define OA_PROLOGUE_MAX_INPUTS 3
#define OA_PROLOGUE_MAX_OUTPUTS 2
#define OA_PROLOGUE_MAX_SLOTS 4
