// More training images out of few: every image moved a little, another way in every replay.
#ifndef OA_FRONTEND_EXAMPLES_DIGITS_CNN_RANDOM_MOVES_H_
#define OA_FRONTEND_EXAMPLES_DIGITS_CNN_RANDOM_MOVES_H_

#include <cstdint>

#include "frontend/oa.h"

namespace oa::examples {

// Images U8 [n, 64] to F32, each moved by -1, 0 or 1 pixels in both directions; background follows
// from behind the edge. One gather computes it: of the images within a border, with indices that
// begin at random corners.
Result<Matrix> RandomlyMoved(Graph& graph, const Matrix& images, uint64_t seed);

}  // namespace oa::examples

#endif  // OA_FRONTEND_EXAMPLES_DIGITS_CNN_RANDOM_MOVES_H_
