#include "tests/reference/reference.h"

namespace oa::reference {
namespace {

std::vector<Tensor> Gather(absl::Span<const Tensor> inputs, const ir::Attributes&) {
  const Tensor& table = inputs[0];
  const Tensor& indices = inputs[1];
  const size_t columns = table.shape[1];
  Shape shape = indices.shape;
  shape.push_back(columns);
  Tensor y(DType::F32, shape);
  for (size_t n = 0; n < indices.size(); ++n) {
    const double index = indices[n];
    if (index < 0 || index >= static_cast<double>(table.shape[0])) continue;
    for (size_t d = 0; d < columns; ++d) {
      y[n * columns + d] = table[static_cast<size_t>(index) * columns + d];
    }
  }
  return {y};
}

// The gradient of a row sums over all positions that name it.
Sample GatherSample(Shape table, InputSpec indices) {
  Sample sample = {{Uniform(std::move(table)), std::move(indices)}, {}, kExact};
  sample.gradient = {1e-4, 2e-4};
  return sample;
}

ReferenceOp GatherOp() {
  ReferenceOp row = {"gather", Gather};
  row.samples = {
      GatherSample({1, 1}, Integers(DType::I32, {1}, 0, 0)),
      GatherSample({5, 3}, Integers(DType::I32, {2, 7}, -2, 6)),
      GatherSample({5, 8}, Integers(DType::U32, {3, 1, 5}, 0, 7)),
      GatherSample({256, 4}, Integers(DType::U8, {301}, 0, 255)),
      GatherSample({3, 7}, Integers(DType::U8, {259}, 0, 3)),
      // More rows times indices than the backward pass scans.
      GatherSample({3000, 5}, Integers(DType::I32, {2000}, -3, 3005)),
      // The same with lists too long to be sorted, and several parts a row.
      GatherSample({300, 3}, Integers(DType::U8, {600}, 0, 3)),
      GatherSample({2100, 40}, Integers(DType::U32, {2003}, 0, 6)),
      GatherSample({3, 1100}, Integers(DType::U32, {35}, 0, 2)),
      GatherSample({70000, 1}, Integers(DType::U32, {70}, 0, 69999)),
      GatherSample({2, 3}, Values(DType::U32, {4}, {4294967295, 2147483648, 2, 1})),
      GatherSample({2, 3}, Values(DType::I32, {3}, {-2147483648, 2147483647, 1})),
      GatherSample({0, 3}, Integers(DType::I32, {4}, 0, 3)),
      GatherSample({4, 3}, Integers(DType::I32, {0}, 0, 3)),
  };
  for (size_t i = row.samples.size() - 2; i < row.samples.size(); ++i) {
    row.samples[i].differentiate = false;
  }
  row.rejections = {
      {"a table of rank 1", {Uniform({5}), Integers(DType::I32, {3}, 0, 4)}},
      {"a table of rank 3", {Uniform({5, 3, 2}), Integers(DType::I32, {3}, 0, 4)}},
      {"F32 indices", {Uniform({5, 3}), Uniform({3})}},
      {"BF16 indices", {Uniform({5, 3}), Values(DType::BF16, {1}, {1})}},
      {"an I32 table", {Integers(DType::I32, {5, 3}, 0, 4), Integers(DType::I32, {3}, 0, 4)}},
      {"a result of rank 9",
       {Uniform({5, 3}), Integers(DType::I32, {1, 1, 1, 1, 1, 1, 1, 1}, 0, 4)}},
      {"too many elements", {Uniform({1, 70000}), Integers(DType::U8, {70000}, 0, 0)}},
      {"absent indices", {Uniform({5, 3}), Absent()}},
  };
  return row;
}

std::vector<Tensor> ScatterAddRows(absl::Span<const Tensor> inputs,
                                   const ir::Attributes& attributes) {
  const Tensor& source = inputs[0];
  const Tensor& indices = inputs[1];
  const size_t columns = source.shape[1];
  const uint64_t rows = static_cast<uint64_t>(attributes.i64("rows"));
  Tensor y(DType::F32, {rows, columns});
  for (size_t r = 0; r < indices.size(); ++r) {
    if (indices[r] >= static_cast<double>(rows)) continue;
    for (size_t d = 0; d < columns; ++d) {
      y[static_cast<size_t>(indices[r]) * columns + d] += source[r * columns + d];
    }
  }
  return {y};
}

Sample ScatterSample(uint64_t count, uint64_t columns, int64_t rows) {
  Sample sample = {{Uniform({count, columns}), Integers(DType::U32, {count}, 0, rows + 1)},
                   ir::Attributes().I64("rows", rows)};
  sample.tolerance = ReductionTolerance(static_cast<double>(count), 2);
  return sample;
}

ReferenceOp ScatterAddRowsOp() {
  ReferenceOp row = {"scatter_add_rows", ScatterAddRows};
  row.samples = {ScatterSample(1, 1, 1), ScatterSample(7, 3, 4), ScatterSample(300, 8, 5),
                 ScatterSample(2000, 5, 3000), ScatterSample(64, 40, 1)};
  const ir::Attributes four = ir::Attributes().I64("rows", 4);
  row.rejections = {
      {"a source of rank 1", {Uniform({5}), Integers(DType::U32, {5}, 0, 3)}, four},
      {"indices of rank 2", {Uniform({5, 3}), Integers(DType::U32, {5, 1}, 0, 3)}, four},
      {"another number of indices", {Uniform({5, 3}), Integers(DType::U32, {4}, 0, 3)}, four},
      {"I32 indices", {Uniform({5, 3}), Integers(DType::I32, {5}, 0, 3)}, four},
      {"a negative extent",
       {Uniform({5, 3}), Integers(DType::U32, {5}, 0, 3)},
       ir::Attributes().I64("rows", -1)},
  };
  return row;
}

}  // namespace

std::vector<ReferenceOp> IndexReference() { return {GatherOp(), ScatterAddRowsOp()}; }

}  // namespace oa::reference
