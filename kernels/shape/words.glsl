// words.glsl: the unit that copying kernels move: one 32-bit word, or with OA_VEC 4 four of them.
// Words are integers, so that no NaN changes its bits.
#ifndef OA_SHAPE_WORDS_GLSL_
#define OA_SHAPE_WORDS_GLSL_

#include "common/base.glsl"

#if OA_VEC == 4
#define OA_WORD uvec4
#define WordsIn U32x4In
#define WordsOut U32x4Out
#else
#define OA_WORD uint
#define WordsIn U32In
#define WordsOut U32Out
#endif

#endif  // OA_SHAPE_WORDS_GLSL_
