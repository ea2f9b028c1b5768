// Axes and shapes as attributes of rows. Internal to ir/ops.
#ifndef OA_IR_OPS_SHAPE_ATTRIBUTES_H_
#define OA_IR_OPS_SHAPE_ATTRIBUTES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/op.h"

namespace oa::ir {

// InvalidArgument unless `axis`, the value of attribute `name`, is an axis of operand 0. Negative
// values do not count from the end.
inline absl::Status RequireAxis(const InferContext& ctx, absl::string_view name, int64_t axis) {
  if (axis >= 0 && axis < ctx.rank(0)) return absl::OkStatus();
  return ctx.Fail("attribute '", name, "' is ", axis, ", must be from 0 to ", ctx.rank(0) - 1,
                  " for an operand of rank ", ctx.rank(0));
}

// The list attribute `name` as a shape; InvalidArgument for a negative extent.
inline absl::StatusOr<Shape> ShapeAttribute(const InferContext& ctx, absl::string_view name) {
  Shape shape;
  for (int64_t extent : ctx.attributes().list(name)) {
    if (extent < 0) {
      return ctx.Fail("attribute '", name, "' has the negative extent ", extent);
    }
    shape.push_back(static_cast<uint64_t>(extent));
  }
  return shape;
}

// A shape as the value of a list attribute.
inline std::vector<int64_t> ShapeList(const Shape& shape) { return {shape.begin(), shape.end()}; }

}  // namespace oa::ir

#endif  // OA_IR_OPS_SHAPE_ATTRIBUTES_H_
