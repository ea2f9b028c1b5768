// Products as plain loops.
#include "tests/reference/reference.h"

namespace oa::reference {
namespace {

using ir::Attributes;

size_t Rows(const Shape& shape) {
  size_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return rows;
}

std::vector<Tensor> Matmul(absl::Span<const Tensor> in, const Attributes&) {
  const size_t m = in[0].shape[0], k = in[0].shape[1], n = in[1].shape[1];
  Tensor y(DType::F32, {m, n});
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      for (size_t x = 0; x < k; ++x) y[i * n + j] += in[0][i * k + x] * in[1][x * n + j];
    }
  }
  return {y};
}

// Also linear: a third operand is the bias.
std::vector<Tensor> MatMulNt(absl::Span<const Tensor> in, const Attributes&) {
  const size_t rows = Rows(in[0].shape), n = in[1].shape[0], k = in[1].shape[1];
  Shape shape = in[0].shape;
  shape.back() = n;
  Tensor y(DType::F32, shape);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t j = 0; j < n; ++j) {
      double sum = in.size() > 2 && in[2].present() ? in[2][j] : 0;
      for (size_t x = 0; x < k; ++x) sum += in[0][r * k + x] * in[1][j * k + x];
      y[r * n + j] = sum;
    }
  }
  return {y};
}

Sample Product(std::vector<InputSpec> inputs, double k) {
  Sample sample;
  sample.inputs = std::move(inputs);
  sample.tolerance = ReductionTolerance(k, 4);
  sample.gradient = {1e-4, 1e-4};
  return sample;
}

Rejection Reject(const char* why, std::vector<InputSpec> inputs) {
  Rejection rejection;
  rejection.why = why;
  rejection.inputs = std::move(inputs);
  return rejection;
}

InputSpec Ints(Shape shape) { return Integers(DType::I32, std::move(shape), 0, 3); }

}  // namespace

std::vector<ReferenceOp> BlasReference() {
  return {
      {"matmul",
       Matmul,
       {Product({Uniform({1, 1}), Uniform({1, 1})}, 1),
        Product({Uniform({7, 5}), Uniform({5, 3})}, 5),
        Product({Uniform({67, 130}), Uniform({130, 33})}, 130),
        Product({Uniform({32, 64}), Uniform({64, 128})}, 64),
        Product({Uniform({1, 300}), Uniform({300, 2})}, 300)},
       {Reject("a has rank 3", {Uniform({2, 2, 2}), Uniform({2, 2})}),
        Reject("b has rank 1", {Uniform({2, 2}), Uniform({2})}),
        Reject("inner extents differ", {Uniform({2, 3}), Uniform({2, 3})}),
        Reject("zero extent", {Uniform({0, 3}), Uniform({3, 2})}),
        Reject("integer operand", {Ints({2, 3}), Uniform({3, 2})})}},
      {"mat_mul_nt",
       MatMulNt,
       {Product({Uniform({5}), Uniform({3, 5})}, 5),
        Product({Uniform({2, 3, 31}), Uniform({17, 31})}, 31),
        Product({Uniform({65, 129}), Uniform({66, 129})}, 129)},
       {Reject("b has rank 3", {Uniform({2, 3}), Uniform({1, 2, 3})}),
        Reject("features differ", {Uniform({2, 3}), Uniform({3, 2})}),
        Reject("zero extent", {Uniform({2, 3}), Uniform({0, 3})}),
        Reject("integer operand", {Uniform({2, 3}), Ints({2, 3})})}},
      {"linear",
       MatMulNt,
       {Product({Uniform({4, 3}), Uniform({2, 3}), Uniform({2})}, 3),
        Product({Uniform({3, 5, 13}), Uniform({7, 13}), Uniform({7})}, 13),
        Product({Uniform({37, 70}), Uniform({65, 70}), Uniform({65})}, 70),
        Product({Uniform({1100, 9}), Uniform({5, 9}), Uniform({5})}, 1100),
        Product({Uniform({9, 4}), Uniform({3, 4}), Absent()}, 4)},
       {Reject("weight has rank 1", {Uniform({2, 3}), Uniform({3}), Absent()}),
        Reject("features differ", {Uniform({2, 3}), Uniform({4, 2}), Absent()}),
        Reject("bias has another extent", {Uniform({2, 3}), Uniform({4, 3}), Uniform({3})}),
        Reject("bias has rank 2", {Uniform({2, 3}), Uniform({4, 3}), Uniform({1, 4})}),
        Reject("zero extent", {Uniform({2, 0}), Uniform({4, 0}), Absent()})}},
  };
}

}  // namespace oa::reference
