// Sums of rows by index (scatter_add_rows, the gradient of gather, vq_ema_update) with the kernels
// of CPU devices and of GPUs: many rows of one index, few and many columns, by scan and by lists.
#include <doctest/doctest.h>

#include "tests/support/recording.h"

namespace oa::testing {
namespace {

using reference::Tensor;

struct Case {
  uint64_t count, rows, columns;
  uint64_t hot;  // of ten positions so many have index 1, the others any, some none
};

Tensor Indices(const Case& c) {
  Tensor indices =
      Fill(reference::Integers(DType::U32, {c.count}, 0, static_cast<int64_t>(c.rows)), c.count);
  for (uint64_t n = 0; n < c.count; ++n) {
    if (n * 7 % 10 < c.hot) indices[n] = 1;
  }
  return indices;
}

void CheckCase(const Case& c) {
  INFO(c.count, " positions, ", c.rows, " rows, ", c.columns, " columns, ", c.hot, " hot");
  Recording recording;
  const Matrix source = recording.Input("source", {c.count, c.columns});
  const Matrix indices = recording.Input("indices", Indices(c));
  recording.Output("sums", Must(matrix::scatter_add_rows(source, indices, c.rows)));
  Tensor sums(DType::F32, {c.rows, c.columns});
  const Tensor x = recording.Value("source"), to = recording.Value("indices");
  for (uint64_t n = 0; n < c.count; ++n) {
    if (to[n] >= static_cast<double>(c.rows)) continue;
    for (uint64_t d = 0; d < c.columns; ++d) {
      sums[static_cast<size_t>(to[n]) * c.columns + d] += x[n * c.columns + d];
    }
  }
  const auto tolerance = reference::ReductionTolerance(static_cast<double>(c.count));
  for (const RunOptions& way : Ways()) {
    recording.Run(way);
    recording.Expect("sums", sums, tolerance);
    const Tensor once = recording.Value("sums");
    recording.Run(way);
    recording.Expect("sums", once);  // the order of additions does not depend on timing
  }
}

TEST_CASE("row sums: by a scan of the indices") {
  if (TestDevice() == nullptr) return;
  for (uint64_t columns : {1, 5, 64, 200, 300, 1100}) CheckCase({700, 3, columns, 4});
  CheckCase({9000, 2, 24, 10});
  CheckCase({6145, 5, 3, 0});
}

TEST_CASE("row sums: by lists, some of them too long to sort") {
  if (TestDevice() == nullptr) return;
  CheckCase({3000, 2000, 7, 6});
  CheckCase({3000, 2000, 64, 0});
  CheckCase({300, 15000, 260, 5});
}

}  // namespace
}  // namespace oa::testing
