// The elementwise machine: every opcode against double precision, special values, every way an
// input is found and typed, and independence of the grid.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/common/elementwise_opcodes.h"
#include "tests/kernels/kernel_run.h"

namespace oa::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double Sigmoid(double a) { return 1 / (1 + std::exp(-a)); }
double Softplus(double a) { return std::max(a, 0.0) + std::log1p(std::exp(-std::abs(a))); }
double Sign(double a) { return a > 0 ? 1 : a < 0 ? -1 : 0; }
double GeluInner(double a) { return std::sqrt(2 / std::acos(-1.0)) * (a + 0.044715 * a * a * a); }
double Gelu(double a) { return 0.5 * a * (1 + std::tanh(GeluInner(a))); }
double GeluSlope(double a) {
  const double t = std::tanh(GeluInner(a)), c = std::sqrt(2 / std::acos(-1.0));
  return 0.5 * (1 + t) + 0.5 * a * (1 - t * t) * c * (1 + 3 * 0.044715 * a * a);
}
double MishSlope(double a) {
  const double t = std::tanh(Softplus(a));
  return t + a * Sigmoid(a) * (1 - t * t);
}
double BcePoint(double a) { return std::clamp(a, 1e-7, 1 - 1e-7); }

struct OpcodeRow {
  uint8_t op;
  double low, high;  // range of a; b is in [0.1, 1]
  float s;
  double (*expected)(double a, double b, double s);
};

#define OA_F(expression)                       \
  [](double a, double b, double s) -> double { \
    (void)a, (void)b, (void)s;                 \
    return expression;                         \
  }
