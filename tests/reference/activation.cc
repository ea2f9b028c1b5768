#include "tests/reference/reference.h"
#include "tests/reference/scalar_loops.h"

namespace oa::reference {
namespace {

using ir::Attributes;

double Relu(double x, double) { return x > 0 ? x : 0; }
double LeakyRelu(double x, double alpha) { return x > 0 ? x : alpha * x; }
double Elu(double x, double alpha) { return x > 0 ? x : alpha * std::expm1(x); }
double Gelu(double x, double) {
  const double t = std::tanh(0.79788456080286541 * (x + 0.044715 * x * x * x));
  return 0.5 * x * (1 + t);
}
double Mish(double x, double) { return x * std::tanh(Softplus(x)); }
double SigmoidOf(double x, double) { return Sigmoid(x); }
double Silu(double x, double) { return x * Sigmoid(x); }
double SoftplusOf(double x, double) { return Softplus(x); }
double Tanh(double x, double) { return std::tanh(x); }

// `kink`: the derivative jumps at 0, where differences mean nothing.
ReferenceOp Unary(const char* op, Forward forward, bool kink, const Attributes& attributes = {}) {
  const double away = kink ? 0.05 : 0;
  const Sample golden = {{Values(DType::F32, {7}, {-3, -1, -0.5, 0, 0.5, 1, 3})}, attributes};
  ReferenceOp row = {op, forward};
  row.samples = {
      golden,
      {{Uniform({3, 5, 7}, -4, 4, away)}, attributes},
      {{Uniform({2, 1031}, -12, 12, away)}, attributes},
      {{Uniform({1, 1, 4, 65}, -1, 1, away)}, attributes},
      {{Values(DType::F32, {8}, {-100, -89, -50, -20, 20, 50, 89, 100})}, attributes},
      {{Values(DType::F32, {6}, {-1e30, -1e4, -1e-30, 1e-30, 1e4, 1e30})}, attributes},
      {{Uniform({3, 0})}, attributes},
  };
  row.samples[0].differentiate = !kink;
  row.samples[5].differentiate = false;
  row.rejections = UnaryRejections(attributes);
  return row;
}

std::vector<Tensor> Swiglu(absl::Span<const Tensor> inputs, const Attributes&) {
  Tensor y(DType::F32, inputs[0].shape);
  for (size_t i = 0; i < y.size(); ++i) y[i] = Silu(inputs[0][i], 0) * inputs[1][i];
  return {y};
}

ReferenceOp SwigluOp() {
  ReferenceOp row = {"swiglu", Swiglu};
  row.samples = {{{Uniform({3, 7}), Uniform({3, 7})}},
                 {{Uniform({5, 1, 257}, -10, 10), Uniform({5, 1, 257})}},
                 {{Values(DType::F32, {4}, {-1e30, -100, 100, 0}), Uniform({4}, 0.5, 1)}}};
  row.samples[2].differentiate = false;
  row.rejections = {{"unequal shapes", {Uniform({3, 7}), Uniform({7, 3})}},
                    {"shapes that would broadcast", {Uniform({3, 7}), Uniform({7})}},
                    {"an I32 gate", {Integers(DType::I32, {3}, 0, 5), Uniform({3})}},
                    {"an absent operand", {Uniform({3}), Absent()}}};
  return row;
}

std::vector<Tensor> SiluMul(absl::Span<const Tensor> inputs, const Attributes& attributes) {
  const size_t n = static_cast<size_t>(attributes.i64("intermediate_size"));
  Shape shape = inputs[0].shape;
  shape.back() = n;
  Tensor y(DType::F32, shape);
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t r = i / n, j = i % n;
    y[i] = Silu(inputs[0][r * 2 * n + j], 0) * inputs[0][r * 2 * n + n + j];
  }
  return {y};
}

ReferenceOp SiluMulOp() {
  const auto size = [](int64_t n) { return Attributes().I64("intermediate_size", n); };
  ReferenceOp row = {"silu_mul", SiluMul};
  row.samples = {{{Uniform({3, 14}, -5, 5)}, size(7)},
                 {{Uniform({2}, -5, 5)}, size(1)},
                 {{Uniform({5, 16}, -5, 5)}, size(8)},
                 {{Uniform({2, 3, 260}, -12, 12)}, size(130)},
                 {{Uniform({3, 1048}, -12, 12)}, size(524)},
                 {{Uniform({0, 14})}, size(7)}};
  row.rejections = {{"intermediate_size 0", {Uniform({3, 14})}, size(0)},
                    {"a negative intermediate_size", {Uniform({3, 14})}, size(-7)},
                    {"an odd extent", {Uniform({3, 15})}, size(7)},
                    {"another extent", {Uniform({3, 14})}, size(8)},
                    {"2n that overflows", {Uniform({3, 14})}, size(INT64_MAX)},
                    {"a U8 operand", {Integers(DType::U8, {3, 14}, 0, 5)}, size(7)}};
  return row;
}

}  // namespace

std::vector<ReferenceOp> ActivationReference() {
  const auto alpha = [](float value) { return Attributes().F32("alpha", value); };
  std::vector<ReferenceOp> rows = {
      Unary("relu", UnaryLoop<Relu>, true),
      Unary("leaky_relu", UnaryLoop<LeakyRelu>, true, alpha(0.1f)),
      Unary("elu", UnaryLoop<Elu>, true, alpha(1.0f)),
      Unary("gelu", UnaryLoop<Gelu>, false),
      Unary("mish", UnaryLoop<Mish>, false),
      Unary("sigmoid", UnaryLoop<SigmoidOf>, false),
      Unary("silu", UnaryLoop<Silu>, false),
      Unary("softplus", UnaryLoop<SoftplusOf>, false),
      Unary("tanh", UnaryLoop<Tanh>, false),
      SwigluOp(),
      SiluMulOp(),
  };
  // Outside 0 <= alpha <= 1 the sign of the output is not that of the input.
  for (float value : {-0.5f, 1.7f}) {
    rows[1].samples.push_back({{Uniform({11}, -3, 3, 0.05)}, alpha(value)});
    rows[2].samples.push_back({{Uniform({11}, -3, 3, 0.05)}, alpha(value)});
  }
  // e^x - 1 must not cancel: a large alpha shows it.
  rows[2].samples.push_back(
      {{Values(DType::F32, {6}, {-1e-8, -1e-5, -0.003, -0.34, -0.35, 2})}, alpha(1000)});
  rows[2].samples.back().differentiate = false;  // differences would cross the kink
  return rows;
}

}  // namespace oa::reference
