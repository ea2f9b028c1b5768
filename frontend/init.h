// Initialisers: deterministic first values of parameters and states, drawn from Philox4x32-10 with
// the given seed (spec: ops.md 3.5). The values are stored in the graph file, the text as
// provenance.
#ifndef OA_FRONTEND_INIT_H_
#define OA_FRONTEND_INIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "schema/dtype.h"

namespace oa::init {

struct Initialiser {
  enum class Kind { kFill, kUniform, kNormal, kValues };
  Kind kind = Kind::kFill;
  std::string text;          // "kaiming_uniform(seed=1)"
  float value = 0;           // kFill
  double low = 0, high = 0;  // kUniform, or mean and standard deviation for kNormal
  // Multiplies low and high by 1/sqrt(fan) when not kNone; fan_in is the product of all extents but
  // the first, fan_out that of all but the second.
  enum class Fan { kNone, kIn, kAverage };
  Fan fan = Fan::kNone;
  uint64_t seed = 0;
  std::vector<float> values;  // kValues
};

Initialiser Zeros();
Initialiser Ones();
Initialiser Constant(float value);
Initialiser Values(std::vector<float> values);
Initialiser Uniform(float low, float high, uint64_t seed);
Initialiser Normal(float mean, float stddev, uint64_t seed);
// Uniform in +-sqrt(6 / fan_in). Source: He et al. 2015, for rectifiers.
Initialiser KaimingUniform(uint64_t seed);
// Uniform in +-sqrt(6 / (fan_in + fan_out)). Source: Glorot and Bengio 2010.
Initialiser XavierUniform(uint64_t seed);

// The values for `shape`, row-major. kValues must hold as many as the shape has elements.
std::vector<float> Materialise(const Initialiser& initialiser, const Shape& shape);

// One block of Philox4x32-10. Source: Salmon et al. 2011.
struct PhiloxBlock {
  uint32_t word[4];
};
PhiloxBlock Philox(PhiloxBlock counter, uint64_t key);

}  // namespace oa::init

#endif  // OA_FRONTEND_INIT_H_
