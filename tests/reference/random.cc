#include <array>
#include <cmath>

#include "tests/reference/reference.h"

namespace oa::reference {
namespace {

using ir::Attributes;

constexpr double kUnit24 = 1.0 / 16777216;

// Philox4x32-10 with 64-bit products, as the specification writes it.
std::array<uint32_t, 4> Philox(std::array<uint32_t, 4> x, uint64_t seed) {
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * x[0], p1 = uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<uint32_t>(p1 >> 32) ^ x[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ x[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return x;
}

// Word `i` of a stream.
uint32_t Word(size_t i, uint32_t stream, const Tensor& replay, const Attributes& attributes) {
  const uint64_t block = i / 4;
  return Philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), stream,
                 static_cast<uint32_t>(replay[0])},
                attributes.u64("seed"))[i % 4];
}

double Unit(size_t i, const Tensor& replay, const Attributes& attributes) {
  return (Word(i, 0, replay, attributes) >> 8) * kUnit24;
}

Tensor Result(const Attributes& attributes) {
  const std::vector<int64_t>& extents = attributes.list("shape");
  return Tensor(DType::F32, Shape(extents.begin(), extents.end()));
}

std::vector<Tensor> RandomUniform(absl::Span<const Tensor> in, const Attributes& attributes) {
  Tensor y = Result(attributes);
  const double low = attributes.f32("low"), high = attributes.f32("high");
  for (size_t i = 0; i < y.size(); ++i) y[i] = low + Unit(i, in[0], attributes) * (high - low);
  return {y};
}

std::vector<Tensor> RandomNormal(absl::Span<const Tensor> in, const Attributes& attributes) {
  Tensor y = Result(attributes);
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t even = i - i % 2;
    const uint32_t w0 = Word(even, 1, in[0], attributes), w1 = Word(even + 1, 1, in[0], attributes);
    const double radius = std::sqrt(-2 * std::log(((w0 >> 8) + 1) * kUnit24));
    const double angle = 2 * M_PI * (w1 >> 8) * kUnit24;
    y[i] = attributes.f32("mean") +
           attributes.f32("stddev") * radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
  }
  return {y};
}

std::vector<Tensor> Dropout(absl::Span<const Tensor> in, const Attributes& attributes) {
  Tensor y(DType::F32, in[0].shape);
  const double p = attributes.f32("p");
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = in[0][i] * (Unit(i, in[1], attributes) >= p ? 1 / (1 - p) : 0);
  }
  return {y};
}

InputSpec Replay(uint32_t counter) {
  return Values(DType::U32, {1}, {static_cast<double>(counter)});
}

constexpr uint64_t kSeeds[] = {0, 42, 0x0123456789abcdef, ~uint64_t{0}};

// Attributes of a draw whose two parameters are called `first` and `second`.
struct Names {
  const char* first;
  const char* second;

  Attributes operator()(std::vector<int64_t> shape, float a, float b, uint64_t seed) const {
    return Attributes()
        .List("shape", std::move(shape))
        .F32(first, a)
        .F32(second, b)
        .U64("seed", seed);
  }
};

ReferenceOp RandomOp(const char* name, Forward forward, const Names& of) {
  ReferenceOp row = {name, forward};
  for (uint64_t seed : kSeeds) {
    row.samples.push_back({{Replay(0)}, of({1031}, 0, 1, seed)});
    row.samples.push_back({{Replay(0xfffffffe)}, of({3, 5, 7}, -1.5f, 2.5f, seed)});
  }
  // Every length of the last block, and none at all.
  for (int64_t length : {1, 2, 3, 4}) {
    row.samples.push_back({{Replay(1)}, of({length}, 0.25f, 0.5f, 7)});
  }
  row.samples.push_back({{Replay(1)}, of({3, 0}, 0, 1, 7)});
  row.samples.push_back({{Replay(5)}, of({300, 301}, 2, -3, 9)});
  row.rejections = {{"rank 0", {Replay(0)}, of({}, 0, 1, 0)},
                    {"rank 9", {Replay(0)}, of({1, 1, 1, 1, 1, 1, 1, 1, 1}, 0, 1, 0)},
                    {"a negative extent", {Replay(0)}, of({3, -1}, 0, 1, 0)},
                    {"2^32 elements", {Replay(0)}, of({65536, 65536}, 0, 1, 0)},
                    {"no counter", {}, of({3}, 0, 1, 0)},
                    {"a counter of two words", {Values(DType::U32, {2}, {0, 0})}, of({3}, 0, 1, 0)},
                    {"an F32 counter", {Uniform({1})}, of({3}, 0, 1, 0)}};
  return row;
}

ReferenceOp DropoutOp() {
  const auto of = [](float p, uint64_t seed) { return Attributes().F32("p", p).U64("seed", seed); };
  ReferenceOp row = {"dropout", Dropout};
  for (uint64_t seed : kSeeds) {
    row.samples.push_back({{Uniform({1031}), Replay(0)}, of(0.5f, seed)});
    row.samples.push_back({{Uniform({3, 5, 7}), Replay(123456)}, of(0.1f, seed)});
  }
  for (uint64_t length : {1, 2, 3, 4}) {
    row.samples.push_back({{Uniform({length}), Replay(1)}, of(0.25f, 7)});
  }
  row.samples.push_back({{Uniform({17, 19}), Replay(2)}, of(0, 7), kExact});
  row.samples.push_back({{Uniform({17, 19}), Replay(2)}, of(0.99f, 7)});
  row.samples.push_back({{Uniform({300, 301}), Replay(3)}, of(0.75f, 7)});
  row.samples.push_back({{Values(DType::F32, {0}, {}), Replay(3)}, of(0.5f, 7)});
  row.samples.back().differentiate = false;
  const InputSpec x = Uniform({3});
  for (float bad : {1.0f, -0.1f, 1.5f, NAN, INFINITY}) {
    row.rejections.push_back({"p outside [0, 1)", {x, Replay(0)}, of(bad, 0)});
  }
  row.rejections.push_back({"no counter", {x}, of(0.5f, 0)});
  row.rejections.push_back({"an absent counter", {x, Absent()}, of(0.5f, 0)});
  row.rejections.push_back({"an F32 counter", {x, Uniform({1})}, of(0.5f, 0)});
  row.rejections.push_back(
      {"a counter of two words", {x, Values(DType::U32, {2}, {0, 0})}, of(0.5f, 0)});
  row.rejections.push_back(
      {"an integer operand", {Integers(DType::I32, {3}, 0, 5), Replay(0)}, of(0.5f, 0)});
  return row;
}

std::vector<Tensor> Advance(absl::Span<const Tensor> in, const Attributes&) {
  Tensor replay = in[0];
  replay[0] = replay[0] == 4294967295.0 ? 0 : replay[0] + 1;
  return {replay};
}

ReferenceOp AdvanceOp() {
  ReferenceOp row = {"replay_advance", Advance};
  row.samples = {{{Replay(0)}, {}, kExact}, {{Replay(0xffffffff)}, {}, kExact}};
  row.rejections = {{"an F32 counter", {Uniform({1})}},
                    {"two words", {Values(DType::U32, {2}, {0, 0})}}};
  return row;
}

}  // namespace

std::vector<ReferenceOp> RandomReference() {
  return {RandomOp("random_uniform", RandomUniform, {"low", "high"}),
          RandomOp("random_normal", RandomNormal, {"mean", "stddev"}), DropoutOp(), AdvanceOp()};
}

}  // namespace oa::reference
