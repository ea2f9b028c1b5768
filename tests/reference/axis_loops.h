// Loops over one axis that the oracles of the reduce and shape families share.
#ifndef OA_TESTS_REFERENCE_AXIS_LOOPS_H_
#define OA_TESTS_REFERENCE_AXIS_LOOPS_H_

#include <cstddef>

#include "tests/reference/reference.h"

namespace oa::reference {

// A dense shape around an axis: element (o, e, i) lies at (o * extent + e) * inner + i.
struct AxisView {
  size_t outer = 1, extent = 1, inner = 1;

  AxisView(const Shape& shape, int64_t axis) {
    for (size_t k = 0; k < shape.size(); ++k) {
      const int64_t at = static_cast<int64_t>(k);
      (at < axis ? outer : at == axis ? extent : inner) *= shape[k];
    }
  }
  size_t at(size_t o, size_t e, size_t i) const { return (o * extent + e) * inner + i; }
};

inline Shape ToShape(const std::vector<int64_t>& list) { return Shape(list.begin(), list.end()); }

inline size_t CountOf(const Shape& shape) {
  size_t count = 1;
  for (uint64_t extent : shape) count *= extent;
  return count;
}

}  // namespace oa::reference

#endif  // OA_TESTS_REFERENCE_AXIS_LOOPS_H_