const OpcodeRow kRows[] = {
    {OA_EW_COPY, -2, 2, 0, OA_F(a)},
    {OA_EW_ADD, -2, 2, 0, OA_F(a + b)},
    {OA_EW_SUB, -2, 2, 0, OA_F(a - b)},
    {OA_EW_MUL, -2, 2, 0, OA_F(a* b)},
    {OA_EW_DIV, -2, 2, 0, OA_F(a / b)},
    {OA_EW_SCALE, -2, 2, 0.7f, OA_F(a* s)},
    {OA_EW_ADD_SCALAR, -2, 2, 0.7f, OA_F(a + s)},
    {OA_EW_SUB_SCALAR, -2, 2, 0.7f, OA_F(a - s)},
    {OA_EW_DIV_SCALAR, -2, 2, 0.7f, OA_F(a / s)},
    {OA_EW_POW, -10, 10, 3, OA_F(std::pow(a, s))},
    {OA_EW_POW, 0.01, 10, -2, OA_F(std::pow(a, s))},
    {OA_EW_POW, -10, 10, 0, OA_F(std::pow(a, s))},
    {OA_EW_POW, 0.001, 100, 0.5f, OA_F(std::pow(a, s))},
    {OA_EW_POW, 0.001, 100, 7.3f, OA_F(std::pow(a, s))},
    {OA_EW_POW, -3, 3, 21, OA_F(std::pow(a, s))},
    {OA_EW_CLAMP_MIN, -2, 2, 0.5f, OA_F(std::max(a, s))},
    {OA_EW_CLAMP_MAX, -2, 2, 0.5f, OA_F(std::min(a, s))},
    {OA_EW_EQUAL, 0, 1, 0.5f, OA_F(a == s ? 1 : 0)},
    {OA_EW_GREATER_EQUAL, 0, 1, 0.5f, OA_F(a >= s ? 1 : 0)},
    {OA_EW_NEG, -2, 2, 0, OA_F(-a)},
    {OA_EW_ABS, -2, 2, 0, OA_F(std::abs(a))},
    {OA_EW_EXP, -86, 88, 0, OA_F(std::exp(a))},
    {OA_EW_LOG, 1e-3, 3, 0, OA_F(std::log(a))},
    {OA_EW_LOG, 1, 1e30, 0, OA_F(std::log(a))},
    {OA_EW_SQRT, 0, 100, 0, OA_F(std::sqrt(a))},
    {OA_EW_SIN, -1e5, 1e5, 0, OA_F(std::sin(a))},
    {OA_EW_COS, -1e5, 1e5, 0, OA_F(std::cos(a))},
    {OA_EW_RECIPROCAL, 0.1, 3, 0, OA_F(1 / a)},
    {OA_EW_SQUARE, -3, 3, 0, OA_F(a* a)},
    {OA_EW_RELU, -2, 2, 0, OA_F(std::max(a, 0.0))},
    {OA_EW_LEAKY_RELU, -2, 2, 0.1f, OA_F(a > 0 ? a : s * a)},
    {OA_EW_ELU, -5, 5, 0.7f, OA_F(a > 0 ? a : s * std::expm1(a))},
    {OA_EW_GELU, -10, 10, 0, OA_F(Gelu(a))},
    {OA_EW_MISH, -30, 30, 0, OA_F(a* std::tanh(Softplus(a)))},
    {OA_EW_SIGMOID, -100, 100, 0, OA_F(Sigmoid(a))},
    {OA_EW_SILU, -100, 100, 0, OA_F(a* Sigmoid(a))},
    {OA_EW_SOFTPLUS, -80, 80, 0, OA_F(Softplus(a))},
    {OA_EW_TANH, -10, 10, 0, OA_F(std::tanh(a))},
    {OA_EW_RELU_BWD, -2, 2, 0, OA_F(a > 0 ? b : 0)},
    {OA_EW_LEAKY_RELU_BWD, -2, 2, 0.1f, OA_F(a > 0 ? b : s * b)},
    {OA_EW_ELU_BWD, -5, 5, 0.7f, OA_F(a > 0 ? b : b * s * std::exp(a))},
    {OA_EW_GELU_BWD, -10, 10, 0, OA_F(b* GeluSlope(a))},
    {OA_EW_MISH_BWD, -30, 30, 0, OA_F(b* MishSlope(a))},
    {OA_EW_SIGMOID_BWD, 0, 1, 0, OA_F(b* a*(1 - a))},
    {OA_EW_SILU_BWD, -50, 50, 0, OA_F(b* Sigmoid(a) * (1 + a * (1 - Sigmoid(a))))},
    {OA_EW_SOFTPLUS_BWD, -50, 50, 0, OA_F(b* Sigmoid(a))},
    {OA_EW_TANH_BWD, -1, 1, 0, OA_F(b*(1 - a * a))},
    {OA_EW_ABS_BWD, -2, 2, 0, OA_F(b* Sign(a))},
    {OA_EW_SQRT_BWD, 0.1, 3, 0, OA_F(b / (2 * a))},
    {OA_EW_RECIPROCAL_BWD, 0.1, 3, 0, OA_F(-b* a* a)},
    {OA_EW_SIN_BWD, -10, 10, 0, OA_F(b* std::cos(a))},
    {OA_EW_COS_BWD, -10, 10, 0, OA_F(-b* std::sin(a))},
    {OA_EW_POW_BWD, 0.01, 10, 2.5f, OA_F(b* s* std::pow(a, s - 1))},
    {OA_EW_CLAMP_MIN_BWD, -2, 2, 0.5f, OA_F(a >= s ? b : 0)},
    {OA_EW_CLAMP_MAX_BWD, -2, 2, 0.5f, OA_F(a <= s ? b : 0)},
    {OA_EW_SMOOTH_L1, -3, 3, 1.5f, OA_F(std::abs(a) < s ? a * a / (2 * s) : std::abs(a) - s / 2)},
    {OA_EW_SMOOTH_L1_BWD, -3, 3, 1.5f, OA_F(b*(std::abs(a) < s ? a / s : Sign(a)))},
    {OA_EW_BCE, 0, 1, 0, OA_F(-(b* std::log(BcePoint(a)) + (1 - b) * std::log(1 - BcePoint(a))))},
    {OA_EW_BCE_BWD, 0.001, 0.999, 0, OA_F((BcePoint(a) - b) / (BcePoint(a) * (1 - BcePoint(a))))},
    {OA_EW_BCE_LOGITS, -20, 20, 0,
     OA_F(std::max(a, 0.0) - a * b + std::log1p(std::exp(-std::abs(a))))},
    {OA_EW_BCE_LOGITS_BWD, -20, 20, 0, OA_F(Sigmoid(a) - b)},
    {OA_EW_MASK_NONZERO, -2, 2, 0, OA_F(b != 0 ? a : 0)},
    {OA_EW_EQUAL_AB, 0, 1, 0, OA_F(a == b ? 1 : 0)},
};
#undef OA_F

