#include "tests/reference/reference.h"

namespace oa::reference {
namespace {

enum class Form { kPlain, kNt, kTn };

template <Form kForm>
std::vector<Tensor> Product(absl::Span<const Tensor> in, const ir::Attributes&) {
  const Shape& left = in[0].shape;
  const Shape& right = in[1].shape;
  const size_t m = left[kForm == Form::kTn ? 2 : 1], k = left[kForm == Form::kTn ? 1 : 2];
  const size_t p = right[kForm == Form::kNt ? 1 : 2];
  Tensor y(DType::F32, {left[0], m, p});
  for (size_t n = 0; n < left[0]; ++n) {
    for (size_t i = 0; i < m; ++i) {
      for (size_t j = 0; j < p; ++j) {
        double sum = 0;
        for (size_t x = 0; x < k; ++x) {
          const size_t at = kForm == Form::kTn ? x * m + i : i * k + x;
          const size_t bt = kForm == Form::kNt ? j * k + x : x * p + j;
          sum += in[0][n * m * k + at] * in[1][n * k * p + bt];
        }
        y[(n * m + i) * p + j] = sum;
      }
    }
  }
  return {y};
}

template <Form kForm>
std::vector<InputSpec> Operands(uint64_t n, uint64_t m, uint64_t k, uint64_t p) {
  return {Uniform(kForm == Form::kTn ? Shape{n, k, m} : Shape{n, m, k}),
          Uniform(kForm == Form::kNt ? Shape{n, p, k} : Shape{n, k, p})};
}

template <Form kForm>
ReferenceOp Op(const char* name) {
  ReferenceOp row = {name, Product<kForm>};
  const auto add = [&row](uint64_t n, uint64_t m, uint64_t k, uint64_t p) {
    Sample sample = {Operands<kForm>(n, m, k, p)};
    sample.tolerance = ReductionTolerance(static_cast<double>(k), 4);
    sample.gradient = {1e-4, 1e-4};
    row.samples.push_back(sample);
  };
  add(1, 1, 1, 1);
  add(3, 7, 5, 2);
  add(2, 33, 66, 35);
  add(5, 32, 64, 32);
  add(9, 1, 130, 3);
  row.rejections = {
      {"left has rank 2", {Uniform({4, 4}), Uniform({4, 4, 4})}},
      {"right has rank 4", {Uniform({4, 4, 4}), Uniform({4, 4, 4, 1})}},
      {"batch extents differ", {Uniform({2, 4, 4}), Uniform({1, 4, 4})}},
      {"summed extents differ", {Uniform({2, 3, 3}), Uniform({2, 4, 4})}},
      {"a zero extent", {Uniform({0, 4, 4}), Uniform({0, 4, 4})}},
      {"an integer operand", {Uniform({2, 4, 4}), Integers(DType::I32, {2, 4, 4}, 0, 3)}}};
  return row;
}

}  // namespace

std::vector<ReferenceOp> BatchedProductReference() {
  return {Op<Form::kPlain>("bmm"), Op<Form::kNt>("bmm_nt"), Op<Form::kTn>("bmm_tn")};
}

}  // namespace oa::reference
