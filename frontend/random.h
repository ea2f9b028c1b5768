// Random numbers. Conventions and errors as in frontend/matrix.h.
//
// Numbers are drawn by counter (Philox4x32-10): element i of a result depends on i, the seed, and
// the replay counter of the graph, nothing else. The counter is a state named `random.replay`, U32
// [1], that the first call of this header declares. It is 0 in the first replay and one more in
// each that follows, so every replay draws fresh numbers, and all calls of one replay see the same
// counter: two calls with equal seeds draw equal numbers. Like every state it is saved and restored
// with a session, which then continues the sequence; `oa-run --set random.replay[0]=7` sets it.
#ifndef OA_FRONTEND_RANDOM_H_
#define OA_FRONTEND_RANDOM_H_

#include <cstdint>

#include "frontend/graph.h"

namespace oa::matrix {

// Uniform in [low, high), from 24 random bits an element.
Result<Matrix> random_uniform(Graph& graph, const Shape& shape, float low, float high,
                              uint64_t seed);

// Normal with the given mean and standard deviation.
Result<Matrix> random_normal(Graph& graph, const Shape& shape, float mean, float stddev,
                             uint64_t seed);

// Each element is 0 with probability p, in [0, 1), and else times 1 / (1 - p); p 0 is the identity.
// The gradient passes through the elements that this replay kept.
Result<Matrix> dropout(const Matrix& input, float p, uint64_t seed);

}  // namespace oa::matrix

#endif  // OA_FRONTEND_RANDOM_H_