// A run of out = op(in0, in1) over `a` and `b`.
std::vector<float> Apply(const char* base, uint32_t op, float s, const std::vector<float>& a,
                         const std::vector<float>& b) {
  const Kernel& kernel = KernelFor(base);
  KernelRun run(kernel);
  run.In("in0", a).In("in1", b).Out("out0", a.size());
  run.U32("count", static_cast<uint32_t>(a.size())).F32("s0", s);
  run.Constant("inputs", 2).Constant("outputs", 1).Constant("slots", 1);
  run.Constant("code0", op | 0 << 8 | 1 << 16).Constant("oreg0", 8).Grid(3);
  return run.Run()["out0"];
}

TEST_CASE("elementwise: every opcode is accurate to 2e-6") {
  std::vector<bool> covered(OA_EW_EQUAL_AB + 1);
  for (const OpcodeRow& row : kRows) {
    covered[row.op] = true;
    const std::vector<float> a = Spread(1024, row.low, row.high), b = Spread(1024, 0.1, 1);
    for (const char* base : {"elementwise_f32_s4", "elementwise_f32_s4_v4"}) {
      const std::vector<float> got = Apply(base, row.op, row.s, a, b);
      double worst = 0;
      for (size_t i = 0; i < got.size(); ++i) {
        const double expected = row.expected(a[i], b[i], row.s);
        const double error = std::abs(got[i] - expected) / (2e-6 + 2e-6 * std::abs(expected));
        worst = error <= worst ? worst : error;  // a NaN becomes the worst
      }
      CHECK_MESSAGE(worst <= 1, "opcode ", int{row.op}, " in ", base, ": error / tolerance ",
                    worst);
    }
  }
  covered[OA_EW_EQUAL_BITS] = true;  // below: bits have no double counterpart
  for (size_t op = 0; op < covered.size(); ++op) CHECK_MESSAGE(covered[op], "opcode ", op);
}

