// Operators that must agree with each other: another way to compute the same, in value and
// gradient.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/recording.h"

namespace oa::testing {
namespace {

namespace mm = ml::matrix;
using reference::Tensor;

constexpr reference::Tolerance kRounding = {2e-5, 2e-5};

double Dot(const Tensor& a, const Tensor& b) {
  REQUIRE_EQ(a.size(), b.size());
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

TEST_CASE("invariants: batched products agree through transposes") {
  if (TestDevice() == nullptr) return;
  Recording program;
  const Matrix a = program.Input("a", {3, 33, 19}), b = program.Input("b", {3, 19, 35});
  const Matrix weight = program.Input("weight", {3, 33, 35});
  const Matrix a_t = Must(matrix::transpose(a, 1, 2)), b_t = Must(matrix::transpose(b, 1, 2));
  program.OutputWithGradients("nn", Must(mm::bmm(a, b)), weight, {a, b});
  program.OutputWithGradients("nt", Must(mm::bmm_nt(a, b_t)), weight, {a, b});
  program.OutputWithGradients("tn", Must(mm::bmm_tn(a_t, b)), weight, {a, b});
  program.Run();
  program.ExpectPair("nn", "nt", 2, kRounding);
  program.ExpectPair("nn", "tn", 2, kRounding);
}

TEST_CASE("invariants: channel_norm is a transposed layer_norm") {
  if (TestDevice() == nullptr) return;
  Recording program;
  const Matrix x = program.Input("x", {2, 300, 7});
  const Matrix gain = program.Input("gain", {300}), bias = program.Input("bias", {300});
  const Matrix weight = program.Input("weight", {2, 300, 7});
  program.OutputWithGradients("channel", Must(mm::channel_norm(x, gain, bias, 1e-5f)), weight,
                              {x, gain, bias});
  const Matrix turned = Must(matrix::transpose(x, 1, 2));
  const Matrix normal = Must(matrix::layer_norm(turned, gain, bias, 1e-5f));
  program.OutputWithGradients("layer", Must(matrix::transpose(normal, 1, 2)), weight,
                              {x, gain, bias});
  program.Run();
  program.ExpectPair("channel", "layer", 3, {1e-4, 1e-5});
}

TEST_CASE("invariants: relu(channel_norm) is channel_norm_relu") {
  if (TestDevice() == nullptr) return;
  Recording program;
  const Matrix x = program.Input("x", {2, 9, 37});
  const Matrix gain = program.Input("gain", {9}), bias = program.Input("bias", {9});
  const Matrix weight = program.Input("weight", {2, 9, 37});
  program.OutputWithGradients("one", Must(mm::channel_norm_relu(x, gain, bias, 1e-5f)), weight,
                              {x, gain, bias});
  const Matrix normal = Must(mm::channel_norm(x, gain, bias, 1e-5f));
  program.OutputWithGradients("two", Must(mm::relu(normal)), weight, {x, gain, bias});
  program.Run();
  program.ExpectPair("one", "two", 3, kRounding);
}

// The public backward functions against the gradients of the tape, for g = weight.
TEST_CASE("invariants: explicit norm gradients are those of the tape") {
  if (TestDevice() == nullptr) return;
  Recording program;
  const Matrix x = program.Input("x", {2, 9, 37}), g = program.Input("g", {2, 9, 37});
  const Matrix gain = program.Input("gain", {9}), bias = program.Input("bias", {9});
  const auto output = [&](const std::string& name, const mm::ChannelNormBackward& d) {
    program.Output(name + ".gradient0", d.input);
    program.Output(name + ".gradient1", d.weight);
    program.Output(name + ".gradient2", d.bias);
  };
  const Matrix y = Must(mm::channel_norm(x, gain, bias, 1e-5f));
  program.OutputWithGradients("tape", y, g, {x, gain, bias});
  output("call", Must(mm::channel_norm_backward(x, gain, g, 1e-5f)));
  const Matrix rectified = Must(mm::channel_norm_relu(x, gain, bias, 1e-5f));
  program.OutputWithGradients("tape_relu", rectified, g, {x, gain, bias});
  output("call_relu", Must(mm::channel_norm_relu_backward(x, gain, rectified, g, 1e-5f)));
  program.Run();
  program.ExpectGradients("tape", "call", 3, kRounding);
  program.ExpectGradients("tape_relu", "call_relu", 3, kRounding);
}

TEST_CASE("invariants: explicit gradients of the gated norm are those of the tape") {
  if (TestDevice() == nullptr) return;
  Recording program;
  const Matrix x = program.Input("x", {6, 40}), gate = program.Input("gate", {6, 40});
  const Matrix gain = program.Input("gain", {2, 40}), bias = program.Input("bias", {2, 40});
  const Matrix g = program.Input("g", {6, 40});
  program.OutputWithGradients("tape", Must(mm::rms_norm_gated(x, gain, &bias, gate, 1e-5f)), g,
                              {x, gain, bias, gate});
  const mm::RmsNormGatedBackward d =
      Must(mm::rms_norm_gated_backward(x, gain, &bias, gate, g, 1e-5f));
  REQUIRE(d.bias.has_value());
  const std::vector<Matrix> gradients = {d.input, d.weight, *d.bias, d.gate};
  for (size_t i = 0; i < gradients.size(); ++i) {
    program.Output(absl::StrCat("call.gradient", i), gradients[i]);
  }
  program.Run();
  program.ExpectGradients("tape", "call", 4, kRounding);
  CHECK_FALSE(Must(mm::rms_norm_gated_backward(x, gain, nullptr, gate, g, 1e-5f)).bias.has_value());
}

// <conv(x), y> = <x, conv_transpose(y)> for the same weights.
TEST_CASE("invariants: transposed convolutions are adjoint to convolutions") {
  if (TestDevice() == nullptr) return;
  Recording program;
  const Tensor zeros(DType::F32, {4}), zeros_back(DType::F32, {3});
  const Matrix x1 = program.Input("x1", {2, 3, 21}), w1 = program.Input("w1", {4, 3, 5});
  const Matrix bias = program.Input("bias", zeros), bias_back = program.Input("back", zeros_back);
  const Matrix y1 = program.Input("y1", {2, 4, 8});
  program.Output("conv1", Must(mm::conv_1d(x1, w1, bias, 2, 1, 2)));
  program.Output("turn1", Must(mm::conv_transpose_1d(y1, w1, 2, 1, 2)));
  const Matrix x2 = program.Input("x2", {2, 3, 11, 13}), w2 = program.Input("w2", {4, 3, 3, 3});
  const Matrix y2 = program.Input("y2", {2, 4, 6, 7});
  program.Output("conv2", Must(mm::conv_2d(x2, w2, bias, 2, 1, 1)));
  program.Output("turn2", Must(mm::conv_transpose_2d(y2, w2, bias_back, 2, 1)));
  program.Run();
  for (const char* rank : {"1", "2"}) {
    INFO("rank ", rank);
    const auto value = [&](const char* name) { return program.Value(absl::StrCat(name, rank)); };
    const double forward = Dot(value("conv"), value("y"));
    const double backward = Dot(value("x"), value("turn"));
    CHECK(std::abs(forward) > 1);
    CHECK(std::abs(forward - backward) <= 1e-4 * std::abs(forward));
  }
}

TEST_CASE("invariants: adaptive pooling to a divisor is average pooling") {
  if (TestDevice() == nullptr) return;
  Recording program;
  const Matrix x = program.Input("x", {2, 3, 12, 12});
  const Matrix weight = program.Input("weight", {2, 3, 4, 4});
  program.OutputWithGradients("adaptive", Must(mm::adaptive_avg_pool_2d(x, 4, 4)), weight, {x});
  program.OutputWithGradients("windows", Must(mm::avg_pool_2d(x, 3, 3, 0)), weight, {x});
  program.Run();
  program.ExpectPair("adaptive", "windows", 1, {2e-6, 2e-6});
}

TEST_CASE("invariants: a convolution of one tap is a product") {
  if (TestDevice() == nullptr) return;
  Recording program;
  const Matrix x = program.Input("x", {1, 5, 6, 7}), w = program.Input("w", {9, 5, 1, 1});
  const Matrix bias = program.Input("bias", {9}), weight = program.Input("weight", {1, 9, 6, 7});
  program.OutputWithGradients("conv", Must(mm::conv_2d(x, w, bias, 1, 0, 1)), weight, {x, w, bias});
  const Matrix pixels = Must(matrix::transpose(Must(matrix::reshape(x, {5, 42})), 0, 1));
  const Matrix rows = Must(matrix::linear(pixels, Must(matrix::reshape(w, {9, 5})), &bias));
  const Matrix planes = Must(matrix::reshape(Must(matrix::transpose(rows, 0, 1)), {1, 9, 6, 7}));
  program.OutputWithGradients("product", planes, weight, {x, w, bias});
  program.Run();
  program.ExpectPair("conv", "product", 3, kRounding);
}

TEST_CASE(
    "invariants: the straight-through estimator has the value of one and the gradient of the "
    "other") {
  if (TestDevice() == nullptr) return;
  Recording program;
  const Matrix z = program.Input("z", {40}), q = program.Input("q", {40});
  const Matrix weight = program.Input("weight", {40});
  const Matrix step = Must(mm::detach(Must(matrix::sub(q, z))));
  program.OutputWithGradients("y", Must(matrix::add(z, step)), weight, {z});
  program.Run();
  program.Expect("y", program.Value("q"), {1e-6, 1e-6});
  program.Expect("y.gradient0", program.Value("weight"));
}

}  // namespace
}  // namespace oa::testing