TEST_CASE("elementwise: special values") {
  const struct {
    uint8_t op;
    float s, a, b, expected;
  } rows[] = {
      {OA_EW_EXP, 0, kInf, 0, kInf},
      {OA_EW_EXP, 0, -kInf, 0, 0},
      {OA_EW_EXP, 0, 1e30f, 0, kInf},
      {OA_EW_EXP, 0, -1e30f, 0, 0},
      {OA_EW_EXP, 0, kNan, 0, kNan},
      {OA_EW_LOG, 0, 0, 0, -kInf},
      {OA_EW_LOG, 0, -1, 0, kNan},
      {OA_EW_LOG, 0, kInf, 0, kInf},
      {OA_EW_LOG, 0, kNan, 0, kNan},
      {OA_EW_SQRT, 0, 0, 0, 0},
      {OA_EW_SIN, 0, kInf, 0, kNan},
      {OA_EW_COS, 0, kNan, 0, kNan},
      {OA_EW_COS, 0, 0, 0, 1},
      {OA_EW_POW, 0, 0, 0, 1},
      {OA_EW_POW, 0.5f, -2, 0, kNan},
      {OA_EW_POW, 3, -2, 0, -8},
      {OA_EW_POW, -1, 0, 0, kInf},
      {OA_EW_POW, 0.5f, 0, 0, 0},
      {OA_EW_POW, 0.5f, kInf, 0, kInf},
      {OA_EW_POW, -0.5f, kInf, 0, 0},
      {OA_EW_POW, 0.5f, kNan, 0, kNan},
      {OA_EW_RELU, 0, -kInf, 0, 0},
      {OA_EW_SIGMOID, 0, 1e30f, 0, 1},
      {OA_EW_SIGMOID, 0, -1e30f, 0, 0},
      {OA_EW_SIGMOID, 0, kNan, 0, kNan},
      {OA_EW_SILU, 0, 1e30f, 0, 1e30f},
      {OA_EW_SILU, 0, -1e30f, 0, 0},
      {OA_EW_GELU, 0, 1e30f, 0, 1e30f},
      {OA_EW_GELU, 0, -1e30f, 0, 0},
      {OA_EW_GELU_BWD, 0, 1e30f, 2, 2},
      {OA_EW_GELU_BWD, 0, -1e30f, 2, 0},
      {OA_EW_MISH, 0, 1e30f, 0, 1e30f},
      {OA_EW_MISH, 0, -1e30f, 0, 0},
      {OA_EW_MISH_BWD, 0, 1e30f, 2, 2},
      {OA_EW_MISH_BWD, 0, kNan, 2, kNan},
      {OA_EW_SOFTPLUS, 0, 1e30f, 0, 1e30f},
      {OA_EW_SOFTPLUS, 0, -1e30f, 0, 0},
      {OA_EW_SOFTPLUS, 0, kNan, 0, kNan},
      {OA_EW_TANH, 0, kInf, 0, 1},
      {OA_EW_TANH, 0, -kInf, 0, -1},
      {OA_EW_TANH, 0, kNan, 0, kNan},
      {OA_EW_DIV, 0, 1, 0, kInf},
      {OA_EW_DIV, 0, 0, 0, kNan},
      {OA_EW_ABS_BWD, 0, 0, 3, 0},
      {OA_EW_LEAKY_RELU_BWD, 0.5f, 0, 2, 1},
      {OA_EW_POW_BWD, 0, 0, 5, 0},
      {OA_EW_BCE, 0, 1, 0, 16.118095f},
      {OA_EW_BCE, 0, 0, 1, 16.118095f},
      {OA_EW_BCE_BWD, 0, 1, 1, -1},
      {OA_EW_BCE_BWD, 0, 0, 0, 1},
      {OA_EW_CLAMP_MIN, 1, kNan, 0, kNan},
      {OA_EW_CLAMP_MAX, 1, kNan, 0, kNan},
      {OA_EW_MASK_NONZERO, 0, 5, 0, 0},
      {OA_EW_EQUAL, 1, kNan, 0, 0},
      {OA_EW_EQUAL_AB, 0, kInf, kInf, 1},
      {OA_EW_EQUAL_BITS, kNan, kNan, 0, 1},
      {OA_EW_EQUAL_BITS, 0, -0.0f, 0, 0},
  };
  for (const auto& row : rows) {
    const std::vector<float> a(4, row.a), b(4, row.b);
    for (const char* base : {"elementwise_f32_s4", "elementwise_f32_s4_v4"}) {
      const std::vector<float> got = Apply(base, row.op, row.s, a, b);
      if (got.empty()) return;
      const bool same = std::isnan(row.expected) ? std::isnan(got[0])
                                                 : std::abs(got[0] - row.expected) <=
                                                           2e-6 + 2e-6 * std::abs(row.expected) ||
                                                       got[0] == row.expected;
      CHECK_MESSAGE(same, "opcode ", int{row.op}, " of a = ", row.a, ", b = ", row.b,
                    ", s = ", row.s, " in ", base, " gives ", got[0], ", expected ", row.expected);
    }
  }
}

// Bytes of `n` elements of a machine type, and their values.
struct Typed {
  std::vector<uint8_t> bytes;
  std::vector<float> values;
};
Typed Make(uint32_t type, size_t n) {
  Typed typed;
  const size_t size = type == OA_EW_TYPE_U8 ? 1 : type == OA_EW_TYPE_BF16 ? 2 : 4;
  for (size_t i = 0; i < n; ++i) {
    uint32_t bits = static_cast<uint32_t>(i * 37 % 251);
    float value = static_cast<float>(bits);
    if (type == OA_EW_TYPE_I32) {
      bits = 0u - bits;
      value = -value;
    } else if (type == OA_EW_TYPE_U32) {
      bits += 3000000000u;
      value = static_cast<float>(bits);
    } else if (type == OA_EW_TYPE_F32 || type == OA_EW_TYPE_RAW) {
      bits = std::bit_cast<uint32_t>(value);
    } else if (type == OA_EW_TYPE_BF16) {
      bits = std::bit_cast<uint32_t>(value) >> 16;  // up to 8 bits: exact
    }
    for (size_t byte = 0; byte < size; ++byte) {
      typed.bytes.push_back(static_cast<uint8_t>(bits >> (8 * byte)));
    }
    typed.values.push_back(value);
  }
  return typed;
}

TEST_CASE("elementwise: types, periodic inputs and any grid") {
  const uint32_t count = 1200;
  const struct {
    uint32_t mode, div, mod;
    size_t elements;
  } modes[] = {{OA_EW_LINEAR, 1, 1, count},    {OA_EW_SCALAR, 1, 1, 1},
               {OA_EW_PERIODIC, 1, 12, 12},    {OA_EW_PERIODIC, 4, 20, 20},
               {OA_EW_PERIODIC, 12, 100, 100}, {OA_EW_PERIODIC, 400, 3, 3}};
  const std::array<uint32_t, 3> grids[] = {{1, 1, 1}, {3, 1, 1}, {2, 2, 3}, {40, 1, 1}};
  size_t grid = 0;
  for (const auto& mode : modes) {
    for (uint32_t type = OA_EW_TYPE_F32; type <= OA_EW_TYPE_RAW; ++type) {
      const Typed input = Make(type, mode.elements);
      for (const char* base :
           {"elementwise_f32_s4", "elementwise_f32_s4_v4", "elementwise_strided_f32_s16"}) {
        const auto [x, y, z] = grids[grid++ % 4];
        KernelRun run(KernelFor(base));
        run.InBytes("in0", input.bytes).Out("out0", count).U32("count", count);
        run.U32("div0", mode.div).U32("mod0", mode.mod);
        run.U32("len0", static_cast<uint32_t>(mode.elements));
        run.Constant("inputs", 1).Constant("outputs", 1).Constant("mode0", mode.mode);
        run.Constant("type0", type).Grid(x, y, z);
        std::vector<float> expected(count);
        for (uint32_t i = 0; i < count; ++i) {
          const uint32_t at = mode.mode == OA_EW_LINEAR ? i : i / mode.div % mode.mod;
          expected[i] = input.values[at];
        }
        const std::vector<float> got = run.Run()["out0"];
        CHECK_MESSAGE((got.empty() || got == expected), base, ", type ", type, ", mode ", mode.mode,
                      ", div ", mode.div, ", mod ", mode.mod);
      }
    }
  }
}

TEST_CASE("elementwise: strided inputs, many outputs and long programs") {
  const std::vector<uint32_t> extents = {3, 5, 7}, strides = {7, 0, 1};
  const uint32_t count = 105;
  const std::vector<float> x = Spread(21, -1, 1);
  KernelRun run(KernelFor("elementwise_strided_f32_s16"));
  run.In("in0", x).Out("out0", count).Out("out3", count).Out("out1", count).Out("out2", count);
  run.U32("count", count).U32("rank", 3).U32("len0", 21).Grid(2);
  for (uint32_t a = 0; a < 3; ++a) {
    run.U32("extents" + std::to_string(a), extents[a]);
    run.U32("strides" + std::to_string(a), strides[a]);
  }
  run.Constant("inputs", 1).Constant("outputs", 4).Constant("slots", 16);
  run.Constant("mode0", OA_EW_STRIDED);
  for (uint32_t k = 0; k < 16; ++k) {  // r[8 + k] = r[previous] + k
    const uint32_t a = k == 0 ? 0 : 7 + k;
    run.Constant("code" + std::to_string(k), OA_EW_ADD_SCALAR | a << 8);
    run.F32("s" + std::to_string(k), static_cast<float>(k));
  }
  run.Constant("oreg0", 0).Constant("oreg1", 8).Constant("oreg2", 12).Constant("oreg3", 23);
  auto got = run.Run();
  if (got.empty()) return;
  for (uint32_t i = 0; i < count; ++i) {
    const float in = x[i / 35 * 7 + i % 7];
    CHECK(got["out0"][i] == in);
    CHECK(got["out1"][i] == in);
    CHECK(got["out2"][i] == doctest::Approx(in + 10));
    CHECK(got["out3"][i] == doctest::Approx(in + 120));
  }
}

TEST_CASE("elementwise: an index beyond the declared length reads the last element") {
  const std::vector<float> x = {1, 2, 3};
  KernelRun run(KernelFor("elementwise_f32_s4"));
  run.In("in0", x).Out("out0", 8).U32("count", 8).U32("div0", 1).U32("mod0", 1000).U32("len0", 3);
  run.Constant("inputs", 1).Constant("outputs", 1).Constant("mode0", OA_EW_PERIODIC);
  auto got = run.Run();
  if (!got.empty()) CHECK(got["out0"] == std::vector<float>{1, 2, 3, 3, 3, 3, 3, 3});
}

}  // namespace
}  // namespace oa::testing
